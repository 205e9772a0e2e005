"""Incarnations of a topic, told apart by their ids."""

import pytest

from emulator.judging.oracle.partition_incarnations import Incarnations
from emulator.judging.oracle.truth import State, Term, Truth


def removed_once() -> Incarnations:
    """Topic `t` was removed when three operations had begun, and created again."""
    lives = Incarnations()
    lives.created("t", "a")
    lives.ended("t", begun=3)
    lives.created("t", "b")
    return lives


@pytest.mark.parametrize(("topic_id", "life"), [("a", "t#1"), ("b", "t"), ("", "t"), ("unknown", "t")])
def test_a_fact_is_of_the_life_with_its_id(topic_id: str, life: str) -> None:
    lives = removed_once()
    assert lives.shown(lives.name("t", topic_id)) == life


def test_a_fact_keeps_its_name_after_later_removals() -> None:
    lives = removed_once()
    names = [lives.name("t", "a"), lives.name("t", "b")]
    lives.ended("t", begun=5)
    assert [lives.name("t", "a"), lives.name("t", "b")] == names
    assert [lives.shown(name) for name in (*names, lives.name("t"))] == ["t#1", "t#2", "t"]


@pytest.mark.parametrize(("begun", "life"), [(0, "t#1"), (2, "t#1"), (3, "t"), (9, "t")])
def test_without_an_id_the_time_of_its_beginning_decides(begun: int, life: str) -> None:
    lives = removed_once()
    assert lives.shown(lives.name_at("t", begun)) == life


def test_all_facts_are_shown_by_their_names_and_the_removed_topic_is_gone() -> None:
    lives = removed_once()
    of = [(lives.name("t", topic_id), 0) for topic_id in ("a", "b")]
    truth = Truth(
        leaders=[Term(one, "broker-0", 0, 1.0) for one in of],
        states=[State(one, 7, 0, 0, (0,), 1) for one in of],
        appended={of[0]: {(0, 0, 0, 1)}, of[1]: {(0, 0, 0, 2)}},
    )
    lives.show(truth, going=["u"])
    shown = [("t#1", 0), ("t", 0)]
    assert [one.topic_partition for one in truth.leaders] == shown
    assert [one.topic_partition for one in truth.states] == shown
    assert truth.appended == {shown[0]: {(0, 0, 0, 1)}, shown[1]: {(0, 0, 0, 2)}}
    assert truth.gone == {"t#1", "u"}
