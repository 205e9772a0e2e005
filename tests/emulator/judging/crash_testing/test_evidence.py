"""Losses between two incarnations, from events of a run with real processes."""

from pathlib import Path
from types import ModuleType

import pytest

from emulator.judging.crash_testing import crash_evidence, network_judge
from emulator.judging.crash_testing.crash_evidence import WANTED, recoveries_of, truth_left
from emulator.judging.crash_testing.crash_network import Left
from emulator.judging.explain import history_builder, unclean
from emulator.judging.explain.history_builder import HISTORIC, TimedEvent, history_of
from emulator.judging.explain.recoveries import DiskLost
from emulator.judging.oracle.truth import Batch
from emulator.topology import three_azs
from protocol.events import (
    BatchAppended,
    Event,
    LogCreated,
    LogLoaded,
    OperationEnded,
    OperationInvoked,
    RoleChanged,
    TopicRemoved,
)
from tests.emulator.judging.explain.traces import TOPIC_PARTITION

HELD = [Batch(0, 0, 0, 7), Batch(1, 1, 0, 8)]
LEFT = [Left("broker-1", 1, {TOPIC_PARTITION: HELD})]
LOST = [DiskLost(3.0, "broker-1", frozenset({TOPIC_PARTITION}))]


def looked_at(*modules: ModuleType) -> set[type[Event]]:
    """The events that these go by: they name them."""
    named = {value for module in modules for value in vars(module).values() if isinstance(value, type)}
    return {one for one in named if issubclass(one, Event)} - {Event}


def test_no_event_that_is_looked_at_is_left_in_the_files() -> None:
    """The judge of a network run lacks events that are not read from its files.
    A simulated run's judge sees them.
    """
    assert set(HISTORIC) == looked_at(history_builder, unclean)
    assert set(WANTED) == looked_at(history_builder, unclean, crash_evidence, network_judge)


def second_life(*events: Event) -> list[TimedEvent]:
    return [("broker-1", 2, n, "start", 5.0 + n, event) for n, event in enumerate(events)]


def test_a_log_that_is_made_anew_holds_nothing_of_what_was_left() -> None:
    """A lost disk leaves no log to load."""
    (found,) = recoveries_of(LEFT, [], LOST, second_life(LogCreated(*TOPIC_PARTITION, "")))
    assert (found.held, found.recovered, found.disk) == (HELD, [], True)
    (found,) = recoveries_of(LEFT, [], [], second_life(LogCreated(*TOPIC_PARTITION, "")))
    assert (found.recovered, found.disk) == ([], False), "and no fault took the disk: it is a broken promise"


def test_what_was_loaded_counts_though_it_was_deleted_and_made_again_later() -> None:
    (found,) = recoveries_of(
        LEFT, [], [], second_life(LogLoaded(*TOPIC_PARTITION, 0, 2, 0, False), LogCreated(*TOPIC_PARTITION, ""))
    )
    assert found.recovered == HELD


def test_incarnations_of_a_topic_are_distinguished(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Semantics 4.5: what was written before it was removed is gone on request.
    Epochs and offsets begin anew.
    """
    monkeypatch.setattr(crash_evidence, "with_files", lambda *_: None)

    def wrote(number: int, digest: int) -> tuple[Event, Event]:
        name = f"client-0.1:{number}"
        invoked = OperationInvoked(name, "produce", *TOPIC_PARTITION, -1, str(digest), 0, -1)
        return invoked, OperationEnded(name, "produce", "ok", 0, *TOPIC_PARTITION, 0, -1, digest, -1)

    def leads(broker: int, epoch: int) -> RoleChanged:
        return RoleChanged(*TOPIC_PARTITION, "leader", broker, epoch, -1, 1, 0, 0, "0")

    late, ended = wrote(3, 9)
    reported = [leads(0, 5), *wrote(1, 7), late, TopicRemoved("t", 1), ended, leads(0, 0), *wrote(2, 8)]
    events = [("broker-0", 1, n, "", float(n), event) for n, event in enumerate(reported)]
    truth = truth_left(tmp_path, three_azs(), events)
    former = ("t#1", TOPIC_PARTITION[1])
    written = [(write.topic_partition, write.digest) for write in truth.writes]
    assert written == [(former, 7), (former, 9), (TOPIC_PARTITION, 8)]
    assert ([term.topic_partition for term in truth.leaders], truth.gone) == ([former, TOPIC_PARTITION], {"t#1"})
    assert truth.epochs_back == []


def test_a_history_has_nothing_of_a_topic_that_was_removed() -> None:
    roles = [RoleChanged(*TOPIC_PARTITION, "leader", 0, epoch, -1, 1, 0, 0, "0") for epoch in (5, 0)]
    batches = [BatchAppended(*TOPIC_PARTITION, 0, 0, epoch, digest, True) for epoch, digest in ((5, 7), (0, 8))]
    reported = [roles[0], batches[0], TopicRemoved("t", 1), roles[1], batches[1]]
    history = history_of(("broker-0", 1, n, "", float(n), event) for n, event in enumerate(reported))
    assert [led.epoch for led in history.leaders[TOPIC_PARTITION]] == [0]
    assert [written.digest for written in history.written[TOPIC_PARTITION]] == [8]
