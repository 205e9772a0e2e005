"""Attack on Kafka listeners: frames that no client should send; nothing may end or grow.

    python -m verification.attack.listener_attack [--frames 2000000] [--over-sockets 1000000] [--limit-s SECONDS]

Some go to a listener without sockets, in this process, which decodes them, asks its machine and writes events. Others
go over sockets to the listeners of a real cluster, while an ordinary client writes and reads, and a thousand silent
connections occupy one listener. No broker may miss its heartbeats: a session that expires, another
controller, another leader of the ordinary client's partition counts. Prints figures, and writes
verification/results/attack_listener.json for a full run. Exit code 1 if something is broken, or fewer
were said: `--limit-s` ends what is said without sockets.
"""

import argparse
import gc
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final

import msgspec
import psutil
import trio

from benchmarks.figure_records import Figure, show, write
from emulator.cli.command_options import UpOptions
from emulator.cli.commands.live_up import prepared
from emulator.cli.play_options import Settings
from emulator.cluster import control_requests as r
from emulator.cluster.cluster_registry import Found
from emulator.cluster.control_client import ask
from emulator.cluster.ending import end
from emulator.cluster.launch import launch
from emulator.toplevel_errors import ended
from verification import RESULTS
from verification.attack.__main__ import ANSWER_S, Beside, attack_beside, rss_mib
from verification.attack.kafka_frames import HostileListener, KafkaFrames
from verification.attack.kafka_sockets import Address, KafkaAttackers
from verification.attack.silent_sockets import closed, silent

FULL: Final = 2_000_000
FULL_OVER_SOCKETS: Final = 100_000
"""A run with fewer is not written down."""
SILENT: Final = 1_000
STEP: Final = 100_000
VERSIONS: Final = ("2.8", "1.1", "2.6", "0.10.2", "2.0")
"""Versions in turn: their protocols differ."""
OVER_SOCKETS: Final = "2.8"
GROWN_MIB_MAX: Final = 64
LARGE_EVERY: Final = 500
"""One frame in so many has 1 KiB up to the largest size."""
SLOWEST_S: Final = 0.5
QUIET_S: Final = 1.0


def in_process(count: int, seed: int, limit_s: float = float("inf")) -> dict[str, Any]:
    """Raises whatever a listener should not. `limit_s`: of the clock; then it is enough."""
    until = time.monotonic() + limit_s
    became: Counter[str] = Counter()
    options: Counter[int] = Counter()
    process, began = psutil.Process(), time.process_time()
    warm_mib = 0.0
    listeners = [HostileListener(KafkaFrames(seed + number, version)) for number, version in enumerate(VERSIONS)]
    done = large = 0
    while done < count and time.monotonic() < until:
        for listener in listeners:
            for _ in range(part := min(STEP // len(listeners), count - done)):
                listener.hear()
            for _ in range(part // LARGE_EVERY):
                listener.hear(listener.large())
                large += 1
            done += part
        if not warm_mib:
            gc.collect()
            warm_mib = process.memory_info().rss / 2**20
        if done % 1_000_000 == 0:
            print(f"{done:,} in process", file=sys.stderr, flush=True)
    seconds = time.process_time() - began
    gc.collect()
    for listener in listeners:
        became.update(listener.became)
        options.update(listener.apis)
    return {
        "said": done,
        "large": large,
        "slowest_s": round(max(listener.slowest_s for listener in listeners), 3),
        "dearest_ms_per_mib": round(max(listener.dearest_s_per_mib for listener in listeners) * 1_000, 1),
        "became": dict(became),
        "asked_by_api": {str(api): frames for api, frames in sorted(options.items())},
        "events": sum(listener.events for listener in listeners),
        "cpu_seconds": round(seconds, 1),
        "frames_per_cpu_second": round(done / seconds),
        "grown_mib": round(process.memory_info().rss / 2**20 - warm_mib, 1),
    }


def listeners_of(found: Found) -> list[Address]:
    """Of all brokers, for clients of all AZs and outside."""
    answer = ask(found.registration, r.Ready(), ANSWER_S)
    addresses = [one.rpartition(":") for servers in answer.result["bootstrap"].values() for one in servers.split(",")]
    return [(host, int(port)) for host, _, port in addresses]


async def over_sockets(found: Found, count: int, seed: int) -> dict[str, Any]:
    """The attack over sockets, and its result."""
    created = ask(found.registration, r.CreateTopic("beside", partitions=1, replicas=3), ANSWER_S)
    assert created.code == 0, created
    supervisor = psutil.Process(found.registration.pid)
    processes = [supervisor, *supervisor.children(recursive=True)]
    kafka_ports = listeners_of(found)
    attackers = KafkaAttackers(kafka_ports, seed, OVER_SOCKETS)
    beside = Beside(found)
    began = time.monotonic()
    with silent(kafka_ports[0], SILENT) as strangers:
        warm = await attack_beside(beside, attackers.attack, count, processes)
        let_go = closed(strangers)
    seconds = time.monotonic() - began
    await trio.sleep(QUIET_S)
    last = rss_mib(processes)
    return {
        "said": dict(attackers.said),
        "seconds": round(seconds, 1),
        "frames_per_second": round(attackers.said.total() / seconds),
        "silent_strangers": SILENT,
        "silent_strangers_let_go": let_go,
        "processes_ended": sum(not process.is_running() for process in processes),
        "rss_mib_after_a_fifth": {name: round(mib, 1) for name, mib in sorted(warm.items())},
        "rss_mib_at_the_end": {name: round(mib, 1) for name, mib in sorted(last.items())},
        "beside_written_and_read": beside.done,
        "beside_slowest_s": round(beside.slowest_s, 2),
        "problems": attackers.problems + beside.problems,
    }


def missed_heartbeats(events: Path) -> dict[str, int]:
    """Count what a broker that answers too late causes.

    `events`: the directory of a run without restarts."""
    counts: Counter[str] = Counter()
    for path in sorted(events.glob("*.jsonl")):
        for line in path.read_bytes().splitlines():
            try:
                event = msgspec.json.decode(line)
            except msgspec.DecodeError:  # the last line may be half written
                continue
            match event["event"]:
                case "session_ended":
                    counts["sessions_expired"] += event["reason"] == "expired"
                case "controller_changed":
                    counts["controllers"] += event["active"]
                case "role_changed":
                    counts["leaders"] += event["topic"] == "beside" and event["role"] == "leader"
    return {
        "sessions_expired": counts["sessions_expired"],
        "further_controllers": max(0, counts["controllers"] - 1),
        "further_leaders": max(0, counts["leaders"] - 1),
    }


def attacked(count: int, seed: int, run: Path) -> dict[str, Any]:
    """A cluster as `faultline up --kafka` starts it, and its end."""
    version = Settings(kafka_version=OVER_SOCKETS)
    prepared(UpOptions(name="attacked-listener", speed=1.0, settings=version, kafka=True, out=run))
    found = launch(run)
    try:
        came = trio.run(over_sockets, found, count, seed)
        came["missed_heartbeats"] = missed_heartbeats(run / "events")
    finally:
        how = end(found).how
    if "Traceback" in (log := (run / "supervisor.log").read_text()):
        came["problems"].append(f"the supervisor's log has a traceback: {log[-2000:]}")
    came["events_mib"] = round(sum(path.stat().st_size for path in (run / "events").iterdir()) / 2**20, 1)
    return {**came, "ended": how}


def figures_of(sent: dict[str, Any], came: dict[str, Any], frames: int, sockets: int) -> list[Figure]:
    over, warm, last = sum(came["said"].values()), came["rss_mib_after_a_fifth"], came["rss_mib_at_the_end"]
    grown = max(last.get(name, 0.0) - mib for name, mib in warm.items())
    return [
        Figure(line="Kafka frames sent, without an end of a process", value=sent["said"] + over, unit="", target=frames,
               higher_is_better=True, bound=f"{sent['frames_per_cpu_second']:,} a second of a processor"),
        Figure(line="of these, over sockets to the Kafka listeners of a real cluster", value=over, unit="",
               target=sockets, higher_is_better=True),
        Figure(line="of these, well-formed: they reach the machine", value=sent["became"]["asked the machine"],
               unit="", target=frames / 10, higher_is_better=True),
        Figure(line="of them of 1 KiB up to 32 MiB", value=sent["large"], unit="", target=frames / 1_000,
               higher_is_better=True),
        Figure(line="the slowest frame", value=sent["slowest_s"], unit="s", target=SLOWEST_S),
        Figure(line="nodes and supervisors that ended", value=came["processes_ended"], unit="", target=0),
        Figure(line="heartbeats missed: sessions expired, further controllers and leaders",
               value=sum(came["missed_heartbeats"].values()), unit="", target=0),
        Figure(line="other failures", value=len(came["problems"]), unit="", target=0),
        Figure(line="growth of memory, Kafka listener in this process", value=sent["grown_mib"], unit="MiB",
               target=GROWN_MIB_MAX),
        Figure(line="largest growth of a cluster process's memory", value=round(grown, 1), unit="MiB",
               target=GROWN_MIB_MAX, bound="topics and groups that requests create stay"),
        Figure(line="slowest write and read of a record during the attack", value=came["beside_slowest_s"], unit="s",
               target=ANSWER_S),
        Figure(line="events of the attacked cluster", value=came["events_mib"], unit="MiB", target=100),
    ]  # fmt: skip


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m verification.attack.listener_attack", description=__doc__)
    parser.add_argument("--frames", type=int, default=FULL)
    parser.add_argument("--over-sockets", type=int, default=1_000_000)
    parser.add_argument("--limit-s", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    sockets = min(options.over_sockets, options.frames)
    with tempfile.TemporaryDirectory(prefix="faultline-") as directory:
        came = attacked(sockets, options.seed, Path(directory) / "attacked-listener")
    sent = in_process(options.frames - sockets, options.seed, options.limit_s)
    figures = figures_of(sent, came, options.frames, sockets)
    show(figures)
    for problem in came["problems"]:
        print(problem, file=sys.stderr)
    if sent["said"] + sockets >= FULL_OVER_SOCKETS * 10 and sockets >= FULL_OVER_SOCKETS:
        write("attack_listener", figures, {"over_sockets": came, "in_process": sent}, results=RESULTS)
    return 0 if all(figure.met for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(ended("verification.attack.listener_attack", lambda: main(sys.argv[1:])))
