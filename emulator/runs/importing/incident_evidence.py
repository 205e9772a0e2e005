"""Evidence of an incident: an imported run's events and notices, on one clock. Pure."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from heapq import merge
from typing import Final, NamedTuple

from emulator.runs.importing.import_record import ImportRecord, NodeRecord, Noticed
from emulator.runs.importing.incident_facts import APART_MS, WINDOWS_MAX, Absences, Line
from protocol.versions import UnknownVersion, rank

JUST_MS: Final = 1_500.0
"""A silence that ended this shortly before counts, too: its length is known to the second."""
KRAFT_SESSION: Final = "broker.session.timeout.ms"
ZOOKEEPER_SESSION: Final = "zookeeper.session.timeout.ms"
LAG: Final = "replica.lag.time.max.ms"
_DEFAULTS: Final = {
    KRAFT_SESSION: (9_000.0, 9_000.0), ZOOKEEPER_SESSION: (6_000.0, 18_000.0), LAG: (10_000.0, 30_000.0),
}  # fmt: skip
"""{setting: (its default up to 2.4, its default from 2.5 on)}."""
_ENDING: Final = frozenset(("signal", "shutting-down", "shut-down", "stopping"))


class TimedNotice(NamedTuple):
    """A notice at its time in the run."""

    at_ms: float
    notice: Noticed


class Evidence:
    """Events by name and notices by node.

    Times are the run's, in ms, with the clocks' offsets taken out.
    """

    def __init__(self, record: ImportRecord, events: Sequence[Line]) -> None:
        self.record = record
        self.by_name: defaultdict[str, list[Line]] = defaultdict(list)
        for event in events:
            self.by_name[event["event"]].append(event)
        self.zero_ms = {one.name: record.began_ms for one in record.nodes}
        for clock in record.clocks:
            self.zero_ms[clock.node] = record.began_ms + clock.ahead_ms
        timed = (TimedNotice(one.wall_ms - self.zero_ms[one.node], one) for one in record.notices)
        self.notices = sorted(timed, key=lambda one: one.at_ms)
        self._notice_times = [one.at_ms for one in self.notices]
        self._by_form: defaultdict[tuple[str, str], list[tuple[int, TimedNotice]]] = defaultdict(list)
        """{(node, form): its notices, each with its place among all}"""
        for place, one in enumerate(self.notices):
            self._by_form[one.notice.node, one.notice.what].append((place, one))
        self.last_ms = {node.name: float("-inf") for node in record.nodes}
        for file in record.files:
            self.last_ms[file.node] = max(self.last_ms[file.node], file.last_ms - self.zero_ms[file.node])
        self._registrations = self._registration_changes()
        self._returns = self._returns_by_broker()
        first_signs = self._first_signs()
        self.with_lifecycle = {one["node"] for one in self.by_name["broker_lifecycle_changed"]}
        self.up_ms = {node.name: self._up_ms(node, first_signs) for node in record.nodes}
        self._properties = {node.name: node.properties for node in record.nodes}
        self._versions = {node.name: node.version for node in record.nodes}
        self.is_kraft = bool(self.by_name["broker_registration_committed"]) or any(
            node.properties.get("process.roles") for node in record.nodes
        )

    @property
    def has_members(self) -> bool:
        """Whether the lines say which brokers the cluster had."""
        return bool(self._registrations or self.by_name["brokers_seen"])

    def _up_ms(self, node: NodeRecord, first_signs: Mapping[str, float]) -> float:
        """First sign that a node takes part.

        Of a broker it is its role or its start's end, else the first active controller.
        """
        signs = [one.at_ms for one in self.of(node.name, "started")]
        signs += [first_signs[node.name]] if node.name in first_signs else []
        if "broker" not in node.roles:
            signs = [one["at_ms"] for one in self.by_name["controller_changed"] if one["active"]]
        return min(signs, default=float("-inf"))

    def _first_signs(self) -> dict[str, float]:
        """{node: the least time of its roles and of its running}"""
        first: dict[str, float] = {}
        for one in (*self.by_name["role_changed"], *self.by_name["broker_lifecycle_changed"]):
            if one.get("state", "running") == "running":
                first[one["node"]] = min(one["at_ms"], first.get(one["node"], one["at_ms"]))
        return first

    def of(self, node: str, *what: str) -> Iterator[TimedNotice]:
        """A node's notices of these forms, by time."""
        forms = [self._by_form[node, form] for form in dict.fromkeys(what) if (node, form) in self._by_form]
        return (one for _, one in merge(*forms, key=lambda placed: placed[0]))

    def between(self, since_ms: float, until_ms: float) -> Sequence[TimedNotice]:
        """All notices of a time, its ends included."""
        times = self._notice_times
        return self.notices[bisect_left(times, since_ms) : bisect_right(times, until_ms)]

    def of_between(self, node: str, form: str, since_ms: float, until_ms: float) -> Iterator[TimedNotice]:
        """A node's notices of a form and a time, its ends included."""
        of_node = self._by_form.get((node, form), [])
        first = bisect_left(of_node, since_ms, key=lambda placed: placed[1].at_ms)
        last = bisect_right(of_node, until_ms, key=lambda placed: placed[1].at_ms)
        return (one for _, one in of_node[first:last])

    def ran(self, number: str, at_ms: float, down: Absences) -> bool:
        """Whether the node with this id had started and ran; true of one without lines."""
        names = [node.name for node in self.record.nodes if str(node.number) == number]
        return not names or any(self.up_ms[name] <= at_ms and not down.cover(name, at_ms) for name in names)

    # --- settings ---

    def setting_ms(self, node: str, name: str) -> float:
        """A setting of the node in ms: its properties', or the default of its version."""
        value = self._properties.get(node, {}).get(name, "")
        if value.isdigit():
            return float(value)
        try:
            recent = rank(self._versions.get(node, "")) >= rank("2.5")
        except UnknownVersion:
            recent = True
        return _DEFAULTS[name][recent]

    def session_ms(self, node: str) -> float:
        """The node's session timeout: as it was negotiated, or as it is set."""
        negotiated = self._by_form.get((node, "session-timeout"))
        if negotiated and (timeout_ms := negotiated[-1][1].notice.fields.get("timeout_ms", "")).isdigit():
            return float(timeout_ms)
        return self.setting_ms(node, KRAFT_SESSION if self.is_kraft else ZOOKEEPER_SESSION)

    # --- sessions ---

    def _registration_changes(self) -> list[tuple[str, str, float]]:
        """(broker, fenced or unfenced, time) of KRaft.

        They are of the metadata log, else of the active controllers' lines, else of any controller's: all replay the
        same changes, some of them later.
        """
        committed = [
            (str(one["broker"]), str(one["change"]), float(one["at_ms"]))
            for one in self.by_name["broker_registration_committed"]
        ]
        if committed:
            return committed
        names = {"fencing": "fenced", "unfencing": "unfenced"}
        active = [
            (one.notice.fields["number"], names[one.notice.what], one.at_ms)
            for one in self.notices if one.notice.what in names
        ]  # fmt: skip
        if active:
            return active
        replayed: defaultdict[tuple[str, int, str], list[tuple[str, float]]] = defaultdict(list)
        for one in self.notices:
            if one.notice.what in ("broker-fenced", "broker-unfenced"):
                key = (one.notice.node, one.notice.incarnation, one.notice.fields["number"])
                replayed[key].append((one.notice.what.removeprefix("broker-"), one.at_ms))
        first: dict[tuple[str, int], tuple[str, float]] = {}
        for (_, _, number), changes in replayed.items():
            for place, (change, at_ms) in enumerate(changes):
                known = first.get((number, place))
                if known is None or at_ms < known[1]:
                    first[number, place] = (change, at_ms)
        return sorted(((number, *found) for (number, _), found in first.items()), key=lambda one: one[2])

    def ended_sessions(self) -> list[tuple[str, float]]:
        """(broker, time): fenced in KRaft, gone from ZooKeeper, or expired by its own lines."""
        found = [(f"broker-{number}", at_ms) for number, change, at_ms in self._registrations if change == "fenced"]
        found += [
            (f"broker-{broker}", one["at_ms"])
            for one in self.by_name["brokers_seen"]
            for broker in filter(None, one["removed"].split(","))
        ]
        found += [
            (one["node"], one["at_ms"])
            for one in self.by_name["session_changed"]
            if one["state"] == "expired" and one["node"].startswith("broker-")
        ]
        kept: list[tuple[str, float]] = []
        last: dict[str, float] = {}
        for node, ended_ms in sorted(found, key=lambda one: one[1]):
            # A broker that came back after its last end had come back after each earlier one.
            if node not in last or self._back_between(node, last[node], ended_ms):
                kept.append((node, ended_ms))
                last[node] = ended_ms
        return kept[:WINDOWS_MAX]

    def _back_between(self, node: str, since_ms: float, until_ms: float) -> bool:
        back = self.back_ms(node, since_ms)
        return back is not None and back < until_ms

    def back_ms(self, node: str, ended_ms: float) -> float | None:
        """Time at which the cluster had the broker again, after its session's end."""
        times = self._returns.get(node, [])
        place = bisect_right(times, ended_ms)
        return times[place] if place < len(times) else None

    def _returns_by_broker(self) -> dict[str, list[float]]:
        """{broker: times at which the cluster had it (again), sorted}"""
        times: defaultdict[str, list[float]] = defaultdict(list)
        for broker, change, at_ms in self._registrations:
            if change == "unfenced":
                times[f"broker-{broker}"].append(at_ms)
        for one in self.by_name["brokers_seen"]:
            for broker in dict.fromkeys(one["added"].split(",")):
                times[f"broker-{broker}"].append(one["at_ms"])
        for one in self.by_name["session_changed"]:
            if one["state"] == "connected":
                times[one["node"]].append(one["at_ms"])
        return {node: sorted(of_node) for node, of_node in times.items()}

    # --- processes ---

    def starts(self, node: str) -> dict[int, float]:
        """{incarnation: its first line's time}"""
        return {one["incarnation"]: one["at_ms"] for one in self.by_name["node_started"] if one["node"] == node}

    def stops(self) -> Iterator[tuple[str, float, float | None]]:
        """(node, time of its first line about a shutdown, its next start) of each orderly shutdown."""
        for node in self.record.nodes:
            starts = self.starts(node.name)
            first: dict[int, float] = {}
            for one in self.of(node.name, *_ENDING):
                first.setdefault(one.notice.incarnation, one.at_ms)
            for incarnation, at_ms in first.items():
                yield node.name, at_ms, starts.get(incarnation + 1)

    def silence(self, node: str, when_ms: float) -> tuple[float, float]:
        """(length, begin) of the node's time without a line around `when_ms`, or just before it.

        (0, 0): none. Its begin and end are known to the second.
        """
        common: tuple[float, float] | None = None
        zero_ms = self.zero_ms.get(node, self.record.began_ms)
        for file in self.record.files:
            if file.node != node:
                continue
            around = [
                (since - zero_ms, since - zero_ms + length)
                for length, since in file.silences
                if since - zero_ms <= when_ms <= since - zero_ms + length + JUST_MS
            ]
            if not around:
                if file.first_ms - zero_ms <= when_ms <= file.last_ms - zero_ms:
                    return 0.0, 0.0
                continue
            low, high = around[0]
            common = (low, high) if common is None else (max(common[0], low), min(common[1], high))
        if common is None or common[1] - common[0] < 2 * APART_MS:
            return 0.0, 0.0
        return common[1] - common[0], common[0]
