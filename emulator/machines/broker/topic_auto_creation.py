"""Topics that are made because somebody asked for their metadata (`auto.create.topics.enable`). Semantics 4.4.

Whichever broker is asked makes them, by its own picture of what there is; the answer does not wait until they have a
leader. Kafka's KafkaApis.getTopicMetadata.
"""

from typing import Final

import msgspec

from emulator.machines.broker.context import BrokerContext
from emulator.machines.broker.group_coordinator import CreateTopic
from emulator.machines.broker.metadata_cache import MetadataCache
from emulator.machines.broker.requests import Request
from protocol.errors import ErrorCode
from protocol.ids import can_be_topic
from protocol.messages.leadership import MetadataRequest
from protocol.work import Until, Work

MADE_MAX: Final = 100
"""For one request; further topics are unknown to it, and made when they are asked for again."""


class TopicAutoCreation:
    """`create_topic` writes a topic into the session service."""

    def __init__(self, context: BrokerContext, metadata: MetadataCache, create_topic: CreateTopic) -> None:
        self._context = context
        self._metadata = metadata
        self._create_topic = create_topic

    def makes(self, asked: MetadataRequest) -> bool:
        """Whether a topic is missing that this request would have made."""
        wanted = asked.allow_auto_topic_creation and self._context.settings.auto_create_topics_enable
        return wanted and any(not self._metadata.partition_count(topic) for topic in asked.topics)

    def metadata(self, request: Request, asked: MetadataRequest) -> Work[None]:
        """Answers once what is missing has been made: each has no leader yet, or there is a reason why it is not."""
        missing = [topic for topic in dict.fromkeys(asked.topics) if not self._metadata.partition_count(topic)]
        errors: dict[str, ErrorCode] = {}
        for topic in missing[:MADE_MAX]:
            errors[topic] = (yield from self._made(topic))
        answer = self._metadata.answer(asked)
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
        # Somebody else was faster: it is there.
        there = error in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
        return ErrorCode.LEADER_NOT_AVAILABLE if there else error
