"""A verdict as test cases of CI systems; `junit` and `markdown_summary` use them. Pure.

There is a case for each expectation, for each check, and for whether the run can be trusted. A broken promise is a
*failure*. An unknown result is an *error*, because a build should not pass on it. A violation that the scenario
expects passes.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from emulator.exit_codes import BROKEN, HELD, UNKNOWN
from emulator.runs.verdict_file import evidence_text
from emulator.scenario.expectation_text import saw_words

Result = Literal["passed", "failure", "error", "skipped"]


class Case(msgspec.Struct, frozen=True):
    """Result of one expectation or check. `text`: why it did not pass."""

    name: str
    result: Result = "passed"
    text: str = ""


class Suite(msgspec.Struct, frozen=True):
    """Cases of one run. `seconds`: wall-clock time of the run."""

    name: str
    cases: tuple[Case, ...]
    seconds: float = 0.0


def suites_of(verdicts: Sequence[Mapping[str, Any]]) -> list[Suite]:
    """One suite per run. The run's name distinguishes suites of one scenario."""
    suites = [suite_of(verdict) for verdict in verdicts]
    if len({suite.name for suite in suites}) == len(suites):
        return suites
    return [
        msgspec.structs.replace(suite, name=f"{suite.name}: {verdict['run']}")
        for suite, verdict in zip(suites, verdicts, strict=True)
    ]


def suite_of(verdict: Mapping[str, Any]) -> Suite:
    """The suite of one run. `verdict`: as in verdict.json."""
    reasons = verdict.get("unknown_because") or ()
    cases = [Case("the run can be trusted", "error" if reasons else "passed", "\n".join(reasons))]
    cases += [_expectation(one) for one in verdict["expectations"]]
    cases += [_check(name, check) for name, check in verdict["checks"].items()]
    name = verdict["scenario"] or verdict["run"]
    return Suite(name, tuple(cases), float(verdict["measures"].get("wall_s") or 0.0))


def _expectation(one: Mapping[str, Any]) -> Case:
    if one["held"] is True:
        return Case(one["text"])
    return Case(one["text"], "failure" if one["held"] is False else "error", saw_words(one["held"], one.get("seen")))


def _check(name: str, check: Mapping[str, Any]) -> Case:
    evidence = [evidence_text(piece) for piece in check.get("evidence") or ()]
    if check["count"] > len(evidence) > 0:
        evidence.append(f"and {check['count'] - len(evidence)} more")
    evidence_lines = "\n".join(evidence)
    match check["verdict"]:
        case "violated" if not check["expected"]:
            return Case(name, "failure", f"violated {check['count']}\n{evidence_lines}")
        case "unknown":
            return Case(name, "error", check.get("reason") or "unknown")
        case "skipped":
            return Case(name, "skipped", check.get("reason") or "")
        case _:
            return Case(name)


def suite_of_a_run_not_played(scenario: str, why: str) -> Suite:
    """The suite of a run without a verdict."""
    return Suite(scenario, (Case("the scenario is played to its end", "error", why),))


def suite_of_seeds(scenario: str, codes: Mapping[int, int], why: Mapping[int, str], seconds: float) -> Suite:
    """A suite with a case per seed. `codes`: {seed: exit code}; `why`: {failed seed: reason}."""
    results: dict[int, Result] = {HELD: "passed", BROKEN: "failure", UNKNOWN: "error"}
    cases = (Case(f"seed {seed}", results.get(code, "error"), why.get(seed, "")) for seed, code in codes.items())
    return Suite(scenario, tuple(cases), seconds)
