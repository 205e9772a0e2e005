"""`python -m verification.attack`: ten million invalid frames; nothing may end or grow.

    python -m verification.attack [--messages 10000000] [--over-sockets 200000] [--silent 5000]

A cluster is started as `faultline up` starts it. Frames over sockets go to its nodes, its player and its control
server; the others to the decoding layers, in this process, without sockets. Meanwhile an ordinary client writes and
reads, and silent unauthenticated connections occupy a broker's port. Prints figures, and writes
verification/results/attack.json for a full run. Exit code 1 if something is broken.
"""

import argparse
import contextlib
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psutil
import trio

from benchmarks.figure_records import Figure, show, write
from emulator.cli.command_options import UpOptions
from emulator.cli.commands.live_up import prepared
from emulator.cluster import control_requests as r
from emulator.cluster.cluster_registry import Found
from emulator.cluster.control_client import ask
from emulator.cluster.ending import end
from emulator.cluster.launch import launch
from emulator.toplevel_errors import ended
from protocol.ids import FIRST_OFFSET
from verification import RESULTS
from verification.attack.hostile_frames import Frames, decoded
from verification.attack.hostile_requests import Requests, answered
from verification.attack.silent_sockets import silent
from verification.attack.sockets import Attackers, ports_of

FULL: int = 10_000_000
REQUESTS_SHARE: float = 0.01
"""Share of HTTP requests among the messages without sockets: each is a conversation."""
STEP: int = 50_000
ANSWER_S: float = 20.0
ANSWER_MS: int = 15_000
"""A record that is not stored by then is a problem; on a busy machine a second is short."""
WARM: float = 0.2
"""Share of the socket messages after which memory is measured for the first time."""


class Beside:
    """An ordinary client: one record written and read again, over and over."""

    def __init__(self, found: Found) -> None:
        self._at = found.registration
        self.done = FIRST_OFFSET
        self.slowest_s = 0.0
        self.problems: list[str] = []
        self.was_served = trio.Event()

    async def go_on(self) -> None:
        while True:
            began = trio.current_time()
            value = f"beside-{self.done}"
            await self._did(r.Produce("beside", [value], idempotent=True, az="az-0", timeout_ms=ANSWER_MS))
            read = await self._did(r.Consume("beside", offset=self.done, records_max=1, az="az-0"))
            if value not in str(read):
                self.problems.append(f"{value} was acknowledged, and this was read: {read}")
            self.done += 1
            if self.done >= 3 or self.problems:
                self.was_served.set()
            self.slowest_s = max(self.slowest_s, trio.current_time() - began)
            await trio.sleep(0.2)

    async def _did(self, what: r.ControlRequest) -> dict[str, Any]:
        answer = await trio.to_thread.run_sync(ask, self._at, what, ANSWER_S)
        if answer.code:
            self.problems.append(f"{type(what).__name__}: {answer.code} {answer.error}")
        return answer.result


def rss_mib(processes: list[psutil.Process]) -> dict[str, float]:
    """{process: resident memory}; of all called alike the largest."""
    found: dict[str, float] = {}
    for process in processes:
        with contextlib.suppress(psutil.Error):
            name = "supervisor" if process is processes[0] else process.name()
            found[name] = max(found.get(name, 0.0), process.memory_info().rss / 2**20)
    return found


async def attack_beside(
    beside: Beside, attack: Callable[[int], Awaitable[None]], count: int, processes: list[psutil.Process]
) -> dict[str, float]:
    """Attack with `count` frames beside an ordinary client, until that client was served.

    Returns the processes' memory after the share WARM of the frames, as `rss_mib`.
    """
    async with trio.open_nursery() as nursery:
        nursery.start_soon(beside.go_on)
        await attack(int(count * WARM))
        warm = rss_mib(processes)
        await attack(int(count * (1 - WARM)))
        await beside.was_served.wait()
        nursery.cancel_scope.cancel()
    return warm


async def over_sockets(found: Found, count: int, strangers: int, seed: int) -> dict[str, Any]:
    """The attack over sockets, and its result."""
    created = ask(found.registration, r.CreateTopic("beside", partitions=1, replicas=3), ANSWER_S)
    assert created.code == 0, created
    supervisor = psutil.Process(found.registration.pid)
    processes = [supervisor, *supervisor.children(recursive=True)]
    before = {process.pid: process.create_time() for process in processes}
    ports = ports_of(processes[1:])
    targets = {name: of[0] for name, of in ports.items() if name.partition("-")[0] in ("broker", "session", "client")}
    (players,) = [port for port in ports_of([supervisor])[supervisor.name()] if port != found.registration.port]
    targets["observer"] = players
    attackers = Attackers(targets, found.registration.port, found.registration.token, seed)
    beside = Beside(found)
    broker = next(port for name, port in targets.items() if name.startswith("broker"))
    began = time.monotonic()
    with silent(("127.0.0.1", broker), strangers):
        warm = await attack_beside(beside, attackers.attack, count, processes)
    last = rss_mib(processes)
    ended = [process.pid for process in processes if not process.is_running()]
    assert len(before) == len(processes)
    return {
        "said_over_sockets": dict(attackers.said),
        "seconds": round(time.monotonic() - began, 1),
        "targets": sorted(targets),
        "silent_strangers": strangers,
        "processes_ended": len(ended),
        "rss_mib_after_a_fifth": {name: round(mib, 1) for name, mib in sorted(warm.items())},
        "rss_mib_at_the_end": {name: round(mib, 1) for name, mib in sorted(last.items())},
        "beside_written_and_read": beside.done,
        "beside_slowest_s": round(beside.slowest_s, 2),
        "problems": attackers.problems + beside.problems,
    }


def in_process(count: int, seed: int) -> dict[str, int]:
    """Raises whatever a decoder should not."""
    frames, requests = Frames(seed), Requests(seed)
    sent: dict[str, int] = {}
    done = 0
    while done < count:
        part = min(STEP, count - done)
        of_requests = int(part * REQUESTS_SHARE)
        for prefix, became in (
            ("hostile_frames", decoded(frames, part - of_requests)),
            ("requests", trio.run(answered, requests, of_requests)),
        ):
            for what, times in became.items():
                sent[f"{prefix}: {what}"] = sent.get(f"{prefix}: {what}", 0) + times
        done += part
        if done % 1_000_000 == 0:
            print(f"{done:,} in process", file=sys.stderr, flush=True)
    return sent


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m verification.attack", description=__doc__)
    parser.add_argument("--messages", type=int, default=FULL)
    parser.add_argument("--over-sockets", type=int, default=200_000)
    parser.add_argument("--silent", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    sockets = min(options.over_sockets, options.messages)
    with tempfile.TemporaryDirectory(prefix="faultline-") as directory:
        run = Path(directory) / "attacked"
        prepared(UpOptions(name="attacked", speed=1.0, out=run))
        found = launch(run)
        try:
            came = trio.run(over_sockets, found, sockets, options.silent, options.seed)
        finally:
            how = end(found).how
        log = (run / "supervisor.log").read_text()
        events_mib = sum(path.stat().st_size for path in (run / "events").iterdir()) / 2**20
    sent = in_process(options.messages - sockets, options.seed)
    problems = list(came["problems"])
    if "Traceback" in log:
        problems.append(f"the supervisor's log has a traceback: {log[-2000:]}")
    grown = max(
        round(came["rss_mib_at_the_end"].get(name, 0.0) - mib, 1) for name, mib in came["rss_mib_after_a_fifth"].items()
    )
    figures = [
        Figure(line="frames and requests sent, without an end of a process", value=sum(sent.values())
               + sum(came["said_over_sockets"].values()), unit="", target=options.messages, higher_is_better=True),
        Figure(line="of these, over sockets to real nodes and a real control server",
               value=sum(came["said_over_sockets"].values()), unit="", target=sockets, higher_is_better=True),
        Figure(line="nodes and supervisors that ended", value=came["processes_ended"], unit="", target=0),
        Figure(line="other failures", value=len(problems), unit="", target=0),
        Figure(line="largest growth of a process's memory", value=grown, unit="MiB", target=64),
        Figure(line="slowest write and read of a record during the attack", value=came["beside_slowest_s"], unit="s",
               target=ANSWER_S),
        Figure(line="events of the attacked cluster", value=events_mib, unit="MiB", target=100),
    ]  # fmt: skip
    show(figures)
    for problem in problems:
        print(problem, file=sys.stderr)
    if options.messages >= FULL:
        write("attack", figures, {**came, "problems": problems, "in_process": sent, "ended": how}, results=RESULTS)
    return 0 if all(figure.met for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(ended("verification.attack", lambda: main(sys.argv[1:])))
