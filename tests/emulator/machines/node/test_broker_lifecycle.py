"""The lifecycle of a broker's registration, against scripted responses. Kraft-semantics 3.1."""

from collections.abc import Callable

import pytest

from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.settings import BrokerSettings
from emulator.machines.node.broker_lifecycle import BrokerLifecycle, LifecycleSettings, LifecycleState
from emulator.machines.node.kraft_broker_node import NoSessions
from emulator.storage.memory_files import MemoryFiles
from protocol.errors import ErrorCode
from protocol.events import BrokerLifecycleChanged
from protocol.gates import gates_for
from protocol.ids import BrokerId, Offset
from protocol.machine import CancelTimer, Emit, Now, SetTimer, TimerFired, TimerKey
from protocol.messages.kraft_messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from protocol.messages.message_base import Message
from protocol.outbox import Outbox

EPOCH = 40


class Bench:
    """A lifecycle, its channel and its broker's process in one."""

    def __init__(self, version: str = "3.9") -> None:
        self.out = Outbox()
        gates = gates_for(version, metadata="kraft")
        self.context = BrokerContext(BrokerId(1), gates, BrokerSettings(), MemoryFiles(), NoSessions(), self.out)
        self.now_ms = 0.0
        self.offset = Offset(-1)
        self.sent: list[tuple[float, Message]] = []
        self.calls: list[str] = []
        self.errors: list[tuple[str, int]] = []
        self.timers: dict[TimerKey, float] = {}
        self._done: Callable[[Message | None], None] = lambda response: None
        self.lifecycle = BrokerLifecycle(
            self.context, LifecycleSettings(), "broker-1", "az-1", self, lambda: self.offset, self
        )
        self.lifecycle.start("life", 7)
        self._take()

    def send(self, request: Message, version: int, done: Callable[[Message | None], None]) -> None:
        self.sent.append((self.now_ms, request))
        self._done = done

    def caught_up(self) -> None:
        self.calls.append("caught up")

    def unfenced(self) -> None:
        self.calls.append("unfenced")

    def registration_timed_out(self) -> None:
        self.calls.append("registration timed out")

    def may_shut_down(self) -> None:
        self.calls.append("may shut down")

    def _take(self) -> None:
        for effect in self.out.take():
            match effect:
                case SetTimer(key, after_ms):
                    self.timers[key] = self.now_ms + after_ms
                case CancelTimer(key):
                    self.timers.pop(key, None)
                case Emit(BrokerLifecycleChanged() as event):
                    self.errors.append((event.state, event.error))

    def answer(self, response: Message | None) -> None:
        self._done(response)
        self._take()

    def do(self, what: Callable[[], None]) -> None:
        what()
        self._take()

    def next_after(self) -> float:
        """Fire the next timer; the time that passed."""
        key = min(self.timers, key=lambda key: self.timers[key])
        began_ms, self.now_ms = self.now_ms, self.timers.pop(key)
        now = Now(self.now_ms, self.now_ms)
        self.context.now = now
        self.out.route(now, TimerFired(key))
        self._take()
        return self.now_ms - began_ms

    @property
    def last(self) -> Message:
        return self.sent[-1][1]

    def run(self) -> "Bench":
        """Register, catch up, and be unfenced."""
        self.answer(BrokerRegistrationResponse(0, EPOCH))
        self.next_after()
        self.answer(BrokerHeartbeatResponse(0, True, True))
        self.do(self.lifecycle.ready_to_unfence)
        self.answer(BrokerHeartbeatResponse(0, True, False))
        return self


def test_before_3_9_the_pause_after_errors_grows_from_100_ms_to_the_session_timeout() -> None:
    bench = Bench("3.8")
    pauses = []
    for _ in range(9):
        bench.answer(BrokerRegistrationResponse(ErrorCode.DUPLICATE_BROKER_REGISTRATION))
        pauses.append(bench.next_after())
    for index, pause_ms in enumerate(pauses):
        assert pause_ms == pytest.approx(min(100 * 2**index, 9_000), rel=0.02)
    bench.answer(BrokerRegistrationResponse(0, EPOCH))
    bench.next_after()
    bench.answer(None)
    assert bench.next_after() == pytest.approx(100, rel=0.02), "a success begins anew"


def heartbeat(*, fence: bool, offset: int = -1, shut_down: bool = False) -> BrokerHeartbeatRequest:
    return BrokerHeartbeatRequest(BrokerId(1), EPOCH, Offset(offset), fence, shut_down)


@pytest.mark.parametrize("refusal", [BrokerRegistrationResponse(ErrorCode.DUPLICATE_BROKER_REGISTRATION), None])
def test_a_refused_registration_is_repeated_with_the_same_incarnation_after_the_interval(
    refusal: Message | None,
) -> None:
    bench = Bench()
    assert bench.last == BrokerRegistrationRequest(BrokerId(1), "life", "broker-1", "az-1", 7)
    bench.answer(refusal)
    assert bench.next_after() == 2_000
    assert bench.sent[1][1] == bench.sent[0][1]
    error = 101 if refusal is not None else 0
    assert bench.errors[-1] == ("starting", error)


def test_a_registered_broker_heartbeats_every_10_ms_until_it_is_caught_up_and_then_wants_to_be_unfenced() -> None:
    bench = Bench()
    bench.answer(BrokerRegistrationResponse(0, EPOCH))
    assert (bench.next_after(), bench.last) == (0.0, heartbeat(fence=True))
    bench.answer(BrokerHeartbeatResponse(0, False, True))
    bench.offset = Offset(EPOCH)
    assert (bench.next_after(), bench.last) == (10.0, heartbeat(fence=True, offset=EPOCH))
    bench.answer(BrokerHeartbeatResponse(0, True, True))
    assert (bench.calls, bench.lifecycle.state) == (["caught up"], LifecycleState.RECOVERY)
    bench.do(bench.lifecycle.ready_to_unfence)
    assert bench.last == heartbeat(fence=False, offset=EPOCH)
    bench.answer(BrokerHeartbeatResponse(0, True, True))
    assert bench.next_after() == 2_000
    bench.answer(BrokerHeartbeatResponse(0, True, False))
    assert bench.calls == ["caught up", "unfenced"]
    assert bench.next_after() == 2_000


@pytest.mark.parametrize(
    "response", [BrokerHeartbeatResponse(ErrorCode.STALE_BROKER_EPOCH), None, BrokerHeartbeatResponse(0, True, True)]
)
def test_a_running_broker_only_tries_again(response: Message | None) -> None:
    """It never registers anew, whatever the controller says."""
    bench = Bench().run()
    for _ in range(3):
        assert bench.next_after() == 2_000
        assert bench.last == heartbeat(fence=False)
        bench.answer(response)
    assert bench.lifecycle.state == LifecycleState.RUNNING
    assert bench.context.broker_epoch == EPOCH


def test_a_broker_that_is_not_registered_in_time_says_so_once() -> None:
    bench = Bench()
    while bench.calls == []:
        bench.answer(None)
        bench.next_after()
    assert (bench.calls, bench.now_ms) == (["registration timed out"], 60_000)


def test_a_controlled_shutdown_is_requested_at_once_then_after_50_ms_then_each_interval() -> None:
    bench = Bench().run()
    bench.do(bench.lifecycle.begin_shutdown)
    gaps = []
    for _ in range(4):
        assert bench.last == heartbeat(fence=False, shut_down=True)
        bench.answer(BrokerHeartbeatResponse(0, True, False, False))
        gaps.append(bench.next_after())
    assert gaps == [50, 2_000, 2_000, 2_000]
    bench.answer(BrokerHeartbeatResponse(0, True, False, True))
    assert bench.calls[-1] == "may shut down"
    assert bench.timers == {}


def test_a_controlled_shutdown_waits_for_the_heartbeat_under_way_and_ends_after_five_minutes() -> None:
    bench = Bench().run()
    bench.next_after()
    count = len(bench.sent)
    bench.do(bench.lifecycle.begin_shutdown)
    assert len(bench.sent) == count
    bench.answer(BrokerHeartbeatResponse(0, True, False))
    assert (bench.next_after(), bench.last) == (0.0, heartbeat(fence=False, shut_down=True))
    while "may shut down" not in bench.calls:
        bench.answer(None)
        bench.next_after()
    assert bench.now_ms >= 300_000


def test_a_broker_that_does_not_run_stops_without_the_controller() -> None:
    bench = Bench()
    bench.do(bench.lifecycle.begin_shutdown)
    assert (bench.calls, bench.timers) == (["may shut down"], {})
