"""Overlapping terms of leaders or controllers, and the stale leader's appends in them. Pure.

The windows are those of `audit.leadership_terms` for a whole run, and the violations those of the checks dual-leader
and dual-controller. A term begins with a node's event that it leads (or controls), and ends with its opposite event or
the node's death. Windows are rebuilt from all events of a place whenever there is a new one, in any order.

Terms that ended long ago are forgotten. Limits apply to statements per place, events of a node, and a leader's appends.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Hashable, Iterable
from typing import Final, NamedTuple

import msgspec

from audit.following.event import Event
from audit.following.finding import Seen
from audit.following.followed_commits import Committed, WrittenLate
from protocol.ids import topic_partition_text

LED_MAX: Final = 20_000
"""Maximum of appends of a partition's leaders that are kept to count those in a window."""
LED_KEPT_MS: Final = 10_000.0
"""A window is known at once, but a line about it may be late."""
SHARED_EPOCHS_MAX: Final = 1_000
IDLE_REPORTED_MS: Final = 500.0
"""Minimum duration of a window without appends, or of controllers, to be reported.

A superseded leader or controller goes on for some milliseconds at every election.
"""
STATEMENTS_MAX: Final = 512
"""Maximum per place."""

Place = tuple[str, str, int]
"""("leader", topic, partition), or CONTROLLER."""
CONTROLLER: Final[Place] = ("controller", "", -1)


class Statement(NamedTuple):
    at_ms: float
    node: str
    incarnation: int
    seq: int
    epoch: int
    holds: bool
    name: str


def _states_same(one: Statement, other: Statement) -> bool:
    return one.holds == other.holds and one.epoch == other.epoch


class _Turn(NamedTuple):
    """Begin or end of an incarnation. `incarnation`: of the one that begins; 0: the node died."""

    at_ms: float
    incarnation: int


class Led(msgspec.Struct):
    """A batch that a leader appended.

    `acknowledged`: count of its records that clients know as acknowledged.
    """

    at_ms: float
    node: str
    base: int
    last: int
    digest: int
    name: str
    acknowledged: int = 0

    def is_of(self, digest: int, offset: int) -> bool:
        return digest == self.digest and (offset < 0 or self.base <= offset <= self.last)


class Window(NamedTuple):
    """A window, as in `audit.leadership_terms`. `to_ms` None: it lasts."""

    stale: Statement
    newer: Statement
    from_ms: float
    to_ms: float | None


class Offices:
    """All terms.

    `touched`: places with a new event or a node's death, since it was last emptied.
    """

    def __init__(self) -> None:
        self.touched: set[Place] = set()
        self._statements: dict[Place, list[Statement]] = {}
        self._turns: dict[str, list[_Turn]] = {}
        self._places: dict[str, set[Place]] = {}
        self._led: dict[Place, deque[Led]] = {}
        self._led_by_digest: dict[Place, dict[int, list[Led]]] = {}
        self._by_epoch: dict[int, dict[str, Event]] = {}
        self._committed = Committed()

    def committed(self, event: Event) -> None:
        """Record a change of a znode, at one of ZooKeeper's servers."""
        self._committed.changed(event)
        self.touched.add(CONTROLLER)

    def stated(self, place: Place, event: Event, epoch: int, holds: bool) -> None:
        statement = Statement(event.at_ms, event.node, event.incarnation, event.seq, epoch, holds, event.name)
        statements = self._statements.setdefault(place, [])
        statements.append(statement)
        if len(statements) > STATEMENTS_MAX:
            del statements[0]
        self._places.setdefault(event.node, set()).add(place)
        self.touched.add(place)
        if place == CONTROLLER and holds and epoch > 0:
            self._by_epoch.setdefault(epoch, {}).setdefault(event.node, event)
            if len(self._by_epoch) > SHARED_EPOCHS_MAX:
                del self._by_epoch[next(iter(self._by_epoch))]

    def turned(self, node: str, at_ms: float, incarnation: int = 0) -> None:
        """Record the begin of a node's incarnation, or, 0, its death."""
        insort(self._turns.setdefault(node, []), _Turn(at_ms, incarnation))
        self.touched |= self._places.get(node, set())

    def led(self, place: Place, led: Led) -> None:
        kept = self._led.setdefault(place, deque())
        kept.append(led)
        self._led_by_digest.setdefault(place, {}).setdefault(led.digest, []).append(led)
        if len(kept) > LED_MAX:
            self._forget_led(place)
        if place in self._statements and len({one.node for one in self._statements[place]}) > 1:
            self.touched.add(place)

    def acknowledged(self, place: Place, digest: int, offset: int, records: int = 1) -> None:
        for led in self._led_by_digest.get(place, {}).get(digest, ()):
            if led.is_of(digest, offset):
                led.acknowledged += records
                self.touched.add(place)

    def windows(self, place: Place) -> list[Window]:
        """A window for each pair of terms of different nodes and epochs."""
        held = [
            (one, self._end_of(place, one))
            for one in self._statements.get(place, ())
            if one.holds and not self._is_repeated(place, one)
        ]
        found = []
        for stale, stale_to in held:
            for newer, newer_to in held:
                if newer.epoch <= stale.epoch or newer.node == stale.node:
                    continue
                begins, ends = max(stale.at_ms, newer.at_ms), _least(stale_to, newer_to)
                if ends is None or begins < ends:
                    found.append(Window(stale, newer, begins, ends))
        return found

    def seen(self, place: Place, read_to_ms: float) -> dict[Hashable, Seen]:
        """Findings of a place. A window without appends so far may need another look: `waits`."""
        windows = self.windows(place)
        if place == CONTROLLER:
            found: dict[Hashable, Seen] = {
                _key(one): _two_controllers(one) for one in windows if _lasted_ms(one, read_to_ms) >= IDLE_REPORTED_MS
            }
            for epoch, by in self._by_epoch.items():
                if len(by) > 1:
                    found["epoch", epoch] = _one_epoch(epoch, by)
            for epoch, late in self._committed.written_late().items():
                found["late", epoch] = _written_late(late, self._by_epoch.get(epoch, {}))
            return found
        return {
            _key(one): seen
            for one in windows
            if (seen := self._two_leaders(place, one)).violation or _lasted_ms(one, read_to_ms) >= IDLE_REPORTED_MS
        }

    def waits(self, place: Place, read_to_ms: float) -> bool:
        """Whether a window there is only too short yet to be reported."""
        return any(one.to_ms is None and _lasted_ms(one, read_to_ms) < IDLE_REPORTED_MS for one in self.windows(place))

    def forget(self, before_ms: float, read_to_ms: float) -> None:
        """Forget terms that ended before, and appends outside all windows."""
        for place, statements in self._statements.items():
            self._statements[place] = [
                one
                for one in statements
                if one.holds and ((end := self._end_of(place, one)) is None or end >= before_ms)
            ] + [one for one in statements if not one.holds and one.at_ms >= before_ms]
            self._statements[place].sort(key=lambda one: (one.node, one.incarnation, one.seq))
        for node, turns in self._turns.items():
            newest = max((turn.at_ms for turn in turns if turn.incarnation), default=before_ms)
            self._turns[node] = [turn for turn in turns if turn.at_ms >= min(before_ms, newest)]
        for place, kept in self._led.items():
            since_ms = min((one.from_ms for one in self.windows(place)), default=read_to_ms)
            while kept and kept[0].at_ms < min(since_ms, read_to_ms - LED_KEPT_MS):
                self._forget_led(place)

    def _forget_led(self, place: Place) -> None:
        oldest, by_digest = self._led[place].popleft(), self._led_by_digest[place]
        by_digest[oldest.digest].remove(oldest)
        if not by_digest[oldest.digest]:
            del by_digest[oldest.digest]

    def _is_repeated(self, place: Place, held: Statement) -> bool:
        """Whether the node had stated the same before.

        A leader of KRaft does, when a delta has another ISR.
        """
        earlier = [
            one
            for one in self._statements[place]
            if one.node == held.node and one.incarnation == held.incarnation and one.seq < held.seq
        ]
        return bool(earlier) and _states_same(max(earlier, key=lambda one: one.seq), held)

    def _end_of(self, place: Place, held: Statement) -> float | None:
        later = [
            one
            for one in self._statements[place]
            if one.node == held.node and one.incarnation == held.incarnation and one.seq > held.seq
            and not _states_same(one, held)
        ]
        stated_ms = min(later, key=lambda one: one.seq).at_ms if later else None
        died_ms = self._died_ms(held.node, held.incarnation)
        return _least(stated_ms, max(died_ms, held.at_ms) if died_ms is not None else None)

    def _died_ms(self, node: str, incarnation: int) -> float | None:
        """Time at which that incarnation ended: the node's next begin or death."""
        turns = self._turns.get(node, [])
        for number, turn in enumerate(turns):
            if turn.incarnation == incarnation:
                return turns[number + 1].at_ms if number + 1 < len(turns) else None
        return None

    def _two_leaders(self, place: Place, window: Window) -> Seen:
        stale, newer, from_ms, to_ms = window
        end_ms = to_ms if to_ms is not None else float("inf")
        batches = [one for one in self._led.get(place, ()) if one.node == stale.node and from_ms <= one.at_ms <= end_ms]
        acknowledged = sum(one.acknowledged for one in batches)
        did = f"{len(batches)} batches appended, {acknowledged} records acknowledged"
        return Seen(
            finding="dual-leader",
            at_ms=from_ms,
            to_ms=to_ms,
            violation=bool(batches),
            partition=topic_partition_text(place[1].partition("#")[0], place[2]),
            who=(stale.node, newer.node),
            text=f"{stale.node} (epoch {stale.epoch}) {'goes' if to_ms is None else 'went'} on leading after "
            f"{newer.node} (epoch {newer.epoch}) had begun, {_how_long(window)}: {did}",
            details=_details(window) | {"batches": len(batches), "acknowledged": acknowledged},
            events=(stale.name, newer.name, *(one.name for one in batches[:1])),
        )


def _two_controllers(window: Window) -> Seen:
    stale, newer, from_ms, to_ms = window
    return Seen(
        finding="dual-controller",
        at_ms=from_ms,
        to_ms=to_ms,
        who=(stale.node, newer.node),
        text=f"{stale.node} (controller epoch {stale.epoch}) {'takes' if to_ms is None else 'took'} itself for the "
        f"controller after {newer.node} (epoch {newer.epoch}) had become it, {_how_long(window)}",
        details=_details(window),
        events=(stale.name, newer.name),
    )


def _written_late(late: WrittenLate, by: dict[str, Event]) -> Seen:
    """The finding of late states. `by`: controllers of that epoch."""
    nodes = tuple(sorted(by))
    return Seen(
        finding="dual-controller",
        at_ms=late.at_ms,
        to_ms=late.at_ms,
        violation=True,
        who=nodes,
        text=f"{nodes[0] if nodes else 'a controller'} (controller epoch {late.controller_epoch}) wrote states of "
        f"partitions ({late.states}) after controller epoch {late.reached} was committed",
        details={"controller_epoch": late.controller_epoch, "reached": late.reached, "states": late.states},
        events=(late.name, *(by[node].name for node in nodes)),
    )


def _one_epoch(epoch: int, by: dict[str, Event]) -> Seen:
    nodes, at_ms = tuple(sorted(by)), max(event.at_ms for event in by.values())
    return Seen(
        finding="dual-controller",
        at_ms=at_ms,
        to_ms=at_ms,
        violation=True,
        who=nodes,
        text=f"{' and '.join(nodes)} were controller in the same controller epoch {epoch}",
        details={"controller_epoch": epoch, "nodes": list(nodes)},
        events=tuple(by[node].name for node in nodes),
    )


def _key(window: Window) -> Hashable:
    return window.stale.name, window.newer.name


def _details(window: Window) -> dict[str, object]:
    return {
        "stale": window.stale.node,
        "stale_epoch": window.stale.epoch,
        "newer": window.newer.node,
        "newer_epoch": window.newer.epoch,
    }


def _how_long(window: Window) -> str:
    return "so far" if window.to_ms is None else f"for {int(window.to_ms - window.from_ms)} ms"


def _lasted_ms(window: Window, read_to_ms: float) -> float:
    return (window.to_ms if window.to_ms is not None else read_to_ms) - window.from_ms


def _least(*times: float | None) -> float | None:
    """The least time, without nulls, as Spark's `least`."""
    known: Iterable[float] = [one for one in times if one is not None]
    return min(known, default=None)
