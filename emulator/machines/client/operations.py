"""What clients write down about their operations: invoked, sent, answered, ended.

An operation is one thing a caller wants (a record stored, records read); an attempt is one try of it. An
operation ends exactly once: ok, failed (certainly not done) or unknown. One indefinite attempt is enough to
make a failure unknown: a request that timed out may lie in the log although the retry was refused.
"""

import msgspec

from emulator.machines.client.fetched import FetchedEntry
from protocol.errors import TRAITS, ErrorCode
from protocol.events import AttemptEnded, AttemptSent, OperationEnded, OperationInvoked, RecordsRead
from protocol.ids import EPOCH_UNKNOWN, NO_BROKER, NO_OFFSET, BrokerId, LeaderEpoch, Offset
from protocol.machine import Outbox

NO_ANSWER = -2
"""`AttemptEnded.error` when no answer came: refused, lost or timed out."""


def is_definite(error: int) -> bool:
    """Whether an answer with `error` proves that nothing was done. Codes we do not know prove nothing."""
    try:
        return TRAITS[ErrorCode(error)].definite
    except ValueError:
        return False


class Read(msgspec.Struct, frozen=True):
    """One entry of a log as a consumer was given it: records [base_offset, last_offset], the high watermark that came
    with it, and who gave it."""

    base_offset: int
    last_offset: int
    leader_epoch: int
    digest: int
    high_watermark: int
    broker: int


class Operation:
    """One operation. `identifier` is unique in the run; `attempts` counts from 1 once something was sent.

    What the caller knows in the end: `outcome` ("" until then), `offset` and `digest` of the record written, or the
    entries it was given (`reads`; only if `kept`, for a consumer may read for ever).
    """

    __slots__ = (
        "acks", "attempts", "digest", "doubtful", "ended", "identifier", "kept", "kind", "offset", "outcome",
        "partition", "reads", "topic", "value",
    )  # fmt: skip

    def __init__(
        self, identifier: str, kind: str, topic: str, partition: int, acks: int, value: str, *, kept: bool = False
    ) -> None:
        self.identifier = identifier
        self.kind = kind
        self.topic = topic
        self.partition = partition
        self.acks = acks
        self.value = value
        self.kept = kept
        self.attempts = 0
        self.doubtful = False
        self.ended = False
        self.outcome = ""
        self.offset = -1
        self.digest = 0
        self.reads: list[Read] = []

    def attempt_sent(self, out: Outbox, *, broker: BrokerId, digest: int = 0) -> None:
        """A new try is about to leave. `digest`: CRC of the batch (see `AttemptSent`)."""
        assert not self.ended, f"{self.identifier} ended before this attempt"
        self.attempts += 1
        out.emit(AttemptSent(self.identifier, self.attempts, broker, digest))

    def attempt_ended(
        self, out: Outbox, *, error: int, offset: Offset = NO_OFFSET, reason: str = "", definite: bool | None = None
    ) -> None:
        """The try ended with Kafka's code, or NO_ANSWER and a `reason`.

        `definite` overrides the code's own trait: a refused connection carried nothing, a lost one may have.
        """
        assert not self.ended, f"{self.identifier} ended before its attempt"
        if not (is_definite(error) if definite is None else definite):
            self.doubtful = True
        out.emit(AttemptEnded(self.identifier, self.attempts, error, offset, reason))

    def given(self, out: Outbox, entry: FetchedEntry, *, high_watermark: int, broker: int) -> None:
        """A consumer was given what it wanted of one entry."""
        first, last = entry.records[0].offset, entry.records[-1].offset
        if self.kept:
            self.reads.append(Read(first, last, entry.leader_epoch, entry.digest, high_watermark, broker))
        out.emit(
            RecordsRead(
                operation=self.identifier,
                topic=self.topic,
                partition=self.partition,
                base_offset=first,
                last_offset=last,
                leader_epoch=entry.leader_epoch,
                digest=entry.digest,
                high_watermark=high_watermark,
                broker=broker,
            )
        )

    def end(
        self,
        out: Outbox,
        *,
        error: int,
        offset: Offset = NO_OFFSET,
        leader_epoch: LeaderEpoch = EPOCH_UNKNOWN,
        digest: int = 0,
    ) -> str:
        """Ends the operation; returns its outcome: ok with error 0, else failed or unknown."""
        assert not self.ended, f"{self.identifier} ended twice"
        self.ended = True
        outcome = "ok" if error == ErrorCode.NONE else "unknown" if self.doubtful else "failed"
        self.outcome, self.offset, self.digest = outcome, offset, digest
        out.emit(
            OperationEnded(
                operation=self.identifier,
                kind=self.kind,
                outcome=outcome,
                error=error,
                topic=self.topic,
                partition=self.partition,
                offset=offset,
                leader_epoch=leader_epoch,
                digest=digest,
                acks=self.acks,
            )
        )
        return outcome


class OperationLog:
    """Names a node's operations. All clients of a node share one, so that no two operations share a name.

    `kept`: every operation is added to it, for an owner whose operations are few and who is asked about them later.
    """

    __slots__ = ("_count", "_kept", "_prefix")

    def __init__(self, node: str, incarnation: int, kept: list[Operation] | None = None) -> None:
        self._prefix = f"{node}.{incarnation}:"
        self._count = 0
        self._kept = kept

    def invoke(
        self,
        out: Outbox,
        *,
        kind: str,
        topic: str,
        partition: int,
        acks: int = 0,
        value: bytes = b"",
        broker: BrokerId = NO_BROKER,
        offset: Offset = NO_OFFSET,
    ) -> Operation:
        """Written before anything leaves. `kind`: produce, fetch, metadata or commit; `offset` of a fetch, or what is
        committed."""
        self._count += 1
        identifier = f"{self._prefix}{self._count}"
        text = value.decode("utf-8", "replace")
        out.emit(OperationInvoked(identifier, kind, topic, partition, acks, text, broker, offset))
        operation = Operation(identifier, kind, topic, partition, acks, text, kept=self._kept is not None)
        if self._kept is not None:
            self._kept.append(operation)
        return operation
