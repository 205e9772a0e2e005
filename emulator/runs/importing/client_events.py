"""Events of an application's sends, with the digests of the batches that took them.

The audit compares digests: a batch's checksum. A send has its record's value instead. The record at the acknowledged
offset, in any collected log or copy, has the value or another one. With the value, the send has the batch's digest.
Without a batch that has it, its digest is one that no batch has.
"""

import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from emulator.runs.importing.append_places import BatchAt
from emulator.runs.importing.clients_file import Sent
from emulator.runs.importing.event_files import CLIENT_NODE
from emulator.runs.importing.line_events import NodeEvent
from emulator.runs.importing.replica_contents import ReplicaContents
from protocol import events as e
from protocol.events.record_values import values_text
from protocol.ids import TopicPartition
from protocol.records.errors import RecordsError

NOT_IN_ANY_LOG = 1 << 40
"""Added to a value's checksum: a batch's has 32 bits."""


class ClientEvents:
    """Makes the events.

    `counts`: of sends by what was found: in-log, in-copy, not-found, no-offset.
    """

    def __init__(self, replicas: Sequence[tuple[str, ReplicaContents, bool]]) -> None:
        self._by_place: dict[TopicPartition, list[tuple[ReplicaContents, bool]]] = {}
        for _, replica, is_copy in replicas:
            self._by_place.setdefault(replica.place, []).append((replica, is_copy))
        self._values = lru_cache(maxsize=1024)(self._values_of)
        self.counts: Counter[str] = Counter()

    def events(self, sent: Iterator[Sent]) -> Iterator[NodeEvent]:
        """Two events of each send; one without a time has its predecessor's."""
        at_ms = 0.0
        for number, one in enumerate(sent, start=1):
            at_ms = one.at_ms if one.at_ms is not None else at_ms
            yield from self._events_of(number, one, at_ms)

    def _events_of(self, number: int, sent: Sent, at_ms: float) -> Iterator[NodeEvent]:
        operation, source = f"{CLIENT_NODE}.1:{number}", f"clients file:{sent.line}"
        digest, epoch = self._digest(sent)
        invoked = e.OperationInvoked(
            operation, "produce", sent.topic, sent.partition, sent.acks, values_text([sent.value[:256]]), sent.broker,
            -1, sent.client,
        )  # fmt: skip
        ended = e.OperationEnded(
            operation=operation, kind="produce", outcome=sent.outcome, error=sent.error, topic=sent.topic,
            partition=sent.partition, offset=sent.offset, leader_epoch=epoch, digest=digest, acks=sent.acks,
            broker=sent.broker, attempts=1,
        )  # fmt: skip
        yield NodeEvent(at_ms, 1, invoked, source)
        yield NodeEvent(at_ms, 1, ended, source)

    def _digest(self, sent: Sent) -> tuple[int, int]:
        """(digest, leader epoch) of the batch with the record."""
        if sent.offset < 0:
            self.counts["no-offset"] += 1
            return self._anywhere(sent)
        for replica, is_copy in self._by_place.get((sent.topic, sent.partition), ()):
            batch = replica.batch_with(sent.offset)
            if batch is not None and self._values(replica, batch).get(sent.offset) == sent.value:
                self.counts["in-copy" if is_copy else "in-log"] += 1
                return batch.digest, batch.epoch
        self.counts["not-found"] += 1
        return NOT_IN_ANY_LOG + zlib.crc32(sent.value), -1

    def _anywhere(self, sent: Sent) -> tuple[int, int]:
        """Of a send without an offset: the batch of the only record with its value."""
        found = [
            batch
            for replica, _ in self._by_place.get((sent.topic, sent.partition), ())
            for batch in replica.batches[:10_000]
            if sent.value in self._values(replica, batch).values()
        ]
        if len({batch.digest for batch in found}) == 1:
            return found[0].digest, found[0].epoch
        return NOT_IN_ANY_LOG + zlib.crc32(sent.value), -1

    def _values_of(self, replica: ReplicaContents, batch: BatchAt) -> dict[int, bytes]:
        try:
            return {int(record.offset): record.value or b"" for record in replica.records_of(batch)}
        except (RecordsError, OSError):
            return {}
