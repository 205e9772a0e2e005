"""Work of each oracle rule grows as the events do, in steps of the interpreter."""

import sys
from collections import deque
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, TypeVar

import pytest

from benchmarks.large_truth import large_truth
from emulator.judging.oracle.anomalies import ANOMALIES
from tests.emulator.judging.oracle.definitions import acknowledged_below_min_insync

T = TypeVar("T")
SMALL, TIMES = 1_500, 4
MOST = 1.5
"""Times what linear growth would give: room for a logarithm, none for a square (4)."""


def steps_of(rule: Callable[[T], Iterable[object]], truth: T) -> int:
    """Number of Python instructions that the rule takes to find all that it finds."""
    steps = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal steps
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        steps += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        deque(rule(truth), maxlen=0)
    finally:
        sys.settrace(before)
    return steps


@pytest.mark.parametrize("check", ANOMALIES)
def test_work_grows_as_the_events_do(check: str) -> None:
    small, large = (steps_of(ANOMALIES[check], large_truth(events)) for events in (SMALL, SMALL * TIMES))
    assert large <= small * TIMES * MOST, f"{large / small:.1f} times the steps for {TIMES} times the events"


def test_a_loop_in_a_loop_would_be_seen() -> None:
    small, large = (steps_of(acknowledged_below_min_insync, large_truth(events)) for events in (150, 150 * TIMES))
    assert large > small * TIMES * MOST


def test_the_history_gives_every_rule_about_records_something_to_find() -> None:
    truth = large_truth(SMALL)
    silent = [
        name for name in ("lost-acknowledged", "unseen", "acknowledged-below-min-insync", "too-few-copies",
                          "committed-offset-regression", "dual-controller", "epoch-cache", "unanswered-request")
        if not any(ANOMALIES[name](truth))
    ]  # fmt: skip
    assert silent == []
