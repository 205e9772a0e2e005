"""Consequences of a log directory that fails while the broker lives on (KIP-112, 1.0).

The broker stops fetching its partitions, and notifies the controller. Kafka does this on a thread of its own,
milliseconds after the operation that failed; here it is part of the same step. Parked requests are not checked
again: a produce gets REQUEST_TIMED_OUT at its time limit, a fetch KAFKA_STORAGE_ERROR.
"""

from collections.abc import Mapping

from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.fetchers import Fetchers
from emulator.machines.broker.replica_transitions import Coordinator
from protocol.ids import TopicPartition
from protocol.messages.session_messages import Create, SessionRequest, SessionResponse
from protocol.znodes import LOG_DIR_EVENT_NOTIFICATION, LOG_DIR_EVENT_PREFIX, encode_log_dir_event


class OfflineReplicas:
    """Consequences of a failed log directory.

    `going` is called with partitions before the broker drops them.
    """

    def __init__(self, context: BrokerContext, fetchers: Fetchers, coordinators: Mapping[str, Coordinator]) -> None:
        self._context = context
        self._fetchers = fetchers
        self._coordinators = coordinators

    def going(self, topic_partitions: list[TopicPartition]) -> None:
        for topic, partition in topic_partitions:
            self._fetchers.drop((topic, partition))
            if topic in self._coordinators:
                self._coordinators[topic].going_offline(partition)

    def tell_controller(self) -> None:
        """Notify the controller, which finds the offline replicas by a LeaderAndIsr for all of them.

        A notification in a session that expires is lost. The next registration makes the controller check anyway.
        """
        path = f"{LOG_DIR_EVENT_NOTIFICATION}/{LOG_DIR_EVENT_PREFIX}"
        event = Create(path, encode_log_dir_event(self._context.broker), sequential=True)

        def created(response: SessionResponse) -> None:
            """Ignore the response."""

        self._context.ask_session(SessionRequest([event]), created)
