"""Request of an idempotent producer's id, from any broker (KIP-98)."""

from emulator.machines.client.client_metadata import MetadataCache
from emulator.machines.client.client_settings import ProducerSettings
from emulator.machines.client.client_state import Failure
from emulator.machines.client.connections import BrokerConnections
from emulator.machines.client.deadlines import NEVER, is_due
from emulator.machines.client.producer_sequences import Sequences
from protocol.errors import ErrorCode
from protocol.machine import Now
from protocol.messages.message_base import Message
from protocol.messages.transactions import InitProducerIdRequest, InitProducerIdResponse
from protocol.outbox import Outbox


class ProducerIdentity:
    """Supplies `sequences` with an id. Retries after `retry.backoff.ms`."""

    def __init__(
        self,
        sequences: Sequences,
        connections: BrokerConnections,
        metadata: MetadataCache,
        settings: ProducerSettings,
    ) -> None:
        self._sequences = sequences
        self._connections = connections
        self._metadata = metadata
        self._settings = settings
        self._under_way = False
        self._ask_at_ms = 0.0

    def poll(self, now: Now, out: Outbox) -> None:
        """Request an id if it is missing and it is time to."""
        if self._sequences.producer_id >= 0 or self._under_way or not is_due(now, self._ask_at_ms):
            return
        node = self._connections.least_loaded(now, self._metadata.nodes)
        if node is None or not self._connections.ready(now, out, node):
            return
        self._under_way = True
        wait_ms = self._settings.wait_ms
        self._connections.send(now, out, node, InitProducerIdRequest(), wait_ms=wait_ms, answered=self._answered)

    def next_at_ms(self) -> float:
        """Time of possible work for `poll` (mono_ms)."""
        return NEVER if self._under_way or self._sequences.producer_id >= 0 else self._ask_at_ms

    def _answered(self, now: Now, out: Outbox, answer: Message | Failure) -> None:
        self._under_way = False
        self._ask_at_ms = now.mono_ms + self._settings.retry_backoff_ms
        if isinstance(answer, InitProducerIdResponse) and answer.error == ErrorCode.NONE:
            self._sequences.take_identity(answer.producer_id, answer.producer_epoch)
