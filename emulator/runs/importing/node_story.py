"""One node's lines as neutral events, in the order of its incarnations.

A pure machine: a matched line goes in, events come out. Per partition it keeps what Kafka's lines leave out: the leader
epoch, the log's known end, and the reason of the truncation that comes next.

An incarnation begins with the first line of a start. It ended cleanly if its lines say that it shut down; otherwise the
next start, or the end of the lines, ends it.
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from emulator.runs.importing.line_forms import Found
from protocol import events as e
from protocol.ids import TopicPartition, topic_partition_of
from protocol.kinds import CutReason, ExitKind, IgnoredReason
from protocol.versions import UnknownVersion, rank

UNKNOWN: Final = -1
_STARTS: Final = frozenset(("process-begins", "server-starts", "controller-starts"))
_ENDS: Final = frozenset(("shutting-down", "shut-down", "signal"))
_ELECTIONS: Final = {"NewPartition": "created", "OfflinePartition": "offline-election"}
REPEATS_KEPT_MAX: Final = 4_096
SAME_START_MS: Final = 120_000
"""The lines of one start come within this time; Kafka's loading of logs is behind them."""


class NodeEvent(NamedTuple):
    """An event of an incarnation. `source`: `FILE:LINE`, or where in a data file."""

    wall_ms: float
    incarnation: int
    event: e.Event
    source: str


class Notice(NamedTuple):
    """A line about an incident that no event has. `what`: the name of its form."""

    wall_ms: float
    incarnation: int
    what: str
    fields: dict[str, str]
    source: str


class _Replica:
    """Facts about one replica that lines leave out."""

    def __init__(self) -> None:
        self.leader_epoch = UNKNOWN
        self.leader = UNKNOWN
        self.log_end = UNKNOWN
        self.high_watermark = UNKNOWN
        self.zk_version = UNKNOWN
        self.isr = ""
        self.reason: CutReason | None = None
        self.recovered: list[str] = []
        self.corrupted = UNKNOWN


class NodeStory:
    """The story of one node.

    `number`: its id. After all lines: `incarnations`, `repeated` lines.
    """

    def __init__(self, number: int, roles: str, version: str, settings: str = "", az: str = "") -> None:
        self.number = number
        self._roles, self._version, self._settings, self._az = roles, version, settings, az
        self._logs_leaders, self._logs_followers = _is_from(version, "0.11"), _is_from(version, "2.6")
        self.incarnation = 0
        self.repeated = 0
        self.ended: dict[int, bool] = {}
        """{incarnation: whether its lines say that it shut down}."""
        self.deaths: list[tuple[float, int]] = []
        """(time of its last line, incarnation) of those that ended without a word."""
        self.notices: list[Notice] = []
        self._last_ms = 0.0
        self._seen_starts: set[str] = set()
        self._began_ms = 0.0
        self._busy = False
        self._clean = True
        self._controller_epoch = UNKNOWN
        self._failed_directory = ""
        self._replicas: dict[TopicPartition, _Replica] = {}
        self._recent: dict[tuple[float, str, tuple[str, ...]], str] = {}
        self._source = ""
        self._at = 0.0
        self._waiting: list[NodeEvent] = []
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
            "isr-updated": self._isr_written,
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
            "fenced": lambda fields: None,
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
            "lifecycle": lambda fields: self._lifecycle("starting", _number(fields, "broker_epoch")),
            "recovery": lambda fields: self._lifecycle("recovery"),
            "running": lambda fields: self._lifecycle("running"),
            "stopping": lambda fields: self._lifecycle("shutting-down"),
            "quorum-leader": lambda fields: self._quorum(fields, "leader", self.number),
            "quorum-follower": lambda fields: self._quorum(fields, "follower", _number(fields, "leader")),
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
        last_ms, self._at, self._source = self._at, found.wall_ms, f"{file}:{found.line}"
        if found.form in _STARTS:
            self._last_ms = max(last_ms, min(found.before_ms, found.wall_ms))
            self._process_starts(found)
        elif not self.incarnation:
            self._begin(found.wall_ms)
        if found.form in _ENDS:
            self.ended[self.incarnation] = True
        handler = self._handlers.get(found.form)
        if handler is None:
            self._notice(found)
        else:
            if found.form.startswith(("session-", "unclean-start", "clean-start")):
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

    def _begin(self, at: float) -> None:
        if self.incarnation:
            if self.ended[self.incarnation]:
                stopped = e.NodeStopped(0, "its lines say that it shut down", ExitKind.REQUESTED)
                self._waiting.append(NodeEvent(self._last_ms, self.incarnation, stopped, self._source))
            else:
                self.deaths.append((self._last_ms, self.incarnation))
        self.incarnation += 1
        self.ended[self.incarnation] = False
        self._began_ms, self._busy, self._clean = at, False, True
        self._seen_starts = set()
        self._replicas.clear()
        self._emit(e.NodeStarted(self._roles, self._az, self._version, self._version, self._settings))

    def _notice(self, found: Found) -> None:
        self.notices.append(Notice(found.wall_ms, self.incarnation, found.form, found.fields, self._source))

    def _is_repeat(self, found: Found) -> bool:
        """The same line once more: a doubled line, or a file that was collected twice."""
        if found.form in ("session-connected", "fetch-failed", "heartbeat-late"):
            return False
        key = (found.wall_ms, found.form, tuple(found.fields.values()))
        if key in self._recent:
            return True
        self._recent[key] = ""
        if len(self._recent) > REPEATS_KEPT_MAX:
            del self._recent[next(iter(self._recent))]
        return False

    # --- logs ---

    def _started_from(self, *, clean: bool) -> None:
        self._clean = clean

    def _recovering(self, fields: dict[str, str]) -> None:
        self._replica(fields).recovered.append(fields["segment"])
        self._clean = False

    def _corrupted(self, fields: dict[str, str]) -> None:
        self._replica(fields).corrupted = int(fields["segment"])

    def _loaded(self, fields: dict[str, str]) -> None:
        place, replica = self._place(fields), self._replica(fields)
        replica.log_end = int(fields["log_end"])
        replica.high_watermark = _number(fields, "high_watermark", 0)
        self._emit(
            e.LogLoaded(
                topic=place[0], partition=place[1], log_start=_number(fields, "log_start", 0), log_end=replica.log_end,
                high_watermark=replica.high_watermark, clean=self._clean and not replica.recovered,
                recovered=",".join(replica.recovered), corrupted=replica.corrupted,
            )
        )  # fmt: skip
        replica.recovered, replica.corrupted = [], UNKNOWN

    def _log_created(self, fields: dict[str, str]) -> None:
        place = self._place(fields)
        self._replicas[place] = _Replica()
        self._replicas[place].log_end = 0
        self._emit(e.LogCreated(topic=place[0], partition=place[1], directory=""))

    def _log_start_moved(self, fields: dict[str, str]) -> None:
        place = self._place(fields)
        self._emit(
            e.LogStartMoved(
                topic=place[0], partition=place[1], log_start=int(fields["log_start"]), previous=0,
                reason="leader" if "leader" in fields["name"] else "requested",
                leader_epoch=self._replica(fields).leader_epoch,
            )
        )  # fmt: skip

    def _reason(self, fields: dict[str, str], reason: CutReason) -> None:
        self._replica(fields).reason = reason

    def _below(self, fields: dict[str, str]) -> None:
        self._replica(fields).high_watermark = int(fields["high_watermark"])

    def _truncating(self, fields: dict[str, str]) -> None:
        replica = self._replica(fields)
        to = int(fields["to"])
        known = max(replica.log_end, to)
        self._cut(fields, to, known, effective=replica.log_end > to or "truncated" in self._form_of(fields))
        replica.log_end = to

    def _form_of(self, fields: dict[str, str]) -> str:
        """Kafka from 1.0 on writes `Truncating` only if records are removed.

        There the line has the log's prefix.
        """
        return "truncated" if "dir" in fields else "truncating"

    def _truncated_nothing(self, fields: dict[str, str]) -> None:
        self._cut(fields, int(fields["to"]), int(fields["largest"]) + 1, effective=False)

    def _truncated_fully(self, fields: dict[str, str]) -> None:
        replica = self._replica(fields)
        replica.reason = CutReason.FULL
        self._cut(fields, int(fields["to"]), max(replica.log_end, 0), effective=True)
        replica.log_end = int(fields["to"])

    def _cut(self, fields: dict[str, str], to: int, log_end: int, *, effective: bool) -> None:
        place, replica = self._place(fields), self._replica(fields)
        self._emit(
            e.LogTruncated(
                topic=place[0], partition=place[1], to=to, log_end=log_end, effective=effective,
                high_watermark=max(replica.high_watermark, 0),
                reason=replica.reason or CutReason.HIGH_WATERMARK,
            )
        )  # fmt: skip
        replica.reason = None

    # --- roles and ISR ---

    def _leads(self, fields: dict[str, str]) -> None:
        self._role(fields, "leader", self.number)

    def _follows(self, fields: dict[str, str]) -> None:
        self._role(fields, "follower", _number(fields, "leader"))

    def _role(self, fields: dict[str, str], role: str, leader: int) -> None:
        place, replica = self._place(fields), self._replica(fields)
        replica.leader, replica.leader_epoch = leader, int(fields["leader_epoch"])
        replica.isr = _ids(fields.get("isr", ""))
        replica.zk_version = _number(fields, "zk_version")
        replica.log_end = max(replica.log_end, 0) if "log_end" not in fields else int(fields["log_end"])
        replica.high_watermark = _number(fields, "high_watermark", max(replica.high_watermark, 0))
        self._emit(
            e.RoleChanged(
                topic=place[0], partition=place[1], role=role, leader=leader, leader_epoch=replica.leader_epoch,
                previous_epoch=_number(fields, "previous_epoch"),
                controller_epoch=_number(fields, "controller_epoch", self._controller_epoch),
                log_end=replica.log_end, high_watermark=replica.high_watermark,
                isr=replica.isr if role == "leader" else "", adding=_ids(fields.get("adding", "")),
                removing=_ids(fields.get("removing", "")), zk_version=replica.zk_version,
            )
        )  # fmt: skip

    def _order(self, fields: dict[str, str]) -> None:
        """The controller's order stands for a role that the broker does not log with its epoch.

        That is every role before 0.11, and a follower's before 2.6.
        """
        replica = self._replica(fields)
        leader, epoch = int(fields["leader"]), int(fields["leader_epoch"])
        logged = self._logs_followers or (self._logs_leaders and leader == self.number)
        if leader < 0 or epoch <= replica.leader_epoch or logged:
            return
        self._role(fields, "leader" if leader == self.number else "follower", leader)

    def _isr_change(self, fields: dict[str, str]) -> None:
        place, replica = self._place(fields), self._replica(fields)
        was, now = _ids(fields["was"]), _ids(fields["now"])
        change = "shrink" if len(now.split(",")) < len(was.split(",")) else "expand"
        self._emit(
            e.IsrChangeRequested(
                topic=place[0], partition=place[1], change=change, was=was, now=now,
                leader_epoch=replica.leader_epoch, zk_version=replica.zk_version, through="",
                high_watermark=_number(fields, "high_watermark"), log_end=_number(fields, "log_end"),
            )
        )  # fmt: skip
        replica.log_end = max(replica.log_end, _number(fields, "log_end"))

    def _isr_written(self, fields: dict[str, str]) -> None:
        self._replica(fields).isr = _ids(fields["isr"])
        self._isr_ended(fields, "done")

    def _isr_refused(self, fields: dict[str, str]) -> None:
        self._isr_ended(fields, "bad-version")

    def _isr_ended(self, fields: dict[str, str], result: str) -> None:
        place, replica = self._place(fields), self._replica(fields)
        replica.zk_version = int(fields["zk_version"])
        self._emit(
            e.IsrChangeEnded(
                topic=place[0], partition=place[1], isr=replica.isr, result=result, zk_version=replica.zk_version,
                leader_epoch=replica.leader_epoch,
            )
        )  # fmt: skip

    def _epoch_cached(self, fields: dict[str, str]) -> None:
        place = self._place(fields)
        self._emit(
            e.LeaderEpochBegan(
                topic=place[0], partition=place[1], leader_epoch=int(fields["leader_epoch"]),
                offset=int(fields["offset"]), previous_epoch=int(fields["previous_epoch"]),
                previous_offset=int(fields["previous_offset"]), entries=int(fields["entries"]),
            )
        )  # fmt: skip

    # --- followers ---

    def _fetch_out_of_range(self, fields: dict[str, str]) -> None:
        place = self._place(fields)
        self._emit(
            e.FetchOutOfRange(
                topic=place[0], partition=place[1], broker=UNKNOWN, offset=int(fields["offset"]),
                log_start=int(fields["log_start"]), log_end=int(fields["log_end"]),
                correlation=int(fields["correlation"]),
            )
        )  # fmt: skip

    def _reset(self, fields: dict[str, str], reason: str) -> None:
        place, replica = self._place(fields), self._replica(fields)
        offset = _number(fields, "offset", _number(fields, "to"))
        log_end = _number(fields, "log_end", replica.log_end)
        replica.log_end = max(replica.log_end, log_end)
        replica.reason = CutReason.OUT_OF_RANGE
        self._emit(
            e.FetchOffsetReset(
                topic=place[0], partition=place[1], source=_number(fields, "source"), offset=offset, log_end=log_end,
                reason=reason,
            )
        )  # fmt: skip

    def _failed(self, fields: dict[str, str]) -> None:
        place, replica = self._place(fields), self._replica(fields)
        self._emit(
            e.FetcherChanged(
                topic=place[0], partition=place[1], change="failed", source=_number(fields, "source"),
                offset=replica.log_end, reason="", leader_epoch=replica.leader_epoch,
            )
        )  # fmt: skip

    # --- the controller ---

    def _elected(self, fields: dict[str, str]) -> None:
        if "controller_epoch" in fields:
            self._controller_epoch = int(fields["controller_epoch"])
            self._controls(active=True, reason="elected", zk_version=_number(fields, "zk_version"))

    def _active(self, fields: dict[str, str]) -> None:
        self._controller_epoch = int(fields["epoch"])
        self._controls(active=True, reason="elected")

    def _controls(self, *, active: bool, reason: str, zk_version: int = UNKNOWN) -> None:
        self._emit(e.ControllerChanged(active, max(self._controller_epoch, 0), reason, zk_version))

    def _brokers_seen(self, fields: dict[str, str]) -> None:
        lists = [_ids(fields.get(name, "")) for name in ("added", "removed", "bounced", "live")]
        self._emit(e.BrokersSeen(*lists))

    def _brokers_handled(self, fields: dict[str, str], change: str) -> None:
        self._emit(e.BrokersHandled(change, _ids(fields["brokers"])))

    def _partition_online(self, fields: dict[str, str]) -> None:
        place = self._place(fields)
        self._emit(
            e.StateDecided(
                topic=place[0], partition=place[1], leader=int(fields["leader"]),
                leader_epoch=_number(fields, "leader_epoch"), isr=_ids(fields.get("isr_list", "")),
                controller_epoch=int(fields["controller_epoch"]), zk_version=_number(fields, "zk_version"),
                reason=_ELECTIONS.get(fields["position"], "preferred-election"),
            )
        )  # fmt: skip

    def _replica_left(self, fields: dict[str, str]) -> None:
        place = self._place(fields)
        self._emit(
            e.StateDecided(
                topic=place[0], partition=place[1], leader=int(fields["leader"]),
                leader_epoch=int(fields["leader_epoch"]), isr=_ids(fields["isr"]),
                controller_epoch=int(fields["controller_epoch"]), zk_version=_number(fields, "zk_version"),
                reason="offline-replica", replica=int(fields["replica"]),
            )
        )  # fmt: skip

    def _ignored(self, fields: dict[str, str], reason: IgnoredReason) -> None:
        topic, partition = self._place(fields) if {"tp", "old_tp"} & fields.keys() else ("", UNKNOWN)
        self._emit(
            e.LeaderAndIsrIgnored(
                topic=topic, partition=partition, leader_epoch=_number(fields, "leader_epoch"),
                current_epoch=_number(fields, "current_epoch", _number(fields, "leader_epoch")),
                controller_epoch=_number(fields, "controller_epoch"), reason=reason,
                controller=_number(fields, "controller"), correlation=_number(fields, "correlation"),
                leader=_number(fields, "leader"), replicas=_ids(fields.get("replicas", "")),
            )
        )  # fmt: skip

    # --- disks, sessions, quorum ---

    def _directory_failing(self, fields: dict[str, str]) -> None:
        self._failed_directory = fields["dir"]

    def _directory_failed(self, fields: dict[str, str]) -> None:
        self._emit(e.LogDirFailed("", fields["dir"], fields["dir"], fields["places"][:2_000]))

    def _all_failed(self, fields: dict[str, str]) -> None:
        self._emit(e.LogDirFailed("", self._failed_directory, fields["dirs"], "", last=True))

    def _session(self, state: str) -> None:
        self._emit(e.SessionChanged(0, state, self.name, ""))

    def _lifecycle(self, state: str, broker_epoch: int = UNKNOWN) -> None:
        self._emit(e.BrokerLifecycleChanged(state, broker_epoch))

    def _quorum(self, fields: dict[str, str], state: str, leader: int) -> None:
        if "controller" not in self._roles:
            state = "observer"
        self._emit(e.QuorumStateChanged(state, int(fields["epoch"]), leader, UNKNOWN))

    # --- common ---

    @property
    def name(self) -> str:
        return node_named(self.number, self._roles)

    def _emit(self, event: e.Event) -> None:
        self._waiting.append(NodeEvent(self._at, self.incarnation, event, self._source))

    def _place(self, fields: dict[str, str]) -> TopicPartition:
        text = fields.get("tp") or fields.get("any_tp") or fields.get("old_tp") or ""
        if text.startswith("["):
            topic, _, partition = text[1:-1].rpartition(",")
            return topic, int(partition)
        if not text:
            return fields["topic"], int(fields["partition"])
        place = topic_partition_of(text)
        return place if place is not None else ("", UNKNOWN)

    def _replica(self, fields: dict[str, str]) -> _Replica:
        return self._replicas.setdefault(self._place(fields), _Replica())


def node_named(number: int, roles: str) -> str:
    """The node's name in the run. A real dedicated controller has an id of any size."""
    return f"broker-{number}" if "broker" in roles else f"controller-{number}"


def _is_from(version: str, first: str) -> bool:
    """Whether a version is `first` or newer; an unknown one counts as the newest."""
    try:
        return rank(version) >= rank(first)
    except UnknownVersion:
        return True


def _number(fields: dict[str, str], name: str, default: int = UNKNOWN) -> int:
    value = fields.get(name)
    return default if value is None else int(value)


def _ids(text: str) -> str:
    return ",".join(one.strip() for one in text.split(",") if one.strip())
