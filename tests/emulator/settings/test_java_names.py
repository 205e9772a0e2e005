"""Clients of long ago, in the Java clients' words of today."""

from emulator.settings.java_names import java_consumer, java_producer
from emulator.settings.setting import LONG_MAX, Value


def test_the_scala_producer_has_its_own_defaults() -> None:
    assert java_producer({"metadata.broker.list": "a:1"}) == {
        "metadata.broker.list": "a:1",
        "acks": "0",
        "retries": 3,
        "request.timeout.ms": 10_000,
        "max.in.flight.requests.per.connection": 1,
        "metadata.max.age.ms": 600_000,
        "linger.ms": 0,
    }


def test_what_the_scala_producer_is_given() -> None:
    given: dict[str, Value] = {
        "request.required.acks": -1,
        "message.send.max.retries": 10,
        "retry.backoff.ms": 500,
        "request.timeout.ms": 7,
        "producer.type": "async",
        "queue.buffering.max.ms": 1000,
        "compression.codec": "2",
    }
    java = java_producer(given)
    assert (java["acks"], java["retries"], java["retry.backoff.ms"], java["request.timeout.ms"]) == ("-1", 10, 500, 7)
    assert (java["linger.ms"], java["compression.type"]) == (1000, "snappy")
    assert java_producer(given | {"producer.type": "sync"})["linger.ms"] == 0
    assert java_producer({"producer.type": "async"})["linger.ms"] == 5000


def test_what_java_producers_were_given_before_0_11() -> None:
    assert java_producer({"timeout.ms": 5, "metadata.fetch.timeout.ms": 6}) == {
        "request.timeout.ms": 5,
        "max.block.ms": 6,
    }
    assert java_producer({"block.on.buffer.full": True, "metadata.fetch.timeout.ms": 6}) == {"max.block.ms": LONG_MAX}
    assert java_producer({"block.on.buffer.full": False, "acks": "all"}) == {"acks": "all"}


def test_the_scala_consumers_names() -> None:
    given: dict[str, Value] = {
        "auto.commit.enable": False,
        "auto.offset.reset": "smallest",
        "fetch.wait.max.ms": 50,
        "fetch.message.max.bytes": 9,
        "zookeeper.session.timeout.ms": 10_000,
    }
    assert java_consumer(given) == {
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "fetch.max.wait.ms": 50,
        "max.partition.fetch.bytes": 9,
        "zookeeper.session.timeout.ms": 10_000,
    }
