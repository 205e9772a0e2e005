"""Groups of events: each frequent event has a table with its own columns, others `rest`.

Every column of a big run costs time, so only needed columns are parsed.
"""

from __future__ import annotations

from typing import Final

_WHO = ("run", "node", "incarnation", "seq", "at_ms", "topic", "topic_id", "partition")
_BATCH = ("base_offset", "last_offset", "leader_epoch", "digest")
TABLES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "appends": ("batch_appended", (*_WHO, *_BATCH, "as_leader")),
    "watermarks": ("high_watermark_moved", (*_WHO, "cause", "high_watermark", "leading", "leader_epoch")),
    "operations": (
        "operation_ended",
        (
            *(*_WHO, "operation", "kind", "outcome", "acks", "offset", "digest", "broker", "attempts", "idempotent"),
            "records",
        ),
    ),
    "reads": ("records_read", (*_WHO, *_BATCH, "operation", "high_watermark", "broker", "last_stable_offset")),
    "invocations": (
        "operation_invoked",
        (*_WHO, "operation", "kind", "value", "offset", "client", "records", "transaction", "isolation"),
    ),
    "requests": ("attempt_sent", (*_WHO, "operation", "attempt", "broker", "digest", "timeout_ms")),
    "attempts": ("attempt_ended", (*_WHO, "operation", "attempt", "error")),
}
"""{table: (its only event, its columns)}, of the frequent events."""
FAMILY_OF: Final = {event: table for table, (event, _) in TABLES.items()}
"""{event: its table}, of events with a table; all others are in RARE_ONES."""
RARE_ONES: Final = "rest"

REST: Final = (
    *(*_WHO, "cause", "event", "log_end", "to", "reason", "role", "leader_epoch", "active", "controller_epoch"),
    *("rule", "what", "target", "peer", "frames_stopped", "expects_traffic", "code", "roles", "az", "text"),
    *("p50_ms", "p999_ms", "max_ms", "buckets", "log_start", "life", "high_watermark"),
    *("path", "change", "zxid", "data"),
    *("checkpointed", "epochs", "result", "version", "zk_version", "settings", "kafka_version", "protocol_version"),
    *("isr", "now", "min_insync_replicas", "config", "operation", "offset", "stopped", "operation_ms", "fsync_ms"),
    *("base_offset", "last_offset", "digest", "written_digest", "producer_id", "base_sequence"),
    *("leader", "epoch", "partition_epoch", "elr", "replicas", "state", "highest_watermark", "action"),
    *("transactional_id", "transaction", "producer_epoch", "batch_kind", "coordinator_epoch", "error"),
    *("transaction_state", "transaction_partitions"),
)
"""Columns of the table `rest`."""

FREQUENT: Final = tuple(dict.fromkeys(("event", *(name for _, names in TABLES.values() for name in names))))
RARE: Final = tuple(name for name in REST if name not in FREQUENT)
"""Columns that only `rest` has.

On a big run its rows have them as one column of JSON, `rare`, so that the many other rows need no twenty nulls.
"""

COLUMNS: Final = (*FREQUENT, *RARE)
"""Parsed columns; on a big run every column costs time."""
WITH_CAUSE: Final = ("watermarks", RARE_ONES)
"""Families that keep `cause`, a long text; no check reads it of the others."""
