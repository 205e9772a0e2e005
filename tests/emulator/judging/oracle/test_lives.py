"""Incarnations of a topic that clients wrote and read, if they learn late of a new one."""

import pytest

from emulator.judging.oracle.partition_incarnations import LivesOfTopics
from emulator.judging.oracle.probe import Probe
from emulator.machines.client.client_operations import Operation
from emulator.machines.client.client_state import Read
from tests.emulator.judging.oracle.truths import digest


def seen(*written: tuple[str, int, str]) -> Probe:
    """Truth of a topic `t` that was removed when three operations had begun and one had ended.
    `r` had been given one batch. `written`: values at offsets of lives.
    """
    probe = Probe()
    probe.removed, probe.ended_by, probe.read_by = {"t": [3]}, {"t": [1]}, {"t": [{"r": 1}]}
    for life, offset, value in written:
        probe.written.batches_of((life, 0)).add((0, offset, offset, digest(value)))
    return probe


def produced(value: str, offset: int) -> Operation:
    operation = Operation("c", "produce", "t", 0, -1, value)
    operation.digest, operation.offset = digest(value), offset
    return operation


@pytest.mark.parametrize(
    ("number", "ended", "offset", "life"),
    [
        (2, 1, 0, "t"),
        (2, None, -1, "t"),
        (2, 0, 0, "t#1"),
        (2, 1, 5, "t#1"),
        (3, 2, 5, "t"),
    ],
    ids=["waited for the next", "never ended", "ended before", "acknowledged elsewhere", "begun after"],
)
def test_a_write_is_of_the_life_whose_log_has_it(number: int, ended: int | None, offset: int, life: str) -> None:
    assert LivesOfTopics(seen(("t", 0, "x"))).of_operation(produced("x", offset), number, ended) == life


def test_what_is_no_write_is_of_the_life_in_which_it_was_begun() -> None:
    commit = Operation("c", "commit", "t", 0, 0, "g")
    assert LivesOfTopics(seen(("t", 0, "x"))).of_operation(commit, 2, 1) == "t#1"


@pytest.mark.parametrize(
    ("written", "life"),
    [
        ([("t#1", 1, "b")], "t#1"),
        ([("t#1", 1, "b"), ("t", 1, "b")], "t"),
        ([], "t"),
        ([("t#1", 2, "b")], "t"),
    ],
    ids=["late", "in both", "in none", "elsewhere"],
)
def test_what_is_given_late_is_of_the_life_that_had_it(written: list[tuple[str, int, str]], life: str) -> None:
    reader = Operation("r", "fetch", "t", 0, 0, "")
    reader.reads = [Read(at, at, 0, digest(value), 3, 0) for at, value in enumerate("ab")]
    assert list(LivesOfTopics(seen(*written)).of_reads(reader)) == ["t#1", life]


def test_a_log_that_outlived_its_topic_gives_what_it_had() -> None:
    probe = seen(("t#1", 1, "b"))
    probe.written.carried["t", 0] = {(0, 1, 1, digest("b"))}
    reader = Operation("r", "fetch", "t", 0, 0, "")
    reader.reads = [Read(at, at, 0, digest(value), 3, 0) for at, value in enumerate("ab")]
    assert list(LivesOfTopics(probe).of_reads(reader)) == ["t#1", "t"]
