"""Facts of an incident: data of `fact_finding` and `log_facts`. Pure.

Times are the run's, in ms. `until_ms` None: to the end of the lines.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

Line = Mapping[str, Any]
NEAR_MS: Final = 60_000.0
"""Symptoms this long before a session's end belong to it."""
APART_MS: Final = 1_000.0
UNKNOWN_END: Final = -1
WINDOWS_MAX: Final = 1_000
"""Of each kind."""


class Window(msgspec.Struct, frozen=True):
    """A time in which a node was cut off or stood still, or a process did not run.

    `symptoms`: its own lines about it. `silent_ms`: its longest time without a line within.
    """

    node: str
    since_ms: float
    until_ms: float | None
    symptoms: int = 0
    silent_ms: float = 0.0
    alone: bool = False

    @property
    def end_ms(self) -> float:
        """Its end; infinite, if it lasts to the end of the lines."""
        return self.until_ms if self.until_ms is not None else float("inf")


class Absences:
    """Windows by node: a look-up costs the logarithm of their number."""

    def __init__(self, windows: Iterable[Window]) -> None:
        self._since: defaultdict[str, list[float]] = defaultdict(list)
        self._until: defaultdict[str, list[float]] = defaultdict(list)
        """{node: the latest end of its first window, of its first two, ...}"""
        for one in sorted(windows, key=lambda one: one.since_ms):
            ends = self._until[one.node]
            ends.append(max(one.end_ms, ends[-1]) if ends else one.end_ms)
            self._since[one.node].append(one.since_ms)

    def cover(self, node: str, when_ms: float) -> bool:
        """Whether the node's absence explains what others noticed of it at that time."""
        begun = bisect_right(self._since.get(node, ()), when_ms + APART_MS)
        return begun > 0 and when_ms <= self._until[node][begun - 1] + NEAR_MS / 2


class Link(msgspec.Struct, frozen=True):
    """`node` did not reach `peer`, though the cluster had both."""

    node: str
    peer: str
    since_ms: float
    until_ms: float


class DualLeader(msgspec.Struct, frozen=True):
    """Two leaders of one partition. `cut`: records that the stale one truncated afterwards."""

    partition: str
    stale: str
    stale_epoch: int
    newer: str
    newer_epoch: int
    since_ms: float
    until_ms: float | None


class Cut(msgspec.Struct, frozen=True):
    """Records [to, log_end) that a replica removed. `log_end` may be UNKNOWN_END.

    `led`: it was their leader. `source`: the line.
    """

    node: str
    partition: str
    at_ms: float
    to: int
    log_end: int
    reason: str
    led: bool
    source: str


class UncleanElection(msgspec.Struct, frozen=True):
    """A leader from outside the in-sync replicas."""

    partition: str
    leader: int
    leader_epoch: int
    at_ms: float


class Forgotten(msgspec.Struct, frozen=True):
    """A replica that came back with less than another had copied from it.

    [log_end, had) were not on its disk.
    """

    node: str
    partition: str
    log_end: int
    had: int
    at_ms: float


class IncidentFacts(msgspec.Struct):
    """All facts of a run.

    `has_members`: the lines say which brokers the cluster had. `away`: live brokers that the cluster lost, without a
    line that says why. `split`: most controllers lost most of the others.
    """

    cut_off: list[Window] = []
    paused: list[Window] = []
    dead: list[Window] = []
    stopped: list[Window] = []
    session_lost: list[Window] = []
    away: list[Window] = []
    links: list[Link] = []
    split: Window | None = None
    full_disks: list[Window] = []
    quorum_lost: Window | None = None
    dual_leaders: list[DualLeader] = []
    cuts: list[Cut] = []
    unclean: list[UncleanElection] = []
    forgotten: list[Forgotten] = []
    has_members: bool = True
    began_ms: float = 0.0
    """First role of a partition: faults that ended before it harmed none."""


EVENTS_READ: Final = (
    "role_changed", "log_truncated", "log_loaded", "log_created", "isr_change_asked", "machine_fault", "node_started",
    "node_stopped", "session_changed", "brokers_seen", "broker_registration_committed", "partition_state_committed",
    "state_decided", "log_dir_failed", "fetch_offset_reset", "controller_changed", "isr_change_ended",
    "broker_lifecycle_changed",
)  # fmt: skip
