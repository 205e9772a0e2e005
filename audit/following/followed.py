"""All watchers of the live audit: events in, findings out.

Pure: no clock, no file, no Spark.

Events of different nodes arrive in any order. They are processed in the order of the run's clock, as soon as everything
up to then has been read (`read_to_ms`, the watermark). A later arrival is processed when it comes, and corrects the
findings: none depends on the order of reading. Within a node the order is that of (incarnation, seq), whatever its
clock says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from audit.following.answers import Answers
from audit.following.event import Event
from audit.following.finding import Findings, Line, Seen
from audit.following.followed_logs import Acknowledged, Logs
from audit.following.followed_quorum import Quorum
from audit.following.windows import CONTROLLER, Led, Offices
from emulator.faults.machine_fault_kinds import KILLING
from emulator.judging.findings import Note
from emulator.judging.standstills import Watch
from protocol.ids import topic_partition_text

FORGOTTEN_MS: Final = 600_000.0
"""Time after which an ended finding is forgotten."""
FORGET_EVERY_MS: Final = 5_000.0
TOPICS_REMOVED_MAX: Final = 10_000
WATCHED: Final = ("timer_lateness", "node_started", "node_stopped", "machine_fault")
STOOD_STILL_MAX: Final = 100
"""Maximum incarnations to report."""


class _Life:
    """Newest incarnation of a node. `clock_ms`: its last time, which never decreases."""

    def __init__(self, incarnation: int) -> None:
        self.incarnation = incarnation
        self.seq = 0
        self.clock_ms = 0.0


class Followed:
    """Findings of the events taken so far.

    `events`: count; `late`: count of events that arrived too late. `watch`: of a live cluster, whose processes must not
    stand still.
    """

    def __init__(self, watch: Watch | None = None) -> None:
        self._watch = watch
        self._stood_still: dict[tuple[str, int], str] = {}
        self.findings = Findings()
        self.events = 0
        self.late = 0
        self.repeated = 0
        self._offices = Offices()
        self._logs = Logs()
        self._answers = Answers()
        self._quorum = Quorum()
        self._waiting: list[tuple[float, str, int, int, Event]] = []
        self._lives: dict[str, _Life] = {}
        self._read_to_ms = 0.0
        self._forgotten_ms = 0.0
        self._removed: dict[str, dict[str, float]] = {}
        """{topic: {id of an ended incarnation: when it was removed}}"""
        self._ids: dict[str, str] = {}
        """{topic: id of its present incarnation}"""
        self._going: set[str] = set()
        self._windows: set[tuple[str, str, int]] = set()

    def step(self, events: Iterable[Event], read_to_ms: float) -> Iterator[Line]:
        """Process new events.

        `events`: in each node's order. `read_to_ms`: no node has an earlier event to come; it never decreases.
        """
        self._enter(events)
        self._read_to_ms = max(self._read_to_ms, read_to_ms)
        self._waiting.sort(key=lambda one: one[:4])
        due = 0
        while due < len(self._waiting) and self._waiting[due][0] <= self._read_to_ms:
            due += 1
        taken, self._waiting = self._waiting[:due], self._waiting[due:]
        for _, _, _, _, event in taken:
            yield from self._take(event)
        yield from self._look()

    def finish(self) -> Iterator[Line]:
        """Process the rest after the run's end."""
        last_ms = max((one[0] for one in self._waiting), default=self._read_to_ms)
        yield from self.step((), max(last_ms, self._read_to_ms))

    def unavailable_ms(self, last_ms: float) -> dict[str, float | None]:
        """{AZ: as in verdict.json}. `last_ms`: time of the last event of all."""
        return self._answers.unavailable_ms(last_ms)

    @property
    def stood_still(self) -> list[str]:
        """Incarnations that did not run, in words."""
        return list(self._stood_still.values())

    @property
    def read_to_ms(self) -> float:
        return self._read_to_ms

    def _enter(self, events: Iterable[Event]) -> None:
        for event in events:
            life = self._lives.setdefault(event.node, _Life(event.incarnation))
            if event.incarnation > life.incarnation:
                life = self._lives[event.node] = _Life(event.incarnation)
            clock_ms = event.at_ms
            if event.incarnation == life.incarnation:
                if event.seq <= life.seq:
                    self.repeated += 1
                    continue
                clock_ms = life.clock_ms = max(life.clock_ms, event.at_ms)
                life.seq = event.seq
            self.late += clock_ms < self._read_to_ms
            self._waiting.append((clock_ms, event.node, event.incarnation, event.seq, event))

    def _take(self, event: Event) -> Iterator[Line]:
        self.events += 1
        self._turn_life(event)
        if self._watch is not None and event.event in WATCHED:
            yield from self._look_for_standstills(self._watch, event)
        match event.event:
            case "node_started":
                self._offices.turned(event.node, event.at_ms, event.incarnation)
                self._answers.started(event.node, event.az or "")
            case "node_stopped":
                self._offices.turned(event.node, event.at_ms)
            case "machine_fault" if event.what in KILLING and event.target:
                self._offices.turned(event.target, event.at_ms)
            case "znode_changed":
                self._offices.committed(event)
            case "controller_changed":
                self._offices.stated(CONTROLLER, event, event.controller_epoch or 0, bool(event.active))
            case "operation_invoked":
                self._answers.invoked(event)
            case "operation_ended":
                self._ended(event)
            case "topic_removed":
                self._topic_removed(event)
            case "quorum_state_changed":
                self._quorum.state_changed(event)
            case "metadata_committed":
                self._quorum.committed(event)
            case "metadata_snapshot":
                self._quorum.snapshot(event)
            case _ if event.topic is not None and event.partition is not None:
                if not self._is_of_a_life_before(event, event.at_ms):
                    yield from self._of_partition(event, (event.topic, event.partition))

    def _of_partition(self, event: Event, place: tuple[str, int]) -> Iterator[Line]:
        match event.event:
            case "role_changed":
                epoch, leads = event.leader_epoch or 0, event.role == "leader"
                self._offices.stated(self._office(place), event, epoch, leads)
                if leads:
                    before = self._logs.leader(place)
                    if self._logs.leads(place, event, epoch) and before is not None:
                        yield self.findings.tell(_leader_change(place, event, epoch, before), self._read_to_ms)
            case "batch_appended":
                batch = self._logs.appended(place, event)
                if event.as_leader:
                    known = self._logs.acknowledgements(place, batch)
                    led = Led(event.at_ms, event.node, batch.base, batch.last, batch.digest, event.name, known)
                    self._offices.led(self._office(place), led)
            case "log_loaded":
                self._logs.cut(place, event, event.log_end or 0, event.log_start)
            case "log_start_moved" if event.reason == "requested":
                self._logs.deleted(place, event)
            case "log_created":
                self._logs.cut(place, event, 0, 0)
            case "log_deleted":
                self._logs.cut(place, event, 0, 0)
                self._offices.stated(self._office(place), event, 0, False)
                if event.reason == "topic-deleted":
                    self._going.add(place[0])
            case "log_truncated" if event.reason == "full":
                self._logs.cut(place, event, 0, event.to)
            case "log_truncated":
                self._logs.cut(place, event, min(event.to or 0, event.log_end or 0))

    def _look_for_standstills(self, watch: Watch, event: Event) -> Iterator[Line]:
        """Report each incarnation that stood still, once."""
        note = Note(
            event=event.event, node=event.node, incarnation=event.incarnation, seq=event.seq, at_ms=event.at_ms,
            what=event.what, target=event.target, life=event.life, settings=event.settings,
            kafka_version=event.kafka_version, report_max_ms=event.max_ms, report_p50_ms=event.p50_ms,
        )  # fmt: skip
        of_target = self._lives.get(event.target or "")
        same = of_target is not None and of_target.incarnation == event.life
        late = watch.take(note, of_target.clock_ms if of_target is not None and same else None)
        if late is None or late.life in self._stood_still or len(self._stood_still) >= STOOD_STILL_MAX:
            return
        self._stood_still[late.life] = late.text
        seen = Seen(
            finding="stood-still", at_ms=event.at_ms, to_ms=event.at_ms, who=(late.life[0],), text=late.text,
            details={"late_ms": late.ms, "limit_ms": late.limit_ms}, events=(event.name,),
        )  # fmt: skip
        yield self.findings.tell(seen, self._read_to_ms)

    def _ended(self, event: Event) -> None:
        begun = self._answers.ended(event)
        if event.outcome != "ok" or event.topic is None or event.partition is None or event.partition < 0:
            return
        if self._is_of_a_life_before(event, begun.at_ms if begun is not None else event.at_ms):
            return
        assert event.operation is not None and event.digest is not None
        offset = event.offset if event.offset is not None else -1
        records = event.records or 1
        acknowledged = Acknowledged(
            event.operation, offset, event.digest, event.acks if event.acks is not None else -1, event.at_ms,
            begun.values if begun is not None else (), event.name, records,
        )  # fmt: skip
        place = (event.topic, event.partition)
        self._logs.acknowledged(place, acknowledged)
        self._offices.acknowledged(self._office(place), event.digest, offset, records)

    def _topic_removed(self, event: Event) -> None:
        assert event.topic is not None
        if event.topic_id in self._removed.get(event.topic, ()):
            return  # every controller of KRaft emits a removal
        self._end_life(event.topic, event.topic_id or str(event.at_ms), event.at_ms)

    def _end_life(self, topic: str, life: str, at_ms: float) -> None:
        """End a topic's incarnation. `life`: its id, or the time of its removal."""
        self._removed.setdefault(topic, {})[life] = at_ms
        if len(self._removed) > TOPICS_REMOVED_MAX:
            del self._removed[next(iter(self._removed))]
        if self._ids.get(topic) == life:
            del self._ids[topic]
        self._going.discard(topic)
        self._logs.removed(topic)

    def _turn_life(self, event: Event) -> None:
        """End the incarnation before that of the event, if its removal has not been read yet."""
        topic, life = event.topic, event.topic_id
        if not topic or not life or life in self._removed.get(topic, ()):
            return
        before = self._ids.get(topic)
        if before is not None and before != life:
            self._end_life(topic, before, event.at_ms)
        self._ids[topic] = life

    def _is_of_a_life_before(self, event: Event, at_ms: float) -> bool:
        """Whether the event's topic was removed: by its id, or without one by the time `at_ms`."""
        removed = self._removed.get(event.topic or "", {})
        return event.topic_id in removed if event.topic_id else at_ms <= max(removed.values(), default=float("-inf"))

    def _office(self, place: tuple[str, int]) -> tuple[str, str, int]:
        """Key of the partition's leadership, per topic incarnation (`audit.topic_incarnations`)."""
        topic, partition = place
        lives = len(self._removed.get(topic, ()))
        return "leader", f"{topic}#{lives}" if lives else topic, partition

    def _look(self) -> Iterator[Line]:
        read_to_ms, before_ms = self._read_to_ms, self._read_to_ms - FORGOTTEN_MS
        places, self._offices.touched = self._offices.touched | self._windows, set()
        self._windows = {place for place in places if self._offices.waits(place, read_to_ms)}
        for place in sorted(places):
            yield from self.findings.look(place, self._offices.seen(place, read_to_ms), read_to_ms, before_ms)
        partitions, self._logs.touched = self._logs.touched, set()
        for partition in sorted(partitions):
            seen = {} if partition[0] in self._going else self._logs.seen(partition)
            yield from self.findings.look(("log", *partition), seen, read_to_ms, before_ms)
        if self._quorum.touched:
            self._quorum.touched = False
            # They never end: that of a forgotten incarnation is not withdrawn.
            yield from self.findings.look(("quorum",), self._quorum.seen(), read_to_ms, read_to_ms + 1)
        for client in self._answers.clients():
            seen = self._answers.look(client, read_to_ms)
            # An ended unavailability is reported once, and not withdrawn afterwards.
            yield from self.findings.look(("client", client), seen, read_to_ms, read_to_ms + 1)
        if read_to_ms - self._forgotten_ms >= FORGET_EVERY_MS:
            self._forgotten_ms = read_to_ms
            self._offices.forget(before_ms, read_to_ms)


def _leader_change(place: tuple[str, int], event: Event, epoch: int, before: tuple[int, str]) -> Seen:
    name = topic_partition_text(*place)
    return Seen(
        finding="leader-change",
        at_ms=event.at_ms,
        to_ms=event.at_ms,
        partition=name,
        who=(event.node,),
        text=f"{event.node} leads (epoch {epoch}), before it {before[1]} (epoch {before[0]})",
        details={"leader_epoch": epoch, "before": before[1], "before_epoch": before[0]},
        events=(event.name,),
    )
