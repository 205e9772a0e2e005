"""A record that cannot join a batch yet, and the error of too many of them."""

import msgspec

from emulator.machines.client.client_operations import NO_ANSWER, Operation
from emulator.machines.client.client_state import Done, Sent
from protocol.ids import TopicPartition
from protocol.machine import Now
from protocol.outbox import Outbox


class ProducerFull(RuntimeError):
    """More sends wait than BLOCKED_MAX (`blocked_sends`): the caller ignored `blocked`."""


class BlockedSend(msgspec.Struct, frozen=True):
    """A record before it joins a batch.

    `key`: its destination; the partition is ANY_PARTITION until it is chosen.
    """

    key: TopicPartition
    value: bytes
    operation: Operation
    done: Done
    deadline_ms: float
    record_key: bytes | None = None

    def refuse(self, now: Now, out: Outbox, error: int | str) -> None:
        """End the send: it never left, so it certainly was not stored."""
        outcome = self.operation.end(out, error=error if isinstance(error, int) else NO_ANSWER)
        sent = Sent(self.operation.identifier, *self.key, self.value, error, None, outcome)
        self.done(now, out, sent)
