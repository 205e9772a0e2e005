"""Group members after a broker's death and return: `python -m verification.group_failovers`.

Each try makes a topic, kills a broker, delays the link between two AZs, starts the broker, heals the delay, and has a
consumer of librdkafka with a new group in each AZ read the topic: when the broker was started, and after the heal. A
consumer that has not read everything after 30 s is a failure. Its metadata answers, as librdkafka logs them, tell the
cause, which is one of two:

- empty: the started broker answered with no broker (before its first UpdateMetadata; semantics 4.2)
- apart: one broker's answer lacked a broker that another's had named (its UpdateMetadata was still on its way). The
  golden recordings' `views_by_broker` show such answers of real brokers. librdkafka 2.16 then closes its connection to
  that broker, and the join that waits for an answer on it waits until topic.metadata.refresh.interval.ms (5 minutes)
"""

import argparse
import logging
import random
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from confluent_kafka import Consumer, Producer

import faultline
from emulator.toplevel_errors import ended

AZS: Final = ("az-0", "az-1", "az-2", "")
"""The last: outside of every AZ."""
RECORDS: Final = 10
LIMIT_S: Final = 30.0
STARTED_LIMIT_S: Final = 60.0
DELAYS_MS: Final = (20, 50, 200)
BROKERS_IN_RESPONSE: Final = re.compile(r"(\d+) brokers, \d+ topics")


class Member(logging.Handler):
    """A consumer, and the metadata responses that it received."""

    def __init__(self, cluster: faultline.Cluster, az: str, topic: str, group: str) -> None:
        super().__init__()
        self.group, self.read = group, 0
        self.broker_counts: list[int] = []
        logger = logging.Logger(group)
        logger.addHandler(self)
        self._consumer = Consumer(
            {
                "bootstrap.servers": cluster.bootstrap_servers(az) if az else cluster.bootstrap_servers(),
                "group.id": group,
                "auto.offset.reset": "earliest",
                "debug": "metadata",
            },
            logger=logger,
        )
        self._consumer.subscribe([topic])

    def emit(self, record: logging.LogRecord) -> None:
        if match := BROKERS_IN_RESPONSE.search(record.getMessage()):
            self.broker_counts.append(int(match[1]))

    def poll(self) -> None:
        self.read += sum(one.error() is None for one in self._consumer.consume(RECORDS, timeout=0.01))

    @property
    def done(self) -> bool:
        return self.read >= RECORDS

    @property
    def cause(self) -> str:
        """Of a failure."""
        counts = set(self.broker_counts)
        return "empty" if 0 in counts else "apart" if len(counts) > 1 else f"unknown {sorted(counts)}"

    def leave(self) -> None:
        self._consumer.close()


def start(cluster: faultline.Cluster, broker: str) -> None:
    """Until its earlier session has ended it cannot register, and ends."""
    limit_s = time.monotonic() + STARTED_LIMIT_S
    while True:
        try:
            cluster.start(broker)
            return
        except faultline.FaultlineError:
            if time.monotonic() > limit_s:
                raise
            time.sleep(0.3)


def play(cluster: faultline.Cluster, number: int, chance: random.Random) -> list[Member]:
    """One try; its members, those that failed among them."""
    topic = f"t{number}"
    cluster.create_topic(topic, partitions=chance.choice((1, 3)), replicas=3)
    quiet = logging.Logger("producer")
    quiet.addHandler(logging.NullHandler())
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers(), "acks": "all"}, logger=quiet)
    for value in range(RECORDS):
        producer.produce(topic, str(value))
    assert producer.flush(LIMIT_S) == 0, "the cluster takes no records"
    broker = f"broker-{chance.randrange(3)}"
    members: list[Member] = []

    def join(when: str) -> None:
        members.extend(Member(cluster, az, topic, f"{topic}-{when}-{az or 'outside'}") for az in AZS)

    cluster.kill(broker)
    time.sleep(chance.choice((0.0, 0.5, 2.0)))
    cluster.delay(*chance.sample(AZS[:3], 2), delay_ms=chance.choice(DELAYS_MS))
    start(cluster, broker)
    join("started")
    time.sleep(chance.choice((0.0, 0.3, 1.0)))
    cluster.heal()
    join("healed")
    limit_s = time.monotonic() + LIMIT_S
    while time.monotonic() < limit_s and not all(one.done for one in members):
        for one in members:
            one.poll()
    for one in members:
        one.leave()
    return members


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="New members of groups after a broker's death.")
    parser.add_argument("--tries", type=int, default=25, help="Kills, of eight consumers each (default 25)")
    parser.add_argument("--seed", type=int, default=1, help="Of brokers, links and pauses (default 1)")
    parser.add_argument("--kafka-version", default="2.8", help="As which brokers behave (default 2.8)")
    options = parser.parse_args(arguments)
    chance = random.Random(options.seed)
    settings = {"zookeeper.session.timeout.ms": 6000, "group.initial.rebalance.delay.ms": 500}
    joined = 0
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as directory:
        about = faultline.Cluster(
            kafka_version=options.kafka_version, settings=settings, directory=Path(directory) / "run"
        )
        with about as cluster:
            for number in range(options.tries):
                members = play(cluster, number, chance)
                failed = [f"{one.group}: {one.cause}" for one in members if not one.done]
                joined, failures = joined + len(members), failures + failed
                print(f"try {number}: {len(members) - len(failed)} of {len(members)}", *failed, sep="; ", flush=True)
    print(f"{joined - len(failures)} of {joined} consumers read everything")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(ended("verification.group_failovers", main))
