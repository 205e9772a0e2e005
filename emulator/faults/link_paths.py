"""Gates of a connection at one of its ends: a path for each direction, and one for opening."""

from collections import deque
from itertools import islice
from typing import Any, Final, NamedTuple, Protocol

from emulator.faults.gate import Gate
from emulator.faults.links import DATA, SYN, Retransmission, fires_at, retransmission_at
from protocol.chance import Chance
from protocol.link_rules import LinkRule
from protocol.machine import Loss

STOPPING: Final = ("cut", "hold")


class Stopped(NamedTuple):
    """A frame that does not pass now. `action`: held, dropped, delayed, lost or queued.

    Lost: it comes by a retransmission. Queued: no rule stops it, but it waits in the queue; `rule` is "".
    """

    rule: str
    action: str


QUEUED: Final = Stopped("", "queued")


class Links(Protocol):
    """The rules of a path's node."""

    chance: Chance

    def count(self, rule_id: str) -> None: ...
    def through(self, rule: LinkRule, ready_ms: float, size_bytes: int) -> float: ...
    def tried(self, rules: tuple[str, ...], peer: str) -> None: ...
    def prove(self, rules: tuple[str, ...], peer: str) -> None: ...


class _Waiting:
    __slots__ = ("of", "payload", "ready_ms", "shape", "stopped_by")

    def __init__(self, payload: Any, of: Retransmission, ready_ms: float, stopped_by: str) -> None:
        self.payload = payload
        self.of = of
        self.ready_ms = ready_ms
        self.shape = _Shape(ready_ms)
        self.stopped_by = stopped_by
        """The rule that stopped it last: a cut may follow a delay."""


class _Shape:
    """Effect of the rules that let a frame through. `ready_ms`: its time at an empty queue."""

    __slots__ = ("lost_by", "lost_ms", "ready_ms", "rules", "stopped")

    def __init__(self, ready_ms: float) -> None:
        self.ready_ms = ready_ms
        self.stopped: Stopped | None = None
        self.rules: tuple[str, ...] = ()
        """The rules that delayed it."""
        self.lost_by = ""
        """The rule that lost it, for the first time at `lost_ms`."""
        self.lost_ms = 0.0


class Path:
    """One direction of one connection, seen at one end. `outgoing`: at the sender's end."""

    __slots__ = (
        "_aside",
        "_awaiting",
        "_end",
        "_ends_ms",
        "_frame_rules",
        "_gate",
        "_last_ready_ms",
        "_line",
        "_links",
        "_shaping",
        "calm",
        "client_id",
        "opener",
        "outgoing",
        "purpose",
        "receiver",
        "sender",
        "stopping",
    )  # fmt: skip

    def __init__(self, links: Links, sender: str, receiver: str, opener: str, purpose: str, outgoing: bool):
        self._links = links
        self.sender = sender
        self.receiver = receiver
        self.opener = opener
        self.purpose = purpose
        self.outgoing = outgoing
        self.client_id = ""
        """Client id of the Kafka client whose connection it is; "": a node's."""
        self._gate = Gate()
        self._line: deque[_Waiting] = deque()
        self._aside: list[_Waiting] = []
        """Held by rules for some frames; others pass them."""
        self._end: _Waiting | None = None
        """The end of the stream. It passes no waiting frame, not even one that is held aside."""
        self._last_ready_ms = 0.0
        self.stopping: LinkRule | None = None
        """The rule in force that lets nothing through."""
        self._ends_ms: dict[str, float] = {}
        """{rule: time at which it ends the connection}."""
        self._shaping: tuple[LinkRule, ...] = ()
        self._frame_rules: tuple[LinkRule, ...] = ()
        self._awaiting: tuple[str, ...] = ()
        self.calm = True
        """Nothing to do: `offer` would return None. Fast callers check this first."""

    def offer(
        self,
        now_ms: float,
        payload: Any,
        api: str = "",
        of: Retransmission = DATA,
        size_bytes: int = 0,
        *,
        ends: bool = False,
    ) -> Stopped | None:
        """Offer `payload` to this gate. None: it passes now, and the caller sends or delivers it.

        `of`: its retransmission schedule. `ends`: it is the end of the stream.
        """
        if self.calm:
            return None
        links = self._links
        if ends and self._aside:
            self._end = _Waiting(payload, of, now_ms, "")
            return QUEUED
        for rule in self._frame_rules:
            if api not in rule.apis:
                continue
            if rule.kind == "cut":
                links.count(rule.rule)
                return Stopped(rule.rule, "dropped")
            if rule.kind == "hold":
                links.count(rule.rule)
                self._aside.append(_Waiting(payload, of, now_ms, rule.rule))
                return Stopped(rule.rule, "held")
        if self.stopping is not None:
            return self._hold(now_ms, payload, of)
        shape = self._shaped(now_ms, api, of, size_bytes)
        ready_ms, stopped = shape.ready_ms, shape.stopped
        if self.outgoing:
            if ready_ms <= self._last_ready_ms:  # the stream stays in order
                ready_ms, stopped = self._last_ready_ms, stopped or QUEUED
            self._last_ready_ms = ready_ms
        if ready_ms <= now_ms:
            stopped = None
        if stopped is None and not self._line and self._gate.first_lost_ms is None:
            self._passed()
            return None
        waiting = _Waiting(payload, of, ready_ms, stopped.rule if stopped else "")
        waiting.shape = shape
        self._line.append(waiting)
        return stopped or QUEUED

    def take(self, now_ms: float) -> list[Any]:
        """Payloads that pass now, in order. To be called at `next_ms`."""
        if self._gate.first_lost_ms is not None:
            if self.stopping is not None or self._gate.release_ms is None or now_ms < self._gate.release_ms:
                return []
            self._gate.open()
        passing = []
        line = self._line
        while line and line[0].ready_ms <= now_ms:
            if self.stopping is not None:
                self._shut_on_line(now_ms)
                break
            passing.append(line.popleft().payload)
        if passing:
            self._passed()
        if not line:
            self._reckon_calm()
        return passing

    @property
    def next_ms(self) -> float | None:
        """Time of the next `take` if no rule changes before; None: never."""
        passes_ms, ends_ms = self._passes_ms, self.ends_ms
        return passes_ms if ends_ms is None else ends_ms if passes_ms is None else min(passes_ms, ends_ms)

    @property
    def _passes_ms(self) -> float | None:
        gate = self._gate
        if gate.first_lost_ms is not None:
            if self.stopping is None:
                return gate.release_ms
            return gate.gives_up_ms if self.outgoing else None
        return self._line[0].ready_ms if self._line else None

    @property
    def ends_ms(self) -> float | None:
        """Time at which a rule ends the connection here; None: never."""
        return min(self._ends_ms.values()) if self._ends_ms else None

    def loss(self, now_ms: float) -> Loss | None:
        """Loss that ends the connection now, counted for its rule; None: it stands."""
        for rule_id, ends_ms in self._ends_ms.items():
            if now_ms >= ends_ms:
                self._ends_ms.clear()
                self._links.count(rule_id)
                return Loss.RESET
        return Loss.TIMED_OUT if self.given_up(now_ms) else None

    def given_up(self, now_ms: float) -> bool:
        """Whether TCP at the sender's end has given the connection up (about 15 min into a cut)."""
        gives_up_ms = self._gate.gives_up_ms if self.outgoing and self.stopping is not None else None
        return gives_up_ms is not None and now_ms >= gives_up_ms

    @property
    def waiting(self) -> int:
        """Number of payloads in the queue."""
        return len(self._line) + len(self._aside) + (self._end is not None)

    @property
    def passes_by_itself(self) -> bool:
        """Whether something waits here that passes without a heal."""
        return bool(self._line) and self.stopping is None

    def orphan(self, now_ms: float) -> None:
        """The process has closed its end: TCP tries for less long."""
        self._gate.orphan(now_ms)

    def _hold(self, now_ms: float, payload: Any, of: Retransmission) -> Stopped:
        assert self.stopping is not None
        self._gate.shut(now_ms, of)
        self._line.append(_Waiting(payload, of, now_ms, self.stopping.rule))
        self._links.count(self.stopping.rule)
        return Stopped(self.stopping.rule, "held")

    def _shut_on_line(self, now_ms: float) -> None:
        """Shut the gate on delayed frames whose time has come."""
        assert self.stopping is not None
        self._gate.shut(now_ms, self._line[0].of)
        for waiting in self._line:
            if waiting.stopped_by != self.stopping.rule:
                waiting.stopped_by = self.stopping.rule
                self._links.count(self.stopping.rule)

    def _shaped(self, now_ms: float, api: str, of: Retransmission, size_bytes: int) -> _Shape:
        """Ready time of a frame that nothing stops, and the rules that delay it."""
        shape = _Shape(now_ms)
        if not self.outgoing:
            return shape
        chance = self._links.chance
        for rule in (*self._shaping, *(r for r in self._frame_rules if api in r.apis)):
            if rule.kind == "delay":
                shape.ready_ms += rule.delay_ms + (chance.between(0.0, rule.jitter_ms) if rule.jitter_ms else 0.0)
                self._made_later(shape, rule, "delayed")
            elif rule.kind == "bandwidth":
                shape.ready_ms = self._links.through(rule, shape.ready_ms, size_bytes)
                self._made_later(shape, rule, "delayed")
            elif rule.kind == "loss":
                first_ms = shape.ready_ms
                for wait_ms in islice(of.waits_ms(), of.tries):
                    if chance.fraction() >= rule.loss:
                        break
                    shape.ready_ms = fires_at(shape.ready_ms, wait_ms)
                    shape.lost_by, shape.lost_ms = rule.rule, first_ms
                    self._made_later(shape, rule, "lost")
        return shape

    def _made_later(self, shape: _Shape, rule: LinkRule, action: str) -> None:
        shape.stopped = Stopped(rule.rule, action)
        shape.rules += (rule.rule,)
        self._links.count(rule.rule)

    def tried(self) -> None:
        """Record that a frame is sent, or a connection opened."""
        if self._awaiting and self.outgoing:
            self._links.tried(self._awaiting, self.receiver)

    def _passed(self) -> None:
        if self.outgoing:
            self.tried()
        elif self._awaiting:
            self._links.prove(self._awaiting, self.sender)

    def ruled(self, in_force: tuple[LinkRule, ...], awaiting: tuple[str, ...]) -> None:
        """Set the rules in force."""
        if self.calm and not in_force and not awaiting:
            return  # nothing was in its way, and nothing is
        self.stopping = next((r for r in in_force if r.kind in STOPPING and not r.apis), None)
        self._shaping = tuple(r for r in in_force if r.kind not in STOPPING and not r.apis)
        self._frame_rules = tuple(r for r in in_force if r.apis)
        self._awaiting = awaiting
        self._reckon_calm()

    def _ends_under(self, rule: LinkRule) -> bool:
        """Whether the rule ends the connection here: on one path of the accepting end, thus once."""
        accepted = self.opener == (self.receiver if self.outgoing else self.sender)
        return rule.kind == "reset" and accepted and (rule.one_way or not self.outgoing)

    def applied(self, now_ms: float, rule: LinkRule) -> None:
        """React to a rule that came into force, after `ruled`."""
        if rule in self._shaping and self._ends_under(rule):
            self._ends_ms[rule.rule] = now_ms
            self._reckon_calm()

    def began(self, now_ms: float) -> None:
        """React to the rules under which the connection was opened, after `ruled`."""
        for rule in self._shaping:
            if rule.every_ms and self._ends_under(rule):
                self._ends_ms.setdefault(rule.rule, now_ms + rule.every_ms)

    def healed(self, now_ms: float, rule: LinkRule) -> None:
        """React to a lifted rule, after `ruled`."""
        self._ends_ms.pop(rule.rule, None)
        for waiting in [w for w in self._aside if w.stopped_by == rule.rule]:
            self._aside.remove(waiting)
            waiting.ready_ms = max(now_ms, self._last_ready_ms)
            self._line.append(waiting)
        if self._end is not None and not self._aside:
            self._end.ready_ms = max(now_ms, self._last_ready_ms)
            self._line.append(self._end)
            self._end = None
        if rule.kind == "bandwidth":
            self._widened(now_ms, rule)
        elif rule.kind == "loss":
            self._lost_no_more(now_ms, rule)
        if self.stopping is None and not rule.apis:
            self._gate.healed(now_ms, rule)
        self._reckon_calm()

    def _widened(self, now_ms: float, rule: LinkRule) -> None:
        """Let the frames that waited for the link's bandwidth pass at once."""
        for waiting in self._line:
            if rule.rule in waiting.shape.rules:
                waiting.ready_ms = waiting.shape.ready_ms = min(waiting.ready_ms, now_ms)
        self._last_ready_ms = max((waiting.ready_ms for waiting in self._line), default=now_ms)

    def _lost_no_more(self, now_ms: float, rule: LinkRule) -> None:
        """Let the next retransmission of the lost frames through, and the queue behind it."""
        ready_ms = now_ms
        for waiting in self._line:
            shape = waiting.shape
            if shape.lost_by == rule.rule:
                shape.ready_ms = min(shape.ready_ms, retransmission_at(shape.lost_ms, now_ms, waiting.of))
            ready_ms = waiting.ready_ms = min(waiting.ready_ms, max(ready_ms, shape.ready_ms))
        self._last_ready_ms = ready_ms

    def _reckon_calm(self) -> None:
        ruled = self.stopping is not None or self._shaping or self._frame_rules or self._awaiting or self._ends_ms
        self.calm = not (ruled or self._line or self._aside or self._gate.first_lost_ms is not None)


class Opening:
    """A connection being opened: its SYN must arrive, and the response too."""

    __slots__ = ("_back", "_gate", "_links", "_there")

    def __init__(self, links: Links, there: Path, back: Path) -> None:
        self._links = links
        self._there = there
        self._back = back
        self._gate = Gate()

    def attempt(self, now_ms: float) -> Stopped | None:
        """Send a SYN. None: it gets through, the caller connects. Otherwise: again at `next_ms`."""
        rule = self._rule()
        if rule is None:
            self._there.tried()
            self._gate.open()
            return None
        if self._gate.first_lost_ms is None:
            self._links.count(rule.rule)
        self._gate.shut(now_ms, SYN)
        return Stopped(rule.rule, "held")

    @property
    def next_ms(self) -> float | None:
        """Time of the next look: the SYN's repetition after a heal, or giving up."""
        return self._gate.gives_up_ms if self._rule() is not None else self._gate.release_ms

    def given_up(self, now_ms: float) -> bool:
        """Whether the opening is given up, about 134 s after the first SYN without a response."""
        gives_up_ms = self._gate.gives_up_ms
        return self._rule() is not None and gives_up_ms is not None and now_ms >= gives_up_ms

    def _rule(self) -> LinkRule | None:
        return self._there.stopping or self._back.stopping

    def healed(self, now_ms: float, rule: LinkRule) -> None:
        """React to a lifted rule, after the paths did."""
        if self._rule() is None:
            self._gate.healed(now_ms, rule)
