"""The log lines that an import understands: one table, which docs/imported-lines.md shows.

`FORMS` has the lines that the emulator also writes (`emulator.runs.kafka_log`, by version), and those that only real
brokers and controllers write, or that these write in another form. Sources: Kafka's classes of the loggers' names at
the release tags from 0.8.2 to 3.8; real brokers of 0.10.2, 2.8, 3.9 and 4.4.
"""

import re
from typing import Final

from emulator.runs.importing.broker_line_table import OF_BROKERS
from emulator.runs.importing.controller_line_table import OF_CONTROLLERS
from emulator.runs.importing.line_forms import LineForm
from emulator.runs.kafka_log.pattern import Pattern
from emulator.runs.kafka_log.rendering import PATTERNS
from protocol.versions import VERSIONS, in_force

SHORT_LOGGERS: Final[dict[str, tuple[str, ...]]] = {
    "logger": ("state.change.logger",),
    "Log": ("kafka.log.Log",),
    "UnifiedLog": ("kafka.log.UnifiedLog", "internals.log.UnifiedLog"),
    "LogLoader$": ("kafka.log.LogLoader$",),
    "LogLoader": ("kafka.log.LogLoader", "internals.log.LogLoader"),
    "LogManager": ("kafka.log.LogManager", "internals.log.LogManager"),
    "Partition": ("kafka.cluster.Partition",),
    "ClientCnxn": ("org.apache.zookeeper.ClientCnxn",),
    "ZkClient": ("org.I0Itec.zkclient.ZkClient",),
    "ZkUtils": ("kafka.utils.ZkUtils",),
    "ZkUtils$": ("kafka.utils.ZkUtils$",),
    "Exit": ("kafka.utils.Exit", "common.utils.Exit"),
    "Kafka$": ("kafka.Kafka$",),
}
"""{last part of a logger's name: its full names}, of parts shorter than eleven characters."""
_RENDERED: Final = {
    "truncating": "log_truncated",
    "truncating-beyond-end": "log_truncated: nothing was removed",
    "truncated": "log_truncated",
    "truncated-nothing": "log_truncated: nothing was removed",
    "recovering": "log_loaded: an unclean start",
    "corrupted": "log_loaded: a damaged segment",
    "loaded": "log_loaded",
    "shrinking-isr": "isr_change_asked",
    "expanding-isr": "isr_change_asked",
    "isr-written": "isr_change_ended",
    "isr-altered": "isr_change_ended",
    "zk-version-outdated": "isr_change_ended",
    "leads": "role_changed",
    "follows": "role_changed",
    "epoch-cached": "leader_epoch_began",
    "fetch-out-of-range": "fetch_out_of_range",
    "offset-out-of-range": "log_truncated: its reason",
    "reset-to-latest": "fetch_offset_reset",
    "has-reset-to-latest": "fetch_offset_reset",
    "reset-to-start": "fetch_offset_reset",
    "truncation-not-allowed": "fetch_offset_reset",
    "to-local-high-watermark": "log_truncated: its reason",
    "below-high-watermark": "log_truncated: the high watermark",
    "was-below-high-watermark": "log_truncated: the high watermark",
    "fenced": "incident: a follower that its leader fenced",
    "failed": "fetcher_changed",
    "elected-as-leader": "controller_changed",
    "elected": "controller_changed",
    "epoch-incremented": "controller_changed",
    "resigned": "controller_changed",
    "brokers-seen": "brokers_seen",
    "broker-startup": "brokers_handled",
    "broker-failure": "brokers_handled",
    "partition-online": "state_decided",
    "replica-left-isr": "state_decided",
    "order-of-old-controller": "leader_and_isr_ignored",
    "order-of-old-epoch": "leader_and_isr_ignored",
    "order-of-same-epoch": "leader_and_isr_ignored",
    "order-not-for-us": "leader_and_isr_ignored",
    "leader-unavailable": "leader_and_isr_ignored",
    "stopping-logs": "log_dir_failed",
    "all-failed": "log_dir_failed: the last",
    "logs-offline": "log_dir_failed: its partitions",
    "fetch-failed": "incident: a follower without its leader",
}
"""{line of the emulator: what it becomes}. Lines that restate others are left out."""


def _of_emulator() -> list[LineForm]:
    """The emulator's own lines, each form once with its first version."""
    forms: dict[tuple[str, str, str], LineForm] = {}
    for name, says in _RENDERED.items():
        for version in VERSIONS:
            text, logger = _written(PATTERNS[name], version)
            if text:
                forms.setdefault((name, logger, text), LineForm(name, logger, version, text, says))
    return list(forms.values())


def _written(pattern: Pattern, version: str) -> tuple[str, str]:
    """(text with its prefix, last part of the logger's name).

    Real fetchers and ports have any number.
    """
    text = in_force(version, pattern.text)
    if not text:
        return "", ""
    text = in_force(version, pattern.prefix) + text
    text = text.replace("ReplicaFetcherThread-0-", "ReplicaFetcherThread-{fetcher}-")
    text = text.replace("fetcherId=0", "fetcherId={fetcher}")
    return re.sub(r"\b9092\b", "{port}", text), in_force(version, pattern.logger).rpartition(".")[2]


FORMS: Final[tuple[LineForm, ...]] = (*_of_emulator(), *OF_BROKERS, *OF_CONTROLLERS)
