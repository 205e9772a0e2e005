"""Brokers: ids and listeners, which the topology sets; metrics and plug-ins."""

from emulator.settings.bearing import Group, set_here, without_bearing
from emulator.settings.setting import CLUSTER_WIDE, PER_BROKER, boolean, class_name, integer, listing, long, text

GROUPS: tuple[Group, ...] = (
    set_here(
        "Broker id and rack",
        "the topology sets it",
        integer("broker.id", -1, low=-1),
        text("broker.rack", since="0.10.0"),
    ),
    set_here(
        "Addresses",
        "nodes find each other by the topology",
        text("listeners", since="0.9", **PER_BROKER),
        text("advertised.listeners", since="0.9", **PER_BROKER),
        text("listener.security.protocol.map", since="0.10.2", **PER_BROKER),
        text("inter.broker.listener.name", since="0.10.2"),
        text("security.inter.broker.protocol", "PLAINTEXT", since="0.9"),
        text("host.name", until="2.8"),
        integer("port", 9092, until="2.8"),
        text("advertised.host.name", until="2.8"),
        integer("advertised.port", until="2.8"),
    ),
    set_here(
        "The session service",
        "its servers are the topology's",
        text("zookeeper.connect", until="3.9"),
    ),
    without_bearing(
        "Identifiers",
        "the topology numbers brokers",
        boolean("broker.id.generation.enable", True, since="0.9", until="3.9"),
        integer("reserved.broker.max.id", 1000, low=0, since="0.9", until="3.9"),
    ),
    without_bearing(
        "Metrics",
        "counting changes nothing",
        listing("metric.reporters", since="0.9", **CLUSTER_WIDE),
        integer("metrics.num.samples", 2, low=1, since="0.9"),
        text("metrics.recording.level", "INFO", since="0.10.2"),
        long("metrics.sample.window.ms", 30000, low=1, since="0.9"),
        listing("kafka.metrics.reporters"),
        integer("kafka.metrics.polling.interval.secs", 10, low=(None, ("2.1", 1))),
        boolean("kafka.csv.metrics.reporter.enabled", False),
        text("kafka.csv.metrics.dir", "kafka_metrics"),
    ),
    without_bearing(
        "Code of your own",
        "it is not run",
        class_name("alter.config.policy.class.name", since="0.11"),
        class_name("create.topic.policy.class.name", since="0.10.2"),
        listing("config.providers", since="2.3"),
    ),
)
