"""Enforcement of link rules on the frames of a node's connections. Pure; both worlds use it.

Every direction of a connection has a gate at each of its two ends. An open gate lets frames through at once (`offer`
returns None). A shut gate queues them. After the heal the queue moves again at the sender's next retransmission. The
gate at the receiver's end stops the frames that were in flight when the gate was shut.

Use by a world, for each node:

    links = LinkState("broker-0", seed)
    out, back = links.connect(now, peer, purpose, opened_here=True)
    opening = links.opening(out, back)
    opening.attempt(now)                                # the SYN
    stopped = out.offer(now, payload, api)              # None: send it; otherwise it is kept, or dropped
    out.take(now)                                       # at out.next_ms: what passes now, in order
    links.apply(now, rule); links.heal(now, rule.rule)  # then look at every next_ms again
    out.loss(now), back.loss(now)                       # at next_ms: whether the connection ends
    links.take_events()                                 # events to write

The end of a stream is offered like a frame, at both ends and with `ends`. It passes behind all that was offered before,
and vanishes in a cut as data does. TCP gives up what a process sent before it closed (`orphan`) after 105 s. The
sender's end enforces delay, jitter, bandwidth and loss; the accepting end enforces reset; both ends enforce cut and
hold.

Departures from TCP: frames that a cut or a hold stopped die with their process (a kernel would go on sending them). A
receiver's lost acknowledgements cost nothing.
"""

from typing import Final

from emulator.faults.link_paths import Opening, Path
from protocol.chance import Chance
from protocol.events import Event, FaultHealed, FaultInForce, FaultLasted, FaultTraffic, FaultTried
from protocol.link_rules import NODES, LinkRule
from protocol.purposes import CONTROL

HEALED_KEPT_MAX: Final = 64
"""Limit of healed rules kept, with their counts, to await their first frame."""


class LinkState:
    """The rules in force at one node, and all its paths. `seed`: for jitter and loss."""

    def __init__(self, node: str, seed: int) -> None:
        self.node = node
        self.chance = Chance(seed)
        self.in_force: dict[str, LinkRule] = {}
        self.frames_stopped: dict[str, int] = {}
        """{rule: frames and SYNs stopped, delayed or lost here}.

        Of healed rules the last HEALED_KEPT_MAX.
        """
        self._reported: dict[str, int] = {}
        """{rule: those of them reported already}.

        A process has one for all incarnations of its node.
        """
        self._busy_until_ms: dict[str, float] = {}
        """{rule: time in ms when the frames on its limited bandwidth are through}."""
        self._healed: dict[str, LinkRule] = {}
        self._proved: set[tuple[str, str]] = set()
        self._tried: set[tuple[str, str]] = set()
        self._paths: dict[int, Path] = {}
        self._openings: dict[int, Opening] = {}
        self._events: list[Event] = []

    def connect(self, now_ms: float, peer: str, purpose: str, opened_here: bool) -> tuple[Path, Path]:
        """The two directions of a new connection with `peer`: ours to it, and back."""
        opener = self.node if opened_here else peer
        out = Path(self, self.node, peer, opener, purpose, True)
        back = Path(self, peer, self.node, opener, purpose, False)
        for path in (out, back):
            self._paths[id(path)] = path
            if self.in_force or self._healed:
                self._rule_path(path)
                path.began(now_ms)
        return out, back

    def called(self, now_ms: float, client_id: str, *paths: Path) -> None:
        """Set the client id of a Kafka client's connection.

        Rules that name the id are in force there, too.
        """
        for path in paths:
            path.client_id = client_id
            self._rule_path(path)
            path.began(now_ms)

    def opening(self, there: Path, back: Path) -> Opening:
        """The gate of a connection's opener, until the connection is established or given up."""
        opening = Opening(self, there, back)
        self._openings[id(opening)] = opening
        return opening

    def forget(self, *ended: Path | Opening) -> None:
        """Forget connections that ended, or openings that were established."""
        for it in ended:
            (self._paths if isinstance(it, Path) else self._openings).pop(id(it), None)

    def apply(self, now_ms: float, rule: LinkRule) -> None:
        """Put `rule` in force. A second time: no change."""
        if rule.rule in self.in_force:
            return
        self.in_force[rule.rule] = rule
        self.frames_stopped.setdefault(rule.rule, 0)
        self._events.append(FaultInForce(rule=rule.rule, what=rule.what))
        self._rule_paths()
        for path in self._paths.values():
            path.applied(now_ms, rule)

    def heal(self, now_ms: float, rule_id: str, packets_dropped: int = 0) -> bool:
        """Lift the rule; False: it was not in force. Afterwards every `next_ms` may have changed.

        `packets_dropped`: by the kernel here, if it was the driver.
        """
        rule = self.in_force.pop(rule_id, None)
        if rule is None:
            return False
        self._healed[rule_id] = rule
        self._busy_until_ms.pop(rule_id, None)
        self.frames_stopped[rule_id] += packets_dropped
        if len(self._healed) > HEALED_KEPT_MAX:
            oldest = next(iter(self._healed))
            del self._healed[oldest]
            self.frames_stopped.pop(oldest, None)
            self._reported.pop(oldest, None)
            self._proved = {(known, peer) for known, peer in self._proved if known != oldest}
            self._tried = {(known, peer) for known, peer in self._tried if known != oldest}
        self._events.append(FaultHealed(rule=rule_id, what=rule.what, frames_stopped=self._unreported(rule_id)))
        self._rule_paths()
        for path in self._paths.values():
            path.healed(now_ms, rule)
        for opening in self._openings.values():
            opening.healed(now_ms, rule)
        return True

    def take_events(self) -> list[Event]:
        """Events since the last call: FaultInForce, FaultHealed, FaultTried, FaultTraffic."""
        events, self._events = self._events, []
        return events

    def last_words(self) -> list[Event]:
        """Events at the node's end with the counts of the rules in force here.

        Rules of the kernel are left out: only the kernel can report them.
        """
        return [
            FaultLasted(rule=rule.rule, what=rule.what, frames_stopped=self._unreported(rule.rule))
            for rule in self.in_force.values()
            if rule.driver == NODES
        ]

    def _unreported(self, rule_id: str) -> int:
        """Frames that the rule stopped since the last report; counts them as reported."""
        before, self._reported[rule_id] = self._reported.get(rule_id, 0), self.frames_stopped[rule_id]
        return self._reported[rule_id] - before

    def count(self, rule_id: str) -> None:
        """Count one more frame that a rule stopped here."""
        self.frames_stopped[rule_id] += 1

    def through(self, rule: LinkRule, ready_ms: float, size_bytes: int) -> float:
        """Time in ms when a frame that begins at `ready_ms` is through.

        It waits for those before it: all of the node's frames share the rule's bandwidth.
        """
        begins_ms = max(ready_ms, self._busy_until_ms.get(rule.rule, 0.0))
        self._busy_until_ms[rule.rule] = begins_ms + size_bytes * 1000.0 / rule.bytes_per_s
        return self._busy_until_ms[rule.rule]

    def tried(self, rules: tuple[str, ...], peer: str) -> None:
        """Record the first attempt to send to `peer` since these rules were healed."""
        for rule_id in rules:
            if (rule_id, peer) not in self._tried:
                self._tried.add((rule_id, peer))
                self._events.append(FaultTried(rule=rule_id, peer=peer))
        for path in self._paths.values():
            if path.receiver == peer:
                self._rule_path(path)

    def prove(self, rules: tuple[str, ...], peer: str) -> None:
        """Record the first traffic from `peer` since these rules were healed: they did heal."""
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
        awaiting: tuple[str, ...] = ()
        if self._healed:
            reported, peer = (self._tried, path.receiver) if path.outgoing else (self._proved, path.sender)
            awaiting = tuple(
                rule_id
                for rule_id, rule in self._healed.items()
                if (rule_id, peer) not in reported and _concerns(rule, path)
            )
        ours = tuple(rule for rule in self.in_force.values() if rule.driver == NODES and _concerns(rule, path))
        path.ruled(ours, awaiting)


def _concerns(rule: LinkRule, path: Path) -> bool:
    """Whether the rule's nodes, side and purpose match; its APIs are checked for each frame."""
    api = rule.apis[0] if rule.apis else ""
    return rule.matches(path.sender, path.receiver, path.opener, path.purpose, api, path.client_id)
