"""Each controller of KRaft reports a topic's removal, again in each incarnation.

Brokers delete the logs later.
"""

from __future__ import annotations

from audit.topic_incarnations import Ended, Lives


def removal(at_ms: float, topic_id: str = "A") -> Ended:
    return Ended("run", "t", at_ms, only_begun=False, topic_id=topic_id)


def deletion(at_ms: float, topic_id: str = "A") -> Ended:
    return Ended("run", "t", at_ms, only_begun=True, topic_id=topic_id)


def test_reports_of_one_removal_end_one_incarnation() -> None:
    once = Lives([removal(5.0)])
    again = Lives([removal(9_000.0), removal(6.0), removal(5.0)])
    assert (again.name(), again.gone) == (once.name(), once.gone)


def test_removals_of_two_topics_of_one_name_end_two() -> None:
    lives = Lives([removal(5.0), removal(8.0, "B"), removal(9.0)])
    assert "'t#2'" in lives.name()
    assert "'t#3'" not in lives.name()


def test_a_log_deleted_after_its_topic_begins_no_deletion() -> None:
    assert Lives([removal(5.0), deletion(6.0)]).gone == Lives([removal(5.0)]).gone


def test_a_log_of_the_next_topic_begins_one() -> None:
    assert Lives([removal(5.0), deletion(6.0, "B")]).gone != Lives([removal(5.0)]).gone


def test_without_an_id_each_removal_counts() -> None:
    assert "'t#2'" in Lives([removal(5.0, ""), removal(8.0, "")]).name()
