"""Connection of a quorum's node to a peer: one request in flight, bounds, timeouts, backoff."""

from emulator.machines.node.quorum_connections import (
    RECONNECT_MAX_MS,
    SETUP_MAX_MS,
    SETUP_MS,
    WAITING_MAX,
    PeerConnection,
    setup_limit_ms,
)
from protocol.chance import Chance
from protocol.ids import BrokerId, LeaderEpoch, Offset
from protocol.machine import (
    Close,
    ConnectionLost,
    ConnectionOpened,
    Effect,
    Input,
    MessageReceived,
    Now,
    Open,
    Send,
    SetTimer,
    TimerFired,
)
from protocol.messages.quorum_messages import QuorumResponse, VoteRequest, VoteResponse
from protocol.outbox import Outbox

PEER = BrokerId(1001)
TIMEOUT_MS = 2_000.0
VOTE = VoteRequest(LeaderEpoch(1), BrokerId(1000), LeaderEpoch(0), Offset(0))
REPLY = VoteResponse(0, LeaderEpoch(1), BrokerId(-1), True)


class Bench:
    def __init__(self) -> None:
        self.out = Outbox()
        self.now_ms = 0.0
        self.answers: list[tuple[int, QuorumResponse | None]] = []
        self.peer = PeerConnection(PEER, "controller-1", TIMEOUT_MS, Chance(0), self._answered)

    def _answered(self, now: Now, peer: BrokerId, correlation: int, response: QuorumResponse | None) -> None:
        assert peer == PEER
        self.answers.append((correlation, response))

    @property
    def now(self) -> Now:
        return Now(self.now_ms, self.now_ms)

    def send(self, *correlations: int) -> list[Effect]:
        for correlation in correlations:
            self.peer.send(self.now, self.out, correlation, VOTE)
        return self._effects()

    def step(self, event: Input) -> list[Effect]:
        assert self.out.route(self.now, event), event
        return self._effects()

    def fire(self, timer: str) -> list[Effect]:
        return self.step(TimerFired((timer, PEER)))

    def _effects(self) -> list[Effect]:
        return [effect for effect in self.out.take() if isinstance(effect, Open | Close | Send | SetTimer)]

    def open(self, connection: int = 1) -> list[Effect]:
        return self.step(ConnectionOpened(connection))


def sent(effects: list[Effect]) -> list[int]:
    return [effect.correlation_id for effect in effects if isinstance(effect, Send)]


def test_requests_leave_one_by_one() -> None:
    bench = Bench()
    assert bench.send(1, 2, 3) == [
        Open(1, "controller-1", "quorum"), SetTimer(("quorum-limit", PEER), setup_limit_ms(0, Chance(0)))
    ]  # fmt: skip
    assert sent(bench.open()) == [1]
    assert sent(bench.step(MessageReceived(1, 1, 0, REPLY))) == [2]
    assert sent(bench.step(MessageReceived(1, 2, 0, REPLY))) == [3]
    assert sent(bench.step(MessageReceived(1, 3, 0, REPLY))) == []
    assert bench.answers == [(1, REPLY), (2, REPLY), (3, REPLY)]


def test_a_response_to_another_request_is_none_of_the_one_in_flight() -> None:
    bench = Bench()
    bench.send(7)
    bench.open()
    assert bench.step(MessageReceived(1, 6, 0, REPLY)) == [] and bench.answers == []
    bench.step(MessageReceived(1, 7, 0, REPLY))
    assert bench.answers == [(7, REPLY)]


def test_a_request_without_a_response_costs_the_connection_and_all_in_line() -> None:
    bench = Bench()
    bench.send(1, 2)
    bench.open()
    bench.now_ms = TIMEOUT_MS
    assert bench.fire("quorum-limit") == [Close(1), SetTimer(("quorum-reconnect", PEER), 50.0)]
    assert bench.answers == [(1, None), (2, None)]
    assert bench.send(3) == [], "until the pause is over"
    assert bench.fire("quorum-reconnect")[0] == Open(2, "controller-1", "quorum")
    assert sent(bench.open(2)) == [3]


def test_pauses_double_while_no_connection_is_established() -> None:
    bench = Bench()
    pauses: list[float] = []
    for connection in range(1, 7):
        bench.send(connection)
        [pause] = [e.after_ms for e in bench.step(ConnectionLost(connection, "refused")) if isinstance(e, SetTimer)]
        pauses.append(pause)
        bench.fire("quorum-reconnect")
    assert pauses == [50.0, 100.0, 200.0, 400.0, RECONNECT_MAX_MS, RECONNECT_MAX_MS]
    bench.send(7)
    bench.open(7)
    [pause] = [e.after_ms for e in bench.step(ConnectionLost(7, "closed")) if isinstance(e, SetTimer)]
    assert pause == 50.0, "the count begins anew"


def test_what_has_waited_for_the_timeout_is_not_sent() -> None:
    """An opening connection outlives its requests: the quorum's node has sent newer ones."""
    bench = Bench()
    bench.send(1)
    bench.now_ms = TIMEOUT_MS
    bench.send(2)
    assert sent(bench.open()) == [2]


def test_the_line_is_bounded_and_the_oldest_makes_room() -> None:
    bench = Bench()
    bench.send(*range(1, WAITING_MAX + 3))
    assert sent(bench.open()) == [3]


def test_a_closed_connection_sends_nothing_more() -> None:
    bench = Bench()
    bench.send(1, 2)
    bench.open()
    bench.peer.close(bench.out)
    assert bench._effects() == [Close(1)]
    assert not bench.out.route(bench.now, MessageReceived(1, 1, 0, REPLY)) and bench.answers == []


def test_the_limit_of_an_opening_connection_doubles_with_each_failure() -> None:
    for failures, usual_ms in enumerate((SETUP_MS, 2 * SETUP_MS, SETUP_MAX_MS, SETUP_MAX_MS)):
        limits = [setup_limit_ms(failures, Chance(seed)) for seed in range(50)]
        assert all(min(0.8 * usual_ms, SETUP_MAX_MS) <= limit <= min(1.2 * usual_ms, SETUP_MAX_MS) for limit in limits)
        assert len(set(limits)) > 1 or usual_ms == SETUP_MAX_MS
