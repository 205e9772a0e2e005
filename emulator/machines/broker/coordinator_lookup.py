"""FindCoordinator, of a group or a transactional id; creation of the internal topics.

Source: KafkaApis.handleFindCoordinatorRequest.
"""

from collections.abc import Callable
from typing import Final

from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.broker_metadata import MetadataCache
from emulator.machines.broker.request_channel import Request
from protocol.errors import ErrorCode
from protocol.ids import BrokerId
from protocol.messages.groups import TRANSACTION_KEY, FindCoordinatorRequest, FindCoordinatorResponse
from protocol.records.offset_commits import OFFSETS_TOPIC, hash_partition
from protocol.records.transaction_states import TRANSACTIONS_TOPIC
from protocol.work import Until, Work

CreateTopic = Callable[[str, int, int, dict[str, str], Callable[..., None]], None]
"""Creates a topic as an admin tool, then calls back.

Arguments: topic, partitions, replication factor, configs, callback.
"""
INTERNAL_TOPICS: Final = frozenset((OFFSETS_TOPIC, TRANSACTIONS_TOPIC))
"""Topics that coordinators alone write."""


def coordinator_of(metadata: MetadataCache, topic: str, key: str) -> tuple[BrokerId, str] | None:
    """The leader of a key's partition of an internal topic, and its node; None: none is alive."""
    count = metadata.partition_count(topic)
    state = metadata.partitions.get((topic, hash_partition(key, count))) if count else None
    node = None if state is None else metadata.node_of(state.leader)
    return None if state is None or node is None else (state.leader, node)


class CoordinatorLookup:
    """Answers FindCoordinator by this broker's metadata, which may be outdated.

    `create_topic` makes a missing internal topic, on the first look-up.
    """

    def __init__(self, context: BrokerContext, metadata: MetadataCache, create_topic: CreateTopic) -> None:
        self._context = context
        self._metadata = metadata
        self._create_topic = create_topic

    def find(self, request: Request, body: FindCoordinatorRequest) -> Work[None]:
        """Respond with the coordinator. A group without a name has offsets, too."""
        topic = TRANSACTIONS_TOPIC if body.key_type == TRANSACTION_KEY else OFFSETS_TOPIC
        if topic == TRANSACTIONS_TOPIC and not self._context.gates.transactions:
            request.hang_up()
            return
        if not self._metadata.partition_count(topic):
            yield from self._create(topic)
            request.answer(FindCoordinatorResponse(ErrorCode.COORDINATOR_NOT_AVAILABLE))
            return
        coordinator = coordinator_of(self._metadata, topic, body.key)
        if coordinator is None:
            request.answer(FindCoordinatorResponse(ErrorCode.COORDINATOR_NOT_AVAILABLE))
        else:
            request.answer(FindCoordinatorResponse(ErrorCode.NONE, *coordinator))

    def _create(self, topic: str) -> Work[None]:
        settings, alive, needs_all = self._context.settings, len(self._metadata.live), True
        if topic == OFFSETS_TOPIC:
            needs_all = self._context.gates.offsets_topic_needs_all_brokers
            factor, partitions = settings.offsets_topic_replication_factor, settings.offsets_topic_num_partitions
            configs = {
                "cleanup.policy": "compact",
                "segment.bytes": str(settings.offsets_topic_segment_bytes),
                "compression.type": "producer",
            }
        else:
            factor = settings.transaction_state_log_replication_factor
            partitions = settings.transaction_state_log_num_partitions
            configs = {
                "cleanup.policy": "compact",
                "compression.type": "uncompressed",
                "min.insync.replicas": str(settings.transaction_state_log_min_isr),
                "segment.bytes": str(settings.transaction_state_log_segment_bytes),
                "unclean.leader.election.enable": "false",
            }
        if alive < factor:
            if needs_all or not alive:
                return
            factor = alive
        yield Until(
            f"the topic {topic}", lambda made: self._create_topic(topic, partitions, factor, configs, made)
        )
