"""The application: unmodified confluent-kafka, and its results. No imports of faultline."""

import random
import threading
import time
from typing import Any, Final

import msgspec
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

FLUSH_LIMIT_S: Final = 90.0
READ_LIMIT_S: Final = 30.0
BATCH_RECORDS_MAX: Final = 30
"""Maximum records of a batch.

The listener's events have up to 32 records one by one, and records are compared one by one.
"""
ABOUT: Final[dict[str, Any]] = {
    "linger.ms": 0,
    "log_level": 0,
    "request.timeout.ms": 2_000,
    "socket.timeout.ms": 2_500,
    "message.timeout.ms": 60_000,
    "topic.metadata.refresh.interval.ms": 500,
    "batch.num.messages": BATCH_RECORDS_MAX,
}


class Reports(msgspec.Struct):
    """One producer's own account.

    `delivered`: {value: offset}; `failed`: {value: error}; `open`: without a report.
    """

    client: str
    topic: str
    acks: int
    delivered: dict[str, int] = {}
    failed: dict[str, str] = {}
    open: list[str] = []


class Writer:
    """A producer with a thread, which writes a few records at random moments until its end."""

    def __init__(self, servers: str, client: str, topic: str, acks: int, seed: int, per_s: float) -> None:
        idempotence = {"enable.idempotence": True} if acks == -1 else {}
        self._producer = Producer(
            ABOUT | {"bootstrap.servers": servers, "client.id": client, "acks": acks} | idempotence
        )
        self.reports = Reports(client, topic, acks)
        self._chance = random.Random(seed)
        self._per_s = per_s
        self._open: dict[str, None] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._write, name=client)

    def begin(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Stop writing; records may still be in flight."""
        self._ended.set()
        self._thread.join()

    def flush(self) -> None:
        """Until every record has its report."""
        self._producer.flush(FLUSH_LIMIT_S)
        self.reports.open = list(self._open)

    def _write(self) -> None:
        number = 0
        while not self._ended.wait(self._chance.expovariate(self._per_s)):
            for _ in range(self._chance.choice((1, 1, 1, 2, 5))):
                value = f"{self.reports.client}/{number}"
                number += 1
                self._open[value] = None
                self._producer.produce(self.reports.topic, value, partition=0, on_delivery=self._reported)
            self._producer.poll(0)

    def _reported(self, error: KafkaError | None, message: Message) -> None:
        value = (message.value() or b"").decode()
        self._open.pop(value, None)
        if error is None:
            offset = message.offset()
            self.reports.delivered[value] = -1 if offset is None else offset
        else:
            self.reports.failed[value] = error.name()


def log_of(servers: str, topic: str) -> list[tuple[int, str]]:
    """(offset, value) of each record, as any consumer reads the topic's only partition.

    Raises TimeoutError.
    """
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "reader", "client.id": "reader", "log_level": 0})
    read: list[tuple[int, str]] = []
    until = time.monotonic() + READ_LIMIT_S
    try:
        place = TopicPartition(topic, 0, 0)
        _, end = consumer.get_watermark_offsets(place, timeout=READ_LIMIT_S)
        consumer.assign([place])
        while len(read) < end:  # no record is a marker of transactions: each offset has one
            if time.monotonic() > until:
                raise TimeoutError(f"{topic}: {len(read)} records of {end} were read")
            message = consumer.poll(READ_LIMIT_S)
            if message is None:
                continue
            if (error := message.error()) is not None:
                raise TimeoutError(f"{topic}: {error}")
            offset = message.offset()
            read.append((-1 if offset is None else offset, (message.value() or b"").decode()))
        return read
    finally:
        consumer.close()
