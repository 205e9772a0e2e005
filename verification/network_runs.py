"""`python -m verification.network_runs [--runs N] [RECORDED...]`: real-process recordings.

RECORDED: a folder of tests/golden, such as az-isolated-leader@2.6, or a scenario, at each recorded version; by default
every named recording. Each run is compared with real Kafka's recordings; the rate of equal runs is printed and written
to verification/results/network_runs.json. A run with late timers is unknown, neither right nor wrong: it is counted
apart, and the exit code ignores it (0: each punctual run equals a recording; 1: one differs; 3: none was punctual).
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec
import trio

from emulator.cli.commands.run_scenario import DEFAULT_SPEED
from emulator.judging.recording_match import equal_recording
from emulator.packaged import GOLDEN
from emulator.run_layout import EVENTS_FOLDER, event_paths
from emulator.runs.directory import write_observations, write_scenario
from emulator.runs.network_run import play_network
from emulator.runs.resolve import Resolved, resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.runs.timeout_limits import timer_limit_ms
from emulator.toplevel_errors import ended
from protocol.lateness import merged, share_ms

RESULTS = Path(__file__).parent / "results" / "network_runs.json"
RANDOM = ("random-", "kraft-random-")
"""Prefixes of random schedules, which simulated runs are compared with."""

TRANSACTIONS = "txn-"
KRAFT = "kraft-"
"""Prefix of recordings in KRaft mode, where who leads the quorum is a race."""


def recorded() -> list[str]:
    """ID@VERSION of every named recording."""
    return sorted(path.name for path in GOLDEN.iterdir() if path.is_dir() and not path.name.startswith(RANDOM))


def script_of(recording: str) -> Resolved:
    """Of the first of a folder of recordings."""
    return resolve(find_scenario(str(min((GOLDEN / recording).glob("*.json")))))


def chosen(words: Sequence[str]) -> list[str]:
    """The recordings that words name. Raises ValueError."""
    found = []
    for word in words:
        named = [folder for folder in recorded() if word in (folder, folder.partition("@")[0])]
        if not named:
            nearest = get_close_matches(word, recorded(), n=1, cutoff=0.0)
            raise ValueError(f"no recording {word!r}; nearest: {nearest[0]}")
        found += [folder for folder in named if folder not in found]
    return found or recorded()


def lateness_ms(directory: Path) -> float:
    """The worst p99.9 of any process of a run over its whole life, in scenario ms."""
    reports: defaultdict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for path in event_paths(directory / EVENTS_FOLDER):
        for line in path.read_bytes().splitlines():
            if b'"timer_lateness"' in line:
                fields = msgspec.json.decode(line)
                reports[fields["node"], fields["incarnation"]].append(fields)
    return max(
        (
            min(share_ms(merged(one["buckets"] for one in of), 0.999), max(one["max_ms"] for one in of))
            for of in reports.values()
        ),
        default=0.0,
    )


def one_run(resolved: Resolved, seed: int, speed: float, kept: Path | None) -> tuple[str, float]:
    """(the equal recording or "", lateness in scenario ms).

    A run that differs is kept at `kept`.
    """
    with tempfile.TemporaryDirectory(prefix="faultline-") as name:
        directory = Path(name)
        write_scenario(directory, resolved)
        played = trio.run(lambda: play_network(resolved, directory, seed=seed, speed=speed))
        write_observations(directory, played.observations)
        equals = equal_recording(resolved.scenario, resolved.spec.kafka_version, played.observations) or ""
        if not equals and kept is not None:
            shutil.copytree(directory, kept)
        return equals, lateness_ms(directory)


def row_of(folder: str, runs: int, speed: float, keep: Path | None) -> dict[str, Any]:
    """Many runs of a recording's script, summed up."""
    resolved = script_of(folder)
    limit_ms = timer_limit_ms(resolved)
    outcomes: Counter[str] = Counter()
    late: list[float] = []
    late_and_different = 0
    began = time.monotonic()
    for run in range(runs):
        equals, late_ms = one_run(resolved, run, speed, keep and keep / f"{folder}-{run}")
        outcomes[equals or "differs"] += 1
        late.append(late_ms)
        late_and_different += not equals and late_ms > limit_ms
    return {
        "recording": folder,
        "runs": runs,
        "equal": runs - outcomes["differs"],
        "late": sum(late_ms > limit_ms for late_ms in late),
        "punctual_and_different": outcomes["differs"] - late_and_different,
        "outcomes": dict(outcomes),
        "limit_ms": round(limit_ms, 1),
        "median_p999_late_ms": round(sorted(late)[len(late) // 2], 1),
        "worst_p999_late_ms": round(max(late), 1),
        "s_per_run": round((time.monotonic() - began) / runs, 2),
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recordings", nargs="*", help="as ID@VERSION, or ID; all if none is given")
    parser.add_argument("--runs", type=int, default=10, help="of each")
    parser.add_argument("--speed", type=float, default=DEFAULT_SPEED)
    parser.add_argument("--keep", type=Path, help="keep the directories of runs that differ here")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the file that is written")
    given = parser.parse_args(arguments)
    if given.runs < 1:
        parser.error(f"--runs {given.runs}: at least 1")
    try:
        folders = chosen(given.recordings)
    except ValueError as error:
        parser.error(str(error))
    table = []
    for folder in folders:
        table.append(row_of(folder, given.runs, given.speed, given.keep))
        print(msgspec.json.encode(table[-1]).decode(), flush=True)
    total, equal, late, different = (
        sum(row[name] for row in table) for name in ("runs", "equal", "late", "punctual_and_different")
    )
    print(
        f"{equal} of {total} runs equal a recording ({100 * equal / total:.1f} %); {late} were late; "
        f"of the punctual ones {different} differ"
    )
    given.results.parent.mkdir(parents=True, exist_ok=True)
    summary = {"speed": given.speed, "equal": equal, "total": total, "late": late, "runs": table}
    given.results.write_bytes(msgspec.json.format(msgspec.json.encode(summary)) + b"\n")
    if different:
        return 1
    return 3 if late == total else 0


if __name__ == "__main__":
    sys.exit(ended("verification.network_runs", main))
