"""Events for the live audit: the followed event types and the fields that watchers read.

Pure.
"""

from __future__ import annotations

from typing import Final, NamedTuple

FOLLOWED: Final = (
    *("role_changed", "controller_changed", "node_started", "node_stopped", "machine_fault"),
    *("log_created", "log_deleted", "log_loaded", "log_truncated", "log_start_moved", "batch_appended"),
    *("operation_invoked", "operation_ended", "znode_changed", "topic_removed", "timer_lateness"),
    *("quorum_state_changed", "metadata_committed", "metadata_snapshot"),
)
PRODUCES: Final = ("operation_invoked", "operation_ended")
"""Event types of which only those of kind produce are followed."""
PATHS: Final = "^(/controller_epoch|/brokers/topics/[^/]+/partitions/[0-9]+/state)$"
"""Pattern of the znodes whose changes are followed."""


class Event(NamedTuple):
    """An event.

    Fields of `protocol.events`, None where it lacks one; the envelope's are always there.
    """

    at_ms: float
    node: str
    incarnation: int
    seq: int
    event: str
    topic: str | None = None
    topic_id: str | None = None
    partition: int | None = None
    base_offset: int | None = None
    last_offset: int | None = None
    leader_epoch: int | None = None
    digest: int | None = None
    as_leader: bool | None = None
    log_start: int | None = None
    log_end: int | None = None
    to: int | None = None
    reason: str | None = None
    role: str | None = None
    active: bool | None = None
    controller_epoch: int | None = None
    what: str | None = None
    target: str | None = None
    az: str | None = None
    operation: str | None = None
    kind: str | None = None
    outcome: str | None = None
    acks: int | None = None
    offset: int | None = None
    value: str | None = None
    records: int | None = None
    path: str | None = None
    change: str | None = None
    zxid: int | None = None
    data: str | None = None
    life: int | None = None
    settings: str | None = None
    kafka_version: str | None = None
    max_ms: float | None = None
    p50_ms: float | None = None
    epoch: int | None = None
    leader: int | None = None
    high_watermark: int | None = None
    highest_watermark: int | None = None
    action: str | None = None

    @property
    def name(self) -> str:
        """Name of its line: NODE.INCARNATION/SEQ."""
        return f"{self.node}.{self.incarnation}/{self.seq}"
