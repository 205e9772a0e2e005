"""Counts of late timers: bounds that hold, reports that add up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.lateness import BOUNDS_PER_OCTAVE, LEAST_MS, BadBuckets, bound_ms, buckets_text, merged, share_ms

LATE = st.floats(min_value=0.0, max_value=1e7)


@given(LATE)
def test_a_bound_is_never_below_and_at_most_a_quarter_octave_above(late_ms: float) -> None:
    bound = bound_ms(late_ms)
    assert bound >= late_ms
    assert bound == LEAST_MS or bound <= late_ms * 2 ** (1 / BOUNDS_PER_OCTAVE) + 0.011


@given(st.lists(st.lists(LATE, max_size=30), max_size=5))
def test_reports_add_up_to_the_report_of_all(reports: list[list[float]]) -> None:
    everything = [late_ms for report in reports for late_ms in report]
    assert merged(map(buckets_text, reports)) == merged([buckets_text(everything)])


def test_a_share_over_reports_is_not_the_worst_of_their_shares() -> None:
    """One late timer in 2,000 is below the p99.9 of all, though it is its own report's maximum."""
    texts = [buckets_text([0.2] * 999 + [300.0]), buckets_text([0.2] * 1_000)]
    assert share_ms(merged(texts), 0.999) == LEAST_MS
    assert share_ms(merged([*texts, buckets_text([300.0] * 3)]), 0.999) == bound_ms(300.0)
    assert share_ms({}, 0.999) == 0.0


def test_the_text() -> None:
    assert buckets_text([0.0, 1.0, 1.1, 119.0]) == "1:2 1.19:1 128:1"
    assert buckets_text([]) == ""


@pytest.mark.parametrize("text", ["1", "1:x", "x:1", "1:2:3"])
def test_what_is_no_such_text(text: str) -> None:
    with pytest.raises(BadBuckets, match="expected BOUND_MS:TIMERS"):
        merged([text])
