"""`faultline sim SCENARIO --seeds A..B`: many seeds of one scenario or recording, summed up.

Exit code: 0 if every seed's run is valid and, where real Kafka was recorded, equals a recording; 1 if one is not; 3
if one is unknown or could not be played; 70 if one met a bug of ours. Random schedules (`random-NNN`) have more
outcomes than recordings; there a run need not equal one."""

import re
import shlex
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from emulator.cli.commands.unusable import UNUSABLE_SCENARIO
from emulator.cli.commands.verdict_text import versions_shown
from emulator.exit_codes import BROKEN, BUG, HELD, UNKNOWN, UNUSABLE
from emulator.judging.junit import junit_xml, suite_of_seeds
from emulator.judging.seeds import SEEDS_MAX, SeedResult, SeedsAsked, play_seeds
from emulator.packaged import GOLDEN
from emulator.regular_files import write_whole
from emulator.runs.directory import ForeignDirectory, NotEmpty, prepare
from emulator.runs.resolve import Resolved
from emulator.scenario.missed_waits import whenever
from emulator.screen import Screen
from emulator.settings.account import lines as settings_lines

EXAMPLES_MAX = 5
OUTCOMES_MAX = 10
FAILURES_MAX = 10


class UnusableSeeds(ValueError):
    """Not a range of seeds."""


def parse_seeds(given: str) -> range:
    """`1..200`, both included, or `7`. Raises UnusableSeeds."""
    match = re.fullmatch(r"\s*(\d+)\s*(?:\.\.\s*(\d+)\s*)?", given)
    if match is None:
        raise UnusableSeeds(f"--seeds {given}: expected A..B, such as 1..200")
    first = int(match[1])
    last = int(match[2]) if match[2] else first
    if last < first:
        raise UnusableSeeds(f"--seeds {given}: the last is before the first")
    if last - first >= SEEDS_MAX:
        raise UnusableSeeds(f"--seeds {given}: more than {SEEDS_MAX} seeds")
    return range(first, last + 1)


def sim_command(
    scenario: str,
    seeds: str,
    kafka_version: str | None,
    overrides: tuple[str, ...],
    out: Path | None,
    golden: Path | None,
    json: bool,
    settings_files: tuple[str, ...] = (),
    junit: Path | None = None,
) -> int:
    """Plays and sums up; results to stdout, errors and progress to stderr. An interrupt leaves no process."""
    try:
        wanted = parse_seeds(seeds)
        folder = str(golden if golden is not None else GOLDEN)
        asked = SeedsAsked(
            scenario, kafka_version, overrides, folder, str(out) if out is not None else "", settings_files
        )
        resolved = asked.resolved()
        recordings = tuple(asked.recordings(resolved))
        if golden is not None and not golden.is_dir():
            raise UnusableSeeds(f"--golden {golden}: no such folder")
        if out is not None:
            prepare(out)
    except (*UNUSABLE_SCENARIO, UnusableSeeds, NotEmpty, ForeignDirectory) as error:
        print(f"faultline sim: {error}", file=sys.stderr)
        return UNUSABLE
    began_s = perf_counter()
    results = _played(asked, wanted, resolved)
    summary = summary_of(asked, resolved, recordings, results, perf_counter() - began_s)
    if junit is not None:
        codes = codes_of(resolved, recordings, results)
        why = {failure["seed"]: f"{failure['why']}\n{failure['replay']}" for failure in summary["failures"]}
        write_whole(junit, junit_xml([suite_of_seeds(resolved.scenario.id, codes, why, summary["wall_s"])]))
    if json:
        print(msgspec.json.encode(summary).decode())
    else:
        print("\n".join(as_text(summary)))
    return int(summary["exit_code"])


def _played(asked: SeedsAsked, seeds: Sequence[int], resolved: Resolved) -> list[SeedResult]:
    """All results, by seed; a bar on a terminal."""
    title = f"{resolved.scenario.id} on Kafka {versions_shown(resolved)}"
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    results: list[SeedResult] = []
    console = Screen(stderr=True)
    with (
        closing(play_seeds(asked, seeds)) as playing,
        Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress,
    ):
        bar = progress.add_task(title, total=len(seeds))
        for result in playing:
            results.append(result)
            progress.advance(bar)
    return sorted(results, key=lambda result: result.seed)


# --- the summary ---


def summary_of(
    asked: SeedsAsked, resolved: Resolved, recordings: Sequence[str], results: Sequence[SeedResult], wall_s: float
) -> dict[str, Any]:
    """`--json`: everything that the text says, and the seeds behind it."""
    done = [result for result in results if not result.error]
    codes = codes_of(resolved, recordings, results)
    simulated_s = sum(result.simulated_s for result in done)
    checks: dict[str, Counter[str]] = defaultdict(Counter)
    for result in done:
        for name, (verdict, _) in result.checks.items():
            checks[name][verdict] += 1
    return {
        "scenario": resolved.scenario.id,
        "kafka": resolved.spec.kafka_version,
        "seeds": len(results),
        "exit_code": _worst(codes.values()),
        "recordings": {name: [r.seed for r in done if r.recording == name] for name in recordings},
        "no_recording_equalled": [result.seed for result in done if recordings and not result.recording],
        "races": _seeds_by(done, lambda result: result.races),
        "checks": {name: dict(counts) for name, counts in checks.items()},
        "broken": _seeds_by(done, lambda result: map(whenever, result.broken)),
        "outcomes": _outcomes(done),
        "different_traces": len({result.shape for result in done}),
        "failures": [_failure(asked, result) for result in results if codes[result.seed] != HELD],
        "simulated_s": round(simulated_s, 1),
        "wall_s": round(wall_s, 2),
        "speed": round(simulated_s / wall_s) if wall_s else 0,
        "settings": resolved.account,
        "inputs": sum(result.inputs for result in done),
    }


def codes_of(resolved: Resolved, recordings: Sequence[str], results: Sequence[SeedResult]) -> dict[int, int]:
    """{seed: its exit code}."""
    must_equal = bool(recordings) and not resolved.scenario.id.startswith("random-")
    return {result.seed: _code(result, must_equal) for result in results}


def _code(result: SeedResult, must_equal: bool) -> int:
    if result.code == HELD and must_equal and not result.recording:
        return BROKEN
    return result.code


def _worst(codes: Iterable[int]) -> int:
    """A bug of ours says that nothing else is certain; broken is, so it comes before unknown."""
    found = set(codes)
    return BUG if BUG in found else BROKEN if BROKEN in found else UNKNOWN if UNKNOWN in found else HELD


def _seeds_by(results: Iterable[SeedResult], keys: Any) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for result in results:
        for key in keys(result):
            found.setdefault(key, []).append(result.seed)
    return found


def _outcomes(results: Sequence[SeedResult]) -> list[dict[str, Any]]:
    """Seeds with the same outcome, the most frequent first."""
    groups: dict[str, list[SeedResult]] = {}
    for result in results:
        groups.setdefault(result.outcome, []).append(result)
    return [
        {
            "seeds": [result.seed for result in group],
            "recording": group[0].recording,
            "races": group[0].races,
            "differences": group[0].differences,
        }
        for group in sorted(groups.values(), key=lambda group: (-len(group), group[0].seed))
    ]


def _failure(asked: SeedsAsked, result: SeedResult) -> dict[str, Any]:
    return {
        "seed": result.seed,
        "why": result.error or "; ".join((*result.broken, *result.differences[:1])),
        "replay": replay_command(asked, result.seed),
    }


def replay_command(asked: SeedsAsked, seed: int) -> str:
    """What plays one seed again, whole."""
    words = ["faultline", "run", asked.scenario, "--world", "sim", "--seed", str(seed)]
    if asked.kafka_version is not None:
        words += ["--kafka-version", asked.kafka_version]
    for override in asked.overrides:
        words += ["--set", override]
    for file in asked.settings_files:
        words += ["--settings", file]
    return shlex.join(words)


def as_text(summary: dict[str, Any]) -> list[str]:
    """One line per fact."""
    seeds = summary["seeds"]
    lines = [f"{summary['scenario']} on Kafka {summary['kafka']}: {seeds} seeds"]
    lines += [f"  {line}" for line in settings_lines(summary["settings"])]
    for name, equal in summary["recordings"].items():
        lines.append(f"  {len(equal):5} equal {name}")
    if summary["no_recording_equalled"]:
        lines.append(
            f"  {len(summary['no_recording_equalled']):5} equal none: seeds {_some(summary['no_recording_equalled'])}"
        )
    for name, taken in summary["races"].items():
        lines.append(f"  {len(taken):5} by race {name}: seeds {_some(taken)}")
    for name, counts in summary["checks"].items():
        words = ", ".join(f"{verdict} {count}" for verdict, count in sorted(counts.items()))
        lines.append(f"        {name}: {words}")
    for text, broken in summary["broken"].items():
        lines.append(f"  {len(broken):5} not so: {text}: seeds {_some(broken)}")
    outcomes = summary["outcomes"]
    if len(outcomes) > 1:
        lines.append(f"  {len(outcomes)} outcomes:")
        lines += [f"  {len(group['seeds']):5} {_outcome(group)}" for group in outcomes[:OUTCOMES_MAX]]
        if len(outcomes) > OUTCOMES_MAX:
            lines.append(f"        and {len(outcomes) - OUTCOMES_MAX} more")
    lines.append(f"  {summary['different_traces']} of {seeds} traces differ")
    for failure in summary["failures"][:FAILURES_MAX]:
        lines.append(f"  seed {failure['seed']}: {failure['why']}")
        lines.append(f"    {failure['replay']}")
    if len(summary["failures"]) > FAILURES_MAX:
        lines.append(f"  and {len(summary['failures']) - FAILURES_MAX} seeds more that failed")
    lines.append(
        f"  {summary['simulated_s']:.0f} s simulated in {summary['wall_s']:.1f} s: {summary['speed']} x real time"
    )
    return lines


def _outcome(group: dict[str, Any]) -> str:
    words = f"seeds {_some(group['seeds'])}"
    if group["recording"]:
        by = f" by {', '.join(group['races'])}" if group["races"] else ""
        return f"{words}: {group['recording']}{by}"
    return f"{words}: {group['differences'][0]}" if group["differences"] else words


def _some(seeds: Sequence[int]) -> str:
    told = ", ".join(map(str, seeds[:EXAMPLES_MAX]))
    return told if len(seeds) <= EXAMPLES_MAX else f"{told}, ..."
