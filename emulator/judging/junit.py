"""A verdict as JUnit's XML, which CI systems show. Pure.

A case for each expectation, for each check, and for whether the run can be trusted. Broken is a *failure*; unknown is
an *error*: nobody knows, and a build should not pass on that. A violation that the scenario is there to show passes.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal
from xml.etree import ElementTree

import msgspec

from emulator.exit_codes import BROKEN, HELD, UNKNOWN
from emulator.terminal import shown_plainly

TEXT_MAX: Final = 4_000
"""Characters of one message."""
_NO_XML: Final = re.compile("[\ufffe\uffff]")

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
    return Case(one["text"], "failure" if one["held"] is False else "error", f"saw {one.get('seen')!r}")


def _check(name: str, check: Mapping[str, Any]) -> Case:
    told = "\n".join(str(piece.get("text", piece)) for piece in check.get("evidence") or ())
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


def junit_xml(suites: Iterable[Suite]) -> bytes:
    """UTF-8, with a declaration and a line's end."""
    suites = list(suites)
    every = [case for suite in suites for case in suite.cases]
    seconds = sum(suite.seconds for suite in suites)
    root = ElementTree.Element("testsuites", {"name": "faultline", **_counts(every, seconds)})
    for suite in suites:
        of_suite = ElementTree.SubElement(
            root, "testsuite", {"name": _plain(suite.name), **_counts(suite.cases, suite.seconds)}
        )
        for case in suite.cases:
            about = {"name": _plain(case.name), "classname": _plain(f"faultline.{suite.name}")}
            of_case = ElementTree.SubElement(of_suite, "testcase", about)
            if case.result != "passed":
                text = _plain(case.text)
                first, _, _ = text.partition("\n")
                ElementTree.SubElement(of_case, case.result, {"message": first}).text = text
    ElementTree.indent(root)
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _counts(cases: Sequence[Case], seconds: float) -> dict[str, str]:
    def count(result: Result) -> str:
        return str(sum(case.result == result for case in cases))

    return {
        "tests": str(len(cases)),
        "failures": count("failure"),
        "errors": count("error"),
        "skipped": count("skipped"),
        "time": f"{seconds:.3f}",
    }


def _plain(text: str) -> str:
    """What XML cannot hold is written out."""
    return _NO_XML.sub("\ufffd", shown_plainly(text))[:TEXT_MAX]
