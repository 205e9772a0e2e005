"""Committed offsets of the old consumer.
Znodes, written by its own session (semantics 5.1, 6).
"""

from emulator.machines.client.client_operations import OperationLog
from emulator.machines.client.offset_store import Committed
from emulator.machines.client.znode_offsets import ZnodeOffsets, parents
from protocol.chance import Chance
from protocol.events import OperationEnded
from protocol.ids import NO_OFFSET, Offset, TopicPartition
from protocol.machine import (
    Close,
    ConnectionLost,
    ConnectionOpened,
    Effect,
    Emit,
    MessageReceived,
    Now,
    Open,
    Send,
    SetTimer,
    TimerFired,
)
from protocol.messages.message_base import Message
from protocol.messages.session_messages import (
    CloseSessionRequest,
    CloseSessionResponse,
    ConnectRequest,
    ConnectResponse,
    Create,
    SessionRequest,
    SetData,
)
from protocol.outbox import Outbox
from tests.controller.service import Service

PATH = "/consumers/g/offsets/t/0"
T0, T1 = ("t", 0), ("t", 1)


class Bench:
    """A store, and a server that is there (`up`) or silent.
    `expired`: sessions it does not know any more.
    """

    def __init__(self) -> None:
        self.service = Service()
        self.service.put("/consumers")
        self.store = ZnodeOffsets("s", "client-0", ["session-0"], OperationLog("client-0", 1), "g", 6000, Chance(1))
        self.out = Outbox()
        self.now_ms = 0.0
        self.up = True
        self.sessions = 0
        self.expired: set[int] = set()
        self.connection = 0
        self.effects: list[Effect] = []
        self.ended: list[int | str] = []
        self.looked: list[dict[TopicPartition, Committed]] = []

    @property
    def now(self) -> Now:
        return Now(self.now_ms, self.now_ms)

    def commit(self, **offsets: int) -> None:
        """`t0=5`: of partition 0."""
        given = {("t", int(name[1:])): Committed(Offset(offset)) for name, offset in offsets.items()}
        self.store.commit(self.now, self.out, given, lambda now, out, error: self.ended.append(error), 60_000.0)
        self.serve()

    def look(self, *topic_partitions: TopicPartition) -> None:
        self.store.look(
            self.now, self.out, list(topic_partitions), lambda now, out, found, error: self.looked.append(found)
        )
        self.serve()

    def serve(self) -> None:
        """Do what was ordered until nothing more is."""
        while effects := self.out.take():
            self.effects += effects
            for effect in effects:
                match effect:
                    case Open(connection=connection):
                        self.connection = connection
                        if self.up:
                            assert self.out.route(self.now, ConnectionOpened(connection))
                    case Close():
                        self.connection = 0
                    case Send(connection=connection, message=message) if self.up:
                        answer = self.answer(message)
                        if answer is not None:
                            assert self.out.route(self.now, MessageReceived(connection, 0, 0, answer))

    def answer(self, message: Message) -> Message | None:
        match message:
            case ConnectRequest(session_id=session):
                if session in self.expired:
                    return ConnectResponse(0)
                self.sessions += not session
                return ConnectResponse(6000, session or self.sessions, 1)
            case SessionRequest():
                return self.service.request(1, message)
            case CloseSessionRequest():
                return CloseSessionResponse()
        return None

    def lose(self) -> None:
        assert self.out.route(self.now, ConnectionLost(self.connection, "lost"))
        self.serve()

    def connect_again(self) -> None:
        (timer,) = [e for e in self.effects if isinstance(e, SetTimer) and e.key == ("s", "connect")][-1:]
        self.now_ms += timer.after_ms
        assert self.out.route(self.now, TimerFired(timer.key))
        self.serve()

    def operations(self) -> list[tuple[int, str]]:
        """(offset, outcome) of those that ended."""
        ended = [e.event for e in self.effects if isinstance(e, Emit) and isinstance(e.event, OperationEnded)]
        return [(event.offset, event.outcome) for event in ended]


def test_an_offset_is_a_plain_number_below_its_group() -> None:
    """Semantics 5.1: what is missing above it is made first."""
    bench = Bench()
    bench.commit(t0=3)
    assert bench.service.znodes[PATH].data == b"3"
    made = [path for path, _, _ in bench.service.history][1:]
    assert made == [*parents(PATH), PATH]
    assert parents(PATH) == ["/consumers/g", "/consumers/g/offsets", "/consumers/g/offsets/t"]
    bench.commit(t0=7)
    assert bench.service.znodes[PATH].data == b"7"
    assert bench.ended == [0, 0]
    assert bench.operations() == [(3, "ok"), (7, "ok")]
    assert bench.sessions == 1


def test_several_partitions_are_committed_one_by_one_and_end_together() -> None:
    bench = Bench()
    bench.commit(t0=3, t1=7)
    assert [bench.service.znodes[f"/consumers/g/offsets/t/{n}"].data for n in (0, 1)] == [b"3", b"7"]
    assert bench.ended == [0]
    assert bench.operations() == [(3, "ok"), (7, "ok")]


def test_what_is_not_there_is_not_committed() -> None:
    bench = Bench()
    bench.commit(t0=3)
    bench.look(T0, T1)
    assert bench.looked == [{T0: Committed(Offset(3)), T1: Committed(NO_OFFSET)}]


def test_a_commit_waits_for_the_service_and_is_made_once_more_after_a_lost_connection() -> None:
    bench = Bench()
    bench.look(T0)
    bench.up = False
    bench.commit(t0=5)
    assert bench.ended == []
    bench.lose()
    bench.up = True
    bench.connect_again()
    assert bench.ended == [0]
    assert bench.service.znodes[PATH].data == b"5"


def test_after_an_expired_session_it_goes_on_in_a_new_one() -> None:
    """Semantics 1.6, up to 1.0: the old client asks again in the next session."""
    bench = Bench()
    bench.look(T0)
    bench.up = False
    bench.commit(t0=5)
    bench.lose()
    bench.up = True
    bench.expired = {1}
    bench.connect_again()
    assert bench.sessions == 2
    assert bench.ended == [0]
    assert bench.service.znodes[PATH].data == b"5"


def test_a_znode_made_first_by_another_client_is_no_hindrance() -> None:
    """Another consumer of the group makes the znode between the look and the making."""
    bench = Bench()
    real = bench.service.request

    def request(session: int, requested: SessionRequest) -> object:
        (op,) = requested.ops
        if isinstance(op, Create) and op.path == PATH and PATH not in bench.service.znodes:
            bench.service.put(PATH, b"1")
        return real(session, requested)

    bench.service.request = request  # type: ignore[method-assign, assignment]
    bench.commit(t0=5)
    assert bench.ended == [0]
    assert bench.service.znodes[PATH].data == b"5"


def test_closed_it_ends_its_session_and_what_was_under_way_is_unknown() -> None:
    bench = Bench()
    bench.commit(t0=3)
    bench.up = False
    bench.commit(t0=5)
    bench.store.close(bench.now, bench.out)
    still_open = not bench.store.closed
    bench.lose()
    assert (still_open, bench.store.closed) == (True, True)
    assert bench.ended == [0]
    assert bench.operations() == [(3, "ok"), (5, "unknown")]
    unused = Bench()
    unused.store.close(unused.now, unused.out)
    assert unused.store.closed
    assert unused.out.take() == []


def writes(bench: Bench) -> list[str]:
    """Paths that it has set or made since the last time."""
    requests = [e.message for e in bench.effects if isinstance(e, Send) and isinstance(e.message, SessionRequest)]
    bench.effects.clear()
    return [one.path for request in requests for one in request.ops if isinstance(one, SetData | Create)]


def test_what_has_not_moved_is_not_written_again() -> None:
    """ZookeeperConsumerConnector.commitOffsetToZooKeeper, checkpointedZkOffsets.
    Of every version that has it.
    """
    bench = Bench()
    bench.service.put(PATH, b"5")
    bench.look(T0)
    bench.commit(t0=5)
    assert (writes(bench), bench.ended) == ([], [0])
    bench.service.put(PATH, b"3")
    bench.commit(t0=5)
    assert (writes(bench), bench.ended) == ([], [0, 0]), "it does not look who else was there"
    bench.commit(t0=6)
    bench.commit(t0=6)
    assert (writes(bench), bench.ended) == ([PATH], [0, 0, 0, 0])
    bench.commit(t0=5)
    assert (writes(bench), bench.ended[-1]) == ([PATH], 0), "back is a move, too"


def test_of_several_only_those_that_moved_are_written() -> None:
    bench = Bench()
    bench.commit(t0=5, t1=7)
    writes(bench)
    bench.commit(t0=6, t1=7)
    assert writes(bench) == [PATH]


def test_what_was_not_written_in_time_is_written_later() -> None:
    """A commit that still waits for the session service has written nothing.
    The next of the same offset waits, too.
    """
    bench = Bench()
    bench.commit(t0=5)
    bench.up = False
    bench.commit(t0=6)
    bench.commit(t0=6)
    assert bench.ended == [0]
