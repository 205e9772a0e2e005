"""Concurrent queries.

Answers in order, failures, prompt interrupts, and which may run together.
"""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING

import pytest

from audit.concurrent_queries import AT_ONCE_MAX, side_by_side
from audit.derived_tables import FLOORS
from audit.log_tables import LOGS
from audit.small_tables import placed
from audit.states import STATES
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_answers_come_in_the_order_of_the_questions() -> None:
    second_reported = threading.Event()

    def ask(one: int) -> int:
        if one == 1:
            assert second_reported.wait(PATIENCE_S), "the second is not asked while the first is"
        else:
            second_reported.set()
        return 10 * one

    assert side_by_side(ask, [1, 2]) == [10, 20]
    assert side_by_side(ask, []) == []


def test_concurrent_queries_do_not_exceed_their_bound() -> None:
    full, now, most, lock = threading.Barrier(AT_ONCE_MAX), 0, 0, threading.Lock()

    def ask(_: int) -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        full.wait(PATIENCE_S)
        with lock:
            now -= 1

    side_by_side(ask, range(3 * AT_ONCE_MAX))
    assert most == AT_ONCE_MAX


def test_a_failure_is_reported_when_the_others_have_ended() -> None:
    begun, failed, ended = threading.Event(), threading.Event(), []

    def ask(one: int) -> None:
        if one == 1:
            assert begun.wait(PATIENCE_S)
            failed.set()
            raise ValueError("the first")
        begun.set()
        assert failed.wait(PATIENCE_S)
        ended.append(one)

    with pytest.raises(ValueError, match="the first"):
        side_by_side(ask, [1, 2])
    assert ended == [2]


def test_an_interrupt_does_not_wait_for_the_others() -> None:
    begun, interrupted = threading.Event(), threading.Event()

    def ask(one: int) -> None:
        if one == 1:
            assert begun.wait(PATIENCE_S)
            raise KeyboardInterrupt
        begun.set()
        assert interrupted.wait(PATIENCE_S)

    with pytest.raises(KeyboardInterrupt):
        side_by_side(ask, [1, 2])
    interrupted.set()


def test_no_table_is_made_of_one_that_is_made_beside_it_or_later() -> None:
    """Or it would be of the run that was audited before."""
    stages = [{"states": STATES, "logs": LOGS}, *FLOORS]
    for number, stage in enumerate(stages):
        not_yet = {name for later in stages[number:] for name in later}
        for name, query in stage.items():
            read = set(re.findall(r"(?:FROM|JOIN)\s+(\w+)", re.sub(r"--(?!big).*", "", query)))
            assert not read & not_yet, (name, read & not_yet)


@pytest.mark.spark
def test_rows_behind_an_empty_batch_are_placed(spark: SparkSession) -> None:
    kept = spark.range(0, 30, 1, 6).where("id < 5 OR id > 24")
    assert [row["id"] for row in placed(kept, 10).sort("id").collect()] == [*range(5), *range(25, 30)]
