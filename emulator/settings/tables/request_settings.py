"""Brokers: requests. Threads and queues, connections, quotas."""

from typing import Any

from emulator.settings.bearing import (
    ALL,
    ALWAYS,
    RECORDS,
    TERMS,
    Around,
    Bears,
    Group,
    below,
    from_itself,
    modelled,
    not_modelled,
    without_bearing,
)
from emulator.settings.setting import (
    CLUSTER_WIDE,
    INT_MAX,
    LONG_MAX,
    Setting,
    Value,
    class_name,
    double,
    integer,
    long,
    text,
)


def _queue(value: Value, around: Around) -> float | None:
    return 0.0 if 0 < float(value) < QUEUE_BYTES else None


def _request_size(value: Value, around: Around) -> float | None:
    """Room for the largest message and its envelope."""
    return 0.0 if float(value) < max(1024**2, float(around.broker["message.max.bytes"])) else None


SINCE_2_3 = {**CLUSTER_WIDE, "update_since": "2.3"}
QUEUE_BYTES = 16 * 1024**2
"""More than a run has under way at one broker."""
QUEUE = Bears(f"1 to {QUEUE_BYTES}", _queue)
REQUEST_SIZE = Bears("below 1 MiB or message.max.bytes", _request_size)


def _throttle(name: str, since: str) -> Setting:
    """Bytes per second; only while a broker runs."""
    return long(name, LONG_MAX, low=0, since=since, update="per-broker", update_since=since, only_update=True)


def _of_clients(since: str) -> dict[str, Any]:
    return {"since": since, "update": "per-client", "update_since": since, "only_update": True}


GROUPS: tuple[Group, ...] = (
    modelled(
        "Requests",
        integer("num.io.threads", 8, low=1, **CLUSTER_WIDE, unit="threads"),
    ),
    not_modelled(
        "A queue of requests that is full",
        "there is at most one queued request per connection, so the network threads never block",
        ALL,
        (integer("queued.max.requests", 500, low=1, unit="requests"), below(500)),
    ),
    not_modelled(
        "Bytes in the queue",
        "the queue of requests has a length, no size",
        (*RECORDS, *TERMS),
        (long("queued.max.request.bytes", -1, since="1.0"), QUEUE),
    ),
    not_modelled(
        "Connections that are closed",
        "a connection stays until a process dies or gives up",
        ALL,
        (long("connections.max.idle.ms", 600000), from_itself()),
    ),
    not_modelled(
        "Connections that are refused",
        "a broker takes every connection, and every frame that fits into one",
        ALL,
        (
            integer("max.connections", INT_MAX, low=0, since="2.3", **CLUSTER_WIDE),
            below(1000),
        ),
        (
            integer("max.connections.per.ip", INT_MAX, low=(1, ("2.0.0", 0)), **SINCE_2_3),
            below(100),
        ),
        (
            integer("max.connection.creation.rate", INT_MAX, low=0, since="2.7", **CLUSTER_WIDE),
            below(1000),
        ),
        (integer("socket.request.max.bytes", 100 * 1024**2, low=1), REQUEST_SIZE),
    ),
    not_modelled(
        "Connections that take long",
        "a broker gives up connecting by its other time-outs (semantics 1.6, 2.4)",
        RECORDS,
        (long("socket.connection.setup.timeout.ms", 10000, since="2.7"), ALWAYS),
        (long("socket.connection.setup.timeout.max.ms", (127000, ("2.8", 30000)), since="2.7"), ALWAYS),
    ),
    not_modelled(
        "Quotas",
        "no client is throttled",
        RECORDS,
        (long("quota.producer.default", LONG_MAX, low=1, since="0.9", until="2.8"), ALWAYS),
        (class_name("client.quota.callback.class", since="2.0.0"), ALWAYS),
        (_throttle("leader.replication.throttled.rate", "0.10.1"), ALWAYS),
        (_throttle("follower.replication.throttled.rate", "0.10.1"), ALWAYS),
        (long("producer_byte_rate", LONG_MAX, **_of_clients("0.9")), ALWAYS),
        (double("request_percentage", float(INT_MAX), "percent", **_of_clients("0.11")), ALWAYS),
    ),
    without_bearing(
        "Quotas of reads and topics, and how they are measured",
        "no record becomes another",
        long("quota.consumer.default", LONG_MAX, low=1, since="0.9", until="2.8"),
        integer("quota.window.num", 11, low=1, since="0.9"),
        integer("quota.window.size.seconds", 1, low=1, since="0.9"),
        integer("replication.quota.window.num", 11, low=1, since="0.10.1"),
        integer("replication.quota.window.size.seconds", 1, low=1, since="0.10.1"),
        integer("alter.log.dirs.replication.quota.window.num", 11, low=1, since="1.1"),
        integer("alter.log.dirs.replication.quota.window.size.seconds", 1, low=1, since="1.1"),
        _throttle("replica.alter.log.dirs.io.max.bytes.per.second", "1.1"),
        integer("controller.quota.window.num", 11, low=1, since="2.7"),
        integer("controller.quota.window.size.seconds", 1, low=1, since="2.7"),
        long("consumer_byte_rate", LONG_MAX, **_of_clients("0.9")),
        double("controller_mutation_rate", float(INT_MAX), **_of_clients("2.7")),
        integer("connection_creation_rate", INT_MAX, low=0, **_of_clients("2.7")),
    ),
    without_bearing(
        "Threads and sockets",
        "how fast frames come, in the order in which they were sent",
        integer("num.network.threads", 3, low=1, **CLUSTER_WIDE),
        integer("background.threads", 10, low=1, **CLUSTER_WIDE),
        integer("num.recovery.threads.per.data.dir", 1, low=1, **CLUSTER_WIDE),
        integer("num.replica.alter.log.dirs.threads", None, since="1.1"),
        text("max.connections.per.ip.overrides", **SINCE_2_3),
        integer("socket.send.buffer.bytes", 100 * 1024),
        integer("socket.receive.buffer.bytes", 100 * 1024),
    ),
    without_bearing(
        "Fetches",
        "how many bytes or sessions at a time",
        integer("fetch.max.bytes", 55 * 1024**2, low=1024, since="2.5"),
        integer("max.incremental.fetch.session.cache.slots", 1000, low=0, since="1.1"),
    ),
)
