"""A verdict as cases, of which CI systems show each: what `junit` and `markdown` are made of. Pure.

A case for each expectation, for each check, and for whether the run can be trusted. Broken is a *failure*; unknown is
an *error*: nobody knows, and a build should not pass on that. A violation that the scenario is there to show passes.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from emulator.exit_codes import BROKEN, HELD, UNKNOWN
from emulator.runs.verdict import evidence_text
from emulator.scenario.seen import saw_words

Result = Literal["passed", "failure", "error", "skipped"]


class Case(msgspec.Struct, frozen=True):
    """`text`: why it did not pass."""

    name: str
    result: Result = "passed"
    text: str = ""


class Suite(msgspec.Struct, frozen=True):
    """`seconds`: what it took, as the wall has it."""

    name: str
    cases: tuple[Case, ...]
    seconds: float = 0.0


def suites_of(verdicts: Sequence[Mapping[str, Any]]) -> list[Suite]:
    """One for each run. Several of one scenario are told apart by the run's name."""
    suites = [suite_of(verdict) for verdict in verdicts]
    if len({suite.name for suite in suites}) == len(suites):
        return suites
    return [
        msgspec.structs.replace(suite, name=f"{suite.name}: {verdict['run']}")
        for suite, verdict in zip(suites, verdicts, strict=True)
    ]


def suite_of(verdict: Mapping[str, Any]) -> Suite:
    """`verdict`: as verdict.json has it."""
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
    told = "\n".join(evidence)
    match check["verdict"]:
        case "violated" if not check["expected"]:
            return Case(name, "failure", f"violated {check['count']}\n{told}")
        case "unknown":
            return Case(name, "error", check.get("reason") or "unknown")
        case "skipped":
            return Case(name, "skipped", check.get("reason") or "")
        case _:
            return Case(name)


def suite_of_a_run_not_played(scenario: str, why: str) -> Suite:
    """Of one that has no verdict."""
    return Suite(scenario, (Case("the scenario is played to its end", "error", why),))


def suite_of_seeds(scenario: str, codes: Mapping[int, int], why: Mapping[int, str], seconds: float) -> Suite:
    """A case for each seed. `codes`: {seed: exit code}; `why`: of those that did not hold."""
    results: dict[int, Result] = {HELD: "passed", BROKEN: "failure", UNKNOWN: "error"}
    cases = (Case(f"seed {seed}", results.get(code, "error"), why.get(seed, "")) for seed, code in codes.items())
    return Suite(scenario, tuple(cases), seconds)
