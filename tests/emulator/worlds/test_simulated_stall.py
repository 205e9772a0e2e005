"""A simulated node that its disk stalls takes its inputs when it goes on.

Input of timers and connections that it has cancelled or closed by then does not come any more.
"""

from collections.abc import Callable

from msgspec.structs import replace

from emulator.storage.files import Files
from emulator.storage.memory_files import MemoryFiles
from emulator.topology import Node, three_azs
from emulator.worlds.simulated.latencies import CALM
from emulator.worlds.simulated.world import SimulatedWorld
from protocol.machine import (
    ConnectionAccepted,
    ConnectionLost,
    Effect,
    Input,
    Machine,
    MessageReceived,
    Now,
    Started,
    TimerFired,
)
from protocol.messages.session_messages import PingRequest
from protocol.outbox import Outbox
from protocol.purposes import CLIENT
from tests.emulator.worlds.scripted import seen_by_step

BUSY = "broker-0"
SLOW_DISK = replace(CALM, log_creation_ms=(60.0, 60.0))


class Stalled:
    """Makes a directory at its first input, which takes a while; two timers come due meanwhile.

    `first` does what `then` says.
    """

    def __init__(self, files: Files, then: Callable[[Outbox], None]) -> None:
        self.seen: list[tuple[float, Input]] = []
        self._files, self._then = files, then

    def step(self, now: Now, event: Input) -> list[Effect]:
        self.seen.append((now.mono_ms, event))
        out = Outbox()
        match event:
            case Started():
                out.set_timer(("stall",), 1.0, seen_by_step)
                out.set_timer(("first",), 10.0, seen_by_step)
                out.set_timer(("second",), 30.0, seen_by_step)
            case TimerFired(("stall",)):
                self._files.make_directory("t-0")
            case TimerFired(("first",)):
                self._then(out)
        return out.take()

    def timers(self) -> list[str]:
        return [str(event.key[0]) for _, event in self.seen if isinstance(event, TimerFired)]


def played(then: Callable[[Outbox], None]) -> Stalled:
    machines: list[Stalled] = []

    def factory(node: Node, files: MemoryFiles) -> Machine:
        machines.append(Stalled(files, then))
        return machines[-1]

    world = SimulatedWorld(three_azs(), factory, 1, latencies=SLOW_DISK)
    world.start(BUSY)
    world.run(lambda: world.now_ms > 1_000.0, max_ms=2_000.0)
    return machines[0]


def test_timers_that_come_due_in_a_stall_fire_when_it_is_over() -> None:
    machine = played(lambda out: None)
    assert machine.timers() == ["stall", "first", "second"]
    times = {str(event.key[0]): at_ms for at_ms, event in machine.seen if isinstance(event, TimerFired)}
    assert times["first"] == times["second"] > times["stall"] + 50.0


def test_a_timer_that_is_cancelled_when_the_stall_is_over_never_fires() -> None:
    assert played(lambda out: out.cancel_timer(("second",))).timers() == ["stall", "first"]


def test_a_timer_that_is_moved_when_the_stall_is_over_fires_once_and_later() -> None:
    machine = played(lambda out: out.set_timer(("second",), 50.0, seen_by_step))
    assert machine.timers() == ["stall", "first", "second"]
    (first, second) = (at_ms for at_ms, _ in machine.seen[-2:])
    assert second >= first + 50.0


class Closing:
    """Two messages wait while it is stalled; at the first it closes their connection."""

    def __init__(self, files: Files) -> None:
        self.seen: list[Input] = []
        self._files = files

    def step(self, now: Now, event: Input) -> list[Effect]:
        self.seen.append(event)
        out = Outbox()
        match event:
            case ConnectionAccepted():
                self._files.make_directory("t-0")
            case MessageReceived(connection):
                out.close(connection)
        return out.take()


class Talking:
    """Sends two messages at once, and is gone when they are answered by a close."""

    def step(self, now: Now, event: Input) -> list[Effect]:
        out = Outbox()
        match event:
            case Started():
                connection = out.open(BUSY, CLIENT, seen_by_step)
                out.set_timer(("say", connection), 3.0, seen_by_step)
            case TimerFired(("say", int(connection))):
                out.send(connection, PingRequest())
                out.send(connection, PingRequest())
                out.set_timer(("leave", connection), 10.0, seen_by_step)
            case TimerFired(("leave", int(connection))):
                out.close(connection)
        return out.take()


def test_nothing_follows_of_a_connection_that_is_closed_when_the_stall_is_over() -> None:
    """Neither the second message nor the loss: the peer's end closed during the stall, too."""
    machines: dict[str, Machine] = {}

    def factory(node: Node, files: MemoryFiles) -> Machine:
        machines[node.name] = Closing(files) if node.name == BUSY else Talking()
        return machines[node.name]

    world = SimulatedWorld(three_azs(), factory, 1, latencies=SLOW_DISK)
    world.start(BUSY)
    world.start("client-0")
    world.run(lambda: world.now_ms > 1_000.0, max_ms=2_000.0)
    machine = machines[BUSY]
    assert isinstance(machine, Closing)
    assert [type(event) for event in machine.seen] == [Started, ConnectionAccepted, MessageReceived]
    assert not any(isinstance(event, ConnectionLost) for event in machine.seen)
