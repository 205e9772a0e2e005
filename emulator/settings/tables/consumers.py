"""Consumers: the Java client's. `scala_clients` has those of the Scala consumer."""

from emulator.settings.bearing import (
    ALWAYS,
    READS,
    Group,
    modelled,
    not_modelled,
    set_here,
    without_bearing,
)
from emulator.settings.setting import (
    CONSUMER,
    INT_MAX,
    boolean,
    class_name,
    integer,
    listing,
    long,
    text,
)
from emulator.settings.tables.client_settings_of_3 import NEWER_OF_CLIENTS, RETRY_PAUSE_MAX
from emulator.settings.tables.security_settings import OF_CLIENTS

INSTANCE_ID = (
    r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}",
    "1 to 249 letters, digits, '.', '_' and '-', neither '.' nor '..'",
)
"""JoinGroupRequest.validateGroupInstanceId."""

GROUPS: tuple[Group, ...] = (
    modelled(
        "Positions and commits",
        text(
            "auto.offset.reset",
            "latest",
            words=("latest", "earliest", "none"),
            words_until=(("smallest", "1.1"), ("largest", "1.1")),
        ),
        boolean("enable.auto.commit", True),
        integer("auto.commit.interval.ms", 5000, low=0),
        scope=CONSUMER,
    ),
    modelled(
        "Fetches",
        integer("fetch.max.wait.ms", 500, low=0),
        integer("fetch.min.bytes", (1024, ("0.9", 1)), low=0),
        integer("fetch.max.bytes", 50 * 1024**2, low=0, since="0.10.1"),
        integer("max.partition.fetch.bytes", 1024**2, low=0, since="0.9"),
        scope=CONSUMER,
    ),
    modelled(
        "Time-outs, connections, metadata",
        integer("request.timeout.ms", (40000, ("0.10.1", 305000), ("2.0.0", 30000)), low=0, since="0.9"),
        integer("default.api.timeout.ms", 60000, low=0, since="2.0.0"),
        long("retry.backoff.ms", 100, low=0, since="0.9"),
        long("metadata.max.age.ms", 300000, low=0, since="0.9"),
        long("reconnect.backoff.ms", (10, ("0.9", 50)), low=0),
        long("reconnect.backoff.max.ms", 1000, low=0, since="0.11"),
        long("socket.connection.setup.timeout.ms", 10000, since="2.7"),
        long("socket.connection.setup.timeout.max.ms", (127000, ("2.8", 30000)), since="2.7"),
        scope=CONSUMER,
    ),
    modelled(
        "Transactions",
        text("isolation.level", "read_uncommitted", words=("read_committed", "read_uncommitted"), since="0.11"),
        scope=CONSUMER,
    ),
    modelled(
        "Reading from followers",
        text("client.rack", since="2.3"),
        scope=CONSUMER,
    ),
    set_here(
        "The group, and the bootstrap servers",
        "each step sets it",
        text("group.id"),
        listing("bootstrap.servers"),
        scope=CONSUMER,
    ),
    modelled(
        "Members of groups",
        integer("session.timeout.ms", (1000, ("0.9", 30000), ("0.10.1", 10000), ("3.0", 45000))),
        integer("heartbeat.interval.ms", 3000, since="0.9"),
        integer("max.poll.interval.ms", 300000, low=1, since="0.10.1"),
        text("group.instance.id", since="2.3", form=INSTANCE_ID),
        listing(
            "partition.assignment.strategy",
            ("", ("0.9", "RangeAssignor"), ("3.0", "RangeAssignor,CooperativeStickyAssignor")),
        ),
        scope=CONSUMER,
    ),
    without_bearing(
        "How members are called, and what they take at a time",
        "a consumer is ready for the next records immediately, and reads the configured topics",
        integer("heartbeat.frequency", 3, until="0.8.2"),
        integer("max.poll.records", (INT_MAX, ("0.10.1", 500)), low=1, since="0.10.0"),
        boolean("exclude.internal.topics", True),
        boolean("allow.auto.create.topics", True, since="2.3"),
        boolean("internal.leave.group.on.close", True, since="0.10.2"),
        boolean("internal.throw.on.fetch.stable.offset.unsupported", False, since="2.6"),
        scope=CONSUMER,
    ),
    without_bearing(
        "Code of your own",
        "it is not run",
        class_name("key.deserializer"),
        class_name("value.deserializer"),
        listing("interceptor.classes", since="0.10.0"),
        scope=CONSUMER,
    ),
    without_bearing(
        "Names, metrics, sockets",
        "counting, and the speed of transfers",
        text("client.id"),
        text(
            "client.dns.lookup",
            ("default", ("2.6", "use_all_dns_ips")),
            words=("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
            words_until=(("default", "2.8"),),
            since="2.1",
        ),
        *NEWER_OF_CLIENTS,
        boolean("check.crcs", True, since="0.9"),
        long("connections.max.idle.ms", 540000, since="0.9"),
        listing("metric.reporters"),
        integer("metrics.num.samples", 2, low=1),
        text(
            "metrics.recording.level", "INFO", words=("INFO", "DEBUG"), words_since=(("TRACE", "2.7"),), since="0.10.2"
        ),
        long("metrics.sample.window.ms", 30000, low=0),
        integer("send.buffer.bytes", 128 * 1024, low=(0, ("0.10.1", -1)), since="0.9"),
        integer("receive.buffer.bytes", (32 * 1024, ("0.10.0", 64 * 1024)), low=(0, ("0.10.1", -1)), since="0.9"),
        scope=CONSUMER,
    ),
    without_bearing(
        "A first Java consumer, only of 0.8.2, and the Scala consumer's socket",
        "the former could not read",
        integer("fetch.buffer.bytes", 1024**2, low=0, until="0.8.2"),
        integer("socket.receive.buffer.bytes", 128 * 1024, low=0, until="1.1"),
        long("total.memory.bytes", 32 * 1024**2, low=0, until="0.8.2"),
        long("metadata.fetch.timeout.ms", 60000, low=0, until="0.8.2"),
        scope=CONSUMER,
    ),
    not_modelled(
        "Pauses that grow",
        "a client pauses for retry.backoff.ms before each try (KIP-580)",
        READS,
        (RETRY_PAUSE_MAX, ALWAYS),
        scope=CONSUMER,
    ),
    not_modelled(
        "Groups of the new protocol (KIP-848)",
        "a group has the classic protocol",
        READS,
        (text("group.protocol", "classic", words=("classic", "consumer"), since="3.7"), ALWAYS),
        scope=CONSUMER,
    ),
    without_bearing(
        "Groups of the new protocol, how",
        "it means something with group.protocol=consumer only",
        text("group.remote.assignor", since="3.7"),
        scope=CONSUMER,
    ),
    without_bearing("Security", "frames are not encrypted, and no client logs in", *OF_CLIENTS, scope=CONSUMER),
)
