"""`faultline sim SCENARIO --seeds A..B`: summary of many seeds of one scenario or recording.

Exit code: 0 if every seed's run is valid and, where real Kafka was recorded, equals a recording; 1 if one is not; 3 if
one is unknown or could not be played; 70 if one met a bug of faultline. Random schedules (`random-NNN`) have more
outcomes than recordings; there a run need not equal one.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap
from time import perf_counter
from typing import Any

import msgspec

from emulator.cli.command_options import SimOptions
from emulator.cli.commands.campaign_playing import play_campaign
from emulator.cli.commands.command_errors import reports_errors
from emulator.cli.commands.place_arguments import check_places
from emulator.cli.commands.unusable import UNUSABLE_CAMPAIGN
from emulator.cli.commands.verdict_text import versions_shown
from emulator.cli.on_spark import NotOnSpark, require_spark
from emulator.exit_codes import BROKEN, BUG, HELD, UNKNOWN
from emulator.judging.campaigns.campaign_runs import CampaignOptions, about_of, check_cells, recordings_for
from emulator.judging.campaigns.row import Row
from emulator.judging.campaigns.space import Space, UnusableSpace, checked, parse_seeds
from emulator.judging.event_causes import causes_of, with_events
from emulator.packaged import GOLDEN
from emulator.runs.resolve import Resolved
from emulator.runs.scenario_sources import recordings_of
from emulator.scenario.missed_waits import whenever
from emulator.settings.account import lines as settings_lines

EXAMPLES_MAX = 5
OUTCOMES_MAX = 10
FAILURES_MAX = 10
LINE_MAX = 110


@reports_errors("sim", *UNUSABLE_CAMPAIGN, unknown=(NotOnSpark,))
def sim_command(scenario: str, options: SimOptions) -> int:
    """Play seeds and summarize them: results to stdout, errors and progress to stderr.

    An interrupt leaves no process. Of a campaign (`out`), the rows so far are kept.
    """
    wanted = parse_seeds(options.seeds)
    folder = options.golden or GOLDEN
    given = options.settings
    space = Space(
        scenario=scenario, first_seed=wanted.start, seeds=len(wanted), kafka_version=given.kafka_version,
        overrides=given.overrides, parameters=given.parameters, settings_files=given.files,
        metadata=given.metadata or "",
    )  # fmt: skip
    campaign = CampaignOptions(checked(space), str(folder), "" if options.out is None else str(options.out))
    resolved = check_cells(campaign)
    recordings = tuple(recordings_for(campaign, space.draw(0), resolved))
    if options.golden is not None and not options.golden.is_dir():
        raise UnusableSpace(f"--golden {options.golden}: no such folder")
    ci_reports = options.ci_reports
    check_places(ci_reports.places, options.out)
    require_spark(options.master)
    began_s = perf_counter()
    results: list[Row] = []
    compared = recordings_of(resolved.scenario.id, resolved.spec.kafka_version, folder)
    before = play_campaign(
        campaign, range(space.runs), lambda: about_of("sim", space, recordings=compared), results.append,
        title=f"{resolved.scenario.id} on Kafka {versions_shown(resolved)}", out=options.out, master=options.master,
    )  # fmt: skip
    results.sort(key=lambda row: row.seed)
    if before:  # an earlier command played some of them
        began_s = perf_counter() - sum(row.wall_s for row in results)
    summary = summary_of(resolved, recordings, results, perf_counter() - began_s)
    ci_reports.write_seeds(summary, codes_of(resolved, recordings, results))
    if options.json:
        print(msgspec.json.encode(summary).decode())
    else:
        print("\n".join(as_text(summary)))
    return int(summary["exit_code"])


# --- the summary ---


def summary_of(resolved: Resolved, recordings: Sequence[str], results: Sequence[Row], wall_s: float) -> dict[str, Any]:
    """Summary for `--json`: all facts of the text, with their seeds."""
    done = [result for result in results if not result.error]
    codes = codes_of(resolved, recordings, results)
    simulated_s = sum(result.simulated_s for result in done)
    checks: dict[str, Counter[str]] = defaultdict(Counter)
    for result in done:
        for one in result.checks:
            checks[one.check][one.verdict] += 1
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
        "causes": _causes(resolved, results),
        "different_traces": len({result.trace for result in done}),
        "failures": [_failure(result) for result in results if codes[result.seed] != HELD],
        "simulated_s": round(simulated_s, 1),
        "wall_s": round(wall_s, 2),
        "speed": round(simulated_s / wall_s) if wall_s else 0,
        "settings": resolved.account,
        "inputs": sum(result.inputs for result in done),
    }


def codes_of(resolved: Resolved, recordings: Sequence[str], results: Sequence[Row]) -> dict[int, int]:
    """{seed: its exit code}."""
    must_equal = bool(recordings) and not resolved.scenario.id.startswith("random-")
    return {result.seed: _code(result, must_equal) for result in results}


def _code(result: Row, must_equal: bool) -> int:
    if result.code == HELD and must_equal and not result.recording:
        return BROKEN
    return result.code


def _worst(codes: Iterable[int]) -> int:
    """The worst code: a bug makes all else uncertain; a broken promise comes before unknown."""
    found = set(codes)
    return BUG if BUG in found else BROKEN if BROKEN in found else UNKNOWN if UNKNOWN in found else HELD


def _seeds_by(results: Iterable[Row], keys: Any) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for result in results:
        for key in keys(result):
            found.setdefault(key, []).append(result.seed)
    return found


def _outcomes(results: Sequence[Row]) -> list[dict[str, Any]]:
    """Groups of seeds with the same outcome, the most frequent first."""
    groups: dict[str, list[Row]] = {}
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


def _causes(resolved: Resolved, results: Sequence[Row]) -> list[dict[str, Any]]:
    """Causes of the outcomes, the rarest first; empty where all seeds have the same cause."""
    causes = causes_of(results)
    if len(causes) < 2:
        return []
    with_events(causes, resolved)
    return [msgspec.structs.asdict(one) for one in causes]


def _failure(result: Row) -> dict[str, Any]:
    return {
        "seed": result.seed,
        "why": result.error or "; ".join((*result.broken, *result.differences[:1])),
        "replay": result.replay,
    }


def as_text(summary: dict[str, Any]) -> list[str]:
    """The summary as text, one line per fact."""
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
    lines += _checks(summary["checks"])
    for text, broken in summary["broken"].items():
        lines.append(f"  {len(broken):5} not met: {text}: seeds {_some(broken)}")
    outcomes = summary["outcomes"]
    if len(outcomes) > 1:
        lines.append(f"  {len(outcomes)} outcomes:")
        lines += [f"  {len(group['seeds']):5} {_outcome(group)}" for group in outcomes[:OUTCOMES_MAX]]
        if len(outcomes) > OUTCOMES_MAX:
            lines.append(f"        and {len(outcomes) - OUTCOMES_MAX} more")
    lines += _cause_lines(summary["causes"])
    lines.append(f"  {summary['different_traces']} of {seeds} traces differ")
    for failure in summary["failures"][:FAILURES_MAX]:
        lines.append(f"  seed {failure['seed']}: {failure['why']}")
        lines.append(f"    {failure['replay']}")
    if len(summary["failures"]) > FAILURES_MAX:
        lines.append(f"  and {len(summary['failures']) - FAILURES_MAX} more seeds that failed")
    lines.append(
        f"  {summary['simulated_s']:.0f} s simulated in {summary['wall_s']:.1f} s: {summary['speed']} x real time"
    )
    return lines


def _cause_lines(causes: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Lines about causes, the rarest first, each with the events of its shortest run."""
    if causes:
        yield f"  {len(causes)} causes, the rarest first:"
    for one in causes[:OUTCOMES_MAX]:
        yield f"  {len(one['seeds']):5} {one['cause']}: seeds {_some(one['seeds'])}"
        yield f"        seed {one['shortest']}, the shortest:"
        yield from (f"          {event}" for event in one["events"])
    if len(causes) > OUTCOMES_MAX:
        yield f"        and {len(causes) - OUTCOMES_MAX} more"


def _checks(checks: dict[str, dict[str, int]]) -> Iterator[str]:
    """A line for each notable check; one line for all that held, or were skipped, in all seeds."""
    quiet: dict[str, list[str]] = {"held": [], "skipped": []}
    for name, counts in checks.items():
        verdict = next(iter(counts))
        if len(counts) == 1 and verdict in quiet:
            quiet[verdict].append(name)
            continue
        words = ", ".join(f"{verdict} {count}" for verdict, count in sorted(counts.items()))
        yield f"        {name}: {words}"
    for verdict, names in quiet.items():
        if names:
            text = f"{verdict} in all: {', '.join(names)}"
            yield from wrap(text, LINE_MAX, initial_indent=" " * 8, subsequent_indent=" " * 10, break_on_hyphens=False)


def _outcome(group: dict[str, Any]) -> str:
    words = f"seeds {_some(group['seeds'])}"
    if group["recording"]:
        by = f" by {', '.join(group['races'])}" if group["races"] else ""
        return f"{words}: {group['recording']}{by}"
    return f"{words}: {group['differences'][0]}" if group["differences"] else words


def _some(seeds: Sequence[int]) -> str:
    text = ", ".join(map(str, seeds[:EXAMPLES_MAX]))
    return text if len(seeds) <= EXAMPLES_MAX else f"{text}, ..."
