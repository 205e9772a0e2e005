"""An application with librdkafka, one for each AZ: the profile `librdkafka` of the compose files beside this one.

    python librdkafka.py           produce so many records a second, and read what all of them wrote, until told to end
    python librdkafka.py topic     make the topic, as soon as there are brokers, and end

It knows its AZ, and where brokers listen for that, from the environment (ENVIRONMENT below). Once a second it says what
was delivered, what was not and why, and what its group's member has read. It exits with 0 when it is told to end.
"""

import os
import signal
import sys
import time
from collections import Counter
from types import FrameType

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

ENVIRONMENT = {
    "FAULTLINE_AZ": "az-0",
    "FAULTLINE_BOOTSTRAP": "127.0.0.1:9500",
    "FAULTLINE_WORKLOAD_TOPIC": "load",
    "FAULTLINE_WORKLOAD_PARTITIONS": "3",
    "FAULTLINE_WORKLOAD_ACKS": "all",
    "FAULTLINE_WORKLOAD_PER_S": "10",
}
"""What is asked of the environment, and what is taken where it says nothing."""

TOPIC_LIMIT_S = 120.0
FLUSH_LIMIT_S = 5.0
REPLICAS = 3
IN_FLIGHT_MAX = 10_000
"""Records that wait for their delivery, as in a cut: no more are produced then."""


class Told:
    """What became of records, since it was last said."""

    def __init__(self) -> None:
        self.delivered = self.read = 0
        self.failed: Counter[str] = Counter()

    def on_delivery(self, error: KafkaError | None, _message: Message) -> None:
        if error is None:
            self.delivered += 1
        else:
            self.failed[error.str()] += 1

    def line(self) -> str:
        why = "".join(f", {times} x {error}" for error, times in self.failed.items())
        return f"{self.delivered} delivered, {self.read} read{why}"


def given(name: str) -> str:
    return os.environ.get(name) or ENVIRONMENT[name]


def make_topic(servers: str, topic: str) -> None:
    """Until it is there: brokers may only be starting, and another may make it as well."""
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    until = time.monotonic() + TOPIC_LIMIT_S
    while True:
        made = admin.create_topics([NewTopic(topic, int(given("FAULTLINE_WORKLOAD_PARTITIONS")), REPLICAS)])[topic]
        try:
            made.result()
            return
        except KafkaException as error:
            if error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
                return
            if time.monotonic() > until:
                raise SystemExit(f"topic {topic}: {error.args[0].str()}") from None
            time.sleep(0.5)


def work(az: str, servers: str, topic: str) -> None:
    """Produce and read until a signal says to end."""
    ending: list[int] = []

    def end(number: int, _frame: FrameType | None) -> None:
        ending.append(number)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    about = {"bootstrap.servers": servers, "client.id": f"librdkafka-{az}", "log_level": 0}
    acks = given("FAULTLINE_WORKLOAD_ACKS")
    promised = {"acks": acks, "enable.idempotence": acks in ("all", "-1"), "message.timeout.ms": 60_000}
    producer = Producer(about | promised)
    consumer = Consumer(about | {"group.id": f"{topic}-librdkafka", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    told, number, pause_s = Told(), 0, 1 / float(given("FAULTLINE_WORKLOAD_PER_S"))
    next_s = say_s = time.monotonic()
    while not ending:
        if (now_s := time.monotonic()) >= next_s:
            next_s = max(next_s + pause_s, now_s - 1)
            if len(producer) < IN_FLIGHT_MAX:
                number += 1
                producer.produce(topic, f"{az}-{number}", on_delivery=told.on_delivery)
        producer.poll(0)
        message = consumer.poll(max(0.0, min(next_s - now_s, 0.1)))
        told.read += message is not None and message.error() is None
        if now_s - say_s >= 1:
            print(f"{az}: {told.line()}", flush=True)
            told, say_s = Told(), now_s
    left = producer.flush(FLUSH_LIMIT_S)
    consumer.close()
    print(f"{az}: {told.line()}; {left} unknown at the end", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["topic"]:
        make_topic(given("FAULTLINE_BOOTSTRAP"), given("FAULTLINE_WORKLOAD_TOPIC"))
    else:
        work(given("FAULTLINE_AZ"), given("FAULTLINE_BOOTSTRAP"), given("FAULTLINE_WORKLOAD_TOPIC"))
