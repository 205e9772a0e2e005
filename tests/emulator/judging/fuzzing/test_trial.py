"""Judgement of a drawn run: wrong machines break what right ones keep."""

import pytest

from emulator.judging.fuzzing.execute import NO_RULE, tried
from emulator.judging.fuzzing.generator import SETTLE_S, drawn, settle_s
from verification.mutants.mutant import applied
from verification.mutants.table import MUTANTS

NUMBER = 5
"""Of seed 1: replicas may lag for 10 s, so that the quiescent period is long enough."""
SCENARIO = drawn(1, NUMBER, "2.8", {})


@pytest.mark.parametrize(
    ("mutant", "what"), [("fetches-and-forgets", "too-few-copies"), ("parked-and-forgotten", "parked")]
)
def test_what_comes_right_in_peace_is_judged(mutant: str, what: str) -> None:
    assert not tried(SCENARIO, NUMBER).broken
    with applied(MUTANTS[mutant]):
        broken = tried(SCENARIO, NUMBER).broken
    assert [one.rule for one in broken if one.what == what] == [NO_RULE]


def test_there_is_peace_for_as_long_as_anything_may_take() -> None:
    session_s = max(given["zookeeper.session.timeout.ms"] for given in _given()) / 1000
    assert settle_s(SCENARIO) == 2 * 10 + session_s + 30 + 5


def test_lags_of_minutes_are_not_waited_for() -> None:
    long = drawn(1, NUMBER, "2.8", {"replica.lag.time.max.ms": 120_000})
    assert settle_s(long) == SETTLE_S


def _given() -> list[dict[str, int]]:
    return [SCENARIO.settings, *(SCENARIO.settings | own for own in SCENARIO.settings_by_broker.values())]
