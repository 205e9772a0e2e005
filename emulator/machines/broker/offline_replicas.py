"""What follows from a log directory that fails while the broker lives on (KIP-112, 1.0): nothing of it is fetched any
more, and the controller is told.

Kafka does this on a thread of its own, milliseconds after the operation that failed; here it is part of the same step.
Requests that wait are not looked at again: a produce is told REQUEST_TIMED_OUT when its time is over, a fetch
KAFKA_STORAGE_ERROR."""

from emulator.machines.broker.context import BrokerContext
from emulator.machines.broker.fetchers import Fetchers
from emulator.machines.broker.group_coordinator import GroupCoordinator
from protocol.ids import TopicPartition
from protocol.messages.session import Create, SessionRequest, SessionResponse
from protocol.records.offset_commits import OFFSETS_TOPIC
from protocol.znodes import LOG_DIR_EVENT_NOTIFICATION, LOG_DIR_EVENT_PREFIX, encode_log_dir_event


class OfflineReplicas:
    """`going` is told of partitions before they are taken from the broker's."""

    def __init__(self, context: BrokerContext, fetchers: Fetchers, coordinator: GroupCoordinator) -> None:
        self._context = context
        self._fetchers = fetchers
        self._coordinator = coordinator

    def going(self, topic_partitions: list[TopicPartition]) -> None:
        for topic, partition in topic_partitions:
            self._fetchers.drop((topic, partition))
            if topic == OFFSETS_TOPIC:
                self._coordinator.going_offline(partition)

    def tell_controller(self) -> None:
        """It asks, by a LeaderAndIsr for all that this broker has, which replicas are gone. What is told in a session
        that expires is told to nobody; the next registration makes the controller ask anyway."""
        path = f"{LOG_DIR_EVENT_NOTIFICATION}/{LOG_DIR_EVENT_PREFIX}"
        event = Create(path, encode_log_dir_event(self._context.broker), sequential=True)

        def created(response: SessionResponse) -> None:
            """Nobody waits for it."""

        self._context.ask_session(SessionRequest([event]), created)
