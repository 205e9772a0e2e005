"""A verdict as Markdown for a pull request: result, broken promises with evidence, details.

Foreign text (a record's value, a scenario's expectation, a node's reason) stands in code spans, in which nothing is
markup, a mention or a link. The dialect is GitHub's: bars in table cells are escaped, long parts are folded. The
result is bounded, because a comment there has at most 65,536 characters. Pure.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from emulator.exit_codes import BROKEN, HELD, UNKNOWN
from emulator.judging.test_cases import Case, Result, Suite, suites_of
from emulator.terminal import shown_plainly

CHARACTERS_MAX: Final = 60_000
TEXT_MAX: Final = 300
"""Characters of one foreign text, and of each line of evidence."""
CELL_MAX: Final = 100
LINES_MAX: Final = 6
"""Maximum per case."""
CASES_MAX: Final = 30
"""Maximum per result type in one run."""
RUNS_MAX: Final = 200
"""Maximum of lines of the table of runs."""
FAULTS_MAX: Final = 20
HEADS: Final = {True: "✅ as expected", False: "❌ not as expected", "unknown": "❔ unknown"}
CODES: Final = {HELD: HEADS[True], BROKEN: HEADS[False], UNKNOWN: HEADS["unknown"]}
MARKS: Final = {"failure": "❌", "error": "❔"}
_BACKTICKS: Final = re.compile("`+")
_MEASURES: Final = (
    *("events", "unavailable_ms", "time_to_new_leader_ms", "dual_leader_ms", "dual_controller_ms", "timers_late_ms"),
    "wall_s",
)


def code(text: object, *, cell: bool = False) -> str:
    """A code span of `text` in one line, cut at TEXT_MAX.

    `cell`: for a table; cut at CELL_MAX, with escaped bars, because a bar ends a cell even in code.
    """
    plain, most = " ".join(shown_plainly(str(text)).split()), CELL_MAX if cell else TEXT_MAX
    plain = plain if len(plain) <= most else plain[: most - 1] + "…"
    fence = "`" * (1 + max((len(run) for run in _BACKTICKS.findall(plain)), default=0))
    pad = " " if plain.startswith("`") or plain.endswith("`") or not plain else ""
    span = f"{fence}{pad}{plain}{pad}{fence}" if plain else "` `"
    return span.replace("|", "\\|") if cell else span


def head_of(exit_code: int) -> str:
    """The heading of a result, by the command's exit code."""
    return CODES.get(exit_code, "❌ a bug of ours")


def markdown(verdicts: Sequence[Mapping[str, Any]]) -> str:
    """Markdown of finished runs: one in full; several as a table, unexpected ones in full.

    `verdicts`: as in verdict.json.
    """
    suites = suites_of(verdicts)
    if len(verdicts) == 1:
        return bounded(_run(verdicts[0], suites[0]))
    return bounded(_runs(verdicts, suites))


def markdown_of_a_run_not_played(scenario: str, why: str) -> str:
    """Markdown of a run without a verdict."""
    return f"## {HEADS['unknown']}: {code(scenario)}\n\nIt was not played to its end: {code(why)}\n"


def markdown_of_seeds(summary: Mapping[str, Any]) -> str:
    """Markdown of many seeds. `summary`: as `sim --json` prints it."""
    return bounded(_seeds(summary))


def _run(verdict: Mapping[str, Any], suite: Suite) -> Iterator[str]:
    yield f"## {HEADS[verdict['valid']]}: {code(suite.name)}\n"
    about = f"Run {code(verdict['run'])}, {_world(verdict)}. {_counts(suite)}."
    if verdict.get("vouched_by"):
        about += f" Its timers were late, which changed nothing: vouched for by {code(verdict['vouched_by'])}."
    yield about + "\n"
    yield from _cases("Broken", "failure", suite)
    yield from _cases("Unknown", "error", suite)
    yield from _expected(verdict)
    yield from _faults(verdict["faults"])
    yield from _measures(verdict["measures"])


def _runs(verdicts: Sequence[Mapping[str, Any]], suites: Sequence[Suite]) -> Iterator[str]:
    valid = [verdict["valid"] for verdict in verdicts]
    worst = False if False in valid else "unknown" if "unknown" in valid else True
    counted = [f"{valid.count(each)} {head}" for each, head in HEADS.items() if valid.count(each)]
    yield f"## {HEADS[worst]}: {len(verdicts)} runs\n"
    yield f"{', '.join(counted)}.\n"
    rows = "".join(
        f"| {HEADS[verdict['valid']]} | {code(suite.name, cell=True)} | {_counts(suite)} |\n"
        for verdict, suite in list(zip(verdicts, suites, strict=True))[:RUNS_MAX]
    )
    more = f"\nand {len(verdicts) - RUNS_MAX} more runs\n" if len(verdicts) > RUNS_MAX else ""
    yield f"| verdict | run | |\n|---|---|---|\n{rows}{more}"
    for verdict, suite in zip(verdicts, suites, strict=True):
        if verdict["valid"] is not True:
            yield f"### {HEADS[verdict['valid']]}: {code(suite.name)}\n"
            yield from _cases("Broken", "failure", suite)
            yield from _cases("Unknown", "error", suite)


def _seeds(summary: Mapping[str, Any]) -> Iterator[str]:
    head = head_of(summary["exit_code"])
    failures, seeds = summary["failures"], summary["seeds"]
    yield f"## {head}: {code(summary['scenario'])}, {seeds} seeds\n"
    held = seeds - len(failures)
    yield f"{held} of {seeds} as expected, Kafka {code(summary['kafka'])}, {summary['wall_s']} s.\n"
    for failure in failures[:CASES_MAX]:
        yield f"- seed {failure['seed']}: {code(failure['why'])}\n  - again: {code(failure['replay'])}\n"
    if len(failures) > CASES_MAX:
        yield f"- and {len(failures) - CASES_MAX} more seeds\n"
    rows = "".join(
        f"| {code(name, cell=True)} | {', '.join(f'{count} {word}' for word, count in counts.items())} |\n"
        for name, counts in summary["checks"].items()
    )
    if rows:
        yield _folded("Checks", f"| check | seeds |\n|---|---|\n{rows}")


def _cases(title: str, result: str, suite: Suite) -> Iterator[str]:
    cases = [case for case in suite.cases if case.result == result]
    if cases:
        yield f"**{title}**\n"
        shown = "".join(map(_case, cases[:CASES_MAX]))
        yield shown + (f"- and {len(cases) - CASES_MAX} more\n" if len(cases) > CASES_MAX else "")


def _case(case: Case) -> str:
    lines = case.text.splitlines()
    shown = "".join(f"  - {code(line)}\n" for line in lines[:LINES_MAX])
    more = f"  - and {len(lines) - LINES_MAX} more lines\n" if len(lines) > LINES_MAX else ""
    return f"- {MARKS[case.result]} {code(case.name)}\n{shown}{more}"


def _expected(verdict: Mapping[str, Any]) -> Iterator[str]:
    names = [name for name, check in verdict["checks"].items() if check["verdict"] == "violated" and check["expected"]]
    if names:
        counted = ", ".join(f"{code(name)} {verdict['checks'][name]['count']}" for name in names)
        yield f"Violated, and expected to be: {counted}.\n"


def _faults(faults: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not faults:
        return
    rows = "".join(
        f"| {code(fault['rule'], cell=True)} | {_ms(fault['in_force_ms'])} | {_ms(fault['healed_ms'])} "
        f"| {fault['frames_stopped']} | {'yes' if fault['took_effect'] else 'no'} |\n"
        for fault in faults[:FAULTS_MAX]
    )
    more = f"\nand {len(faults) - FAULTS_MAX} more faults\n" if len(faults) > FAULTS_MAX else ""
    heads = "| fault | in force at | healed at | frames stopped | took effect |\n|---|---|---|---|---|\n"
    yield _folded(f"Faults ({len(faults)})", heads + rows + more)


def _measures(measures: Mapping[str, Any]) -> Iterator[str]:
    rows = "".join(
        f"| {name} | {_measured(measures[name])} |\n" for name in _MEASURES if measures.get(name) is not None
    )
    if rows:
        yield _folded("Measures", f"| measure | |\n|---|---|\n{rows}")


def _measured(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{code(name, cell=True)} {_measured(of)}" for name, of in sorted(value.items()))
    if value is None:
        return "not measured"
    return f"{value:,}" if isinstance(value, int | float) else code(value, cell=True)


def _counts(suite: Suite) -> str:
    results = [case.result for case in suite.cases]
    words: dict[Result, str] = {"failure": "broken", "error": "unknown", "passed": "held", "skipped": "skipped"}
    return ", ".join(f"{results.count(each)} {word}" for each, word in words.items() if results.count(each))


def _world(verdict: Mapping[str, Any]) -> str:
    return "simulated" if verdict["world"] == "sim" else "real processes"


def _ms(value: float | None) -> str:
    return f"{value / 1000:.3f} s" if value is not None else "never"


def _folded(title: str, body: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{body}\n</details>\n"


def bounded(blocks: Iterator[str]) -> str:
    """As many whole blocks as fit, separated by an empty line, and the count of omitted ones."""
    kept: list[str] = []
    length = left_out = 0
    for block in blocks:
        if left_out or length + len(block) + 1 > CHARACTERS_MAX:
            left_out += 1
            continue
        kept.append(block)
        length += len(block) + 1
    if left_out:
        kept.append(f"{left_out} more parts are left out; verdict.json has all of it.\n")
    return "\n".join(kept)
