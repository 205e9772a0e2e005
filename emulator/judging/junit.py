"""Cases as JUnit's XML, which CI systems show. Pure."""

import re
from collections.abc import Iterable, Sequence
from typing import Final
from xml.etree import ElementTree

from emulator.judging.test_cases import Case, Result, Suite
from emulator.terminal import shown_plainly

TEXT_MAX: Final = 4_000
"""Maximum of characters of one message."""
_NO_XML: Final = re.compile("[\ufffe\uffff]")

def junit_xml(suites: Iterable[Suite]) -> bytes:
    """JUnit XML in UTF-8, with a declaration and a final newline."""
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
    """Text with the characters escaped that XML cannot hold, cut at TEXT_MAX."""
    return _NO_XML.sub("\ufffd", shown_plainly(text))[:TEXT_MAX]
