"""Steps of a client's own process, in its AZ.

The client finds the leader by its own metadata, or uses a named broker. The player only hands over the work (on a
connection that no cut affects) and receives every attempt.
"""

from collections.abc import Callable, Mapping
from typing import Any

from emulator.machines.client.client_operations import OperationLog
from emulator.machines.client.client_requests import ClientRequests
from emulator.machines.client.client_settings import librdkafka_settings
from emulator.machines.client.client_state import Attempt, Failure, Fetched, FetchedRecord, Sent
from emulator.machines.client.producer import Producer
from emulator.scenario import scenario_model as m
from emulator.scenario.client_steps import numbered
from emulator.scenario.player.tasks import Order, StepFailed
from protocol.chance import Chance
from protocol.ids import NO_BROKER, topic_partition_of
from protocol.machine import Now
from protocol.messages.message_base import Message
from protocol.messages.workload_messages import (
    AttemptReport,
    ClientFetchRequest,
    ClientFetchResponse,
    ClientProduceRequest,
    ClientProduceResponse,
)
from protocol.outbox import Outbox


class ClientRefused(StepFailed):
    """The client process could not do it at all."""


def produce_order(
    asker: ClientRequests,
    out: Outbox,
    client: str,
    topic_partition: tuple[str, int],
    step: m.Produce,
    attempted: Callable[[Attempt, int], None],
) -> Order:
    """A produce by `client`; reports each attempt as it ends, with its partition (-1: default)."""
    settings: dict[str, Any] = {"acks": step.acks, "retries": step.retries, "request.timeout.ms": step.timeout_ms}
    if step.idempotent:
        settings["enable.idempotence"] = True
    if step.transactional_id:
        settings |= {"acks": "all", "transactional.id": step.transactional_id, "enable.idempotence": True}
        if not step.retries:
            del settings["retries"]
    settings |= step.settings
    request = ClientProduceRequest(
        topic=topic_partition[0],
        partition=topic_partition[1],
        values=[value.encode() for value in step.values],
        keys=[key.encode() for key in step.keys],
        broker=NO_BROKER if step.broker is None else numbered(step.broker),
        acks=step.acks,
        timeout_ms=step.timeout_ms,
        socket_timeout_ms=int(step.socket_timeout_s * 1000),
        retries=0 if step.broker is None else step.retries,  # a library finds its own in the settings
        settings=settings,
        every_ms=int(step.every_s * 1000),
        client_version=step.client_version,
        records_per_transaction=step.records_per_transaction,
        partitions=[number for _, number in map(_place, step.partitions)],
        ends=list(step.ends),
    )

    def begin(done: Callable[[Any], None]) -> None:
        def report(now: Now, out: Outbox, attempt: AttemptReport) -> None:
            attempted(as_attempt(attempt), attempt.partition)

        def answered(now: Now, out: Outbox, answer: Message | Failure) -> None:
            if isinstance(answer, Failure):
                done(ClientRefused(f"{client}: {answer.error}: {answer.reason}"))
                return
            assert isinstance(answer, ClientProduceResponse), answer
            done(ClientRefused(f"{client}: {answer.problem}") if answer.problem else answer)

        asker.ask(out, client, request, answered, report)

    return Order(f"a produce by {client}", begin)


def _place(partition: str) -> tuple[str, int]:
    place = topic_partition_of(partition)
    assert place is not None, partition
    return place


def fetch_order(
    asker: ClientRequests, out: Outbox, client: str, topic_partition: tuple[str, int], step: m.Fetch
) -> Order:
    """A fetch by `client` from the broker of the step; the outcome is a Fetched."""
    broker = numbered(step.broker)
    request = ClientFetchRequest(broker, *topic_partition, step.offset, committed=step.committed)

    def begin(done: Callable[[Any], None]) -> None:
        def answered(now: Now, out: Outbox, answer: Message | Failure) -> None:
            if isinstance(answer, Failure):
                done(ClientRefused(f"{client}: {answer.error}: {answer.reason}"))
                return
            assert isinstance(answer, ClientFetchResponse), answer
            records = None
            if answer.records is not None:
                records = tuple(FetchedRecord(r.offset, r.leader_epoch, r.value) for r in answer.records)
            ends = answer.next_offset, answer.last_stable_offset
            done(Fetched("", broker, answer.error, answer.high_watermark, records, *ends))

        asker.ask(out, client, request, answered)

    return Order(f"a fetch by {client}", begin)


def library_order(
    producers: "LibraryProducers",
    now: Callable[[], Now],
    out: Outbox,
    topic_partition: tuple[str, int],
    step: m.LibraryProduce,
) -> Order:
    """A client library's own producer in the player's process.

    Its result: [[error or null, offset]] by value.
    """

    def begin(done: Callable[[Any], None]) -> None:
        results: dict[int, list[Any]] = {}
        producer = producers.begin(step.settings)

        def sent(index: int) -> Callable[[Now, Outbox, Sent], None]:
            def one(now: Now, out: Outbox, report: Sent) -> None:
                results[index] = [report.error or None, report.offset]
                if len(results) == len(step.values):
                    producers.end(producer, now, out)
                    done([results[i] for i in range(len(step.values))])

            return one

        for index, value in enumerate(step.values):
            producer.send(now(), out, *topic_partition, value.encode(), sent(index))

    return Order("a library's producer", begin)


class LibraryProducers:
    """Producers of client libraries that are at work for the player."""

    def __init__(self, brokers: list[str], operations: OperationLog, chance: Chance) -> None:
        self._brokers = brokers
        self._operations = operations
        self._chance = chance
        self._count = 0
        self._running: list[Producer] = []

    def begin(self, settings: Mapping[str, Any]) -> Producer:
        """A new producer with librdkafka's names for its settings."""
        self._count += 1
        key = f"library-{self._count}"
        producer = Producer(key, self._brokers, self._operations, librdkafka_settings(settings), self._chance)
        self._running.append(producer)
        return producer

    def end(self, producer: Producer, now: Now, out: Outbox) -> None:
        self._running.remove(producer)
        producer.close(now, out)


def as_attempt(report: AttemptReport) -> Attempt:
    value = report.value.decode("utf-8", "backslashreplace")
    return Attempt(report.operation, report.broker, value, report.acks, report.attempt, report.error, report.offset)
