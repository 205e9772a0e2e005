"""Application with librdkafka, one for each AZ: profile `librdkafka` of the compose files.

    python librdkafka.py           produce so many records a second, and read what all of them wrote, until a signal
    python librdkafka.py topic     create the topic, as soon as there are brokers, and end

The environment (ENVIRONMENT below) names its AZ and the bootstrap servers for it. Once a second it prints counts of
delivered records, failed ones by error, and records that its group's member has read. It exits with 0 on SIGTERM and
SIGINT.
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
"""{environment variable: default}"""

TOPIC_LIMIT_S = 120.0
FLUSH_LIMIT_S = 5.0
REPLICAS = 3
IN_FLIGHT_MAX = 10_000
"""Maximum undelivered records, as in a cut: at more it produces none."""


class DeliveryCounts:
    """Counts of delivered, failed and read records since the last line."""

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


def setting(name: str) -> str:
    return os.environ.get(name) or ENVIRONMENT[name]


def make_topic(servers: str, topic: str) -> None:
    """Create the topic. Retries while brokers start; another process may create it, too."""
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    until = time.monotonic() + TOPIC_LIMIT_S
    while True:
        made = admin.create_topics([NewTopic(topic, int(setting("FAULTLINE_WORKLOAD_PARTITIONS")), REPLICAS)])[topic]
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
    """Produce and read until a signal."""
    ending: list[int] = []

    def end(number: int, _frame: FrameType | None) -> None:
        ending.append(number)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    about = {"bootstrap.servers": servers, "client.id": f"librdkafka-{az}", "log_level": 0}
    acks = setting("FAULTLINE_WORKLOAD_ACKS")
    promised = {"acks": acks, "enable.idempotence": acks in ("all", "-1"), "message.timeout.ms": 60_000}
    producer = Producer(about | promised)
    consumer = Consumer(about | {"group.id": f"{topic}-librdkafka", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    counts, number, pause_s = DeliveryCounts(), 0, 1 / float(setting("FAULTLINE_WORKLOAD_PER_S"))
    next_s = print_s = time.monotonic()
    while not ending:
        if (now_s := time.monotonic()) >= next_s:
            next_s = max(next_s + pause_s, now_s - 1)
            if len(producer) < IN_FLIGHT_MAX:
                number += 1
                producer.produce(topic, f"{az}-{number}", on_delivery=counts.on_delivery)
        producer.poll(0)
        message = consumer.poll(max(0.0, min(next_s - now_s, 0.1)))
        counts.read += message is not None and message.error() is None
        if now_s - print_s >= 1:
            print(f"{az}: {counts.line()}", flush=True)
            counts, print_s = DeliveryCounts(), now_s
    left = producer.flush(FLUSH_LIMIT_S)
    consumer.close()
    print(f"{az}: {counts.line()}; {left} unknown at the end", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["topic"]:
        make_topic(setting("FAULTLINE_BOOTSTRAP"), setting("FAULTLINE_WORKLOAD_TOPIC"))
    else:
        work(setting("FAULTLINE_AZ"), setting("FAULTLINE_BOOTSTRAP"), setting("FAULTLINE_WORKLOAD_TOPIC"))
