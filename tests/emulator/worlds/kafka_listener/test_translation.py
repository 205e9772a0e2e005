"""Every request and response of Kafka clients, in every version.

By the library's client end.
"""

from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.worlds.network.kafka_listener import codec, topic_translation
from emulator.worlds.network.kafka_listener.advertised_listeners import Place
from emulator.worlds.network.kafka_listener.translation import answer_to, message_of
from emulator.worlds.network.mailbox import AnsweredHere
from emulator.worlds.network.spec import Address
from protocol.errors import ErrorCode
from protocol.framing import ProtocolError, decode_body, encode_body
from protocol.gates import gates_for
from protocol.ids import BrokerId, LeaderEpoch, Offset
from protocol.messages import (
    administration,
    configuration,
    groups,
    leadership_messages,
    membership,
    placement,
    replication_messages,
    transactions,
)
from protocol.messages.message_base import Message
from protocol.records.format import encode
from tests.emulator.worlds.kafka_listener.library_messages import REQUESTS, encoded, response_of

PLACE = Place("az-0", "client-0", {"broker-0": Address("127.0.0.1", 9092)}, {"broker-0": 0}, "run")
LISTENER, NEWEST = (codec.listener_of(gates_for(version), PLACE) for version in ("2.8", "4.4"))
RECORDS = encode([b"v"], magic=2, timestamp_ms=1)

ANSWERS: dict[int, Message] = {
    0: replication_messages.ProduceResponse([replication_messages.ProduceResult("t", 0, 0, Offset(7))]),
    1: replication_messages.FetchResponse(
        [replication_messages.FetchedPartition("t", 0, 0, Offset(5), Offset(0), None, RECORDS)]
    ),
    2: replication_messages.ListOffsetsResponse(
        [replication_messages.ListedOffset("t", 0, 0, Offset(5), LeaderEpoch(1), 9)]
    ),
    3: leadership_messages.MetadataResponse(
        BrokerId(0),
        [leadership_messages.BrokerEndpoint(BrokerId(0), "broker-0", "az-0")],
        [leadership_messages.PartitionMetadata("t", 0, 0, BrokerId(0), LeaderEpoch(1), [BrokerId(0)], [BrokerId(0)])],
        True,
    ),
    8: groups.OffsetCommitResponse([leadership_messages.PartitionError("t", 0, 0)]),
    9: groups.OffsetFetchResponse(0, [groups.CommittedPartition("t", 0, Offset(3))]),
    10: groups.FindCoordinatorResponse(0, BrokerId(0), "broker-0"),
    11: membership.JoinGroupResponse(0, 1, "consumer", "range", "m", "m", [membership.JoinedMember("m", b"s")]),
    12: membership.HeartbeatResponse(27),
    13: membership.LeaveGroupResponse(0, [membership.LeavingMember("m")]),
    14: membership.SyncGroupResponse(0, "consumer", "range", b"a"),
    15: membership.DescribeGroupsResponse(
        [membership.DescribedGroup("g", 0, "Stable", "consumer", "range", [membership.DescribedMember("m", "app")])]
    ),
    16: membership.ListGroupsResponse(0, [membership.ListedGroup("g", "consumer", "Stable")]),
    42: membership.DeleteGroupsResponse([membership.DeletedGroup("g", 0)]),
    19: administration.CreateTopicsResponse(
        [
            administration.TopicResult("t", 36, "it exists"),
            administration.TopicResult("u", 0, "", 1, 1, [configuration.DescribedSetting("flush.ms", "7", 1, 5)]),
        ]
    ),
    20: administration.DeleteTopicsResponse([administration.TopicResult("t", 3)]),
    22: transactions.InitProducerIdResponse(0, 4711, 0),
    24: transactions.AddPartitionsToTxnResponse(
        [transactions.AddedResult("tx", [leadership_messages.PartitionError("t", 0, 0)])]
    ),
    25: transactions.AddOffsetsToTxnResponse(51),
    26: transactions.EndTxnResponse(0, 4711, 1),
    27: transactions.WriteTxnMarkersResponse(
        [transactions.WrittenMarkers(4711, [leadership_messages.PartitionError("t", 0, 0)])]
    ),
    28: transactions.TxnOffsetCommitResponse([leadership_messages.PartitionError("t", 0, 14)]),
    65: transactions.DescribeTransactionsResponse(
        [transactions.DescribedTransaction("tx", 0, "Ongoing", 60_000, 1, 4711, 0, [groups.GroupPartition("t", 0)])]
    ),
    66: transactions.ListTransactionsResponse(0, ["no"], [transactions.ListedTransaction("tx", 4711, "Ongoing")]),
    32: configuration.DescribeConfigsResponse(
        [
            configuration.DescribedResource(
                2,
                "t",
                settings=[
                    configuration.DescribedSetting(
                        "flush.ms",
                        "7",
                        1,
                        5,
                        synonyms=[configuration.SettingSynonym("flush.ms", "7", 1)],
                        documentation="modelled",
                    )
                ],
            )
        ]
    ),
    33: configuration.AlterConfigsResponse([configuration.AlterResult(2, "t", 40, "no such")]),
    35: placement.DescribeLogDirsResponse(
        [placement.DescribedLogDir("/", 0, ["t"], [placement.DescribedLog("t", 0, 68, 0)])]
    ),
    21: administration.DeleteRecordsResponse([administration.DeletedRecords("t", 0, 7, Offset(2))]),
    37: administration.CreatePartitionsResponse([administration.TopicResult("t", 37, "fewer")]),
    43: placement.ElectLeadersResponse([placement.PartitionResult("t", 0, 84)]),
    44: configuration.IncrementalAlterConfigsResponse([configuration.AlterResult(2, "t")]),
    45: placement.AlterPartitionReassignmentsResponse([placement.PartitionResult("t", 0, 85)]),
    46: placement.ListPartitionReassignmentsResponse([placement.Moving("t", 0, [BrokerId(0)], [BrokerId(0)], [])]),
    47: groups.OffsetDeleteResponse(0, [leadership_messages.PartitionError("t", 0, 86)]),
    34: placement.AlterReplicaLogDirsResponse([placement.PartitionResult("t", 0, 9)]),
    61: placement.DescribeProducersResponse(
        [placement.DescribedProducers("t", 0, 0, [placement.ActiveProducer(4711, 2, 5, 1)])]
    ),
    60: placement.DescribeClusterResponse(
        BrokerId(0), [leadership_messages.BrokerEndpoint(BrokerId(0), "broker-0", "az-0")]
    ),
    23: replication_messages.OffsetForLeaderEpochResponse(
        [replication_messages.EpochEnd("t", 0, 0, LeaderEpoch(1), Offset(5))]
    ),
}


def requested_version(api: int, version: int = 0) -> Any:
    """A request that names partition 0 of topic t, where it names any."""
    request = REQUESTS[api]
    match api:
        case 0:
            topic = request.TopicProduceData
            one = topic.PartitionProduceData(index=0, records=RECORDS)
            return request(acks=-1, timeout_ms=100, topic_data=[topic(name="t", partition_data=[one])])
        case 1:
            topic = request.FetchTopic
            one = topic.FetchPartition(partition=0, fetch_offset=3, partition_max_bytes=1000)
            return request(max_wait_ms=5, min_bytes=1, topics=[topic(topic="t", partitions=[one])])
        case 2:
            topic = request.ListOffsetsTopic
            one = topic.ListOffsetsPartition(partition_index=0, timestamp=-1)
            return request(topics=[topic(name="t", partitions=[one])])
        case 3:
            return request(topics=[request.MetadataRequestTopic(name="t")])
        case 8:
            topic = request.OffsetCommitRequestTopic
            one = topic.OffsetCommitRequestPartition(partition_index=0, committed_offset=3, committed_metadata=None)
            return request(group_id="g", topics=[topic(name="t", partitions=[one])])
        case 9:
            return request(group_id="g", topics=[request.OffsetFetchRequestTopic(name="t", partition_indexes=[0])])
        case 10:
            return request(key="g", key_type=0)
        case 22:
            return request(transactional_id="tx", transaction_timeout_ms=60_000)
        case 24 if version < 4:
            topic = request.AddPartitionsToTxnTopic(name="t", partitions=[0])
            return request(
                v3_and_below_transactional_id="tx", v3_and_below_producer_id=1, v3_and_below_producer_epoch=2,
                v3_and_below_topics=[topic],
            )
        case 24:
            topic = request.AddPartitionsToTxnTopic(name="t", partitions=[0])
            one = request.AddPartitionsToTxnTransaction(
                transactional_id="tx", producer_id=1, producer_epoch=2, verify_only=True, topics=[topic]
            )
            return request(transactions=[one])
        case 25:
            return request(transactional_id="tx", producer_id=1, producer_epoch=2, group_id="g")
        case 26:
            return request(transactional_id="tx", producer_id=1, producer_epoch=2, committed=True)
        case 27:
            marker = request.WritableTxnMarker
            topic = marker.WritableTxnMarkerTopic(name="t", partition_indexes=[0])
            one = marker(
                producer_id=1, producer_epoch=2, transaction_result=True, topics=[topic], coordinator_epoch=3
            )
            return request(markers=[one])
        case 28:
            topic = request.TxnOffsetCommitRequestTopic
            one = topic.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=3, committed_metadata=None)
            return request(
                transactional_id="tx", group_id="g", producer_id=1, producer_epoch=2,
                topics=[topic(name="t", partitions=[one])],
            )
        case 65:
            return request(transactional_ids=["tx"])
        case 66:
            return request(state_filters=["Ongoing"], producer_id_filters=[1])
        case 23:
            topic = request.OffsetForLeaderTopic
            one = topic.OffsetForLeaderPartition(partition=0, leader_epoch=1)
            return request(topics=[topic(topic="t", partitions=[one])])
        case 32:
            resource = request.DescribeConfigsResource
            return request(resources=[resource(resource_type=2, resource_name="t", configuration_keys=None)])
        case 33 | 44:
            resource = request.AlterConfigsResource
            single = {"config_operation": 0} if api == 44 else {}
            one = resource.AlterableConfig(name="flush.ms", value="7", **single)
            return request(resources=[resource(resource_type=2, resource_name="t", configs=[one])])
        case 20:
            return request(topics=[request.DeleteTopicState(name="t", topic_id=UUID(int=0))], topic_names=["t"])
        case 34:
            topic = request.AlterReplicaLogDir.AlterReplicaLogDirTopic
            return request(dirs=[request.AlterReplicaLogDir(path="/d0", topics=[topic(name="t", partitions=[0])])])
        case 49:
            entry = request.EntryData
            op = entry.OpData(key="producer_byte_rate", value=1.0, remove=False)
            entity = entry.EntityData(entity_type="user", entity_name=None)
            return request(entries=[entry(entity=[entity], ops=[op])], validate_only=False)
        case 50:
            return request(users=[request.UserName(name="u")])
        case 51:
            return request(deletions=[request.ScramCredentialDeletion(name="u", mechanism=1)], upsertions=[])
        case 61:
            return request(topics=[request.TopicRequest(name="t", partition_indexes=[0])])
        case 37:
            topic = request.CreatePartitionsTopic
            placed = topic.CreatePartitionsAssignment(broker_ids=[0])
            return request(topics=[topic(name="t", count=3, assignments=[placed])], timeout_ms=5)
        case 21:
            topic = request.DeleteRecordsTopic
            one = topic.DeleteRecordsPartition(partition_index=0, offset=2)
            return request(topics=[topic(name="t", partitions=[one])], timeout_ms=5)
        case 43:
            return request(topic_partitions=[request.TopicPartitions(topic="t", partitions=[0])], timeout_ms=5)
        case 45:
            topic = request.ReassignableTopic
            one = topic.ReassignablePartition(partition_index=0, replicas=None)
            return request(topics=[topic(name="t", partitions=[one])])
        case 46:
            return request(topics=[request.ListPartitionReassignmentsTopics(name="t", partition_indexes=[0])])
        case 47:
            topic = request.OffsetDeleteRequestTopic
            one = topic.OffsetDeleteRequestPartition(partition_index=0)
            return request(group_id="g", topics=[topic(name="t", partitions=[one])])
    return request()


def frame(api: int, version: int) -> bytes:
    return encoded(requested_version(api, version), version, correlation_id=11)


EVERY = [(api, version) for api, range_ in LISTENER.apis.items() for version in range(range_.least, range_.most + 1)]
SINCE = [
    (api, version)
    for api, range_ in NEWEST.apis.items()
    for version in range(range_.least, range_.most + 1)
    if (api, version) not in EVERY
]
"""Those of Kafka 4.4 alone."""


@pytest.mark.parametrize(("api", "version"), EVERY + SINCE)
def test_a_request_is_one_message_and_its_answer_is_read(api: int, version: int) -> None:
    requested = codec.read_request(frame(api, version), LISTENER if (api, version) in EVERY else NEWEST)
    assert (requested.api, requested.version, requested.correlation_id, requested.client_id) == (
        api,
        version,
        11,
        "app",
    )
    message = message_of(requested)
    if isinstance(message, AnsweredHere):
        answer = message.frame
    else:
        assert api == message.API_KEY
        answer = answer_to(requested, ANSWERS[api])
    assert int.from_bytes(answer[:4], "big") == len(answer) - 4
    read = response_of(answer, api, version)
    assert read.header.correlation_id == 11


@pytest.mark.parametrize("version", [5, 6])
def test_the_settings_of_new_topics_are_a_list_always(version: int) -> None:
    """Java's admin client does not look whether there is one."""
    answer = answer_to(codec.read_request(frame(19, version), LISTENER), ANSWERS[19])
    exists, made = response_of(answer, 19, version).topics
    assert exists.configs == []
    assert [(one.name, one.value, one.config_source) for one in made.configs] == [("flush.ms", "7", 1)]


def test_numbers_are_bounded_before_a_machine_sees_them() -> None:
    request = REQUESTS[1]
    topic = request.FetchTopic
    one = topic.FetchPartition(partition=0, fetch_offset=2**63 - 1, partition_max_bytes=-5)
    requested = request(max_wait_ms=-1, min_bytes=-1, topics=[topic(topic="t", partitions=[one])])
    message = message_of(codec.read_request(encoded(requested, 11), LISTENER))
    assert isinstance(message, replication_messages.FetchRequest)
    assert (message.max_wait_ms, message.min_bytes) == (0, 0)
    (read,) = message.partitions
    assert (read.fetch_offset, read.max_bytes) == (2**62, 0)  # no log reaches it: OFFSET_OUT_OF_RANGE, as in Kafka


@pytest.mark.parametrize(("kafka", "reported"), [("2.8", {18: (0, 3)}), ("2.4", {18: (0, 3)}), ("2.3", {})])
def test_an_unknown_version_of_api_versions_gets_the_known_ones_in_version_0(
    kafka: str, reported: dict[int, tuple[int, int]]
) -> None:
    listener = codec.listener_of(gates_for(kafka), PLACE)
    answer = message_of(codec.read_request(frame(18, 4), listener))
    assert isinstance(answer, AnsweredHere)
    read = response_of(answer.frame, 18, 0)
    assert read.error_code == 35
    assert {one.api_key: (one.min_version, one.max_version) for one in read.api_keys} == reported


def test_records_of_another_format_are_refused() -> None:
    old = message_of(codec.read_request(frame(0, 8), LISTENER._replace(magic=1)))
    assert isinstance(old, AnsweredHere) and old.error == 43


@pytest.mark.parametrize("acks", [0, 1, 7])
def test_records_of_a_refused_produce_are_read_all_the_same(acks: int) -> None:
    """It is told as an operation, so a list that is null there is no request either."""
    requested = REQUESTS[0](transactional_id="tx", acks=acks, timeout_ms=1, topic_data=None)
    with pytest.raises(ProtocolError, match="Produce version 8"):
        message_of(codec.read_request(encoded(requested, 8), LISTENER))


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        (b"", "no header"),
        (b"\x00\x00\x00\x09", "no header"),
        (b"\x03\xe7" + bytes(20), "API 999 is not spoken"),
        (b"\x00\x00\x00\x63" + bytes(20), "Produce version 99; 3 to 9 are spoken here"),
        (frame(3, 9)[:-1], "Metadata version 9: a number at byte 21 has no end"),
    ],
)
def test_what_is_no_request_is_refused(payload: bytes, why: str) -> None:
    with pytest.raises(ProtocolError, match=why):
        codec.read_request(payload, LISTENER)


def test_what_is_behind_a_request_is_not_looked_at() -> None:
    """As Kafka has it: librdkafka leaves a byte there where it asks for all topics by version 9."""
    requested = codec.read_request(frame(3, 9) + b"x", LISTENER)
    assert message_of(requested) == leadership_messages.MetadataRequest(["t"], allow_auto_topic_creation=True)


@given(st.sampled_from(EVERY + SINCE), st.data())
def test_a_damaged_request_is_read_or_refused_and_nothing_else(place: tuple[int, int], data: st.DataObject) -> None:
    payload = bytearray(frame(*place))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(8, len(payload) - 1))
        payload[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(8, len(payload)))
    try:
        listener = LISTENER if place in EVERY else NEWEST
        message = message_of(codec.read_request(bytes(payload[:cut]), listener))
    except ProtocolError:
        return
    if not isinstance(message, AnsweredHere):
        assert decode_body(type(message), encode_body(message)) == message


@pytest.mark.parametrize(("version", "error", "replicas"), [(0, 9, [0]), (1, 0, [0, 1])])
def test_metadata_0_lists_no_replica_on_a_dead_broker(version: int, error: int, replicas: list[int]) -> None:
    """MetadataCache.getPartitionMetadata, errorUnavailableEndpoints."""
    partition = leadership_messages.PartitionMetadata(
        "t", 0, 0, BrokerId(0), LeaderEpoch(1), [BrokerId(0)], [BrokerId(0), BrokerId(1)]
    )
    alive = [leadership_messages.BrokerEndpoint(BrokerId(0), "broker-0", "az-0")]
    requested = codec.KafkaRequest(LISTENER, 3, version, 1, "app", SimpleNamespace(topics=None))
    metadata = leadership_messages.MetadataResponse(BrokerId(0), alive, [partition], True)
    answered = topic_translation.metadata_answer(requested, metadata)
    (reported,) = answered["topics"][0]["partitions"]
    assert (reported["error_code"], reported["replica_nodes"], reported["isr_nodes"]) == (error, replicas, [0])


@pytest.mark.parametrize(("version", "error"), [(5, 5), (6, 72)])
def test_metadata_names_a_missing_listener_from_version_6(version: int, error: int) -> None:
    """KafkaApis.handleTopicMetadataRequest, errorUnavailableListeners."""
    partition = leadership_messages.PartitionMetadata("t", 0, ErrorCode.LISTENER_NOT_FOUND, BrokerId(-1))
    requested = codec.KafkaRequest(LISTENER, 3, version, 1, "app", SimpleNamespace(topics=None))
    metadata = leadership_messages.MetadataResponse(BrokerId(0), [], [partition], True)
    (reported,) = topic_translation.metadata_answer(requested, metadata)["topics"][0]["partitions"]
    assert reported["error_code"] == error


@pytest.mark.parametrize(
    ("topics_named", "results", "reported"),
    [
        ([("t", 0)], [3], [("t", 3)]),
        ([(None, 7), ("u", 0)], [3, 0], [(None, 100), ("u", 0)]),
        ([(None, 7)], [41], [(None, 41)]),
        ([("t", 7), ("u", 0)], [], [("t", 42), ("u", 42)]),
    ],
)
def test_a_topic_is_deleted_by_its_name_and_no_id_is_known(
    topics_named: list[tuple[str | None, int]], results: list[int], reported: list[tuple[str | None, int]]
) -> None:
    """KafkaApis.handleDeleteTopicsRequest, version 6; 41: this broker is not the controller."""
    request = REQUESTS[20]
    requested = request(
        topics=[request.DeleteTopicState(name=name, topic_id=UUID(int=id_)) for name, id_ in topics_named],
        topic_names=[],
    )
    read = codec.read_request(encoded(requested, 6), LISTENER)
    message = message_of(read)
    assert isinstance(message, administration.DeleteTopicsRequest) and len(message.topics) == len(results)
    answer = administration.DeleteTopicsResponse(
        [administration.TopicResult(topic, error) for topic, error in zip(message.topics, results, strict=True)]
    )
    responses = response_of(answer_to(read, answer), 20, 6).responses
    assert [(one.name, one.error_code) for one in responses] == reported
    assert [one.topic_id for one in responses] == [UUID(int=id_) if id_ else None for _, id_ in topics_named]


def test_a_diverging_epoch_is_a_tagged_field() -> None:
    diverging = replication_messages.DivergingEpoch(LeaderEpoch(3), Offset(2**40))
    fetched = replication_messages.FetchedPartition("t", 0, diverging_epoch=diverging)
    frame_of = answer_to(codec.read_request(frame(1, 12), LISTENER), replication_messages.FetchResponse([fetched]))
    ((one,),) = [topic.partitions for topic in response_of(frame_of, 1, 12).responses]
    assert (one.diverging_epoch.epoch, one.diverging_epoch.end_offset) == (3, 2**40)


def test_a_field_that_a_response_has_not_is_an_error() -> None:
    requested = codec.read_request(frame(0, 8), LISTENER)
    results = [{"name": "t", "partition_responses": [{"index": 3, "offset": 7}]}]
    with pytest.raises(ValueError, match=r"PartitionProduceResponse: no fields \['offset'\]"):
        codec.write_response(requested, {"responses": results})
