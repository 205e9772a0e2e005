"""Table of translations: a Kafka request to one message, its answer to one Kafka response.

The listener itself answers requests without a message, in order: ApiVersions, SASL handshakes, refused requests.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from emulator.worlds.network.kafka_listener import (
    apis,
    config_translation,
    group_translation,
    members,
    placement_translation,
    record_translation,
    security_answers,
    topic_translation,
    transaction_translation,
)
from emulator.worlds.network.kafka_listener.codec import KafkaRequest, write_response
from emulator.worlds.network.kafka_listener.message_encoder import Fields
from emulator.worlds.network.mailbox import AnsweredHere
from protocol.framing import ProtocolError, encode_body
from protocol.messages.message_base import Message
from protocol.undecodable import UNDECODABLE, why


class Translation(NamedTuple):
    """Translations of one API. A request without a message becomes its response's fields."""

    request: Callable[[KafkaRequest], Message | Fields]
    response: Callable[[KafkaRequest, Any], Fields] | None = None
    """None: no request of the API has a message."""


TRANSLATIONS: Final[dict[int, Translation]] = {
    apis.PRODUCE: Translation(record_translation.produce, record_translation.produce_answer),
    apis.FETCH: Translation(record_translation.fetch, record_translation.fetch_answer),
    apis.LIST_OFFSETS: Translation(record_translation.list_offsets, record_translation.list_offsets_answer),
    apis.METADATA: Translation(topic_translation.metadata, topic_translation.metadata_answer),
    apis.OFFSET_COMMIT: Translation(group_translation.offset_commit, group_translation.offset_commit_answer),
    apis.OFFSET_FETCH: Translation(group_translation.offset_fetch, group_translation.offset_fetch_answer),
    apis.FIND_COORDINATOR: Translation(group_translation.find_coordinator, group_translation.find_coordinator_answer),
    apis.JOIN_GROUP: Translation(members.join_group, members.join_group_answer),
    apis.HEARTBEAT: Translation(members.heartbeat, members.heartbeat_answer),
    apis.LEAVE_GROUP: Translation(members.leave_group, members.leave_group_answer),
    apis.SYNC_GROUP: Translation(members.sync_group, members.sync_group_answer),
    apis.DESCRIBE_GROUPS: Translation(members.describe_groups, members.describe_groups_answer),
    apis.LIST_GROUPS: Translation(members.list_groups, members.list_groups_answer),
    apis.SASL_HANDSHAKE: Translation(topic_translation.sasl_refused),
    apis.API_VERSIONS: Translation(topic_translation.api_versions),
    apis.CREATE_TOPICS: Translation(topic_translation.create_topics, topic_translation.create_topics_answer),
    apis.DELETE_TOPICS: Translation(topic_translation.delete_topics, topic_translation.delete_topics_answer),
    apis.DELETE_RECORDS: Translation(topic_translation.delete_records, topic_translation.delete_records_answer),
    apis.INIT_PRODUCER_ID: Translation(
        transaction_translation.init_producer_id, transaction_translation.init_producer_id_answer
    ),
    apis.OFFSET_FOR_LEADER_EPOCH: Translation(
        record_translation.leader_epochs, record_translation.leader_epochs_answer
    ),
    apis.ADD_PARTITIONS_TO_TXN: Translation(
        transaction_translation.add_partitions, transaction_translation.add_partitions_answer
    ),
    apis.ADD_OFFSETS_TO_TXN: Translation(
        transaction_translation.add_offsets, transaction_translation.add_offsets_answer
    ),
    apis.END_TXN: Translation(transaction_translation.end, transaction_translation.end_answer),
    apis.WRITE_TXN_MARKERS: Translation(
        transaction_translation.write_markers, transaction_translation.write_markers_answer
    ),
    apis.TXN_OFFSET_COMMIT: Translation(
        transaction_translation.commit_offsets, transaction_translation.commit_offsets_answer
    ),
    apis.DESCRIBE_ACLS: Translation(security_answers.acls_described),
    apis.CREATE_ACLS: Translation(security_answers.acls_created),
    apis.DELETE_ACLS: Translation(security_answers.acls_deleted),
    apis.DESCRIBE_CONFIGS: Translation(config_translation.describe_configs, config_translation.describe_configs_answer),
    apis.ALTER_CONFIGS: Translation(config_translation.alter_configs, config_translation.altered_answer),
    apis.ALTER_REPLICA_LOG_DIRS: Translation(
        placement_translation.alter_replica_log_dirs, placement_translation.alter_replica_log_dirs_answer
    ),
    apis.DESCRIBE_LOG_DIRS: Translation(
        placement_translation.describe_log_dirs, placement_translation.describe_log_dirs_answer
    ),
    apis.CREATE_PARTITIONS: Translation(
        topic_translation.create_partitions, topic_translation.create_partitions_answer
    ),
    apis.DELETE_GROUPS: Translation(members.delete_groups, members.delete_groups_answer),
    apis.ELECT_LEADERS: Translation(placement_translation.elect_leaders, placement_translation.elect_leaders_answer),
    apis.INCREMENTAL_ALTER_CONFIGS: Translation(
        config_translation.incremental_alter_configs, config_translation.altered_answer
    ),
    apis.ALTER_PARTITION_REASSIGNMENTS: Translation(
        placement_translation.alter_partition_reassignments, placement_translation.alter_partition_reassignments_answer
    ),
    apis.LIST_PARTITION_REASSIGNMENTS: Translation(
        placement_translation.list_partition_reassignments, placement_translation.list_partition_reassignments_answer
    ),
    apis.OFFSET_DELETE: Translation(group_translation.offset_delete, group_translation.offset_delete_answer),
    apis.DESCRIBE_CLIENT_QUOTAS: Translation(security_answers.client_quotas_described),
    apis.ALTER_CLIENT_QUOTAS: Translation(security_answers.client_quotas_altered),
    apis.DESCRIBE_USER_SCRAM_CREDENTIALS: Translation(security_answers.scram_described),
    apis.ALTER_USER_SCRAM_CREDENTIALS: Translation(security_answers.scram_altered),
    apis.DESCRIBE_CLUSTER: Translation(
        placement_translation.describe_cluster, placement_translation.describe_cluster_answer
    ),
    apis.DESCRIBE_PRODUCERS: Translation(
        placement_translation.describe_producers, placement_translation.describe_producers_answer
    ),
    apis.DESCRIBE_TRANSACTIONS: Translation(transaction_translation.describe, transaction_translation.describe_answer),
    apis.LIST_TRANSACTIONS: Translation(transaction_translation.list_all, transaction_translation.list_all_answer),
}
"""{API: its translations}"""


def message_of(request: KafkaRequest) -> Message:
    """The machine's message for a request. Raises ProtocolError.

    Its numbers and lists are within the bounds of our messages: `request_decoder` and the translations see to that.
    """
    try:
        translated = TRANSLATIONS[request.api].request(request)
        if not isinstance(translated, Message):
            return AnsweredHere(write_response(request, translated))
        if request.has_long_text:
            encode_body(translated)  # its size is checked, because a message repeats a topic's name for each partition
    except UNDECODABLE as error:
        raise ProtocolError(f"{request.name} version {request.version}: {why(error)}") from error
    return translated


def answer_to(request: KafkaRequest, answer: Message) -> bytes:
    """Encode the response to a request as a whole frame."""
    to_response = TRANSLATIONS[request.api].response
    assert to_response is not None, f"{request.name} was answered with {type(answer).__name__}"
    return write_response(request, to_response(request, answer))
