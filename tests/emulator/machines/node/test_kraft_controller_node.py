"""A controller of KRaft alone: connections, observers, DescribeQuorum, bounds, its end."""

from itertools import pairwise
from typing import Any, TypeVar

import pytest

from emulator.machines.node.controller_part import UNANSWERED_MAX
from emulator.machines.node.kraft_controller_node import KraftControllerNode
from emulator.machines.node.quorum_member import UNANSWERED_MAX as REQUESTS_MAX
from emulator.machines.node.quorum_observers import BATCHES_MAX, OBSERVERS_MAX
from emulator.storage.memory_files import MemoryFiles
from emulator.topology import KRAFT, three_azs
from protocol.errors import ErrorCode
from protocol.ids import BrokerId, LeaderEpoch, Offset
from protocol.kinds import ExitKind
from protocol.machine import (
    Close,
    ConnectionAccepted,
    ConnectionLost,
    Effect,
    Exit,
    Input,
    MessageReceived,
    Now,
    Send,
    SetTimer,
    Started,
    StopRequested,
    TimerFired,
    TimerKey,
)
from protocol.messages.kraft_messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    ObserveQuorumRequest,
    QuorumObserved,
)
from protocol.messages.message_base import Message
from protocol.messages.quorum_messages import QuorumFetchRequest, QuorumFetchResponse
from tests.emulator.machines.node.idle_controller import IdleController

M = TypeVar("M", bound=Message)
ME = BrokerId(1000)
HEARTBEAT = BrokerHeartbeatRequest(BrokerId(0), 1, Offset(0))
PURPOSES = {"observe": -1, "node-to-controller": -2, "quorum": -3}


class Bench:
    """controller-0 of `voters`; timers fire when time passes."""

    def __init__(self, voters: int = 1, version: str = "4.1", files: MemoryFiles | None = None) -> None:
        topology = three_azs(metadata=KRAFT, controllers=voters)
        self.files = files or MemoryFiles()
        self.machine = KraftControllerNode(
            topology.node("controller-0"), topology, {}, version, self.files, IdleController
        )
        self.now_ms = 0.0
        self._timers: dict[TimerKey, float] = {}
        self.effects: list[Effect] = []
        self.step(Started(7, 1))

    def step(self, event: Input) -> list[Effect]:
        effects = self.machine.step(Now(self.now_ms, 1_000_000.0 + self.now_ms), event)
        for effect in effects:
            if isinstance(effect, SetTimer):
                self._timers[effect.key] = self.now_ms + effect.after_ms
        self.effects += effects
        return effects

    def go_on(self, ms: float) -> list[Effect]:
        """Effects of the timers that fire meanwhile."""
        end_ms, began = self.now_ms + ms, len(self.effects)
        while self._timers and min(self._timers.values()) <= end_ms:
            key = min(self._timers, key=lambda one: self._timers[one])
            self.now_ms = self._timers.pop(key)
            self.step(TimerFired(key))
        self.now_ms = end_ms
        return self.effects[began:]

    def accept(self, connection: int, purpose: str, peer: str = "controller-1") -> None:
        self.step(ConnectionAccepted(connection, peer, purpose))

    def ask(self, connection: int, request: Message, correlation: int = 1) -> list[Effect]:
        return self.step(MessageReceived(connection, correlation, 0, request))


def messages(effects: list[Effect], kind: type[M], connection: int | None = None) -> list[M]:
    return [
        effect.message
        for effect in effects
        if isinstance(effect, Send) and isinstance(effect.message, kind) and connection in (None, effect.connection)
    ]


def test_an_observer_receives_all_that_is_committed_and_then_each_batch_once() -> None:
    bench = Bench()
    bench.go_on(200_000.0)
    bench.accept(-1, "observe", "observer")
    known = messages(bench.ask(-1, ObserveQuorumRequest()), QuorumObserved)
    assert [len(one.batches) for one in known[:-1]] == [BATCHES_MAX] * (len(known) - 1) and len(known) > 1
    assert {(one.node, one.state, one.epoch, one.leader, one.active) for one in known} == {(ME, "leader", 1, ME, True)}
    later = messages(bench.go_on(10_000.0), QuorumObserved)
    assert 18 <= len(later) <= 21, "a no-op every 500 ms"
    batches = [batch for one in (*known, *later) for batch in one.batches]
    assert batches[0].base_offset == 0 and batches[0].values == [], "the leader's control record"
    assert all(one.end == after.base_offset for one, after in pairwise(batches))
    assert all(len(batch.values) == batch.end - batch.base_offset for batch in batches[1:])
    assert bench.ask(-1, ObserveQuorumRequest()) == [], "it has subscribed"


def test_an_observer_learns_of_a_change_of_state() -> None:
    bench = Bench(voters=3)
    bench.accept(-1, "observe", "observer")
    [first] = messages(bench.ask(-1, ObserveQuorumRequest()), QuorumObserved)
    assert (first.state, first.leader, first.active, first.batches) == ("unattached", -1, False, [])
    [changed] = messages(bench.go_on(2_000.0), QuorumObserved)[:1]
    assert changed.state == "prospective"


def test_one_who_left_is_pushed_nothing() -> None:
    bench = Bench()
    bench.go_on(1_000.0)
    bench.accept(-1, "observe", "observer")
    bench.ask(-1, ObserveQuorumRequest())
    bench.step(ConnectionLost(-1, "closed"))
    assert messages(bench.go_on(5_000.0), QuorumObserved) == []


def test_subscriptions_are_bounded() -> None:
    bench = Bench()
    for number in range(1, OBSERVERS_MAX + 1):
        bench.accept(-number, "observe", "observer")
        assert messages(bench.ask(-number, ObserveQuorumRequest()), QuorumObserved)
    bench.accept(-OBSERVERS_MAX - 1, "observe", "observer")
    assert Close(-OBSERVERS_MAX - 1) in bench.ask(-OBSERVERS_MAX - 1, ObserveQuorumRequest())


@pytest.mark.parametrize("purpose", ["observe", "node-to-controller"])
def test_only_the_leader_describes_the_quorum(purpose: str) -> None:
    bench = Bench(voters=3)
    bench.accept(-1, purpose, "observer")
    [refusal] = messages(bench.ask(-1, DescribeQuorumRequest()), DescribeQuorumResponse)
    assert (refusal.error, refusal.leader, refusal.epoch) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, 0)
    alone = Bench()
    alone.go_on(1_000.0)
    alone.accept(-1, purpose, "observer")
    [view] = messages(alone.ask(-1, DescribeQuorumRequest()), DescribeQuorumResponse)
    [voter] = view.voters
    assert (view.error, view.leader, view.epoch, voter.replica, view.observers) == (0, ME, 1, ME, [])
    assert voter.log_end == view.high_watermark > 1 and voter.last_fetch_ms == voter.last_caught_up_ms == 1_001_000


def fetch(bench: Bench, end: int, epoch: int = 1) -> QuorumFetchRequest:
    return QuorumFetchRequest(LeaderEpoch(1), BrokerId(0), Offset(end), LeaderEpoch(epoch), 500, Offset(end))


def test_an_observing_broker_is_described_with_its_progress() -> None:
    bench = Bench()
    bench.go_on(1_000.0)
    bench.accept(-1, "quorum", "broker-0")
    bench.ask(-1, fetch(bench, 1), 5)
    bench.accept(-2, "node-to-controller", "broker-0")
    [view] = messages(bench.ask(-2, DescribeQuorumRequest()), DescribeQuorumResponse)
    [broker] = view.observers
    assert (broker.replica, broker.log_end, broker.last_fetch_ms, broker.last_caught_up_ms) == (0, 1, 1_001_000, -1)
    bench.go_on(301_000.0)
    [view] = messages(bench.ask(-2, DescribeQuorumRequest()), DescribeQuorumResponse)
    assert view.observers == [], "it has not fetched for five minutes"


def test_a_parked_fetch_is_answered_to_its_own_incarnation() -> None:
    """Both incarnations of a sender count their correlations from 1."""
    bench = Bench()
    bench.go_on(1_000.0)
    end = int(bench.machine.member.log_end)
    bench.accept(-1, "quorum", "broker-0")
    assert messages(bench.ask(-1, fetch(bench, end), 1), QuorumFetchResponse) == [], "it waits for records"
    bench.step(ConnectionLost(-1, "closed"))
    bench.accept(-2, "quorum", "broker-0")
    assert messages(bench.ask(-2, fetch(bench, end), 1), QuorumFetchResponse) == []
    sends = [e for e in bench.go_on(600.0) if isinstance(e, Send) and isinstance(e.message, QuorumFetchResponse)]
    assert [(send.connection, send.correlation_id) for send in sends] == [(-2, 1)]


def test_unanswered_requests_of_one_connection_are_bounded() -> None:
    bench = Bench()
    bench.go_on(1_000.0)
    end = int(bench.machine.member.log_end)
    bench.accept(-1, "quorum", "broker-0")
    for correlation in range(REQUESTS_MAX):
        assert Close(-1) not in bench.ask(-1, fetch(bench, end), correlation)
    assert Close(-1) in bench.ask(-1, fetch(bench, end), REQUESTS_MAX)
    bench.accept(-2, "node-to-controller", "broker-0")
    for correlation in range(UNANSWERED_MAX):
        assert Close(-2) not in bench.ask(-2, HEARTBEAT, correlation)
    assert Close(-2) in bench.ask(-2, HEARTBEAT, UNANSWERED_MAX)
    assert [e for e in bench.go_on(2_000.0) if isinstance(e, Send)] == [], "late responses are dropped"


def test_a_request_is_answered_when_its_record_is_committed() -> None:
    bench = Bench()
    bench.go_on(1_000.0)
    bench.accept(-1, "node-to-controller", "broker-0")
    assert messages(bench.ask(-1, HEARTBEAT, 9), BrokerHeartbeatResponse) == []
    [send] = [effect for effect in bench.go_on(30.0) if isinstance(effect, Send)]
    assert (send.connection, send.correlation_id, send.message) == (-1, 9, BrokerHeartbeatResponse(is_fenced=False))


def test_a_standby_refuses() -> None:
    bench = Bench(voters=3)
    bench.accept(-1, "node-to-controller", "broker-0")
    [refusal] = messages(bench.ask(-1, HEARTBEAT), BrokerHeartbeatResponse)
    assert refusal.error == ErrorCode.NOT_CONTROLLER


def test_an_orderly_stop_closes_connections_and_ends_with_code_0() -> None:
    bench = Bench()
    bench.go_on(1_000.0)
    for purpose, connection in PURPOSES.items():
        bench.accept(connection, purpose, "broker-0")
    effects = bench.step(StopRequested())
    assert [effect for effect in effects if isinstance(effect, Exit)] == [Exit(0, "stopped", ExitKind.REQUESTED)]
    assert {effect.connection for effect in effects if isinstance(effect, Close)} == set(PURPOSES.values())
    assert bench.step(StopRequested()) == [], "it has ended"
    bench.accept(-9, "quorum")
    assert bench.effects[-1] == Close(-9)


def test_a_disk_that_fails_at_the_start_ends_the_process() -> None:
    files = MemoryFiles()
    files.faults.failing.add("")
    bench = Bench(files=files)
    [end] = [effect for effect in bench.effects if isinstance(effect, Exit)]
    assert (end.code, end.kind) == (1, ExitKind.METADATA_LOG_FAILED) and "controller-0: metadata log" in end.reason


def test_status_has_the_quorum() -> None:
    now = Now(0.0, 0.0)
    standby: Any = Bench(voters=3).machine.status(now)
    assert (standby.is_controller, standby.controller, standby.quorum.state) == (False, "", "unattached")
    assert (standby.quorum.leader, standby.quorum.voters) == (-1, [1000, 1001, 1002])
    bench = Bench()
    bench.go_on(1_000.0)
    status: Any = bench.machine.status(now)
    assert (status.is_controller, status.controller, status.controller_epoch) == (True, "controller-0", 1)
    quorum = status.quorum
    assert (quorum.state, quorum.epoch, quorum.leader, quorum.voters) == ("leader", 1, ME, [ME])
    assert quorum.log_end == quorum.high_watermark > 0
