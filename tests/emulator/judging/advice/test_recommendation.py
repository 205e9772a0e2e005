"""The recommendation: the fewest changes that end most findings.
And the summary of at most twelve lines.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from emulator.judging.advice.advice_text import SUMMARY_LINES_MAX, summary_lines
from emulator.judging.advice.recommendation import Recommendation, cost_of, fewest, findings_of, shares
from tests.emulator.judging.advice.sample_advice import LOST, sample_advice

ACKS, IN_SYNC, NEWER = "producer.acks=all", "min.insync.replicas=2", "--kafka-version 2.8"
WORDS = (ACKS, IN_SYNC, NEWER, "log.flush.interval.messages=1", "default.replication.factor=3")
CHANGES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=2, unique=True).map(tuple)
REMEDIES = st.dictionaries(st.tuples(st.just(LOST), st.integers(0, 9).map(str)), CHANGES, min_size=1, max_size=10)


def recommended(change: dict[str, int], left: int = 0) -> Recommendation:
    rest = tuple((LOST, f"fault-{number}") for number in range(left))
    waits = {"az-0": 30_000.0}
    return Recommendation(change=change, findings=7, left=rest, runs=71, before_ms=waits, after_ms={"az-0": 56_100.0})


def test_a_change_that_ends_more_for_each_setting_comes_first() -> None:
    remedies = {(LOST, "a"): (ACKS,), (LOST, "b"): (ACKS, IN_SYNC), (LOST, "c"): (NEWER,), (LOST, "d"): (NEWER,)}
    assert fewest(remedies) == [(NEWER,), (ACKS,), (ACKS, IN_SYNC)]
    assert shares([word for change in fewest(remedies) for word in change], remedies) == {NEWER: 2, ACKS: 2, IN_SYNC: 1}


@given(REMEDIES)
def test_the_changes_together_contain_each_findings_change_and_no_other_word(
    remedies: dict[tuple[str, str], tuple[str, ...]],
) -> None:
    chosen = fewest(remedies)
    words = {word for change in chosen for word in change}
    assert all(words.issuperset(change) for change in remedies.values())
    assert words == {word for change in remedies.values() for word in change}
    assert len(chosen) == len(set(chosen))


def test_every_setting_that_a_change_may_have_names_its_cost() -> None:
    assert all(map(cost_of, WORDS))


def test_the_summary_has_broken_promises_their_remedies_and_what_remains() -> None:
    summaries = sample_advice().advice.summaries
    assert summary_lines(summaries, recommended({IN_SYNC: 5, ACKS: 6, NEWER: 0}, left=3), "single faults") == [
        "1 of 3 single faults break a promise: lost-acknowledged (1), read-then-lost (1).",
        "Change 3 settings and 4 of 7 findings end (71 runs with the change):",
        "  producer.acks=all: ends 6 of them; cost: a write waits for every in-sync replica",
        "  min.insync.replicas=2: ends 5 of them; cost: writes fail while fewer replicas are in sync",
        "  --kafka-version 2.8: keeps the promises that the others would break; cost: an upgrade of the brokers",
        "Longest wait of a write: 30.0 s before, 56.1 s with the change.",
        "Left: 3 findings: lost-acknowledged by fault-0; lost-acknowledged by fault-1; 1 more.",
    ]


def test_the_summary_states_that_no_change_helps_or_none_is_needed() -> None:
    summaries = sample_advice().advice.summaries
    assert summary_lines(summaries, None, "faults")[-1] == "No change of settings that was tried ends a finding."
    assert summary_lines(summaries[1:], None, "faults") == ["No promise is broken by 2 faults."]
    assert summary_lines([], None, "faults") == []


@given(st.dictionaries(st.text("abc=", min_size=1), st.integers(0, 9), min_size=1, max_size=30), st.integers(0, 100))
def test_the_summary_has_at_most_twelve_lines(change: dict[str, int], left: int) -> None:
    assert (
        len(summary_lines(sample_advice().advice.summaries, recommended(change, left), "faults")) <= SUMMARY_LINES_MAX
    )


def test_findings_are_pairs_of_a_check_and_a_fault() -> None:
    found = findings_of(sample_advice().advice.summaries)
    assert [check for check, _ in found] == ["lost-acknowledged", "read-then-lost"]
    assert len({fault for _, fault in found}) == 1
