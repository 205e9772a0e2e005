"""A transaction coordinator with its own log, and offsets of a group (semantics 12.1)."""

from typing import Any

import pytest

from protocol.errors import ErrorCode as E
from protocol.ids import Offset
from protocol.messages.groups import (
    GroupPartition,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetToCommit,
)
from protocol.messages.transactions import (
    AddedPartitions,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    TransactionMarkers,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from protocol.records.offset_commits import OFFSETS_TOPIC
from protocol.records.transaction_states import TRANSACTIONS_TOPIC
from verification.broker_bench import T0, Bench, state

IDS, OFFSETS = (TRANSACTIONS_TOPIC, 0), (OFFSETS_TOPIC, 0)


class Coordinator(Bench):
    """Alone in the ISR of t-0 and of both internal topics, which have one partition each."""

    def __init__(self, version: str = "2.8", **settings: Any) -> None:
        super().__init__(version, **settings)
        states = [state(0, 0, (0,), topic_partition=one) for one in (IDS, OFFSETS, T0)]
        self.update_metadata(*states)
        self.leader_and_isr(*states)
        self.advance(0)

    def init(self, transactional_id: str | None = "tx") -> InitProducerIdResponse:
        request = InitProducerIdRequest(transactional_id, 60_000)
        return self.answer(self.ask(request, 4), InitProducerIdResponse)

    def add(self, *topics: str, version: int, verify_only: bool = False) -> list[E]:
        known = self.init()
        partitions = [GroupPartition(topic, 0) for topic in topics]
        added = AddedPartitions("tx", known.producer_id, known.producer_epoch, partitions, verify_only)
        answer = self.answer(self.ask(AddPartitionsToTxnRequest([added]), version), AddPartitionsToTxnResponse)
        return [E(one.error) for one in answer.transactions[0].partitions]


@pytest.mark.parametrize(
    ("topics", "version", "errors"),
    [
        (("t",), 3, [E.NONE]),
        (("t", "no"), 3, [E.OPERATION_NOT_ATTEMPTED, E.UNKNOWN_TOPIC_OR_PARTITION]),
        (("t", "no"), 4, [E.OPERATION_NOT_ATTEMPTED, E.UNKNOWN_TOPIC_OR_PARTITION]),
        (("t", OFFSETS_TOPIC), 3, [E.OPERATION_NOT_ATTEMPTED, E.TOPIC_AUTHORIZATION_FAILED]),
        (("t", OFFSETS_TOPIC), 4, [E.NONE, E.NONE]),
    ],
)
def test_partitions_that_a_transaction_may_have(topics: tuple[str, ...], version: int, errors: list[E]) -> None:
    """KafkaApis.handleAddPartitionsToTxnRequest: a group coordinator may add the offsets topic."""
    assert Coordinator().add(*topics, version=version) == errors


def test_an_unknown_partition_is_not_verified_either() -> None:
    coordinator = Coordinator("3.9")
    assert coordinator.add("no", version=4, verify_only=True) == [E.UNKNOWN_TOPIC_OR_PARTITION]
    assert coordinator.add("t", version=4, verify_only=True) == [E.TRANSACTION_ABORTABLE]


def test_pending_offsets_are_unstable_for_named_partitions_and_for_all() -> None:
    coordinator = Coordinator()
    known = coordinator.init()

    def look(*, stable: bool, everything: bool) -> list[tuple[int, int]]:
        partitions = [] if everything else [GroupPartition("t", 0)]
        request = OffsetFetchRequest("g", partitions, everything=everything, stable=stable)
        found = coordinator.answer(coordinator.ask(request), OffsetFetchResponse)
        return [(one.offset, one.error) for one in found.partitions]

    def write(offset: int) -> None:
        request = TxnOffsetCommitRequest("tx", "g", known.producer_id, 0, [OffsetToCommit("t", 0, Offset(offset))])
        answer = coordinator.answer(coordinator.ask(request, 3), TxnOffsetCommitResponse)
        assert [one.error for one in answer.partitions] == [0]

    def mark(*, commits: bool) -> None:
        markers = TransactionMarkers(known.producer_id, 0, commits, [GroupPartition(*OFFSETS)], 0)
        answer = coordinator.answer(coordinator.ask(WriteTxnMarkersRequest([markers])), WriteTxnMarkersResponse)
        assert [one.error for one in answer.markers[0].partitions] == [0]
        coordinator.advance(0)

    write(5)
    assert look(stable=True, everything=False) == [(-1, E.UNSTABLE_OFFSET_COMMIT)]
    assert look(stable=False, everything=False) == [(-1, 0)]
    mark(commits=True)
    assert look(stable=True, everything=False) == look(stable=True, everything=True) == [(5, 0)]
    write(9)
    assert look(stable=True, everything=True) == [(-1, E.UNSTABLE_OFFSET_COMMIT)]
    assert look(stable=False, everything=True) == [(5, 0)]
    mark(commits=False)
    assert look(stable=True, everything=True) == [(5, 0)]
