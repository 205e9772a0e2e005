"""Dummy machines with the traffic of brokers, session servers and clients; timer lateness.

A dummy sends requests to its peers, gets delayed responses, and sets and cancels a time-out around every request, as
real machines do. Each timer's lateness (scenario ms, a 32-bit float) is appended to the node's file `lateness`.
"""

import struct
from typing import Any

import msgspec

from emulator.storage.files import Files
from emulator.topology import Topology
from emulator.worlds.network.spec import MachineSpec
from protocol.machine import (
    ConnectionAccepted,
    ConnectionEvent,
    ConnectionLost,
    ConnectionOpened,
    Effect,
    Input,
    Now,
    Started,
    StopRequested,
    TimerKey,
)
from protocol.messages.session_messages import PingRequest, PingResponse
from protocol.outbox import Outbox
from protocol.purposes import CLIENT, ENSEMBLE, FETCHER, SESSION

LATENESS = "lateness"
REQUEST_TIMEOUT_MS = 30_000.0
PROBE_MS = 100.0
WRITE_SAMPLES = 64


class Habit(msgspec.Struct, frozen=True):
    """Send to `to` again `pause_ms` after its response; it responds after `hold_ms` (long poll)."""

    to: str
    purpose: str
    pause_ms: float
    hold_ms: float


class DummyMachine:
    """A dummy. `habits`: its requests. `ticks_ms`: periods of its own timers."""

    def __init__(self, habits: tuple[Habit, ...], ticks_ms: tuple[float, ...], files: Files) -> None:
        self._habits = habits
        self._ticks_ms = (*ticks_ms, PROBE_MS)
        self._files = files
        self._out = Outbox()
        self._due: dict[TimerKey, float] = {}
        self._samples: list[float] = []
        self._asking: dict[int, Habit] = {}
        self._asked = 0

    def step(self, now: Now, event: Input) -> list[Effect]:
        match event:
            case Started():
                for habit in self._habits:
                    self._asking[self._out.open(habit.to, habit.purpose, self._input)] = habit
                for number, period_ms in enumerate(self._ticks_ms):
                    self._set(now, ("tick", number), period_ms)
            case ConnectionAccepted(connection):
                self._out.own(connection, self._input)
            case StopRequested():
                self._write()
                self._out.exit(0, "asked to")
            case _:
                self._out.route(now, event)
        return self._out.take()

    def _input(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        connection = event.connection
        if isinstance(event, ConnectionOpened):
            self._ask(now, connection)
        elif isinstance(event, ConnectionLost):
            self._asking.pop(connection, None)
        elif not isinstance(event.message, PingRequest):
            out.cancel_timer(("time-out", connection))
            self._set(now, ("ask", connection), self._asking[connection].pause_ms)
        elif event.correlation_id:
            self._set(now, ("answer", connection, event.correlation_id), float(event.correlation_id))
        else:
            out.send(connection, PingResponse())

    def _fired(self, now: Now, key: TimerKey) -> None:
        self._measure(now, key)
        match key:
            case ("tick", int(number)):
                self._set(now, key, self._ticks_ms[number])
            case ("ask", int(connection)) if connection in self._asking:
                self._ask(now, connection)
            case ("answer", int(connection), int(correlation_id)):
                self._out.send(connection, PingResponse(), correlation_id)

    def _ask(self, now: Now, connection: int) -> None:
        self._out.send(connection, PingRequest(), int(self._asking[connection].hold_ms))
        self._set(now, ("time-out", connection), REQUEST_TIMEOUT_MS)

    def _set(self, now: Now, key: TimerKey, after_ms: float) -> None:
        self._due[key] = now.mono_ms + after_ms
        self._out.set_timer(key, after_ms, lambda now, out: self._fired(now, key))

    def _measure(self, now: Now, key: TimerKey) -> None:
        self._samples.append(now.mono_ms - self._due.pop(key))
        if len(self._samples) >= WRITE_SAMPLES:
            self._write()

    def _write(self) -> None:
        self._files.append(LATENESS, struct.pack(f"<{len(self._samples)}f", *self._samples))
        self._samples.clear()


def build(life: Any, files: Files, arguments: dict[str, Any]) -> DummyMachine:
    """Factory: arguments `habits` and `ticks_ms`."""
    habits = msgspec.convert(arguments["habits"], tuple[Habit, ...])
    return DummyMachine(habits, tuple(arguments["ticks_ms"]), files)


def specs(topology: Topology) -> dict[str, MachineSpec]:
    """Machines of all nodes in `topology`, each a process.

    Three brokers fetch from each other, ping a session server and the controller; session servers tick among
    themselves; clients produce.
    """
    brokers = [node.name for node in topology.with_role("broker")]
    sessions = [node.name for node in topology.with_role("session")]
    made: dict[str, MachineSpec] = {}
    for node in topology.nodes:
        habits: list[Habit] = []
        ticks_ms = [1_000.0]
        if "broker" in node.roles:
            habits += [Habit(other, FETCHER, 0.0, 500.0) for other in brokers if other != node.name]
            habits.append(Habit(sessions[node.number % len(sessions)], SESSION, 2_000.0, 0.0))
            ticks_ms += [5_000.0, 5_000.0]
        elif "session" in node.roles:
            habits += [Habit(other, ENSEMBLE, 500.0, 0.0) for other in sessions if other != node.name]
            ticks_ms += [500.0]
        else:
            habits.append(Habit(brokers[node.number % len(brokers)], CLIENT, 200.0, 5.0))
            habits.append(Habit(sessions[node.number % len(sessions)], SESSION, 2_000.0, 0.0))
        arguments = {"habits": msgspec.to_builtins(habits), "ticks_ms": ticks_ms}
        made[node.name] = MachineSpec("benchmarks.dummies:build", arguments)
    return made
