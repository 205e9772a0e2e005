"""Requests of transactions: messages of ours, and answers as a client reads them."""

from typing import Any

import pytest

from emulator.worlds.network.kafka_listener import codec
from emulator.worlds.network.kafka_listener.translation import answer_to, message_of
from emulator.worlds.network.mailbox import AnsweredHere
from protocol.gates import gates_for
from protocol.ids import BrokerId, Offset
from protocol.messages import transactions as m
from protocol.messages.groups import (
    CommittedPartition,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    GroupPartition,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetToCommit,
)
from protocol.messages.leadership_messages import PartitionError
from protocol.messages.message_base import Message
from protocol.messages.placement import ActiveProducer, DescribedProducers, DescribeProducersResponse
from protocol.messages.replication_messages import (
    AbortedTransaction,
    FetchedPartition,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ProduceRequest,
)
from protocol.records.batch import encode_batch
from tests.emulator.worlds.kafka_listener.library_messages import REQUESTS, encoded, response_of
from tests.emulator.worlds.kafka_listener.test_translation import PLACE, requested_version

IN_TRANSACTION = encode_batch(
    [b"v"], timestamp_ms=1, producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True
)


def requested(request: Any, version: int, kafka: str = "4.4") -> codec.KafkaRequest:
    return codec.read_request(encoded(request, version), codec.listener_of(gates_for(kafka), PLACE))


def ordinary(api: int, version: int, kafka: str = "4.4") -> codec.KafkaRequest:
    return requested(requested_version(api, version), version, kafka)


def refused(request: codec.KafkaRequest) -> Any:
    """The answer of the listener itself, as a client reads it."""
    message = message_of(request)
    assert isinstance(message, AnsweredHere)
    return response_of(message.frame, request.api, request.version)


def read(request: codec.KafkaRequest, answer: Message) -> Any:
    return response_of(answer_to(request, answer), request.api, request.version)


PARTITIONS = [GroupPartition("t", 0)]


@pytest.mark.parametrize(
    ("api", "version", "message"),
    [
        (22, 2, m.InitProducerIdRequest("tx", 60_000)),
        (24, 3, m.AddPartitionsToTxnRequest([m.AddedPartitions("tx", 1, 2, PARTITIONS)])),
        (24, 5, m.AddPartitionsToTxnRequest([m.AddedPartitions("tx", 1, 2, PARTITIONS, verify_only=True)])),
        (25, 4, m.AddOffsetsToTxnRequest("tx", 1, 2, "g")),
        (26, 0, m.EndTxnRequest("tx", 1, 2, commits=True)),
        (26, 5, m.EndTxnRequest("tx", 1, 2, commits=True)),
        (27, 1, m.WriteTxnMarkersRequest([m.TransactionMarkers(1, 2, True, PARTITIONS, 3)])),
        (28, 5, m.TxnOffsetCommitRequest("tx", "g", 1, 2, [OffsetToCommit("t", 0, Offset(3))])),
        (65, 0, m.DescribeTransactionsRequest(["tx"])),
        (66, 0, m.ListTransactionsRequest(["Ongoing"], [1])),
    ],
)
def test_a_request_is_this_message(api: int, version: int, message: Message) -> None:
    assert message_of(ordinary(api, version)) == message


def test_fields_of_newer_versions_arrive() -> None:
    init = REQUESTS[22](transactional_id="tx", transaction_timeout_ms=9, producer_id=7, producer_epoch=3)
    assert message_of(requested(init, 3)) == m.InitProducerIdRequest("tx", 9, 7, 3)
    commit = requested_version(28, 3)
    commit.generation_id, commit.member_id, commit.group_instance_id = 4, "me", "i"
    message = message_of(requested(commit, 3))
    assert isinstance(message, m.TxnOffsetCommitRequest)
    assert (message.generation, message.member, message.instance) == (4, "me", "i")
    listing = REQUESTS[66](state_filters=[], producer_id_filters=[], duration_filter=5)
    assert message_of(requested(listing, 1)) == m.ListTransactionsRequest(longer_than_ms=5)


ONE_ERROR = [PartitionError("t", 0, 48), PartitionError("u", 1, 55)]


@pytest.mark.parametrize("version", [3, 5])
def test_partitions_added_have_their_errors_by_topic(version: int) -> None:
    answer = read(ordinary(24, version), m.AddPartitionsToTxnResponse([m.AddedResult("tx", ONE_ERROR)]))
    topics = answer.results_by_topic_v3_and_below if version < 4 else answer.results_by_transaction[0].topic_results
    found = [(one.name, each.partition_index, each.partition_error_code)
             for one in topics for each in one.results_by_partition]  # fmt: skip
    assert found == [("t", 0, 48), ("u", 1, 55)]


def test_the_next_epoch_is_in_version_5_alone() -> None:
    old, new = (read(ordinary(26, version), m.EndTxnResponse(0, 7, 3)) for version in (4, 5))
    assert (new.error_code, new.producer_id, new.producer_epoch) == (0, 7, 3)
    assert (old.error_code, old.producer_id) == (0, -1)


@pytest.mark.parametrize(("version", "error"), [(1, 15), (2, 14)])
def test_old_producers_do_not_know_that_a_coordinator_loads(version: int, error: int) -> None:
    """KAFKA-7296."""
    answer = read(ordinary(28, version), m.TxnOffsetCommitResponse([PartitionError("t", 0, 14)]))
    assert answer.topics[0].partitions[0].error_code == error


@pytest.mark.parametrize("field", ["producer_id", "producer_epoch"])
def test_a_marker_or_an_offset_without_a_producer_fails(field: str) -> None:
    marker = requested_version(27, 1)
    setattr(marker.markers[0], field, -1)
    (written,) = refused(requested(marker, 1)).markers
    assert [each.error_code for one in written.topics for each in one.partitions] == [-1]
    commit = requested_version(28, 3)
    setattr(commit, field, -1)
    assert refused(requested(commit, 3)).topics[0].partitions[0].error_code == -1


def test_transactions_described_and_listed() -> None:
    places = [GroupPartition("t", 0), GroupPartition("t", 2), GroupPartition("u", 1)]
    described = m.DescribedTransaction("tx", 0, "Ongoing", 60_000, 12, 7, 3, places)
    (state,) = read(ordinary(65, 0), m.DescribeTransactionsResponse([described])).transaction_states
    assert (state.transaction_state, state.transaction_start_time_ms, state.producer_epoch) == ("Ongoing", 12, 3)
    assert [(one.topic, one.partitions) for one in state.topics] == [("t", [0, 2]), ("u", [1])]
    listed = m.ListTransactionsResponse(0, ["Nothing"], [m.ListedTransaction("tx", 7, "Ongoing")])
    answer = read(ordinary(66, 1), listed)
    assert answer.unknown_state_filters == ["Nothing"]
    assert [(one.transactional_id, one.producer_id) for one in answer.transaction_states] == [("tx", 7)]
    producers = DescribeProducersResponse([DescribedProducers("t", 0, 0, [ActiveProducer(7, 3, 5, 1, 4, Offset(9))])])
    (producer,) = read(ordinary(61, 0), producers).topics[0].partitions[0].active_producers
    assert (producer.coordinator_epoch, producer.current_txn_start_offset) == (4, 9)


def test_the_coordinator_of_a_transactional_id() -> None:
    request = requested(REQUESTS[10](key="tx", key_type=1), 3)
    assert message_of(request) == FindCoordinatorRequest("tx", 1)
    answer = read(request, FindCoordinatorResponse(0, BrokerId(0), "broker-0"))
    assert (answer.node_id, answer.port) == (0, 9092)


@pytest.mark.parametrize(("transactional_id", "error"), [(None, 53), ("tx", 0)])
def test_records_of_a_transaction_have_a_transactional_id(transactional_id: str | None, error: int) -> None:
    """KafkaApis.handleProduceRequest."""
    topic = REQUESTS[0].TopicProduceData
    data = topic(name="t", partition_data=[topic.PartitionProduceData(index=0, records=IN_TRANSACTION)])
    request = requested(
        REQUESTS[0](transactional_id=transactional_id, acks=-1, timeout_ms=5, topic_data=[data]), 11
    )
    message = message_of(request)
    if error:
        assert isinstance(message, AnsweredHere) and message.error == error
    else:
        assert isinstance(message, ProduceRequest)
        assert (message.transactional_id, message.partitions[0].fault) == ("tx", 0)


# --- isolation ---


def fetching(isolation: int, kafka: str = "2.8", version: int = 11) -> codec.KafkaRequest:
    request = requested_version(1)
    request.isolation_level = isolation
    return requested(request, version, kafka)


@pytest.mark.parametrize(
    ("kafka", "version", "isolation", "stable", "aborted"),
    [
        ("1.1", 7, 0, -1, None),
        ("2.0", 8, 0, -1, None),
        ("2.1", 10, 0, 4, None),
        ("1.1", 7, 1, 4, [(7, 4)]),
        ("2.8", 11, 1, 4, [(7, 4)]),
    ],
)
def test_a_fetch_names_what_is_stable_and_what_is_aborted(
    kafka: str, version: int, isolation: int, stable: int, aborted: list[tuple[int, int]] | None
) -> None:
    request = fetching(isolation, kafka, version)
    message = message_of(request)
    assert isinstance(message, FetchRequest) and message.isolation == isolation
    fetched = FetchedPartition("t", 0, high_watermark=Offset(9), last_stable_offset=Offset(4))
    fetched.aborted = [AbortedTransaction(7, Offset(4))] if isolation else []
    ((one,),) = [topic.partitions for topic in read(request, FetchResponse([fetched])).responses]
    assert (one.high_watermark, one.last_stable_offset) == (9, stable)
    found = None if one.aborted_transactions is None else [
        (each.producer_id, each.first_offset) for each in one.aborted_transactions
    ]  # fmt: skip
    assert found == aborted


def test_without_a_transaction_the_high_watermark_is_stable() -> None:
    fetched = FetchedPartition("t", 0, high_watermark=Offset(9))
    ((one,),) = [topic.partitions for topic in read(fetching(1), FetchResponse([fetched])).responses]
    assert (one.last_stable_offset, one.aborted_transactions) == (9, [])
    failed = FetchedPartition("t", 0, 6, Offset(-1))
    ((one,),) = [topic.partitions for topic in read(fetching(1), FetchResponse([failed])).responses]
    assert (one.error_code, one.last_stable_offset, one.aborted_transactions) == (6, -1, None)


@pytest.mark.parametrize("isolation", [-1, 2])
def test_an_unknown_isolation_fails_as_isolation_level_does(isolation: int) -> None:
    assert refused(fetching(isolation)).responses[0].partitions[0].error_code == -1
    listing = requested_version(2)
    listing.isolation_level = isolation
    assert refused(requested(listing, 5)).topics[0].partitions[0].error_code == -1


def test_offsets_are_listed_by_isolation() -> None:
    listing = requested_version(2)
    listing.isolation_level = 1
    message = message_of(requested(listing, 5))
    assert isinstance(message, ListOffsetsRequest) and message.isolation == 1


def test_committed_offsets_are_stable_on_request() -> None:
    fetch = requested_version(9)
    fetch.require_stable = True
    request = requested(fetch, 7)
    assert message_of(request) == OffsetFetchRequest("g", PARTITIONS, stable=True)
    answer = read(request, OffsetFetchResponse(0, [CommittedPartition("t", 0, error=88)]))
    assert [(one.committed_offset, one.error_code) for one in answer.topics[0].partitions] == [(-1, 88)]


# --- ApiVersions ---


@pytest.mark.parametrize(
    ("kafka", "version", "supported", "finalized"),
    [
        ("2.8", 3, [], []),
        ("3.9", 4, [], []),
        ("4.0", 3, [], [("transaction.version", 2)]),
        ("4.4", 4, [("transaction.version", 0, 2)], [("transaction.version", 2)]),
    ],
)
def test_the_finalized_feature_is_that_of_the_version(
    kafka: str, version: int, supported: list[tuple[str, int, int]], finalized: list[tuple[str, int]]
) -> None:
    answer = refused(requested(REQUESTS[18](client_software_name="c", client_software_version="1"), version, kafka))
    assert [(one.name, one.min_version, one.max_version) for one in answer.supported_features or ()] == supported
    assert [(one.name, one.max_version_level) for one in answer.finalized_features or ()] == finalized
    assert (answer.finalized_features_epoch >= 0) is bool(finalized)
