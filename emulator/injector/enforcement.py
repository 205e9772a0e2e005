"""Enforcement: what an end of a connection does with its frames while rules are in force. Pure; both worlds
use it.

Picture: every direction of a connection passes a gatekeeper at each of its two ends. An open gate lets
frames through at once (`offer` returns None). A shut gate keeps them in line, and after the heal the line
moves again at the sender's next retransmission. A keeper at the receiver's end catches what was under way
when the gate was shut.

How a world uses it, for each node:

    links = LinkState("broker-0", seed)
    out, back = links.connect(peer, purpose, opened_here=True)
    opening = links.opening(out, back)
    opening.attempt(now)                                # the SYN
    stopped = out.offer(now, payload, api)              # None: send it; otherwise it is kept, or dropped
    out.take(now)                                       # at out.next_ms: what passes now, in order
    links.apply(now, rule); links.heal(now, rule.rule)  # then look at every next_ms again
    links.take_events()                                 # what is to be written about all that

A peer's end of stream is offered like a frame: its FIN or RST vanishes in a cut as data does. Delay, jitter
and loss are the sender's; cut and hold are enforced at both ends. Departures from TCP: what a killed
process had not got through a cut dies with it (a kernel would go on sending it), and a receiver's lost
acknowledgements cost nothing.
"""

from collections import deque
from typing import Any, Final

import msgspec

from emulator.world.links import (
    RTO_FIRST_MS,
    RTO_MAX_MS,
    SYN_FIRST_MS,
    SYN_RETRIES,
    TCP_RETRIES,
    given_up_at,
    retransmission_at,
)
from protocol.chance import Chance
from protocol.events import Event, FaultHealed, FaultInForce, FaultTraffic
from protocol.link_rules import LinkRule
from protocol.purposes import CONTROL

STOPPING: Final = ("cut", "hold")
HEALED_KEPT_MAX: Final = 64
"""Healed rules whose proof of traffic is still awaited; the oldest are forgotten."""


class Stopped(msgspec.Struct, frozen=True):
    """A frame that does not pass now. `action`: held, dropped, delayed, lost (comes by a retransmission) or
    queued (no rule stops it, but it stands in line; `rule` is "")."""

    rule: str
    action: str


QUEUED = Stopped("", "queued")


class _Waiting:
    __slots__ = ("payload", "ready_ms", "stopped_by")

    def __init__(self, payload: Any, ready_ms: float, stopped_by: str) -> None:
        self.payload = payload
        self.ready_ms = ready_ms
        self.stopped_by = stopped_by


class _Gate:
    """Shut since the first loss; opens at the retransmission after the heal."""

    __slots__ = ("_first_ms", "_retries", "first_lost_ms", "release_ms")

    def __init__(self, first_ms: float, retries: int) -> None:
        self._first_ms = first_ms
        self._retries = retries
        self.first_lost_ms: float | None = None
        self.release_ms: float | None = None

    def shut(self, now_ms: float) -> None:
        if self.first_lost_ms is None:
            self.first_lost_ms = now_ms
        self.release_ms = None

    def healed(self, now_ms: float, rule: LinkRule) -> None:
        if self.first_lost_ms is None:
            return
        instant = rule.recovery == "instant" or rule.kind == "hold"
        self.release_ms = now_ms if instant else retransmission_at(self.first_lost_ms, now_ms, self._first_ms)

    def open(self) -> None:
        self.first_lost_ms = None
        self.release_ms = None

    @property
    def gives_up_ms(self) -> float | None:
        """When TCP gives up if nothing gets through until then."""
        if self.first_lost_ms is None:
            return None
        return given_up_at(self.first_lost_ms, self._first_ms, self._retries)


class Path:
    """One direction of one connection, seen at one end. `outgoing`: at the sender's end."""

    __slots__ = (
        "_aside",
        "_awaiting",
        "_frame_rules",
        "_gate",
        "_last_ready_ms",
        "_line",
        "_links",
        "_shaping",
        "_stopping",
        "calm",
        "opener",
        "outgoing",
        "purpose",
        "receiver",
        "sender",
    )  # fmt: skip

    def __init__(self, links: "LinkState", sender: str, receiver: str, opener: str, purpose: str, outgoing: bool):
        self._links = links
        self.sender = sender
        self.receiver = receiver
        self.opener = opener
        self.purpose = purpose
        self.outgoing = outgoing
        self._gate = _Gate(RTO_FIRST_MS, TCP_RETRIES)
        self._line: deque[_Waiting] = deque()
        self._aside: list[_Waiting] = []
        self._last_ready_ms = 0.0
        self._stopping: LinkRule | None = None
        self._shaping: tuple[LinkRule, ...] = ()
        self._frame_rules: tuple[LinkRule, ...] = ()
        self._awaiting: tuple[str, ...] = ()
        self.calm = True
        """Nothing to do: `offer` would return None and mean it. Callers in a hurry ask this first."""

    def offer(self, now_ms: float, payload: Any, api: str = "") -> Stopped | None:
        """`payload` reaches this gate. None: it passes now, and the caller sends or delivers it."""
        if self.calm:
            return None
        links = self._links
        for rule in self._frame_rules:
            if api not in rule.apis:
                continue
            if rule.kind == "cut":
                links.count(rule.rule)
                return Stopped(rule.rule, "dropped")
            if rule.kind == "hold":
                links.count(rule.rule)
                self._aside.append(_Waiting(payload, now_ms, rule.rule))
                return Stopped(rule.rule, "held")
        if self._stopping is not None:
            return self._hold(now_ms, payload)
        ready_ms, stopped = self._shaped(now_ms, api)
        if stopped is None and not self._line and self._gate.first_lost_ms is None:
            self._passed(now_ms)
            return None
        self._line.append(_Waiting(payload, ready_ms, stopped.rule if stopped else ""))
        return stopped or QUEUED

    def take(self, now_ms: float) -> list[Any]:
        """Payloads that pass now, in order. To be called at `next_ms`."""
        if self._gate.first_lost_ms is not None:
            if self._stopping is not None or self._gate.release_ms is None or now_ms < self._gate.release_ms:
                return []
            self._gate.open()
        passing = []
        line = self._line
        while line and line[0].ready_ms <= now_ms:
            if self._stopping is not None:
                self._shut_on_line(now_ms)
                break
            passing.append(line.popleft().payload)
        if passing:
            self._passed(now_ms)
        if not line:
            self._reckon_calm()
        return passing

    @property
    def next_ms(self) -> float | None:
        """When to call `take` again if no rule changes before; None: never."""
        gate = self._gate
        if gate.first_lost_ms is not None:
            if self._stopping is None:
                return gate.release_ms
            return gate.gives_up_ms if self.outgoing else None
        return self._line[0].ready_ms if self._line else None

    def given_up(self, now_ms: float) -> bool:
        """Whether TCP has given this connection up by now (about 15 minutes into a cut): it is lost, at the
        sender."""
        gives_up_ms = self._gate.gives_up_ms if self.outgoing and self._stopping is not None else None
        return gives_up_ms is not None and now_ms >= gives_up_ms

    @property
    def waiting(self) -> int:
        """Payloads in line."""
        return len(self._line) + len(self._aside)

    def _hold(self, now_ms: float, payload: Any) -> Stopped:
        assert self._stopping is not None
        self._gate.shut(now_ms)
        self._line.append(_Waiting(payload, now_ms, self._stopping.rule))
        self._links.count(self._stopping.rule)
        return Stopped(self._stopping.rule, "held")

    def _shut_on_line(self, now_ms: float) -> None:
        """Delayed frames meet a gate that was shut meanwhile."""
        assert self._stopping is not None
        self._gate.shut(now_ms)
        for waiting in self._line:
            if waiting.stopped_by != self._stopping.rule:
                waiting.stopped_by = self._stopping.rule
                self._links.count(self._stopping.rule)

    def _shaped(self, now_ms: float, api: str) -> tuple[float, Stopped | None]:
        """When a frame that nothing stops is ready to pass, and what delays it."""
        if not self.outgoing or not (self._shaping or self._frame_rules or self._line):
            return now_ms, None
        chance = self._links.chance
        ready_ms, stopped = now_ms, None
        for rule in (*self._shaping, *(r for r in self._frame_rules if api in r.apis)):
            if rule.kind == "delay":
                ready_ms += rule.delay_ms + (chance.between(0.0, rule.jitter_ms) if rule.jitter_ms else 0.0)
                stopped = Stopped(rule.rule, "delayed")
                self._links.count(rule.rule)
            elif rule.kind == "loss":
                wait_ms = RTO_FIRST_MS
                while chance.fraction() < rule.loss and wait_ms <= RTO_MAX_MS:
                    ready_ms += wait_ms
                    wait_ms *= 2
                    stopped = Stopped(rule.rule, "lost")
                    self._links.count(rule.rule)
        if ready_ms <= self._last_ready_ms:  # the stream stays in order
            ready_ms, stopped = self._last_ready_ms, stopped or QUEUED
        self._last_ready_ms = ready_ms
        return ready_ms, stopped if ready_ms > now_ms else None

    def _passed(self, now_ms: float) -> None:
        if self._awaiting and not self.outgoing:
            self._links.prove(self._awaiting, self.sender)

    def _ruled(self, in_force: tuple[LinkRule, ...], awaiting: tuple[str, ...]) -> None:
        """The rules changed."""
        self._stopping = next((r for r in in_force if r.kind in STOPPING and not r.apis), None)
        self._shaping = tuple(r for r in in_force if r.kind not in STOPPING and not r.apis)
        self._frame_rules = tuple(r for r in in_force if r.apis)
        self._awaiting = () if self.outgoing else awaiting
        self._reckon_calm()

    def _healed(self, now_ms: float, rule: LinkRule) -> None:
        for waiting in [w for w in self._aside if w.stopped_by == rule.rule]:
            self._aside.remove(waiting)
            waiting.ready_ms = max(now_ms, self._last_ready_ms)
            self._line.append(waiting)
        if self._stopping is None and not rule.apis:
            self._gate.healed(now_ms, rule)
        self._reckon_calm()

    def _reckon_calm(self) -> None:
        ruled = self._stopping is not None or self._shaping or self._frame_rules or self._awaiting
        self.calm = not (ruled or self._line or self._aside or self._gate.first_lost_ms is not None)


class Opening:
    """A connection being opened: its SYN must get there and the answer back."""

    __slots__ = ("_back", "_gate", "_links", "_there")

    def __init__(self, links: "LinkState", there: Path, back: Path) -> None:
        self._links = links
        self._there = there
        self._back = back
        self._gate = _Gate(SYN_FIRST_MS, SYN_RETRIES)

    def attempt(self, now_ms: float) -> Stopped | None:
        """A SYN is sent. None: it gets through, the caller connects. Otherwise: again at `next_ms`."""
        rule = self._rule()
        if rule is None:
            self._gate.open()
            return None
        if self._gate.first_lost_ms is None:
            self._links.count(rule.rule)
        self._gate.shut(now_ms)
        return Stopped(rule.rule, "held")

    @property
    def next_ms(self) -> float | None:
        """When to look again: the SYN's repetition after a heal, or giving up."""
        return self._gate.gives_up_ms if self._rule() is not None else self._gate.release_ms

    def given_up(self, now_ms: float) -> bool:
        """127 s after the first SYN that nothing answered: ConnectionLost."""
        gives_up_ms = self._gate.gives_up_ms
        return self._rule() is not None and gives_up_ms is not None and now_ms >= gives_up_ms

    def _rule(self) -> LinkRule | None:
        return self._there._stopping or self._back._stopping

    def _healed(self, now_ms: float, rule: LinkRule) -> None:
        if self._rule() is None:
            self._gate.healed(now_ms, rule)


class LinkState:
    """The rules one node knows, and all its paths. `seed`: jitter and loss are drawn from it."""

    def __init__(self, node: str, seed: int) -> None:
        self.node = node
        self.chance = Chance(seed)
        self.in_force: dict[str, LinkRule] = {}
        self.frames_stopped: dict[str, int] = {}
        """{rule: frames and SYNs held, dropped, delayed or lost here}, healed rules included."""
        self._healed: dict[str, LinkRule] = {}
        self._proved: set[tuple[str, str]] = set()
        self._paths: dict[int, Path] = {}
        self._openings: dict[int, Opening] = {}
        self._events: list[Event] = []

    def connect(self, peer: str, purpose: str, opened_here: bool) -> tuple[Path, Path]:
        """The two directions of a new connection with `peer`: ours to it, and back."""
        opener = self.node if opened_here else peer
        out = Path(self, self.node, peer, opener, purpose, True)
        back = Path(self, peer, self.node, opener, purpose, False)
        for path in (out, back):
            self._paths[id(path)] = path
            self._rule_path(path)
        return out, back

    def opening(self, there: Path, back: Path) -> Opening:
        """For the opener of a connection, until it stands or is given up."""
        opening = Opening(self, there, back)
        self._openings[id(opening)] = opening
        return opening

    def forget(self, *ended: Path | Opening) -> None:
        """The connection is over, or stands."""
        for it in ended:
            (self._paths if isinstance(it, Path) else self._openings).pop(id(it), None)

    def apply(self, now_ms: float, rule: LinkRule) -> None:
        """`rule` is in force from now on. Once more: no change."""
        if rule.rule in self.in_force:
            return
        self.in_force[rule.rule] = rule
        self.frames_stopped.setdefault(rule.rule, 0)
        self._events.append(FaultInForce(rule=rule.rule, what=rule.what))
        self._rule_paths()

    def heal(self, now_ms: float, rule_id: str) -> bool:
        """The rule is lifted; False: it was not in force. Afterwards every `next_ms` may have changed."""
        rule = self.in_force.pop(rule_id, None)
        if rule is None:
            return False
        self._healed[rule_id] = rule
        if len(self._healed) > HEALED_KEPT_MAX:
            oldest = next(iter(self._healed))
            del self._healed[oldest]
            self._proved = {(known, peer) for known, peer in self._proved if known != oldest}
        stopped = self.frames_stopped[rule_id]
        self._events.append(FaultHealed(rule=rule_id, what=rule.what, frames_stopped=stopped))
        self._rule_paths()
        for path in self._paths.values():
            path._healed(now_ms, rule)
        for opening in self._openings.values():
            opening._healed(now_ms, rule)
        return True

    def take_events(self) -> list[Event]:
        """What happened since the last call: FaultInForce, FaultHealed, FaultTraffic."""
        events, self._events = self._events, []
        return events

    def count(self, rule_id: str) -> None:
        """A rule stopped one more frame here."""
        self.frames_stopped[rule_id] += 1

    def prove(self, rules: tuple[str, ...], peer: str) -> None:
        """First traffic from `peer` since these rules were healed: they did heal."""
        for rule_id in rules:
            if (rule_id, peer) not in self._proved:
                self._proved.add((rule_id, peer))
                self._events.append(FaultTraffic(rule=rule_id, peer=peer))
        for path in self._paths.values():
            if path.sender == peer:
                self._rule_path(path)

    def _rule_paths(self) -> None:
        for path in self._paths.values():
            self._rule_path(path)

    def _rule_path(self, path: Path) -> None:
        if path.purpose == CONTROL:
            return
        awaiting = tuple(
            rule_id
            for rule_id, rule in self._healed.items()
            if (rule_id, path.sender) not in self._proved and _concerns(rule, path)
        )
        path._ruled(tuple(r for r in self.in_force.values() if _concerns(r, path)), awaiting)


def _concerns(rule: LinkRule, path: Path) -> bool:
    """Whether the rule's nodes, side and purpose match; its APIs are asked for each frame."""
    api = rule.apis[0] if rule.apis else ""
    return rule.matches(path.sender, path.receiver, path.opener, path.purpose, api)
