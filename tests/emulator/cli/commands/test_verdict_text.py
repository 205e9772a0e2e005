"""A verdict on a terminal and in a pipe.
A broken promise that is meant looks like neither good nor bad.
"""

import io
from typing import Any

import pytest
from rich.console import Console

from emulator.cli.commands.verdict_text import print_verdict

LOST = "lost-acknowledged is violated: c was acknowledged by a leader that the cluster had replaced"


def check(verdict: str, *, expected: bool = False, texts: tuple[str, ...] = (), reason: str = "") -> dict[str, Any]:
    evidence = [{"partition": "t-0", "text": text} for text in texts]
    return {"verdict": verdict, "expected": expected, "count": len(texts), "evidence": evidence, "reason": reason}


def verdict_lines(*, terminal: bool = False, verbose: bool = False, **of: Any) -> str:
    verdict: dict[str, Any] = {"expectations": [], "faults": [], "checks": {}, "valid": True, "measures": {}, **of}
    screen = io.StringIO()
    console = Console(file=screen, width=40, force_terminal=terminal)
    print_verdict(console, verdict, ("-", "no recording"), verbose=verbose)
    return screen.getvalue()


def test_an_expected_violation_has_a_mark_of_its_own_and_is_reported_once() -> None:
    text = verdict_lines(
        expectations=[{"text": LOST, "held": True, "seen": None}],
        checks={
            "lost-acknowledged": check("violated", expected=True, texts=("c", "d", "e", "f")),
            "dual-leader": check("violated", texts=("two",)),
            "duplicate": check("held"),
            "replica-divergence": check("held", expected=True),
            "dual-controller": check("unknown", reason="no event was recorded"),
            "high-watermark-regression": check("held"),
            "no-leader": check("skipped", reason="no quiescent period long enough"),
        },
    )
    assert text.splitlines() == [
        "Promises",
        "  ✗ dual-leader: violated (1), unexpected",
        "    · t-0: two",
        "  ✗ replica-divergence: held, though a violation was expected",
        "  ? dual-controller: unknown: no event was recorded",
        f"  ! lost-acknowledged: violated (4), as expected: {LOST.partition(': ')[2]}",
        "    · t-0: c",
        "    · t-0: d",
        "    · t-0: e",
        "    · and 1 more",
        "  ✓ 2 held, 1 skipped (-v names them)",
        "Can it be trusted?",
        "  - no recording",
        "valid: the run meets the scenario's expectations",
    ]


def test_a_failed_expectation_shows_its_observation() -> None:
    seen = [{"value": "c", "error": 0}]
    text = verdict_lines(valid=False, expectations=[{"text": "c is refused", "held": False, "seen": seen}])
    assert "  ✗ c is refused  (saw c acknowledged)\n" in text


@pytest.mark.parametrize("terminal", [True, False])
def test_a_line_is_wrapped_on_a_terminal_alone(terminal: bool) -> None:
    expectation = {"text": "ten words " * 8, "held": True, "seen": None}
    lines = [
        line for line in verdict_lines(terminal=terminal, expectations=[expectation]).splitlines() if "words" in line
    ]
    assert (len(lines) > 1) is terminal
    assert all(line.startswith("    ") for line in lines[1:])


def test_verbose_output_names_each_check() -> None:
    checks = {"duplicate": check("held"), "no-leader": check("skipped", reason="no quiescent period long enough")}
    lines = verdict_lines(checks=checks, verbose=True).splitlines()
    assert lines[:4] == [
        "Promises",
        "  ✓ duplicate: held",
        "  - no-leader: skipped: no quiescent period long enough",
        "  ✓ 1 held, 1 skipped",
    ]


def test_a_broken_expectation_comes_before_those_that_held() -> None:
    expectations = [{"text": "a", "held": True, "seen": None}, {"text": "b", "held": False, "seen": None}]
    assert [line.split()[1] for line in verdict_lines(expectations=expectations).splitlines()[1:3]] == ["b", "a"]
