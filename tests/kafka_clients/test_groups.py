"""Groups of real consumers: members come, go, fall silent and return, and commit."""

import threading
import time
from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, Producer
from kafka import KafkaConsumer

import faultline
from tests.kafka_clients.capabilities import works
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.network

LIMIT_S = PATIENCE_S


def member(servers: str, group: str, topic: str, **settings: object) -> Consumer:
    about = {
        "bootstrap.servers": servers,
        "group.id": group,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "session.timeout.ms": 6000,
        "heartbeat.interval.ms": 500,
    } | {name.replace("_", "."): value for name, value in settings.items()}
    consumer = Consumer(about)
    consumer.subscribe([topic])
    return consumer


def until(holds: Callable[[], bool], *polled: Consumer) -> list[bytes]:
    """Consumers are polled until it holds; what they were given meanwhile."""
    given: list[bytes] = []
    deadline = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < deadline, [one.assignment() for one in polled]
        for one in polled:
            message = one.poll(0.1)
            if message is not None and message.error() is None:
                given.append(message.value() or b"")
    return given


def places(consumer: Consumer) -> list[int]:
    return sorted(one.partition for one in consumer.assignment())


def write(servers: str, topic: str, *values: str) -> None:
    producer = Producer({"bootstrap.servers": servers})
    for number, value in enumerate(values):
        producer.produce(topic, value, partition=number % 2)
    assert producer.flush(LIMIT_S) == 0


@works("librdkafka", "members of a group: join, rebalance, leave, commits by generation")
def test_two_members_share_and_the_one_that_stays_takes_all(cluster: faultline.Cluster, topic: str) -> None:
    servers, group = cluster.bootstrap_servers(), f"g-{topic}"
    write(servers, topic, "a", "b", "c", "d")
    first = member(servers, group, topic)
    assert sorted(until_read(first, 4)) == [b"a", b"b", b"c", b"d"]
    first.commit(asynchronous=False)
    second = member(cluster.bootstrap_servers("az-1"), group, topic)
    until(lambda: len(places(first)) == len(places(second)) == 1, first, second)
    assert sorted(places(first) + places(second)) == [0, 1]
    first.close()
    until(lambda: places(second) == [0, 1], second)
    write(servers, topic, "e", "f")
    assert sorted(until_read(second, 2)) == [b"e", b"f"], "from what the group has committed"
    second.close()


def until_read(consumer: Consumer, many: int) -> list[bytes]:
    given: list[bytes] = []
    deadline = time.monotonic() + LIMIT_S
    while len(given) < many:
        assert time.monotonic() < deadline, given
        message = consumer.poll(0.5)
        if message is not None:
            assert message.error() is None, message.error()
            given.append(message.value() or b"")
    return given


STRATEGIES = {"0.10.2": "range", "1.1": "roundrobin"}
"""Of that version's five members; of the others' cooperative-sticky."""


@works("librdkafka", "a group of five: each comes and takes its share, three go at once")
def test_five_members_share_as_they_come_and_go(cluster: faultline.Cluster, topic: str, version: str) -> None:
    strategy = STRATEGIES.get(version, "cooperative-sticky")
    servers, group, wide = cluster.bootstrap_servers(), f"g-{topic}", f"{topic}-wide"
    cluster.create_topic(wide, partitions=10, replicas=3)
    members: list[Consumer] = []
    for number in range(5):
        members.append(member(servers, group, wide, partition_assignment_strategy=strategy, client_id=f"m{number}"))
        until(lambda: shared_evenly(members, 10), *members)
    for one in members[1:4]:
        one.close()
    staying = [members[0], members[4]]
    until(lambda: shared_evenly(staying, 10), *staying)
    for one in staying:
        one.close()


def shared_evenly(members: list[Consumer], partitions: int) -> bool:
    """Each partition has one of them, and no two have shares that differ by more than one."""
    shares = [places(one) for one in members]
    even = max(map(len, shares)) - min(map(len, shares)) <= 1
    return even and sorted(number for share in shares for number in share) == list(range(partitions))


@works("librdkafka", "static members (KIP-345)", "2.3")
def test_a_static_member_returns_to_its_place_without_a_rebalance(cluster: faultline.Cluster, topic: str) -> None:
    servers, group = cluster.bootstrap_servers(), f"g-{topic}"
    first = member(servers, group, topic, group_instance_id="one")
    second = member(servers, group, topic, group_instance_id="two")
    until(lambda: len(places(first)) == len(places(second)) == 1, first, second)
    before = places(second)
    second.close()  # a static member leaves no group when it goes
    again = member(servers, group, topic, group_instance_id="two")
    until(lambda: places(again) == before, first, again)
    assert len(places(first)) == 1
    for one in (first, again):
        one.close()


@works("kafka-python", "members of a group")
def test_kafka_python_joins_a_group_with_librdkafka(cluster: faultline.Cluster, topic: str) -> None:
    servers, group = cluster.bootstrap_servers("az-2"), f"g-{topic}"
    other = member(servers, group, topic, partition_assignment_strategy="range")
    until(lambda: places(other) == [0, 1], other)
    consumer = KafkaConsumer(
        topic, bootstrap_servers=servers.split(","), group_id=group, session_timeout_ms=6000,
        heartbeat_interval_ms=500, auto_offset_reset="earliest",
    )  # fmt: skip
    ended = threading.Event()
    polling = threading.Thread(target=lambda: [consumer.poll(200) for _ in iter(ended.is_set, True)])
    polling.start()
    try:
        until(lambda: len(places(other)) == 1 and len(consumer.assignment()) == 1, other)
    finally:
        ended.set()
        polling.join()
        consumer.close()
    until(lambda: places(other) == [0, 1], other)
    other.close()
