"""Brokers and topics: segments in remote storage (KIP-405), from 3.0 on.

Nothing is modelled. All settings but one mean something only with `remote.log.storage.system.enable`.
"""

from emulator.settings.bearing import ALWAYS, RECORDS, Group, not_modelled, without_bearing
from emulator.settings.setting import (
    CLUSTER_WIDE,
    LONG_MAX,
    TOPIC,
    boolean,
    class_name,
    double,
    integer,
    long,
    text,
)

_CLUSTER_WIDE = {**CLUSTER_WIDE, "update_since": "3.6"}

GROUPS: tuple[Group, ...] = (
    not_modelled(
        "Remote storage",
        "a log has local segments only",
        RECORDS,
        (boolean("remote.log.storage.system.enable", False, since="3.0"), ALWAYS),
    ),
    without_bearing(
        "Remote storage, how",
        "they mean something with remote.log.storage.system.enable only",
        text("remote.log.storage.manager.class.path", since="3.0"),
        class_name("remote.log.storage.manager.class.name", since="3.0"),
        text("remote.log.storage.manager.impl.prefix", ("", ("3.6", "rsm.config.")), since="3.0"),
        text("remote.log.metadata.manager.class.path", since="3.0"),
        class_name("remote.log.metadata.manager.class.name", since="3.0"),
        text("remote.log.metadata.manager.impl.prefix", ("", ("3.6", "rlmm.config.")), since="3.0"),
        text("remote.log.metadata.manager.listener.name", since="3.0"),
        integer("remote.log.metadata.custom.metadata.max.bytes", 128, low=0, since="3.6"),
        long("remote.log.index.file.cache.total.size.bytes", 1024**3, low=1, since="3.0", **_CLUSTER_WIDE),
        integer("remote.log.manager.thread.pool.size", 10, low=1, since="3.0"),
        integer("remote.log.manager.copier.thread.pool.size", (10, ("3.9", -1)), low=-1, since="3.8"),
        integer("remote.log.manager.expiration.thread.pool.size", (10, ("3.9", -1)), low=-1, since="3.8"),
        long("remote.log.manager.task.interval.ms", 30000, low=1, since="3.0"),
        long("remote.log.manager.task.retry.backoff.ms", 500, low=1, since="3.0"),
        long("remote.log.manager.task.retry.backoff.max.ms", 30000, low=1, since="3.0"),
        double("remote.log.manager.task.retry.jitter", 0.2, low=0, high=0.5, since="3.0"),
        integer("remote.log.reader.threads", 10, low=1, since="3.0"),
        integer("remote.log.reader.max.pending.tasks", 100, low=1, since="3.0"),
        long("log.local.retention.ms", -2, low=-2, since="3.6", **_CLUSTER_WIDE),
        long("log.local.retention.bytes", -2, low=-2, since="3.6", **_CLUSTER_WIDE),
        long("remote.log.manager.copy.max.bytes.per.second", LONG_MAX, low=1, since="3.8", **_CLUSTER_WIDE),
        integer("remote.log.manager.copy.quota.window.num", 11, low=1, since="3.8"),
        integer("remote.log.manager.copy.quota.window.size.seconds", 1, low=1, since="3.8"),
        long("remote.log.manager.fetch.max.bytes.per.second", LONG_MAX, low=1, since="3.8", **_CLUSTER_WIDE),
        integer("remote.log.manager.fetch.quota.window.num", 11, low=1, since="3.8"),
        integer("remote.log.manager.fetch.quota.window.size.seconds", 1, low=1, since="3.8"),
        integer("remote.fetch.max.wait.ms", 500, low=1, since="3.8", **_CLUSTER_WIDE),
    ),
    not_modelled(
        "A topic in remote storage",
        "a log has local segments only",
        RECORDS,
        (boolean("remote.storage.enable", False, since="3.6"), ALWAYS),
        scope=TOPIC,
    ),
    without_bearing(
        "A topic in remote storage, how",
        "they mean something with remote.storage.enable only",
        long("local.retention.ms", -2, low=-2, since="3.6", follows="log.local.retention.ms"),
        long("local.retention.bytes", -2, low=-2, since="3.6", follows="log.local.retention.bytes"),
        boolean("remote.log.copy.disable", False, since="3.9"),
        boolean("remote.log.delete.on.disable", False, since="3.9"),
        scope=TOPIC,
    ),
)
