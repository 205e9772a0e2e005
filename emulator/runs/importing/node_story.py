"""One node's lines as neutral events, in the order of its incarnations.

A pure machine: a matched line goes in, events come out. Per partition it keeps what Kafka's lines leave out: the leader
epoch, the log's known end, and the reason of the truncation that comes next.

An incarnation begins with the first line of a start. It ended cleanly if its lines say that it shut down; otherwise the
next start, or the end of the lines, ends it.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from emulator.runs.importing.controller_lines import ControllerLines
from emulator.runs.importing.line_events import UNKNOWN, NodeEvent, Notice, number_in_line
from emulator.runs.importing.line_forms import Found
from emulator.runs.importing.replica_lines import ReplicaLines
from protocol import events as e
from protocol.kinds import CutReason, ExitKind, IgnoredReason

_STARTS: Final = frozenset(("process-begins", "server-starts", "broker-starts", "controller-starts"))
_ENDS: Final = frozenset(("shutting-down", "shut-down", "signal"))
REPEATS_KEPT_MAX: Final = 4_096
NOTICES_MAX: Final = 20_000
"""The last ones of a node are kept."""
RECURRING: Final = frozenset(
    ("session-slow", "session-connected", "fetch-failed", "heartbeat-late", "unreachable", "order-unsent")
)
"""Forms of lines that threads may write alike at once."""
RECURRING_MS: Final = 1_000
"""Of recurring lines about one node, a notice is kept this often."""
SAME_START_MS: Final = 5_000
"""A start writes its settings, then that it starts, within this time."""


class NodeStory(ReplicaLines, ControllerLines):
    """The story of one node.

    `number`: its id. After all lines: `incarnations`, `repeated` lines.
    """

    def __init__(self, number: int, roles: str, version: str, settings: str = "", az: str = "") -> None:
        super().__init__(number, roles, version)
        self._version, self._settings, self._az = version, settings, az
        self.repeated = 0
        self.ended: dict[int, bool] = {}
        """{incarnation: whether its lines say that it shut down}."""
        self.deaths: list[tuple[float, int]] = []
        """(time of its last line, incarnation) of those that ended without a word."""
        self.starts: list[float] = []
        """Times of the starts that its lines have."""
        self.notices: deque[Notice] = deque(maxlen=NOTICES_MAX)
        self._last_ms = 0.0
        self._config = Found(float("-inf"), "config", {}, 0, 0.0)
        self._seen_starts: set[str] = set()
        self._began_ms = 0.0
        self._busy = False
        self._noticed: dict[tuple[str, str], float] = {}
        self._recent: dict[tuple[float, str, tuple[str, ...]], str] = {}
        self._handlers: dict[str, Callable[[dict[str, str]], None]] = {
            "truncating": self._truncating,
            "truncating-beyond-end": self._truncated_nothing,
            "truncated": self._truncating,
            "truncated-nothing": self._truncated_nothing,
            "truncated-fully": self._truncated_fully,
            "recovering": self._recovering,
            "corrupted": self._corrupted,
            "clean-start": lambda fields: self._started_from(clean=True),
            "unclean-start": lambda fields: self._started_from(clean=False),
            "loaded": self._loaded,
            "log-created": self._log_created,
            "log-start-moved": self._log_start_moved,
            "shrinking-isr": self._isr_change,
            "expanding-isr": self._isr_change,
            "isr-written": self._isr_written,
            "isr-altered": self._isr_written,
            "zk-version-outdated": self._isr_refused,
            "leads": self._leads,
            "follows": self._follows,
            "order": self._order,
            "epoch-cached": self._epoch_cached,
            "fetch-out-of-range": self._fetch_out_of_range,
            "offset-out-of-range": lambda fields: None,
            "reset-to-latest": lambda fields: self._reset(fields, "latest"),
            "has-reset-to-latest": lambda fields: self._reset(fields, "latest"),
            "reset-to-start": lambda fields: self._reset(fields, "start"),
            "truncation-not-allowed": lambda fields: self._reset(fields, "not-allowed"),
            "to-local-high-watermark": lambda fields: self._reason(fields, CutReason.HIGH_WATERMARK),
            "to-epoch-end": lambda fields: self._reason(fields, CutReason.EPOCH),
            "below-high-watermark": self._below,
            "was-below-high-watermark": self._below,
            "failed": self._failed,
            "elected-as-leader": lambda fields: None,
            "elected": self._elected,
            "epoch-incremented": self._elected,
            "resigned": lambda fields: self._controls(active=False, reason="resigned"),
            "active": self._active,
            "renounced": lambda fields: self._controls(active=False, reason="renounced"),
            "brokers-seen": self._brokers_seen,
            "broker-startup": lambda fields: self._brokers_handled(fields, "startup"),
            "broker-failure": lambda fields: self._brokers_handled(fields, "failure"),
            "partition-online": self._partition_online,
            "replica-left-isr": self._replica_left,
            "new-isr": self._new_isr,
            "order-of-old-controller": lambda fields: self._ignored(fields, IgnoredReason.OLD_CONTROLLER),
            "order-of-old-epoch": lambda fields: self._ignored(fields, IgnoredReason.OLD_EPOCH),
            "order-of-same-epoch": lambda fields: self._ignored(fields, IgnoredReason.OLD_EPOCH),
            "order-not-for-us": lambda fields: self._ignored(fields, IgnoredReason.NOT_A_REPLICA),
            "leader-unavailable": lambda fields: self._ignored(fields, IgnoredReason.LEADER_NOT_ALIVE),
            "stopping-logs": self._directory_failing,
            "logs-offline": self._directory_failed,
            "all-failed": self._all_failed,
            "session-expired": lambda fields: self._session("expired"),
            "session-slow": lambda fields: self._session("disconnected"),
            "session-lost": lambda fields: self._session("disconnected"),
            "session-connected": lambda fields: self._session("connected"),
            "lifecycle": lambda fields: self._lifecycle("starting", number_in_line(fields, "broker_epoch")),
            "recovery": lambda fields: self._lifecycle("recovery"),
            "running": lambda fields: self._lifecycle("running"),
            "stopping": lambda fields: self._lifecycle("shutting-down"),
            "quorum-leader": lambda fields: self._quorum(fields, "leader", self.number),
            "quorum-follower": lambda fields: self._quorum(fields, "follower", number_in_line(fields, "leader")),
            "quorum-candidate": lambda fields: self._quorum(fields, "candidate", UNKNOWN),
            "quorum-prospective": lambda fields: self._quorum(fields, "prospective", UNKNOWN),
            "quorum-unattached": lambda fields: self._quorum(fields, "unattached", UNKNOWN),
            "quorum-resigned": lambda fields: self._quorum(fields, "resigned", UNKNOWN),
        }

    def step(self, found: Found, file: str) -> Iterator[NodeEvent]:
        """Events of one matched line; lines come in the order of the node's clock."""
        if self._is_repeat(found):
            self.repeated += 1
            return
        if found.form == "config":
            self._config = found
            return
        last_ms, self._at, self._source = self._at, found.wall_ms, f"{file}:{found.line}"
        if found.form in _STARTS:
            first = self._config if found.wall_ms - self._config.wall_ms < SAME_START_MS else found
            self._last_ms = max(last_ms, min(first.before_ms, found.wall_ms))
            self._process_starts(found)
        elif not self.incarnation:
            self._begin(found.wall_ms)
        if found.form in _ENDS:
            self.ended[self.incarnation] = True
        handler = self._handlers.get(found.form)
        if handler is None:
            self._notice(found)
        else:
            if found.form.startswith(("session-", "unclean-start", "clean-start", "shrinking-isr")):
                self._notice(found)
            handler(found.fields)
        self._busy = self._busy or found.form in ("leads", "follows", "order", "started", "running", *_ENDS)
        yield from self._waiting
        self._waiting.clear()

    def ends(self, last_ms: float) -> Iterator[NodeEvent]:
        """Events of the end of the lines. `last_ms`: time of the node's last line."""
        self._at, self._source = max(self._at, last_ms), "end of the lines"
        if self.incarnation:
            self._emit(e.NodeStopped(0, "the lines end here", ExitKind.REQUESTED))
        yield from self._waiting
        self._waiting.clear()

    # --- incarnations ---

    def _process_starts(self, found: Found) -> None:
        if self.incarnation and not self._busy and found.form not in self._seen_starts:
            self._seen_starts.add(found.form)
            return
        self._begin(found.wall_ms)
        self._seen_starts = {found.form}
        self.starts.append(found.wall_ms)

    def _begin(self, at: float) -> None:
        if self.incarnation:
            why = "its lines say that it shut down" if self.ended[self.incarnation] else "its lines end here"
            stopped = e.NodeStopped(0, why, ExitKind.REQUESTED)
            self._waiting.append(NodeEvent(self._last_ms, self.incarnation, stopped, self._source))
            if not self.ended[self.incarnation]:
                self.deaths.append((self._last_ms, self.incarnation))
        self.incarnation += 1
        self.ended[self.incarnation] = False
        self._began_ms, self._busy, self._clean = at, False, True
        self._seen_starts = set()
        self._replicas.clear()
        self._session_state = ""
        self._emit(e.NodeStarted(self._roles, self._az, self._version, self._version, self._settings))

    def _notice(self, found: Found) -> None:
        if found.form in RECURRING:
            key = (found.form, found.fields.get("peer", ""))
            if found.wall_ms - self._noticed.get(key, float("-inf")) < RECURRING_MS:
                return
            if len(self._noticed) > REPEATS_KEPT_MAX:
                self._noticed.clear()
            self._noticed[key] = found.wall_ms
        self.notices.append(Notice(found.wall_ms, self.incarnation, found.form, found.fields, self._source))

    def _is_repeat(self, found: Found) -> bool:
        """The same line once more: a doubled line, or a file that was collected twice."""
        if found.form in RECURRING:
            return False
        key = (found.wall_ms, found.form, tuple(found.fields.values()))
        if key in self._recent:
            return True
        self._recent[key] = ""
        if len(self._recent) > REPEATS_KEPT_MAX:
            del self._recent[next(iter(self._recent))]
        return False
