"""Translation of each Kafka request to one message, and of its answer to one Kafka response.

The listener itself answers requests without a message, in order: ApiVersions, SASL handshakes, refused requests.
"""

from typing import Any, Final, TypeVar

from emulator.worlds.network.door import (
    apis,
    config_translation,
    group_translation,
    members,
    placement_translation,
    record_translation,
    security_answers,
    topic_translation,
)
from emulator.worlds.network.door.apis import Range
from emulator.worlds.network.door.codec import Asked, write_response
from emulator.worlds.network.door.place import Place
from emulator.worlds.network.mailbox import AnsweredHere
from protocol.errors import ErrorCode
from protocol.framing import ProtocolError, decode_body, encode_body
from protocol.messages import administration, membership
from protocol.messages import configuration as settings
from protocol.messages import placement as places
from protocol.messages.groups import (
    FindCoordinatorResponse,
    OffsetCommitResponse,
    OffsetDeleteResponse,
    OffsetFetchResponse,
)
from protocol.messages.leadership_messages import MetadataResponse
from protocol.messages.message_base import Message
from protocol.messages.replication_messages import (
    FetchResponse,
    InitProducerIdResponse,
    ListOffsetsResponse,
    OffsetForLeaderEpochResponse,
    ProduceResponse,
)
from protocol.undecodable import UNDECODABLE, why

NO_ANSWER: Final = b""
M = TypeVar("M", bound=Message)


def message_of(request: Asked, spoken: dict[int, Range], magic: int) -> Message:
    """The machine's message for a request, every number within its bounds. Raises ProtocolError."""
    try:
        message = _message_of(request, spoken, magic)
        return message if isinstance(message, AnsweredHere) else _bounded(message)
    except (*UNDECODABLE, TypeError, AttributeError) as error:  # null where Kafka's schema allows it and we do not
        raise ProtocolError(f"{request.name} version {request.version}: {why(error)}") from error


def _bounded(message: M) -> M:
    """Validate as our own frames: every number within its bounds, nothing null."""
    return decode_body(type(message), encode_body(message))


def _message_of(request: Asked, spoken: dict[int, Range], magic: int) -> Message:
    body = request.body
    match request.api:
        case apis.API_VERSIONS:
            return AnsweredHere(topic_translation.api_versions(request, spoken))
        case apis.SASL_HANDSHAKE:
            return AnsweredHere(write_response(request, topic_translation.sasl_refused(request)))
        case apis.PRODUCE:
            error = record_translation.produce_refused(request, magic)
            if not error:
                return record_translation.produce(request, spoken)
            refused = _bounded(record_translation.produce_unlet(request, spoken))
            response = record_translation.produce_error(request, error)
            answer = NO_ANSWER if body.acks == 0 else write_response(request, response)
            return AnsweredHere(answer, error, refused)
        case apis.FETCH:
            if body.session_id != record_translation.NO_SESSION:
                unknown = record_translation.fetch_error(request, ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
                return AnsweredHere(write_response(request, unknown))
            return record_translation.fetch(body, request.version)
        case apis.LIST_OFFSETS:
            return record_translation.list_offsets(body, request.version)
        case apis.OFFSET_FOR_LEADER_EPOCH:
            return record_translation.leader_epochs(body)
        case apis.INIT_PRODUCER_ID:
            if body.transactional_id is not None:
                return AnsweredHere(write_response(request, record_translation.transactions_refused(request)))
            return record_translation.init_producer_id(body)
        case apis.METADATA:
            return topic_translation.metadata(body, request.version)
        case apis.CREATE_TOPICS:
            return topic_translation.create_topics(body)
        case apis.DELETE_TOPICS:
            return topic_translation.delete_topics(request)
        case apis.DELETE_RECORDS:
            return topic_translation.delete_records(body)
        case apis.FIND_COORDINATOR:
            if body.key_type == group_translation.TRANSACTION:
                return AnsweredHere(write_response(request, group_translation.no_transactions(request)))
            if body.key_type != group_translation.GROUP:
                return AnsweredHere(write_response(request, group_translation.unknown_coordinator(request)))
            return group_translation.find_coordinator(body)
        case apis.OFFSET_COMMIT:
            return group_translation.offset_commit(body)
        case apis.OFFSET_FETCH:
            return group_translation.offset_fetch(body)
        case apis.JOIN_GROUP:
            return members.join_group(request)
        case apis.SYNC_GROUP:
            return members.sync_group(body)
        case apis.HEARTBEAT:
            return members.heartbeat(body)
        case apis.LEAVE_GROUP:
            return members.leave_group(request)
        case apis.LIST_GROUPS:
            return members.list_groups(body)
        case apis.DESCRIBE_GROUPS:
            return members.describe_groups(body)
        case apis.DELETE_GROUPS:
            return members.delete_groups(body)
        case apis.OFFSET_DELETE:
            return group_translation.offset_delete(body)
        case apis.CREATE_PARTITIONS:
            return topic_translation.create_partitions(body)
        case apis.DESCRIBE_CONFIGS:
            return config_translation.describe_configs(body)
        case apis.ALTER_CONFIGS:
            return config_translation.alter_configs(body)
        case apis.INCREMENTAL_ALTER_CONFIGS:
            return config_translation.incremental_alter_configs(body)
        case apis.ELECT_LEADERS:
            if not placement_translation.knows_election(request):
                return AnsweredHere(write_response(request, placement_translation.election_unknown(request)))
            return placement_translation.elect_leaders(request)
        case apis.ALTER_PARTITION_REASSIGNMENTS:
            return placement_translation.alter_partition_reassignments(body)
        case apis.LIST_PARTITION_REASSIGNMENTS:
            return placement_translation.list_partition_reassignments(body)
        case apis.DESCRIBE_LOG_DIRS:
            return placement_translation.describe_log_dirs(body)
        case apis.DESCRIBE_ACLS:
            return AnsweredHere(write_response(request, security_answers.acls_described(request)))
        case apis.CREATE_ACLS:
            return AnsweredHere(write_response(request, security_answers.acls_created(request)))
        case apis.DELETE_ACLS:
            return AnsweredHere(write_response(request, security_answers.acls_deleted(request)))
        case apis.DESCRIBE_CLIENT_QUOTAS:
            return AnsweredHere(write_response(request, security_answers.client_quotas_described(request, spoken)))
        case apis.ALTER_CLIENT_QUOTAS:
            return AnsweredHere(write_response(request, security_answers.client_quotas_altered(request, spoken)))
        case apis.DESCRIBE_USER_SCRAM_CREDENTIALS:
            return AnsweredHere(write_response(request, security_answers.scram_described(request)))
        case apis.ALTER_USER_SCRAM_CREDENTIALS:
            return AnsweredHere(write_response(request, security_answers.scram_altered(request)))
        case apis.DESCRIBE_CLUSTER:
            return places.DescribeClusterRequest()
        case apis.DESCRIBE_PRODUCERS:
            return placement_translation.describe_producers(body)
        case apis.ALTER_REPLICA_LOG_DIRS:
            return placement_translation.alter_replica_log_dirs(body)
    raise AssertionError(f"{request.name} is advertised and not built")


def answer_to(request: Asked, answer: Message, place: Place) -> bytes:
    """Encode the response to a request as a whole frame."""
    return write_response(request, _answer_to(request, answer, place))


def _answer_to(request: Asked, answer: Message, place: Place) -> Any:
    match answer:
        case ProduceResponse():
            return record_translation.produce_answer(request, answer)
        case FetchResponse():
            return record_translation.fetch_answer(request, answer)
        case ListOffsetsResponse():
            return record_translation.list_offsets_answer(request, answer)
        case OffsetForLeaderEpochResponse():
            return record_translation.leader_epochs_answer(request, answer)
        case InitProducerIdResponse():
            return record_translation.init_producer_id_answer(request, answer)
        case MetadataResponse():
            return topic_translation.metadata_answer(request, answer, place)
        case administration.CreateTopicsResponse():
            return topic_translation.create_topics_answer(request, answer)
        case administration.DeleteTopicsResponse():
            return topic_translation.delete_topics_answer(request, answer)
        case administration.DeleteRecordsResponse():
            return topic_translation.delete_records_answer(request, answer)
        case FindCoordinatorResponse():
            return group_translation.find_coordinator_answer(request, answer, place)
        case OffsetCommitResponse():
            return group_translation.offset_commit_answer(request, answer)
        case OffsetFetchResponse():
            return group_translation.offset_fetch_answer(request, answer)
        case membership.JoinGroupResponse():
            return members.join_group_answer(request, answer)
        case membership.SyncGroupResponse():
            return members.sync_group_answer(request, answer)
        case membership.HeartbeatResponse():
            return members.heartbeat_answer(request, answer)
        case membership.LeaveGroupResponse():
            return members.leave_group_answer(request, answer)
        case membership.ListGroupsResponse():
            return members.list_groups_answer(request, answer)
        case membership.DescribeGroupsResponse():
            return members.describe_groups_answer(request, answer)
        case membership.DeleteGroupsResponse():
            return members.delete_groups_answer(request, answer)
        case OffsetDeleteResponse():
            return group_translation.offset_delete_answer(request, answer)
        case administration.CreatePartitionsResponse():
            return topic_translation.create_partitions_answer(request, answer)
        case settings.DescribeConfigsResponse():
            return config_translation.describe_configs_answer(request, answer)
        case settings.AlterConfigsResponse() | settings.IncrementalAlterConfigsResponse():
            return config_translation.altered_answer(request, answer)
        case places.ElectLeadersResponse():
            return placement_translation.elect_leaders_answer(request, answer)
        case places.AlterPartitionReassignmentsResponse():
            return placement_translation.alter_partition_reassignments_answer(request, answer)
        case places.ListPartitionReassignmentsResponse():
            return placement_translation.list_partition_reassignments_answer(request, answer)
        case places.DescribeLogDirsResponse():
            return placement_translation.describe_log_dirs_answer(request, answer)
        case places.DescribeProducersResponse():
            return placement_translation.describe_producers_answer(request, answer)
        case places.AlterReplicaLogDirsResponse():
            return placement_translation.alter_replica_log_dirs_answer(request, answer)
        case places.DescribeClusterResponse():
            return placement_translation.describe_cluster_answer(request, answer, place)
    raise AssertionError(f"{request.name} was answered with {type(answer).__name__}")
