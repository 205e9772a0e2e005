"""A shell in the supervisor's process: the player, its orders, and bounds of a connection."""

from pathlib import Path
from typing import Any

import pytest

from emulator.faults import actions as act
from emulator.faults.link_rule_building import rule_of
from emulator.faults.link_words import parse
from emulator.storage.memory_files import MemoryFiles
from emulator.topology import OBSERVER
from emulator.worlds.network import shell, switchboard
from emulator.worlds.network.mailbox import Mailbox
from emulator.worlds.network.reports import ClusterError
from emulator.worlds.network.shell import NodeShell
from emulator.worlds.network.spec import EXIT_CRASHED, MachineSpec
from protocol.events import OperationInvoked
from protocol.framing import ProtocolError, encode
from protocol.kinds import ExitKind
from protocol.machine import Effect, Emit, Exit, Input, MessageReceived, Now, Send, Started
from protocol.messages.message_base import Message
from protocol.messages.session_messages import PingRequest, PingResponse
from tests.emulator.worlds.conformance import seen, texts
from tests.emulator.worlds.network_world import FACTORY, network_world
from tests.emulator.worlds.scripted import build

pytestmark = [pytest.mark.trio, pytest.mark.network]


class Player:
    """Orders one action after the other, then exits; keeps the answers."""

    def __init__(self, actions: list[act.Action]) -> None:
        self._waiting = actions
        self.answers: list[act.ActDone] = []

    def step(self, now: Now, event: Input | act.ActDone) -> list[Any]:
        match event:
            case Started():
                pass
            case act.ActDone():
                self.answers.append(event)
            case _:
                return []
        if not self._waiting:
            return [Exit(0, "played")]
        return [act.Act(len(self.answers), self._waiting.pop(0))]


class Answering:
    """Answers each message, after a client's event about it."""

    def step(self, now: Now, event: Input) -> list[Effect]:
        if not isinstance(event, MessageReceived):
            return []
        number = event.correlation_id
        invoked = OperationInvoked(f"op:{number}", "produce", "t", 0, 1, "v", 0, -1)
        return [Emit(invoked), Send(event.connection, number, 0, PingResponse(zxid=number))]


async def test_extra_effects_are_done_beside_the_machine_and_answered_by_inputs(tmp_path: Path) -> None:
    async with network_world(tmp_path) as world:
        cluster = world.cluster
        cut = rule_of(world.topology, "rule-1", parse(["cut", "az-0"]))
        cluster.specify("broker-0", MachineSpec(FACTORY, {}))

        async def carry_out(order: act.Act) -> act.ActDone:
            match order.action:
                case act.Start(name):
                    await cluster.start(name)
                    return act.ActDone(order.number, {})
                case act.ApplyRule(rule):
                    report = await cluster.apply(rule)
                    return act.ActDone(order.number, {"nodes": sorted(report.in_force_ms)})
                case act.Stop(name):
                    return act.ActDone(order.number, {"code": await cluster.stop(name)})
            raise AssertionError(order)

        player = Player([act.Start("broker-0"), act.ApplyRule(cut), act.Stop("broker-0")])
        here = await cluster.run_here(OBSERVER, player, carry_out)
        await here.ended.wait()
        assert here.exit == Exit(0, "played")
        assert player.answers == [
            act.ActDone(0, {}),
            act.ActDone(1, {"nodes": ["broker-0", OBSERVER]}),
            act.ActDone(2, {"code": 0}),
        ]
        faults = [event["what"] for event in world.events("injector", "machine_fault")]
        assert faults == ["start", "stop"]
        assert [event["what"] for event in world.events("injector", "fault_asked")] == ["cut az-0"]


async def test_a_shell_in_process_is_a_node_like_others(tmp_path: Path) -> None:
    """Its connections are accepted and lost as others' are.

    A name runs once; it ends with the cluster.
    """
    async with network_world(tmp_path) as world:
        await world.spawn("broker-0", {})
        machine = build(None, MemoryFiles(), {"open_to": ["broker-0"], "every_ms": 50.0})
        here = await world.cluster.run_here(OBSERVER, machine)
        await seen(world, OBSERVER, "answer 3")
        assert OBSERVER in world.cluster.running()
        with pytest.raises(ClusterError, match="observer runs already"):
            await world.cluster.run_here(OBSERVER, machine)
        await world.cut("az-0")
        answers = len(texts(world, OBSERVER, "answer"))
        await seen(world, OBSERVER, "answer", answers + 10)
        await world.kill("broker-0")
        await seen(world, OBSERVER, "lost ours closed by peer")
    assert here.exit == Exit(0, "the run is over")


async def test_a_crash_in_process_does_not_take_the_supervisor_with_it(tmp_path: Path) -> None:
    async with network_world(tmp_path) as world:
        await world.spawn("broker-0", {})
        machine = build(None, MemoryFiles(), {"open_to": ["broker-0"], "every_ms": 50.0, "crash_at": 2})
        here = await world.cluster.run_here(OBSERVER, machine)
        await here.ended.wait()
        assert here.crashed
        await seen(world, "broker-0", "lost theirs closed by peer")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
async def test_a_full_disk_ends_the_shell_with_the_name_of_the_file(tmp_path: Path) -> None:
    async with network_world(tmp_path) as world:
        events = world.cluster.run_dir / "events" / f"{OBSERVER}.1.jsonl"
        events.parent.mkdir(exist_ok=True)
        events.symlink_to("/dev/full")
        here = await world.cluster.run_here(OBSERVER, build(None, MemoryFiles(), {"every_ms": 50.0}))
        await here.ended.wait()
        assert here.exit == Exit(EXIT_CRASHED, f"{events}: No space left on device", ExitKind.CRASHED)
        events.unlink()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
async def test_a_full_disk_ends_the_shell_although_a_peers_message_met_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client's event is written before the answer leaves, in the turn of the peer's reader."""
    monkeypatch.setattr(shell, "FLUSH_REAL_S", 1_000.0)
    async with network_world(tmp_path) as world:
        events = world.cluster.run_dir / "events" / f"{OBSERVER}.1.jsonl"
        events.parent.mkdir(exist_ok=True)
        events.symlink_to("/dev/full")
        here = await world.cluster.run_here(OBSERVER, Answering())
        await world.spawn("broker-0", {"open_to": [OBSERVER], "every_ms": 50.0})
        await here.ended.wait()
        assert here.exit == Exit(EXIT_CRASHED, f"{events}: No space left on device", ExitKind.CRASHED)
        events.unlink()


async def test_messages_are_handled_in_their_readers_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shell's own task sleeps on."""
    waits = 0
    wait = Mailbox.wait

    async def counted(mailbox: Mailbox) -> None:
        nonlocal waits
        waits += 1
        await wait(mailbox)

    monkeypatch.setattr(Mailbox, "wait", counted)
    async with network_world(tmp_path) as world:
        await world.cluster.run_here(OBSERVER, build(None, MemoryFiles(), {}))
        await world.spawn("broker-0", {"open_to": [OBSERVER], "every_ms": 20.0})
        await seen(world, "broker-0", "answer 100")
        assert waits < 20, "for the start, for the connection, and where many came at once"


async def test_flushes_that_answers_need_set_no_deadlines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One deadline waits at a time, and the next is set when it has come."""
    flush, flush_soon, flush_by_deadline = NodeShell.flush, NodeShell._flush_soon, NodeShell._flush_by_deadline
    flushes: list[int] = []
    waiting: list[int] = [0]

    def counted_flush(one: NodeShell) -> None:
        flushes.append(waiting[-1])
        flush(one)

    def counted_soon(one: NodeShell) -> None:
        waiting.append(waiting[-1] + 1)
        flush_soon(one)

    def counted_deadline(one: NodeShell) -> None:
        waiting.append(waiting[-1] - 1)
        flush_by_deadline(one)

    monkeypatch.setattr(NodeShell, "flush", counted_flush)
    monkeypatch.setattr(NodeShell, "_flush_soon", counted_soon)
    monkeypatch.setattr(NodeShell, "_flush_by_deadline", counted_deadline)
    async with network_world(tmp_path) as world:
        await world.cluster.run_here(OBSERVER, Answering())
        await world.spawn("broker-0", {"open_to": [OBSERVER], "every_ms": 1.0})
        await seen(world, "broker-0", "answer 300")
        assert flushes.count(1) > 1, "before the deadline"
        assert max(waiting) == 1


async def test_a_peer_that_does_not_read_costs_a_bounded_number_of_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(switchboard, "OUTGOING_BYTES_MAX", 2_000)
    async with network_world(tmp_path) as world:
        await world.spawn("broker-0", {})
        rule = rule_of(world.topology, "r", parse(["hold", "broker-0", "broker-1"]))
        machine = build(None, MemoryFiles(), {"open_to": ["broker-0"], "every_ms": 1.0})
        await world.cluster.run_here("broker-1", machine)
        await seen(world, "broker-1", "opened")
        await world.cluster.apply(rule)
        await seen(world, "broker-1", "lost ours more than 2000 bytes wait to be sent")
        changes = [event["reason"] for event in world.events("broker-1", "connection_changed")]
        assert changes[-1] == "more than 2000 bytes wait to be sent"


async def test_what_no_frame_holds_costs_its_connection_and_not_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bounded(message: Message, *rest: int) -> bytes:
        if isinstance(message, PingRequest) and rest[0] == 3:
            raise ProtocolError("SessionPing of 40000000 bytes exceeds the frame bound")
        return encode(message, *rest)

    monkeypatch.setattr(switchboard, "encode", bounded)
    async with network_world(tmp_path) as world:
        await world.spawn("broker-0", {})
        machine = build(None, MemoryFiles(), {"open_to": ["broker-0"], "every_ms": 1.0})
        here = await world.cluster.run_here("broker-1", machine)
        await seen(world, "broker-1", "lost ours SessionPing of 40000000 bytes exceeds the frame bound")
        assert here.exit is None


async def test_a_full_mailbox_pauses_reading_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emulator.worlds.network.mailbox.MAILBOX_MAX", 8)
    async with network_world(tmp_path) as world:
        machine = build(None, MemoryFiles(), {})
        here = await world.cluster.run_here(OBSERVER, machine)
        await world.spawn("broker-0", {"open_to": [OBSERVER], "burst": 3_000})
        await seen(world, "broker-0", "answer", 3_000)
        assert here.shell.full is False
