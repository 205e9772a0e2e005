"""A leadership term on the leader's side, message by message (semantics 5.3)."""

import pytest

from emulator.machines.session.server import SessionServer
from emulator.storage.memory_files import MemoryFiles
from protocol.machine import (
    Close,
    ConnectionAccepted,
    Effect,
    Input,
    MessageReceived,
    Now,
    Send,
    Started,
    TimerFired,
)
from protocol.messages.ensemble import (
    AckEpoch,
    AckNewLeader,
    FollowerInfo,
    History,
    LeaderInfo,
    NewLeader,
    UpToDate,
    Vote,
)
from protocol.messages.message_base import Message
from protocol.purposes import ENSEMBLE

NAMES = ["session-0", "session-1", "session-2"]
VOTES, LEARNER = -1, -2


class Elected:
    """session-2, elected with the vote of session-0, whose connections the test plays."""

    def __init__(self) -> None:
        self.files = MemoryFiles()
        self.server = SessionServer("session-2", NAMES, 1000, 10, 4, self.files)
        self.now_ms = 0.0
        self.give(Started(1, 1))
        self.give(ConnectionAccepted(VOTES, "session-0", ENSEMBLE))
        self.say(VOTES, Vote("looking", 1, 2, 0, 0))
        self.now_ms = 200.0
        self.give(TimerFired(("election",)))
        assert self.server.role == "leading"

    def give(self, event: Input) -> list[Effect]:
        return self.server.step(Now(self.now_ms, self.now_ms), event)

    def say(self, connection: int, message: Message) -> list[Message]:
        effects = self.give(MessageReceived(connection, 0, 0, message))
        return [e.message for e in effects if isinstance(e, Send) and e.connection == LEARNER]

    def follower(self, accepted_epoch: int) -> list[Message]:
        self.give(ConnectionAccepted(LEARNER, "session-0", ENSEMBLE))
        return self.say(LEARNER, FollowerInfo(accepted_epoch))


def test_the_new_epoch_is_above_every_epoch_that_a_majority_accepted() -> None:
    leader = Elected()
    assert leader.follower(accepted_epoch=6) == [LeaderInfo(7)]
    assert leader.files.read("acceptedEpoch", 0, 9) == b"7"
    assert not leader.files.exists("currentEpoch"), "not before a majority accepted it"


def test_a_follower_is_made_equal_then_allowed_to_serve() -> None:
    leader = Elected()
    leader.follower(0)
    assert leader.say(LEARNER, AckEpoch(0, 0)) == [History("diff"), NewLeader(1)]
    assert not leader.server.serving, "not before a majority has our log"
    assert leader.say(LEARNER, AckNewLeader(1, 0)) == [UpToDate(0)]
    assert leader.server.serving


@pytest.mark.parametrize("place", [(0, 5), (1, 0)])
def test_a_leader_steps_down_for_a_follower_with_a_longer_log(place: tuple[int, int]) -> None:
    """An election may err (a vote was old); discovery may not.
    What that follower has could be committed.
    """
    leader = Elected()
    leader.follower(0)
    leader.say(LEARNER, AckEpoch(*place))
    assert leader.server.role == "looking"


def test_an_epoch_accepted_before_counts_for_no_majority() -> None:
    leader = Elected()
    leader.follower(0)
    assert leader.say(LEARNER, AckEpoch(0, 0, counts=False)) == []
    assert not leader.files.exists("currentEpoch")


def test_a_follower_with_a_newer_epoch_than_the_term_ends_it() -> None:
    leader = Elected()
    leader.follower(0)
    leader.say(LEARNER, AckEpoch(0, 0))
    leader.say(LEARNER, AckNewLeader(1, 0))
    leader.give(ConnectionAccepted(-3, "session-1", ENSEMBLE))
    effects = leader.give(MessageReceived(-3, 0, 0, FollowerInfo(2)))
    assert Close(-3) in effects and Close(LEARNER) in effects
    assert (leader.server.role, leader.server.serving) == ("looking", False)


def test_a_follower_that_sends_a_leaders_message_is_dropped() -> None:
    leader = Elected()
    leader.follower(0)
    effects = leader.give(MessageReceived(LEARNER, 0, 0, LeaderInfo(9)))
    assert effects == [Close(LEARNER)]
    assert leader.server.role == "leading"


def test_a_follower_that_finds_no_leader_is_sent_away() -> None:
    leader = Elected()
    leader.now_ms = 10_200.0
    for _ in range(2):
        leader.give(TimerFired(("lead-tick",)))
    assert leader.server.role == "looking"
    leader.give(ConnectionAccepted(LEARNER, "session-0", ENSEMBLE))
    assert leader.give(MessageReceived(LEARNER, 0, 0, FollowerInfo(0))) == [Close(LEARNER)]


def test_at_launch_a_follower_that_counted_the_votes_first_is_kept() -> None:
    server = SessionServer("session-2", NAMES, 1000, 10, 4, MemoryFiles())
    now = Now(0.0, 0.0)
    server.step(now, Started(1, 1))
    for connection, peer in ((-1, "session-0"), (-2, "session-0"), (-3, "session-1")):
        server.step(now, ConnectionAccepted(connection, peer, ENSEMBLE))
    server.step(now, MessageReceived(-1, 0, 0, Vote("looking", 1, 2, 0, 0)))
    assert server.step(now, MessageReceived(-2, 0, 0, FollowerInfo(0))) == []
    effects = server.step(now, MessageReceived(-3, 0, 0, Vote("looking", 1, 2, 0, 0)))
    assert Send(-2, 0, 0, LeaderInfo(1)) in effects and server.role == "leading"


def test_no_majority_within_init_limit_ends_the_term() -> None:
    leader = Elected()
    for half_tick in range(1, 20):
        leader.now_ms = 200.0 + 500.0 * half_tick
        leader.give(TimerFired(("lead-tick",)))
        assert leader.server.role == "leading"
    leader.now_ms = 10_200.0
    leader.give(TimerFired(("lead-tick",)))
    assert leader.server.role == "looking"
