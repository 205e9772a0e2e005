"""The clients in Scala, up to 1.1: settings with a Java equivalent, and settings without.

A producer of 0.8.2 with `metadata.broker.list` is a Scala one: the Java producer plays it with the Scala producer's own
defaults (see `emulator.settings.scala_clients`). Names that both have are in `producers`, `consumers`.
"""

from typing import Any

from emulator.settings.bearing import (
    ALWAYS,
    RECORDS,
    Group,
    modelled,
    not_modelled,
    set_here,
    without_bearing,
)
from emulator.settings.setting import CONSUMER, PRODUCER, boolean, class_name, integer, listing, short, text

SCALA: dict[str, Any] = {"until": "1.1", "scala": True}

GROUPS: tuple[Group, ...] = (
    modelled(
        "The Scala producer",
        short("request.required.acks", 0, low=-1, high=1, java="acks", **SCALA),
        integer("message.send.max.retries", 3, "retries", low=0, java="retries", **SCALA),
        text("producer.type", "sync", words=("sync", "async"), **SCALA),
        integer("queue.buffering.max.ms", 5000, low=0, java="linger.ms", **SCALA),
        integer("topic.metadata.refresh.interval.ms", 600_000, java="metadata.max.age.ms", **SCALA),
        text(
            "compression.codec",
            "none",
            words=("none", "gzip", "snappy", "lz4", "0", "1", "2", "3"),
            java="compression.type",
            **SCALA,
        ),
        scope=PRODUCER,
    ),
    not_modelled(
        "The Scala producer: compression by topic",
        "compression is for every topic",
        RECORDS,
        (listing("compressed.topics", **SCALA), ALWAYS),
        scope=PRODUCER,
    ),
    set_here(
        "The Scala producer: its bootstrap servers",
        "a client connects to the brokers of the topology",
        listing("metadata.broker.list", **SCALA),
        text("host", **SCALA),
        integer("port", **SCALA),
        scope=PRODUCER,
    ),
    without_bearing(
        "The Scala producer: its queue and its code",
        "how many records go together, and what they are made of",
        integer("batch.num.messages", 200, "messages", **SCALA),
        integer("queue.buffering.max.messages", 10_000, "messages", **SCALA),
        integer("queue.enqueue.timeout.ms", -1, **SCALA),
        class_name("serializer.class", "kafka.serializer.DefaultEncoder", **SCALA),
        class_name("key.serializer.class", **SCALA),
        scope=PRODUCER,
    ),
    modelled(
        "The Scala consumer",
        boolean("auto.commit.enable", True, java="enable.auto.commit", **SCALA),
        integer("fetch.wait.max.ms", 100, low=0, java="fetch.max.wait.ms", **SCALA),
        integer("fetch.message.max.bytes", 1024**2, low=0, java="max.partition.fetch.bytes", **SCALA),
        integer("socket.timeout.ms", 30_000, low=0, java="request.timeout.ms", **SCALA),
        integer("refresh.leader.backoff.ms", 200, low=0, java="retry.backoff.ms", **SCALA),
        integer("zookeeper.session.timeout.ms", 6000, low=1, **SCALA),
        text("offsets.storage", "zookeeper", words=("zookeeper", "kafka"), **SCALA),
        scope=CONSUMER,
    ),
    set_here(
        "The Scala consumer: the session service",
        "its servers are the topology's",
        text("zookeeper.connect", **SCALA),
        scope=CONSUMER,
    ),
    without_bearing(
        "The Scala consumer: members of groups, threads, queues",
        "groups have no members here: consumers are given their partitions",
        text("consumer.id", **SCALA),
        integer("consumer.timeout.ms", -1, **SCALA),
        boolean("dual.commit.enabled", False, **SCALA),
        integer("num.consumer.fetchers", 1, **SCALA),
        integer("offsets.channel.backoff.ms", 1000, **SCALA),
        integer("offsets.channel.socket.timeout.ms", 10_000, **SCALA),
        integer("offsets.commit.max.retries", 5, **SCALA),
        integer("queued.max.message.chunks", 2, **SCALA),
        integer("rebalance.backoff.ms", 2000, **SCALA),
        integer("rebalance.max.retries", 4, **SCALA),
        integer("zookeeper.connection.timeout.ms", 6000, **SCALA),
        integer("zookeeper.sync.time.ms", 2000, **SCALA),
        scope=CONSUMER,
    ),
)
