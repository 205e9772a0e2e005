"""The heap: virtual time jumps from one entry to the next.

    heap of (at_ms, seq, what, arguments)      what: a frame's arrival, a timer, a gate to look at, ...

Everything drawn comes from one seeded source; ties are broken by `seq`. Nothing of an ended incarnation reaches the
next one: every entry checks the incarnation it was made for.

A part of `world.SimulatedWorld`, as are the faults of its nodes (`fault_targets`).
"""

from abc import abstractmethod
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any, Protocol

from emulator.faults import actions as act
from emulator.faults.enforcement import LinkState
from emulator.storage.files import NodeKilled
from emulator.topology import Topology
from emulator.worlds.simulated.latencies import CALM, Latencies
from emulator.worlds.simulated.latency_model import Draws
from emulator.worlds.simulated.node import Due, MachineFactory, SimulatedNode
from emulator.worlds.simulated.trace import Cause, Trace
from emulator.worlds.simulated.transport import Transport
from protocol.events import NodeStopped
from protocol.hardware import SOUND
from protocol.link_rules import LinkRule
from protocol.machine import (
    CancelTimer,
    Close,
    Effect,
    Emit,
    Exit,
    Input,
    Now,
    Open,
    Send,
    SetTimer,
    TimerFired,
    TimerKey,
)

CUTS = ("truncate", "delete")
"""Storage operations after which a file holds less."""


class RunTooLong(Exception):
    """The bound on inputs or on virtual time was reached: the scenario does not end."""


class Course(Protocol):
    """An activity that ends, such as a scenario's player."""

    @property
    def finished(self) -> bool: ...


class _Until:
    def __init__(self, condition: Callable[[], bool]) -> None:
        self._condition = condition

    @property
    def finished(self) -> bool:
        return self._condition()


class Heap(Transport):
    """All nodes of a topology. `factory`: makes a node's machine for each incarnation."""

    def __init__(
        self,
        topology: Topology,
        factory: MachineFactory,
        seed: int,
        *,
        latencies: Latencies = CALM,
        wire_events: bool = False,
        after_step: Callable[[SimulatedNode, float], None] | None = None,
        draws: Draws | None = None,
    ) -> None:
        """`after_step(node, now_ms)`: called when a node has handled an input, or has died.

        It only looks. `draws`: replaces the source made of seed and latencies.
        """
        self.topology = topology
        self.now_ms = 0.0
        self.inputs = 0
        self.trace = Trace()
        self.draws = draws or Draws(seed, latencies)
        self._delays_first_append = self.draws.latencies.first_append_ms is not None
        self._factory = factory
        self._after_step = after_step
        self._heap = []
        self._seq = 0
        self._wire_events = wire_events
        self.cause = "start"
        self.nodes = {
            node.name: SimulatedNode(node, LinkState(node.name, self.draws.links_seed(node.name)))
            for node in topology.nodes
        }
        self.in_force: dict[str, LinkRule] = {}
        self.on_act: Callable[[SimulatedNode, act.Act], None] | None = None
        """Carries out the player's actions; None: the world's own executor."""
        self.first_controller = ""
        """The controller of KRaft that is to win the first election; "": a race.

        Its process starts before the others.
        """
        self.before_start: Callable[[act.Start], str] = lambda order: ""
        """Called with an ordered start; returns the reason of a refusal, or ""."""
        self.start_details: Callable[[str], tuple[str, str, str]] = lambda name: ("", "", "")
        """Called for a node that starts: its versions and settings, for the event."""

    # --- the heap ---

    def at(self, at_ms: float, what: Callable[..., None], *arguments: Any) -> None:
        """Do `what` at `at_ms`."""
        self._seq += 1
        heappush(self._heap, (at_ms, self._seq, what, arguments))

    def run(self, until: Callable[[], bool], *, max_ms: float = 3_600_000.0, max_inputs: int = 20_000_000) -> None:
        """Run until the condition holds (checked after every entry), or nothing is left.

        Raises RunTooLong.
        """
        self.play(_Until(until), max_ms=max_ms, max_inputs=max_inputs)

    def play(self, course: Course, *, max_ms: float = 3_600_000.0, max_inputs: int = 20_000_000) -> None:
        """Run until `course` is finished. Raises RunTooLong.

        Reading an attribute costs less than a call, and there is one per entry.
        """
        heap = self._heap
        while heap and not course.finished:
            at_ms, _, what, arguments = heappop(heap)
            if at_ms > max_ms or self.inputs > max_inputs:
                raise RunTooLong(f"{self.inputs} inputs until {at_ms:.0f} ms; bounds: {max_inputs}, {max_ms:.0f} ms")
            self.now_ms = at_ms
            what(*arguments)

    # --- one input ---

    def _step(self, node: SimulatedNode, event: Input | act.ActDone, cause: Cause) -> None:
        machine = node.machine
        if machine is None:
            return
        now_ms = self.now_ms
        if node.busy_until_ms > now_ms:
            # A stalled node takes its inputs when it goes on, in order. If it is paused as well, inputs during the
            # pause wait behind those before it.
            self.at(node.busy_until_ms, self._later(node, event, cause))
            return
        if node.paused:
            node.held.append(self._later(node, event, cause))
            return
        if node.resumes_ms > now_ms and getattr(event, "connection", 0) in node.resuming:
            self.at(node.resumes_ms, self._later(node, event, cause))
            return
        self.inputs += 1
        self.cause = cause
        try:
            effects = machine.step(Now(now_ms, node.wall_epoch_ms + now_ms), event)  # type: ignore[arg-type]
        except NodeKilled:
            self._die(node, "killed between two storage operations")
            return
        if node.stall_ms:
            self._stall(node, effects, cause)
            return
        if self._after_step is not None:
            self._after_step(node, now_ms)
        # Every second effect is an event, which is an entry: no call of `Trace.add`.
        add = self.trace.entries.append
        for effect in effects:
            kind = type(effect)
            if kind is Send:
                self._send(node, effect)  # type: ignore[arg-type]
            elif kind is Emit:
                node.seq += 1
                add((node.node.name, node.incarnation, node.seq, cause, now_ms, effect.event))  # type: ignore[union-attr]
            elif kind is SetTimer:
                self._set_timer(node, effect.key, effect.after_ms)  # type: ignore[union-attr]
            elif kind is CancelTimer:
                node.timers.pop(effect.key, None)  # type: ignore[union-attr]
            else:
                self._carry_out(node, effect)
                if node.machine is not machine:
                    return

    def deliver(self, node: SimulatedNode, event: Input | act.ActDone, cause: Cause) -> None:
        """An input that comes from outside the cluster."""
        self._step(node, event, cause)

    def _later(self, node: SimulatedNode, event: Input | act.ActDone, cause: Cause) -> Callable[[], None]:
        """A function that delivers a delayed input.

        It drops one for an earlier incarnation, or for a connection that the machine has closed meanwhile.
        """
        incarnation = node.incarnation

        def later() -> None:
            if node.incarnation == incarnation and getattr(event, "connection", 0) not in node.closed:
                self._step(node, event, cause)

        return later

    def _stall(self, node: SimulatedNode, effects: list[Effect], cause: Cause) -> None:
        """Stall a node on its slow disk: the step's effects happen at its end."""
        machine = node.machine
        node.busy_until_ms = self.now_ms + node.stall_ms
        node.stall_ms = 0.0

        def finish() -> None:
            if node.machine is not machine:
                return  # it died meanwhile: another incarnation may stall, too
            if node.paused:
                node.held.append(finish)  # a paused process sends nothing
                return
            node.busy_until_ms = 0.0
            self.cause = cause
            if self._after_step is not None:
                self._after_step(node, self.now_ms)
            for effect in effects:
                if node.machine is machine:
                    self._carry_out(node, effect)

        self.at(node.busy_until_ms, finish)

    def _before_storage(self, node: SimulatedNode, operation: str, path: str) -> None:
        if node.hardware is not SOUND:
            node.stall_ms += node.hardware.takes_ms(operation)
        if operation == "make_directory":
            node.stall_ms += self.draws.takes_ms(node.node.name, "log_creation_ms")
        elif operation in CUTS:
            node.cuts += 1
        if node.before_storage is not None:
            node.before_storage(operation, path)

    def _carry_out(self, node: SimulatedNode, effect: Effect | act.Act) -> None:
        match effect:  # in order of their frequency
            case Open():
                self._open(node, effect)
            case Close(connection, refuses):
                node.closed.add(connection)
                end = node.ends.pop(connection, None)
                if end is not None:
                    end.refuses = refuses
                    self._close(end, "closed")
            case Send():
                self._send(node, effect)
            case SetTimer(key, after_ms):
                self._set_timer(node, key, after_ms)
            case Emit(event):
                self.trace.add(node, self.cause, self.now_ms, event)
            case CancelTimer(key):
                node.timers.pop(key, None)
            case Exit(code, reason, kind):
                node.died = effect
                for event in (*node.links.last_words(), NodeStopped(code, reason, kind)):
                    self.trace.add(node, self.cause, self.now_ms, event)
                self._die(node, reason)
            case act.Act():
                self._act(node, effect)
            case _:
                raise AssertionError(effect)

    @abstractmethod
    def _act(self, node: SimulatedNode, order: act.Act) -> None:
        """Carry out an action of the player."""

    # --- timers ---

    def _set_timer(self, node: SimulatedNode, key: TimerKey, after_ms: float) -> None:
        """Set a timer. Most are moved on before they are due: these keep their entry in the heap."""
        self._seq += 1
        at_ms = self.now_ms + after_ms + self.draws.timer_ms(node.node.name, key)
        due = node.timers[key] = (at_ms, self._seq)
        look = node.timer_looks.get(key)
        if look is None or at_ms < look[0]:
            self._look_at_timer(node, key, due)

    def _look_at_timer(self, node: SimulatedNode, key: TimerKey, due: Due) -> None:
        node.timer_looks[key] = due
        heappush(self._heap, (due[0], due[1], self._look, (node, key, due)))

    def _look(self, node: SimulatedNode, key: TimerKey, look: Due) -> None:
        """Fire a timer, if it is due and was not moved."""
        if node.timer_looks.get(key) != look:
            return  # an earlier look took its place
        del node.timer_looks[key]
        due = node.timers.get(key)
        if due == look:
            self._fire(node, key, due)
        elif due is not None:
            self._look_at_timer(node, key, due)

    def _fire(self, node: SimulatedNode, key: TimerKey, due: Due) -> None:
        if node.timers.get(key) != due:
            return
        if node.busy_until_ms > self.now_ms:
            # Until it is taken, an earlier input may cancel or move it.
            self.at(node.busy_until_ms, self._fire, node, key, due)
        elif node.paused:
            node.held.append(lambda: self._fire(node, key, due))
        else:
            del node.timers[key]
            self._step(node, TimerFired(key), f"timer:{key[0]}")

    # --- a death ---

    def _die(self, node: SimulatedNode, reason: str, *, kernel_lives: bool = True) -> None:
        """End a process; its kernel closes its connections, behind frames that pass by themselves.

        `kernel_lives` false: all that waits at a gate is lost with it.
        """
        node.machine = None
        node.paused = False
        node.held.clear()
        node.timers.clear()
        if self._after_step is not None:
            self._after_step(node, self.now_ms)
        ends, node.ends = list(node.ends.values()), {}
        for end in ends:
            self._close(end, reason, kernel_lives=kernel_lives)
        if kernel_lives:
            self._let_go(node)
            return
        for end in tuple(node.leaving):
            self._leave(node, end)
