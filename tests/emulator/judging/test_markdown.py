"""A verdict as Markdown: broken promises first, escaped foreign text.
It fits into a comment.
"""

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from emulator.judging.markdown_summary import (
    CHARACTERS_MAX,
    TEXT_MAX,
    code,
    markdown,
    markdown_of_a_run_not_played,
    markdown_of_seeds,
)
from emulator.runs.verdict_file import CheckVerdict, ExpectationVerdict, FaultVerdict, Verdict, compose

HOSTILE = (
    "a | b || c", "`x` ``y`` ```", "one\ntwo\r\n\n# three", "<script>alert(1)</script>", "</details><b>", "@octocat #1",
    "[x](http://evil.example)", "![](x.png)", "\x1b[31m\u202eright", "\\`|\\|", "- [ ] done", "    code", "|---|", "`",
    "<!-- -->", "https://evil.example", "&lt;", "~~~", "*a* _b_ ~~c~~", "",
)  # fmt: skip
GITHUB = MarkdownIt("commonmark", {"html": True}).enable("table").enable("strikethrough")
NOT_OURS = ("link_open", "image", "fence", "code_block", "s_open", "html_inline", "em_open")
OURS = re.compile(r"<details><summary>(Faults \(\d+\)|Measures|Checks)</summary>|</details>")


def verdict(text: str = "it holds", **changed: Any) -> dict[str, Any]:
    expectations = [ExpectationVerdict(text, changed.get("held", True), changed.get("seen", text))]
    evidence = [{"text": text, "partition": "t-0"}] * changed.get("pieces", 1)
    check = CheckVerdict(changed.get("check", "held"), changed.get("expected", False), 9, evidence)
    reasons = changed.get("reasons", [])
    fault = FaultVerdict(text, 1.0, 2.0, None, 3, True, None)
    checks = {changed.get("name", "a-check"): check}
    measures = {"wall_s": 1.5, "events": 12_345, "unavailable_ms": {text: 7.0, "az-1": None}}
    valid = compose(expectations, [check], reasons)
    found = Verdict(text, text, "sim", valid, expectations, [fault], checks, measures, unknown_because=reasons)
    built: dict[str, Any] = msgspec.to_builtins(found)
    return built


def leaves(tokens: list[Token]) -> list[Token]:
    return [leaf for token in tokens for leaf in (token, *leaves(token.children or []))]


def assert_only_text(text: str) -> list[str]:
    """Nothing but what we make ourselves; returns the code spans."""
    tokens = leaves(GITHUB.parse(text))
    for token in tokens:
        assert token.type not in NOT_OURS, token
        if token.type == "html_block":
            assert OURS.sub("", token.content).strip() == "", token.content
    prose = "".join(token.content for token in tokens if token.type == "text")
    assert not re.search(r"[@#<]|://", prose), prose
    html = "".join(token.content for token in tokens if token.type == "html_block")
    assert html.count("<details>") == html.count("</details>")
    return [token.content for token in tokens if token.type == "code_inline"]


@pytest.mark.parametrize("text", HOSTILE)
def test_what_others_wrote_is_only_text(text: str) -> None:
    broken = {"held": False, "check": "violated", "reasons": [text, "late"]}
    for found in (verdict(text), verdict(text, **broken), verdict(text, check="violated", expected=True)):
        assert_only_text(markdown([found]))
        assert_only_text(markdown([found, found, verdict()]))
    assert_only_text(markdown_of_a_run_not_played(text, text))
    seeds = {"scenario": text, "kafka": text, "seeds": 2, "exit_code": 1, "wall_s": 1.0, "checks": {text: {"held": 2}},
             "failures": [{"seed": 1, "why": text, "replay": text}]}  # fmt: skip
    assert_only_text(markdown_of_seeds(seeds))


@given(st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp"]), max_size=40))
def test_a_code_span_is_one_span_with_the_text(text: str) -> None:
    plain = " ".join(text.split())
    [paragraph] = [token for token in GITHUB.parse(f"- {code(text)}\n") if token.type == "inline"]
    [span] = paragraph.children or []
    assert span.type == "code_inline"
    assert span.content == plain or not plain
    cells = [token for token in GITHUB.parse(f"| a | b |\n|---|---|\n| {code(text, cell=True)} | 7 |\n")
             if token.type == "inline"]  # fmt: skip
    assert [cell.content for cell in cells[:2] + cells[3:]] == ["a", "b", "7"]


def test_the_verdict_comes_first_then_what_is_broken_with_its_evidence() -> None:
    text = markdown([verdict("reads | writes", held=False, seen={"error": 6}, check="violated")])
    assert text.splitlines()[0] == "## ❌ not as expected: `reads | writes`"
    assert "Run `reads | writes`, simulated. 2 broken, 1 held." in text
    assert text.index("**Broken**") < text.index("Faults (1)") < text.index("Measures")
    assert "- ❌ `reads | writes`\n  - `saw NOT_LEADER_OR_FOLLOWER (error 6)`" in text
    assert "- ❌ `a-check`\n  - `violated 9`\n  - `t-0: reads | writes`\n  - `and 8 more`" in text
    assert "| `reads \\| writes` | 0.002 s | never | 3 | yes |" in text
    assert "| unavailable_ms | `az-1` not measured, `reads \\| writes` 7.0 |" in text


def test_unknown_has_its_reasons_and_an_expected_violation_is_not_broken() -> None:
    text = markdown([verdict(reasons=["timers were late", "a fault did nothing"])])
    assert text.startswith("## ❔ unknown: ")
    assert "- ❔ `the run can be trusted`\n  - `timers were late`\n  - `a fault did nothing`" in text
    text = markdown([verdict(check="violated", expected=True)])
    assert text.startswith("## ✅ as expected: ") and "❌" not in text
    assert "Violated, and expected to be: `a-check` 9." in text


def test_of_several_runs_there_is_a_table_and_those_that_are_not_as_expected() -> None:
    text = markdown([verdict("one"), verdict("two", held=False), verdict("three")])
    assert text.startswith("## ❌ not as expected: 3 runs\n\n2 ✅ as expected, 1 ❌ not as expected.\n")
    assert "| ✅ as expected | `one` | 3 held |" in text
    assert text.count("### ") == 1 and "### ❌ not as expected: `two`" in text


def test_it_is_bounded_and_ends_whole() -> None:
    long = "x" * 10_000
    assert len(code(long)) <= TEXT_MAX + 2
    many = [verdict(f"{number} {long}", held=False, check="violated", pieces=20) for number in range(1_000)]
    for given_ in (many, many[:1]):
        text = markdown(given_)
        assert len(text) <= CHARACTERS_MAX + 100
        assert_only_text(text)
    assert "more parts are left out" in markdown(many)
    assert "and 800 more runs" in markdown(many)
    seeds = {"scenario": "s", "kafka": "2.6", "seeds": 5_000, "exit_code": 1, "wall_s": 1.0, "checks": {},
             "failures": [{"seed": n, "why": long, "replay": long} for n in range(5_000)]}  # fmt: skip
    assert len(markdown_of_seeds(seeds)) <= CHARACTERS_MAX and "and 4970 more seeds" in markdown_of_seeds(seeds)
