"""Single commands of the player at a client process: produce, fetch, metadata.

They go directly to a named broker, or through a library's producer that finds the leader by itself. A produce by a
library has a producer of its own, closed when its last record has ended.
"""

from collections import deque
from collections.abc import Callable
from functools import partial

import msgspec

from emulator.machines.client.client_operations import OperationLog
from emulator.machines.client.client_state import Attempt, Described, Done, Fetched, Sent
from emulator.machines.client.direct import VALUES_MAX, DirectClient
from emulator.machines.client.producer import Producer
from emulator.machines.client.transactional_produce import TransactionalProduce
from emulator.machines.client.workload_settings import library_settings
from protocol.chance import Chance
from protocol.ids import NO_BROKER
from protocol.machine import Now
from protocol.messages.message_base import Message
from protocol.messages.workload_messages import (
    AttemptReport,
    ClientAttempt,
    ClientFetchRequest,
    ClientFetchResponse,
    ClientMetadataRequest,
    ClientMetadataResponse,
    ClientProduceRequest,
    ClientProduceResponse,
    RecordReport,
    TransactionReport,
)
from protocol.outbox import Due, Outbox

PRODUCERS_MAX = 64
"""Bound of library producers at a time."""

PACE = "errand-pace"

Reply = Callable[[Outbox, Message], None]


class TooManyProducers(RuntimeError):
    """More produces by a library at once than PRODUCERS_MAX."""


class _Pace(msgspec.Struct, frozen=True):
    """A library's produce with values that are not sent yet. `waiting`: (value, key)."""

    producer: Producer
    request: ClientProduceRequest
    waiting: deque[tuple[bytes, bytes | None]]
    sent: Done


class ClientCommands:
    """Commands under way for the player."""

    def __init__(
        self, brokers: list[str], operations: OperationLog, kafka_version: str, magic: int, chance: Chance
    ) -> None:
        self._brokers = brokers
        self._operations = operations
        self._kafka_version = kafka_version
        self._chance = chance
        self._direct = DirectClient("direct", operations, magic)
        self._producers: list[Producer] = []
        self._pacing: dict[int, _Pace] = {}
        self._transactional: list[TransactionalProduce] = []
        self._count = 0

    def close(self, now: Now, out: Outbox) -> None:
        """End the libraries' operations under way. Direct ones end with the process."""
        for number in self._pacing:
            out.cancel_timer((PACE, number))
        self._pacing.clear()
        for command in list(self._transactional):
            command.close(now, out)
        for producer in list(self._producers):
            producer.close(now, out)

    def produce(self, now: Now, out: Outbox, request: ClientProduceRequest, reply: Reply) -> None:
        """Execute a produce. Raises TooManyProducers, and errors of direct client and settings."""
        if request.broker < 0:
            self._produce_by_library(now, out, request, reply)
            return
        attempts: list[AttemptReport] = []

        def attempted(now: Now, out: Outbox, attempt: Attempt) -> None:
            attempts.append(
                AttemptReport(
                    operation=attempt.operation,
                    broker=attempt.broker,
                    value=attempt.value.encode(),
                    acks=attempt.acks,
                    attempt=attempt.attempt,
                    error=attempt.error,
                    offset=attempt.offset,
                )
            )
            reply(out, ClientAttempt(attempts[-1]))

        self._direct.produce(
            now,
            out,
            broker=request.broker,
            topic=request.topic,
            partition=request.partition,
            values=request.values,
            acks=request.acks,
            timeout_ms=request.timeout_ms,
            socket_timeout_ms=request.socket_timeout_ms,
            retries=request.retries,
            batch=request.batch,
            compression=request.compression,
            attempted=attempted,
            done=lambda now, out: reply(out, ClientProduceResponse(attempts)),
        )

    def _produce_by_library(self, now: Now, out: Outbox, request: ClientProduceRequest, reply: Reply) -> None:
        if not 0 < len(request.values) <= VALUES_MAX:
            raise ValueError(f"produce of {len(request.values)} values; allowed are 1 to {VALUES_MAX}")
        if request.keys and len(request.keys) != len(request.values):
            raise ValueError(f"{len(request.keys)} keys for {len(request.values)} values")
        if request.partition < 0 and request.library != "java":
            raise ValueError(f"the partitioner of {request.library} is not modelled: name a partition")
        settings = library_settings(
            request.library, self._kafka_version, request.settings, request.client_version
        )
        if len(self._producers) + len(self._transactional) >= PRODUCERS_MAX:
            raise TooManyProducers(f"produce: {PRODUCERS_MAX} producers are active; wait until one ends")
        self._count += 1
        chance = Chance(self._chance.below(1 << 62))
        key = f"errand-{self._count}"
        if settings.transactional_id:
            make = partial(Producer, key, self._brokers, self._operations, settings, chance)
            self._produce_in_transactions(now, out, request, make, settings.acks, reply)
            return
        producer = Producer(key, self._brokers, self._operations, settings, chance)
        self._producers.append(producer)
        attempts: list[AttemptReport] = []

        def sent(now: Now, out: Outbox, result: Sent) -> None:
            attempts.append(_report(result, settings.acks))
            reply(out, ClientAttempt(attempts[-1]))
            if len(attempts) == len(request.values):
                self._producers.remove(producer)
                reply(out, ClientProduceResponse(attempts))
                producer.close(now, out)

        keys: list[bytes | None] = [*request.keys] if request.keys else [None] * len(request.values)
        waiting = deque(zip(request.values, keys, strict=True))
        self._pacing[self._count] = _Pace(producer, request, waiting, sent)
        self._send_next(now, out, self._count)

    def _produce_in_transactions(
        self,
        now: Now,
        out: Outbox,
        request: ClientProduceRequest,
        make: Callable[[Due], Producer],
        acks: int,
        reply: Reply,
    ) -> None:
        attempts: list[AttemptReport] = []

        def sent(now: Now, out: Outbox, result: Sent) -> None:
            attempts.append(_report(result, acks))
            reply(out, ClientAttempt(attempts[-1]))

        def ended(now: Now, out: Outbox, transactions: list[TransactionReport]) -> None:
            self._transactional.remove(command)
            reply(out, ClientProduceResponse(attempts, transactions=transactions))

        command = TransactionalProduce(self._count, request, make, sent, ended)
        self._transactional.append(command)
        command.start(now, out)

    def _send_next(self, now: Now, out: Outbox, number: int) -> None:
        """Send all values, or one and the next after a pause."""
        pace = self._pacing[number]
        request = pace.request
        while pace.waiting:
            value, key = pace.waiting.popleft()
            pace.producer.send(now, out, request.topic, request.partition, value, pace.sent, key)
            if request.every_ms and pace.waiting:
                after_ms = float(request.every_ms)
                out.set_timer((PACE, number), after_ms, lambda now, out: self._send_next(now, out, number))
                return
        del self._pacing[number]

    def fetch(self, now: Now, out: Outbox, request: ClientFetchRequest, reply: Reply) -> None:
        """Execute a fetch. Raises TooManyExchanges."""

        def done(now: Now, out: Outbox, fetched: Fetched) -> None:
            records = None
            if fetched.records is not None:
                records = [RecordReport(each.offset, each.leader_epoch, each.value) for each in fetched.records]
            answer = ClientFetchResponse(
                fetched.error,
                fetched.high_watermark,
                records,
                next_offset=fetched.next_offset,
                last_stable_offset=fetched.last_stable_offset,
            )
            reply(out, answer)

        self._direct.fetch(
            now,
            out,
            broker=request.broker,
            topic=request.topic,
            partition=request.partition,
            offset=request.offset,
            socket_timeout_ms=request.socket_timeout_ms,
            max_wait_ms=request.max_wait_ms,
            max_bytes=request.max_bytes,
            committed=request.committed,
            done=done,
        )

    def metadata(self, now: Now, out: Outbox, request: ClientMetadataRequest, reply: Reply) -> None:
        """Execute a metadata request. Raises TooManyExchanges."""

        def done(now: Now, out: Outbox, described: Described) -> None:
            reply(out, ClientMetadataResponse(described.error, described.metadata))

        self._direct.metadata(
            now,
            out,
            broker=request.broker,
            topics=request.topics,
            socket_timeout_ms=request.socket_timeout_ms,
            done=done,
        )


def _report(result: Sent, acks: int) -> AttemptReport:
    """Report of a record that a library's producer has ended."""
    return AttemptReport(
        operation=result.operation,
        broker=NO_BROKER,
        value=result.value,
        acks=acks,
        attempt=1,
        error=result.error,
        offset=result.offset,
        outcome=result.outcome,
        partition=result.partition,
    )
