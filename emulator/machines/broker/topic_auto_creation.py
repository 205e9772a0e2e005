"""Automatic creation of topics by metadata requests. Semantics 4.4.

Setting `auto.create.topics.enable`. The broker that serves the request creates them, by its own metadata. The
response does not wait until they have a leader. Kafka's KafkaApis.getTopicMetadata.
"""

from typing import Final

import msgspec

from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.broker_metadata import MetadataCache
from emulator.machines.broker.coordinator_lookup import CreateTopic
from emulator.machines.broker.request_channel import Request
from protocol.errors import ErrorCode
from protocol.ids import can_be_topic
from protocol.messages.leadership_messages import MetadataRequest
from protocol.work import Until, Work

MADE_MAX: Final = 100
"""Bound of new topics per request; further ones are unknown to it, until the next request."""


class TopicAutoCreation:
    """Automatic creation. `create_topic` writes a topic into ZooKeeper."""

    def __init__(self, context: BrokerContext, metadata: MetadataCache, create_topic: CreateTopic) -> None:
        self._context = context
        self._metadata = metadata
        self._create_topic = create_topic

    def makes(self, body: MetadataRequest) -> bool:
        """Whether a request would create a missing topic."""
        wanted = body.allow_auto_topic_creation and self._context.settings.auto_create_topics_enable
        return wanted and any(not self._metadata.partition_count(topic) for topic in body.topics)

    def metadata(self, request: Request, body: MetadataRequest) -> Work[None]:
        """Respond once the missing topics exist (without a leader yet), or with the error of each."""
        missing = [topic for topic in dict.fromkeys(body.topics) if not self._metadata.partition_count(topic)]
        errors: dict[str, ErrorCode] = {}
        for topic in missing[:MADE_MAX]:
            errors[topic] = (yield from self._made(topic))
        answer = self._metadata.answer(body)
        answer.partitions = [
            msgspec.structs.replace(one, error=errors[one.topic]) if one.partition < 0 and one.topic in errors else one
            for one in answer.partitions
        ]
        request.answer(answer)

    def _made(self, topic: str) -> Work[ErrorCode]:
        if not can_be_topic(topic):
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        settings = self._context.settings
        partitions, factor = settings.num_partitions, settings.default_replication_factor
        error: ErrorCode = yield Until(
            f"the topic {topic}", lambda made: self._create_topic(topic, partitions, factor, {}, made)
        )
        # Another broker was faster: the topic exists.
        there = error in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
        return ErrorCode.LEADER_NOT_AVAILABLE if there else error
