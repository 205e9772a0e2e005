"""Committed offsets of the new consumer.
Finding the coordinator, asking it, trying again (semantics 6).
"""

from typing import Any

import pytest

from emulator.machines.client.client_operations import OperationLog
from emulator.machines.client.client_settings import consumer_settings
from emulator.machines.client.coordinator_offsets import CoordinatorOffsets
from emulator.machines.client.offset_store import Committed
from protocol.chance import Chance
from protocol.errors import ErrorCode
from protocol.events import AttemptEnded, AttemptSent, OperationEnded, OperationInvoked
from protocol.ids import NO_OFFSET, BrokerId, LeaderEpoch, Offset, TopicPartition
from protocol.machine import ConnectionOpened, Emit, MessageReceived, Now, Open, Send, SetTimer
from protocol.messages.groups import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    GroupPartition,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetToCommit,
)
from protocol.messages.leadership_messages import PartitionError
from protocol.outbox import Outbox
from tests.emulator.machines.client.fake_cluster import FakeCluster

T0 = ("t", 0)


class Bench:
    def __init__(self, brokers: int = 2, version: str = "2.8", **options: Any) -> None:
        self.cluster = FakeCluster(brokers)
        given = {"group.id": "g", **{name.replace("_", "."): value for name, value in options.items()}}
        names = [f"broker-{broker}" for broker in range(brokers)]
        self.store = CoordinatorOffsets(
            "offsets", names, OperationLog("client-0", 1), consumer_settings(version, given), Chance(3)
        )
        self.ended: list[tuple[float, int | str]] = []
        self.looked: list[tuple[dict[TopicPartition, Committed], int | str]] = []

    def commit(self, offset: int, timeout_ms: float | None = 60_000.0) -> None:
        self.store.commit(
            self.cluster.now,
            self.cluster.out,
            {T0: Committed(Offset(offset), LeaderEpoch(4))},
            lambda now, out, error: self.ended.append((now.mono_ms, error)),
            timeout_ms,
        )

    def look(self) -> None:
        self.store.look(
            self.cluster.now, self.cluster.out, [T0], lambda now, out, found, error: self.looked.append((found, error))
        )

    def run(self, ms: float) -> None:
        self.cluster.run(self.cluster.now.mono_ms + ms)

    def results_of(self, kind: str) -> list[OperationEnded]:
        """Results of operations of that kind."""
        return [event for _, event in self.cluster.ended() if event.kind == kind]

    def requests_of(self, kind: type) -> int:
        return sum(isinstance(message, kind) for _, _, message in self.cluster.requests)


def test_any_broker_names_the_coordinator_which_receives_the_commit() -> None:
    now, out = Now(10.0, 0.0), Outbox()
    settings = consumer_settings("2.8", {"group.id": "g", "socket.connection.setup.timeout.max.ms": 10_000})
    store = CoordinatorOffsets("offsets", ["broker-7"], OperationLog("client-0", 1), settings, Chance(1))
    ended: list[int | str] = []
    store.commit(
        now, out, {T0: Committed(Offset(5), LeaderEpoch(4))}, lambda now, out, error: ended.append(error), 60_000.0
    )
    assert out.take() == [
        Emit(OperationInvoked("client-0.1:1", "commit", "t", 0, 0, "g", -1, 5)),
        Open(1, "broker-7", "client"),
        SetTimer(("offsets", "poll"), 10_000.0),
    ]
    assert out.route(now, ConnectionOpened(1))
    assert out.take() == [Send(1, 1, 3, FindCoordinatorRequest("g")), SetTimer(("offsets", "poll"), 30_000.0)]
    assert out.route(now, MessageReceived(1, 1, 3, FindCoordinatorResponse(0, BrokerId(8), "broker-8")))
    assert out.take() == [Open(2, "broker-8", "client"), SetTimer(("offsets", "poll"), 10_000.0)]
    assert out.route(now, ConnectionOpened(2))
    assert out.take() == [
        Emit(AttemptSent("client-0.1:1", 1, 8, 0, timeout_ms=30_000)),
        Send(2, 2, 8, OffsetCommitRequest("g", [OffsetToCommit(*T0, Offset(5), LeaderEpoch(4))])),
        SetTimer(("offsets", "poll"), 30_000.0),
    ]
    assert out.route(now, MessageReceived(2, 2, 8, OffsetCommitResponse([PartitionError(*T0)])))
    assert out.take()[:2] == [
        Emit(AttemptEnded("client-0.1:1", 1, 0, -1, "")),
        Emit(OperationEnded("client-0.1:1", "commit", "ok", 0, "t", 0, 5, 4, 0, 0, 8, 1)),
    ]
    assert ended == [0]


def test_what_was_committed_is_found_again() -> None:
    bench = Bench()
    bench.look()
    bench.commit(5)
    bench.look()
    bench.run(100)
    assert bench.looked == [({T0: Committed(NO_OFFSET)}, 0), ({T0: Committed(Offset(5), LeaderEpoch(4))}, 0)]
    assert [error for _, error in bench.ended] == [0]
    (request,) = [m for _, _, m in bench.cluster.requests if isinstance(m, OffsetFetchRequest)][:1]
    assert request == OffsetFetchRequest("g", [GroupPartition(*T0)], stable=True)
    assert [(event.outcome, event.offset, event.leader_epoch) for event in bench.results_of("committed")] == [
        ("ok", -1, -1), ("ok", 5, 4)
    ]  # fmt: skip
    looks = [event for _, event in bench.cluster.invoked() if event.kind == "committed"]
    assert [(event.topic, event.partition, event.value) for event in looks] == [(*T0, "g"), (*T0, "g")]


def test_a_look_that_is_not_answered_has_done_nothing() -> None:
    bench = Bench()
    bench.cluster.silent = {"broker-0", "broker-1"}
    bench.look()
    bench.run(100)
    bench.store.close(bench.cluster.now, bench.cluster.out)
    bench.run(100)
    assert bench.looked == []
    assert [(event.kind, event.outcome) for _, event in bench.cluster.ended()] == [("committed", "failed")]


@pytest.mark.parametrize(
    ("code", "looks_again"),
    [
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, False),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, False),
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, True),
        (ErrorCode.NOT_COORDINATOR, True),
        (ErrorCode.REQUEST_TIMED_OUT, True),
    ],
)
def test_what_may_pass_is_tried_again_after_a_pause(code: ErrorCode, looks_again: bool) -> None:
    """Semantics 6: `retry.backoff.ms`; after 7, 15 and 16 the coordinator is looked for again."""
    bench = Bench(retry_backoff_ms=200)
    bench.cluster.group_codes = [code, code]
    bench.commit(5)
    bench.run(150)
    assert (bench.ended, bench.requests_of(OffsetCommitRequest)) == ([], 1)
    bench.run(1000)
    assert [error for _, error in bench.ended] == [0]
    assert bench.ended[0][0] >= 400
    assert bench.requests_of(OffsetCommitRequest) == 3
    assert bench.requests_of(FindCoordinatorRequest) == (3 if looks_again else 1)
    attempts = [event.error for _, event in bench.cluster.events if isinstance(event, AttemptEnded)]
    assert attempts == [code, code, 0]


@pytest.mark.parametrize("code", [ErrorCode.OFFSET_METADATA_TOO_LARGE, ErrorCode.INVALID_COMMIT_OFFSET_SIZE])
def test_what_cannot_pass_ends_it(code: ErrorCode) -> None:
    bench = Bench()
    bench.cluster.group_codes = [code]
    bench.commit(5)
    bench.run(1000)
    assert [error for _, error in bench.ended] == [code]
    assert [(e.outcome, e.error) for _, e in bench.cluster.ended()] == [("failed", code)]


@pytest.mark.parametrize(("version", "requested"), [("0.10.2", 1), ("1.1", 1), ("2.0.0", 2), ("2.8", 2)])
def test_up_to_1_1_a_commit_for_an_unknown_topic_has_failed(version: str, requested: int) -> None:
    """ConsumerCoordinator.OffsetCommitResponseHandler.
    a KafkaException in 1.1.1, `just retry` from 2.0.0 on.
    """
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    bench = Bench(version=version)
    bench.cluster.group_codes = [code]
    bench.commit(5)
    bench.run(1000)
    assert [error for _, error in bench.ended] == [code if requested == 1 else 0]
    assert bench.requests_of(OffsetCommitRequest) == requested


def test_a_commit_that_is_tried_once_ends_with_its_answer() -> None:
    """An automatic one: there will be another."""
    bench = Bench()
    bench.cluster.group_codes = [ErrorCode.REQUEST_TIMED_OUT]
    bench.commit(5, None)
    bench.run(1000)
    assert [error for _, error in bench.ended] == [ErrorCode.REQUEST_TIMED_OUT]
    assert [event.outcome for _, event in bench.cluster.ended()] == ["unknown"]


def test_when_its_time_is_over_it_has_timed_out() -> None:
    """KIP-266. Whether it was done is unknown if one attempt may have been."""
    bench = Bench()
    bench.cluster.group_codes = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 1000
    bench.commit(5, 3000.0)
    bench.run(2990)
    assert bench.ended == []
    bench.run(200)
    assert [error for _, error in bench.ended] == ["TimeoutException"]
    assert [(e.outcome, e.error) for _, e in bench.cluster.ended()] == [("failed", -2)]


def test_its_time_goes_by_while_its_turn_does_not_come() -> None:
    """The automatic commit before it has no limit, and finds no coordinator."""
    bench = Bench()
    bench.cluster.down = {"broker-0", "broker-1"}
    bench.commit(4, None)
    bench.commit(5, 1000.0)
    bench.run(1010)
    assert bench.ended == [(1000.0, "TimeoutException")]
    assert [(event.offset, event.outcome) for _, event in bench.cluster.ended()] == [(5, "failed")]


def test_its_time_goes_by_while_its_coordinator_does_not_answer() -> None:
    """The late answer belongs to no commit, and the next commit goes its way."""
    bench = Bench()
    bench.look()
    bench.run(100)
    bench.cluster.silent = {"broker-0", "broker-1"}
    bench.commit(5, 1000.0)
    bench.run(1010)
    assert [error for _, error in bench.ended] == ["TimeoutException"]
    assert [event.outcome for event in bench.results_of("commit")] == ["unknown"]
    bench.commit(6)
    bench.cluster.silent = set()
    bench.cluster.lose_connections("broker-0")
    bench.run(2000)
    assert [error for _, error in bench.ended] == ["TimeoutException", 0]
    assert bench.cluster.committed == {("g", *T0): (6, 4)}


def test_closed_while_it_looks_for_its_coordinator_it_has_certainly_not_committed() -> None:
    now, out = Now(10.0, 0.0), Outbox()
    settings = consumer_settings("2.8", {"group.id": "g"})
    store = CoordinatorOffsets("offsets", ["broker-7"], OperationLog("client-0", 1), settings, Chance(1))
    store.commit(now, out, {T0: Committed(Offset(5), LeaderEpoch(4))}, lambda now, out, error: None, 60_000.0)
    assert out.route(now, ConnectionOpened(1))
    assert Send(1, 1, 3, FindCoordinatorRequest("g")) in out.take()
    store.close(now, out)
    assert [effect.event for effect in out.take() if isinstance(effect, Emit)] == [
        OperationEnded("client-0.1:1", "commit", "failed", -2, "t", 0, 5, 4, 0, 0)
    ]


def test_a_coordinator_that_is_lost_is_looked_for_again() -> None:
    bench = Bench()
    bench.commit(5)
    bench.run(100)
    bench.cluster.down = {"broker-0"}
    bench.cluster.coordinator = 1
    bench.cluster.lose_connections("broker-0")
    bench.run(100)
    bench.commit(6)
    bench.run(2000)
    assert [error for _, error in bench.ended] == [0, 0]
    assert bench.cluster.committed == {("g", *T0): (6, 4)}


def test_an_unreachable_coordinator_is_looked_up_at_a_measured_pace() -> None:
    """As long as brokers name one that is gone, no faster than `retry.backoff.ms`."""
    bench = Bench(retry_backoff_ms=100)
    bench.cluster.down = {"broker-0"}
    bench.commit(5, 10_000.0)
    bench.run(10_100)
    assert [error for _, error in bench.ended] == ["TimeoutException"]
    assert 5 <= bench.requests_of(FindCoordinatorRequest) <= 100
    assert bench.requests_of(OffsetCommitRequest) == 0


def test_while_there_is_no_coordinator_it_repeats_the_request() -> None:
    """The offsets topic is being made, or its partition has no leader."""
    bench = Bench()
    bench.cluster.finding_codes = [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 3
    bench.commit(5, None)
    bench.run(1000)
    assert [error for _, error in bench.ended] == [0]
    assert bench.requests_of(FindCoordinatorRequest) == 4


def test_a_group_that_is_not_allowed_is_reported() -> None:
    bench = Bench()
    bench.cluster.finding_codes = [ErrorCode.INVALID_GROUP_ID] * 2
    bench.look()
    bench.commit(5)
    bench.run(1000)
    assert bench.looked == [({}, ErrorCode.INVALID_GROUP_ID)]
    assert [error for _, error in bench.ended] == [ErrorCode.INVALID_GROUP_ID]


def test_closed_with_a_commit_under_way_that_one_may_have_been_done_and_the_next_was_not() -> None:
    """No caller gets an answer; the operations show it."""
    bench = Bench()
    bench.look()
    bench.run(100)
    bench.cluster.silent = {"broker-0", "broker-1"}
    bench.commit(4)
    bench.commit(5)
    bench.run(10)
    bench.store.close(bench.cluster.now, bench.cluster.out)
    bench.run(100)
    assert bench.ended == []
    assert bench.store.closed
    assert [(event.offset, event.outcome) for event in bench.results_of("commit")] == [(4, "unknown"), (5, "failed")]
    assert bench.cluster.open_connections() == 0
