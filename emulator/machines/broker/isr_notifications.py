"""Notifications of ISR changes that were written straight to ZooKeeper. Semantics 1.6.

The controller reads them. One notification znode reports the collected changes, when there was none for 5 s, or no
notification for 60 s.
"""

from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.partition import Partition
from protocol.ids import TopicPartition
from protocol.messages.session_messages import Create, SessionError, SessionRequest, SessionResponse
from protocol.znodes import ISR_CHANGE_NOTIFICATION, ISR_CHANGE_PREFIX, encode_partitions

PROPAGATE = ("isr-propagate",)
PROPAGATE_EVERY_MS = 2_500.0
PROPAGATE_QUIET_MS = 5_000.0
PROPAGATE_AT_LATEST_MS = 60_000.0


class IsrNotifications:
    """Notifications of a broker whose ISR changes do not go through the controller."""

    def __init__(self, context: BrokerContext) -> None:
        self._context = context
        self._changed: list[TopicPartition] = []
        self._last_change_ms = 0.0
        self._last_propagation_ms = 0.0

    def start(self) -> None:
        """Begin the periodic check."""
        self._last_propagation_ms = self._context.now.mono_ms
        self._context.set_timer(PROPAGATE, PROPAGATE_EVERY_MS, self._propagate)

    def note(self, partition: Partition) -> None:
        """Note a written ISR change."""
        topic_partition = (partition.topic, partition.partition)
        if topic_partition not in self._changed:
            self._changed.append(topic_partition)
        self._last_change_ms = self._context.now.mono_ms

    def _propagate(self) -> None:
        """Create a notification, if it is time."""
        context = self._context
        now_ms = context.now.mono_ms
        context.set_timer(PROPAGATE, PROPAGATE_EVERY_MS, self._propagate)
        quiet = self._last_change_ms + PROPAGATE_QUIET_MS < now_ms
        overdue = self._last_propagation_ms + PROPAGATE_AT_LATEST_MS < now_ms
        if not self._changed or not (quiet or overdue):
            return
        batch, self._changed = self._changed, []
        self._last_propagation_ms = now_ms
        create = Create(f"{ISR_CHANGE_NOTIFICATION}/{ISR_CHANGE_PREFIX}", encode_partitions(batch), sequential=True)

        def created(response: SessionResponse) -> None:
            if response.error != SessionError.OK:
                self._changed = batch + [
                    topic_partition for topic_partition in self._changed if topic_partition not in batch
                ]

        context.ask_session(SessionRequest([create]), created)
