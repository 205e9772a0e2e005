"""Processes: crashes, bad connections, write order, and lives tied to the supervisor's."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import psutil
import pytest
import trio
import trio.testing

from emulator.storage.memory_files import MemoryFiles
from emulator.topology import three_azs
from emulator.worlds.network.forking import ForkServer, ForkServerLost
from emulator.worlds.network.node_supervisor import Cluster
from emulator.worlds.network.ports import PortInUse
from emulator.worlds.network.reports import ClusterError
from emulator.worlds.network.spec import EXIT_CRASHED, LOOPBACK, MachineSpec, SpecError
from emulator.worlds.replay import ReplayError, read, replay
from protocol.framing import MAX_FRAME_BYTES, encode
from protocol.machine import MessageReceived
from protocol.messages.control import Hello
from protocol.messages.message_base import Message
from protocol.messages.session_messages import PingRequest
from tests.emulator.worlds.conformance import seen, texts
from tests.emulator.worlds.network_world import FACTORY, EventFiles, NetworkWorld, network_world
from tests.emulator.worlds.scripted import build
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.trio, pytest.mark.network]


def hello(world: NetworkWorld, **changes: object) -> Hello:
    fields: dict[str, object] = {
        "node": "broker-1", "incarnation": 1, "connection": 1, "purpose": "client", "token": world.cluster.token
    }  # fmt: skip
    return Hello(**(fields | changes))  # type: ignore[arg-type]


async def knock(world: NetworkWorld, data: bytes, *, end: bool = False) -> bytes:
    """Sends bytes to broker-0's port as a stranger; what comes back until broker-0 closes."""
    stream = await trio.open_tcp_stream(LOOPBACK, world.cluster.ports["broker-0"])
    async with stream:
        await stream.send_all(data)
        if end:
            await stream.send_eof()
        try:
            return await stream.receive_some()
        except trio.BrokenResourceError:
            return b""


async def refusals(world: NetworkWorld, count: int) -> list[str]:
    await world.until(lambda: len(world.events("broker-0", "frame_refused")) >= count)
    return [event["reason"] for event in world.events("broker-0", "frame_refused")]


async def test_what_is_no_hello_is_refused_with_one_event_and_the_node_lives(tmp_path: Path) -> None:
    async with network_world(tmp_path) as world:
        await world.spawn("broker-0", {})
        ping: Message = PingRequest()
        bad = {
            "0 bytes": (b"\x00\x00\x00\x00", False),
            "4294967295 bytes": (b"\xff\xff\xff\xff", False),
            "not a frame": (b"\x00\x00\x00\x05hello", False),
            "after 2 of 8 bytes": (b"\x00\x00\x00\x08ab", True),
            "after 2 of 4 bytes": (b"\x00\x00", True),
            "SessionPing, not Hello": (encode(ping), False),
            "another run's token": (encode(hello(world, token="guess")), False),
            "no purpose 'gossip'": (encode(hello(world, purpose="gossip")), False),
            "no node of this run": (encode(hello(world, node="broker-9")), False),
            "utf-8": (bytes.fromhex("0000001295cd051402000081a46e6f6465a4fffefdfc"), False),
            "nested too deep": (b"\x00\x00\x03\xff" + b"\x95\x01\x02\x03\x04" + b"\x91" * 1018, False),
            "1025 bytes": ((1025).to_bytes(4, "big"), False),
        }
        for number, (what, (data, end)) in enumerate(bad.items(), start=1):
            assert await knock(world, data, end=end) == b"", what
            reasons = await refusals(world, number)
            assert len(reasons) == number and what in reasons[-1], (what, reasons)
        assert not texts(world, "broker-0", "accepted")
        await world.spawn("broker-1", {"open_to": ["broker-0"], "burst": 1})
        await seen(world, "broker-1", "answer 1")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ((MAX_FRAME_BYTES + 1).to_bytes(4, "big"), "a frame of 33554433 bytes"),
        (b"\x00\x00\x00\x05hello", "not a frame"),
        ((20_005).to_bytes(4, "big") + b"\x95\x01\x02\x03\x04" + b"\x91" * 20_000, "nested too deep"),
        (b"\x00\x00\x00\x12" + bytes.fromhex("95cd051402000081a46e6f6465a4fffefdfc"), "utf-8"),
        (encode(PingRequest()).replace(b"\xcd\x03\xf3", b"\xcd\x03\xf4"), "no request with API key 1012"),
    ],
)
async def test_a_bad_frame_after_the_hello_costs_the_connection(tmp_path: Path, data: bytes, reason: str) -> None:
    async with network_world(tmp_path) as world:
        await world.spawn("broker-0", {})
        await knock(world, encode(hello(world)) + encode(PingRequest(), 7) + data)
        (refused,) = await refusals(world, 1)
        assert reason in refused
        await seen(world, "broker-0", "lost theirs refused")
        assert texts(world, "broker-0", "got") == ["got 7"], "nothing before it is lost"


async def test_a_torn_frame_is_reported_at_the_connections_end(tmp_path: Path) -> None:
    async with network_world(tmp_path) as world:
        await world.spawn("broker-0", {})
        await knock(world, encode(hello(world)) + encode(PingRequest())[:-1], end=True)
        await seen(world, "broker-0", "lost theirs closed by peer with")


async def test_a_machines_bug_ends_the_process_and_is_located(tmp_path: Path) -> None:
    async with network_world(tmp_path) as world:
        await world.spawn("broker-0", {"crash_at": 3})
        await world.spawn("broker-1", {"open_to": ["broker-0"], "burst": 5})
        end = await world.exit_of("broker-0")
        assert (end.code, end.expected) == (EXIT_CRASHED, False)
        assert world.cluster.unexpected_exits() == [end]
        (stopped,) = world.events("broker-0", "node_stopped")
        assert stopped["code"] == 1
        assert stopped["reason"].startswith("AssertionError: as the script says (scripted.py:")
        assert [event["what"] for event in world.events("injector", "machine_fault")][-1] == "died"


async def test_a_machine_may_exit_with_a_code_of_its_own(tmp_path: Path) -> None:
    async with network_world(tmp_path) as world:
        await world.spawn("broker-0", {"exit_at": 2})
        await world.spawn("broker-1", {"open_to": ["broker-0"], "burst": 2})
        end = await world.exit_of("broker-0")
        assert end.code == 3
        await seen(world, "broker-1", "answer 2")


async def test_a_client_event_is_on_disk_before_its_frame_arrives(tmp_path: Path) -> None:
    """At any moment of broker-0's death, it had written each send that broker-1 received."""
    async with network_world(tmp_path) as world:
        await world.spawn("broker-1", {})
        await world.spawn("broker-0", {"open_to": ["broker-1"], "every_ms": 2.0, "client_events": True})
        await seen(world, "broker-1", "got", 50)
        await world.kill("broker-0")
        await seen(world, "broker-1", "lost theirs")
        got = len(texts(world, "broker-1", "got"))
        assert len(world.events("broker-0", "operation_invoked")) >= got


async def test_recorded_inputs_replay_to_identical_effects(tmp_path: Path) -> None:
    async with network_world(tmp_path, record_inputs=True) as world:
        script = {"open_to": ["broker-1"], "every_ms": 20.0, "reopen_ms": 100.0}
        await world.spawn("broker-1", {})
        await world.spawn("broker-0", script)
        await seen(world, "broker-0", "answer 20")
        await world.heal(await world.cut("az-0"))
        await world.kill("broker-1")
        await seen(world, "broker-0", "lost", 2)
        await world.stop("broker-0")
    recording = tmp_path / "inputs" / "broker-0.1.msgpack"
    steps = len({(e["seq"]) for e in EventFiles(tmp_path).of("broker-0") if e["event"] == "scenario_step"})
    assert replay(recording, lambda: build(None, MemoryFiles(), script)) > 40 and steps > 40
    with pytest.raises(ReplayError, match=r"input 1 .*effects differ"):
        replay(recording, lambda: build(None, MemoryFiles(), script | {"open_to": ["broker-2"]}))


async def test_a_torn_recording_replays_up_to_its_tear(tmp_path: Path) -> None:
    async with network_world(tmp_path, record_inputs=True) as world:
        await world.spawn("broker-1", {})
        await world.spawn("broker-0", {"open_to": ["broker-1"], "every_ms": 20.0})
        await seen(world, "broker-1", "got 20")
        await world.stop("broker-1")
    recording = tmp_path / "inputs" / "broker-1.1.msgpack"
    whole = replay(recording, lambda: build(None, MemoryFiles(), {}))
    os.truncate(recording, recording.stat().st_size - 1)
    assert replay(recording, lambda: build(None, MemoryFiles(), {})) == whole - 1


async def test_a_crash_is_replayed_to_its_crash(tmp_path: Path) -> None:
    async with network_world(tmp_path, record_inputs=True) as world:
        await world.spawn("broker-0", {"crash_at": 3})
        await world.spawn("broker-1", {"open_to": ["broker-0"], "burst": 5})
        await world.exit_of("broker-0")
    recording = tmp_path / "inputs" / "broker-0.1.msgpack"
    last = list(read(recording))[-1]
    assert last.effects_crc is None and isinstance(last.event, MessageReceived)
    assert replay(recording, lambda: build(None, MemoryFiles(), {"crash_at": 3})) == 5
    with pytest.raises(ReplayError, match="input 5 "):
        replay(recording, lambda: build(None, MemoryFiles(), {}))


# --- the supervisor's own errors ---


async def test_orders_that_cannot_be_done_are_errors_with_names(tmp_path: Path) -> None:
    async with network_world(tmp_path) as world:
        cluster = world.cluster
        with pytest.raises(ClusterError, match="broker-0 has no machine"):
            await cluster.start("broker-0")
        await world.spawn("broker-0", {})
        with pytest.raises(ClusterError, match="broker-0 runs already"):
            await cluster.start("broker-0")
        with pytest.raises(ClusterError, match="broker-1 does not run"):
            await cluster.kill("broker-1")
        with pytest.raises(ClusterError, match="no node 'broker-9'; there is broker-0"):
            await cluster.kill("broker-9")
        with pytest.raises(ClusterError, match="no rule r is in force; in force: none"):
            await cluster.heal("r")
        await cluster.pause("broker-0")
        with pytest.raises(ClusterError, match="paused"):
            await cluster.stop("broker-0")


async def test_a_port_in_use_is_one_clear_error(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PortInUse, match=f"port {port} for broker-1 is in use"):
            Cluster(tmp_path, three_azs(), {}, ports={"broker-1": port})


async def test_a_factory_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"no factory 'emulator\.nothing:build'"):
        Cluster(tmp_path, three_azs(), {"broker-0": MachineSpec("emulator.nothing:build")})


async def test_a_failing_factory_is_reported_at_the_start(tmp_path: Path) -> None:
    async with network_world(tmp_path) as world:
        world.cluster.specify("broker-0", MachineSpec(FACTORY, {"burst": "many"}))
        with pytest.raises(ClusterError, match=r"broker-0 died at its start: .*burst"):
            await world.cluster.start("broker-0")


# --- nothing outlives the supervisor ---

RUNNER = """
import sys, trio
from pathlib import Path
from tests.emulator.worlds.network_world import network_world
async def main():
    async with network_world(Path(sys.argv[1])) as world:
        for number in range(3):
            await world.spawn(f"broker-{number}", {"open_to": ["broker-0"], "every_ms": 5.0})
            print(number, flush=True)
        await world.pause("broker-2")
        print("paused", flush=True)
        await trio.sleep_forever()
trio.run(main)
"""


async def start_runner(run_dir: Path) -> trio.Process:
    return await trio.lowlevel.open_process(
        [sys.executable, "-c", RUNNER, str(run_dir)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": "."},
    )


def descendants(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


@pytest.mark.parametrize("lines", [0, 1, 2, 3, 4] * 2)
async def test_killing_the_runner_leaves_no_process(tmp_path: Path, lines: int) -> None:
    """At five moments, twice each: before all, while nodes start, with a paused one."""
    runner = await start_runner(tmp_path)
    assert runner.stdout is not None
    read = b""
    while read.count(b"\n") < lines:
        read += await runner.stdout.receive_some()
    left = descendants(runner.pid)
    assert lines == 0 or len(left) > lines if lines < 4 else len(left) == 4
    os.kill(runner.pid, signal.SIGKILL)
    await runner.wait()
    await trio.to_thread.run_sync(wait_gone, left)
    for path in (tmp_path / "events").glob("*.jsonl") if lines else ():
        EventFiles(tmp_path).of(path.name.partition(".")[0])  # every whole line is readable


async def test_an_interrupted_runner_leaves_no_process(tmp_path: Path) -> None:
    runner = await start_runner(tmp_path)
    assert runner.stdout is not None
    while b"paused" not in await runner.stdout.receive_some():
        pass
    left = descendants(runner.pid)
    os.kill(runner.pid, signal.SIGINT)
    await runner.wait()
    await trio.to_thread.run_sync(wait_gone, left)


async def test_the_end_of_the_fork_server_is_an_error_of_the_run(tmp_path: Path) -> None:
    before = set(descendants(os.getpid()))  # other suites' Spark among them
    with pytest.raises(ForkServerLost, match="ended with -9"):
        async with network_world(tmp_path) as world:
            await world.spawn("broker-0", {})
            left = set(descendants(os.getpid())) - before
            os.kill(world.cluster.engine.pid, signal.SIGKILL)
            await trio.sleep_forever()
    await trio.to_thread.run_sync(wait_gone, left)


def wait_gone(processes: Iterable[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(processes, timeout=PATIENCE_S)
    assert not alive, f"left behind: {alive}"


async def test_a_fork_server_that_leaves_an_order_unread_is_lost_like_any_other() -> None:
    """The kernel then reports a reset, and a broken pipe to the order after it."""
    server = ForkServer()
    try:
        with pytest.RaisesGroup(pytest.RaisesExc(ForkServerLost, match="ended with -9")):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(server.listen)
                assert not await server.send_signal(os.getpid(), 0), "no node of its"
                os.kill(server.pid, signal.SIGSTOP)
                nursery.start_soon(server.send_signal, os.getpid(), 0)
                await trio.testing.wait_all_tasks_blocked()
                os.kill(server.pid, signal.SIGKILL)
                nursery.start_soon(server.send_signal, os.getpid(), 0)
    finally:
        server.close()
