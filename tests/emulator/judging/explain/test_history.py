"""History of a run, from events written by hand."""

from typing import Any

from msgspec.structs import replace

from emulator.judging.explain.history_builder import history_of
from emulator.judging.explain.run_history import (
    UNSEEN,
    UNTOLD,
    Copied,
    Cut,
    Fetched,
    Followed,
    History,
    Led,
    Settled,
    Stopped,
    Unseen,
    Written,
)
from protocol.events import (
    AttemptSent,
    BatchAppended,
    BrokersSeen,
    EpochAnswered,
    FetcherChanged,
    LeaderAndIsrIgnored,
    LogLoaded,
    LogTruncated,
    NodeStarted,
    OperationEnded,
    RoleChanged,
    SessionChanged,
)
from tests.emulator.judging.explain.traces import TOPIC_PARTITION

STARTED = NodeStarted("broker", "az-0", "", "")


def role(role: str, leader: int, epoch: int) -> RoleChanged:
    return RoleChanged(*TOPIC_PARTITION, role, leader, epoch, -1, 1, 0, 0, "")


def fetcher(change: str, reason: str = "") -> FetcherChanged:
    return FetcherChanged(*TOPIC_PARTITION, change, 0, 0, reason)


def batch(first: int, digest: int, epoch: int, *, as_leader: bool) -> BatchAppended:
    return BatchAppended(*TOPIC_PARTITION, first, first, epoch, digest, as_leader)


def session(state: str, owner: str = "broker-1") -> SessionChanged:
    return SessionChanged(1, state, owner, "session-0")


def history_from(*events: tuple[float, str, Any] | tuple[float, str, Any, str]) -> History:
    """(at_ms, node, event) or with its cause; each has its own otherwise."""
    causes = [event[3] if len(event) == 4 else f"cause {n}" for n, event in enumerate(events)]
    return history_of((event[1], 1, n, causes[n], event[0], event[2]) for n, event in enumerate(events))


def test_a_role_lasts_until_the_next_role_or_life() -> None:
    history = history_from(
        (1.0, "broker-1", role("follower", 0, 0)),
        (2.0, "broker-1", role("follower", 0, 1)),
        (3.0, "broker-1", STARTED),
        (4.0, "broker-1", role("leader", 1, 2)),
    )
    assert history.followers[TOPIC_PARTITION] == [
        Followed(1.0, 1, leader=0, epoch=0, until_ms=2.0),
        Followed(2.0, 1, leader=0, epoch=1, until_ms=3.0, before=(0, 0)),
    ]
    assert history.leaders[TOPIC_PARTITION] == [Led(4.0, 1, epoch=2, log_end=0)]


def test_a_fetcher_lasts_until_it_is_stopped_or_its_life_ends() -> None:
    """A role that its replica takes over meanwhile does not matter."""
    begun = (1.0, "broker-1", FetcherChanged(*TOPIC_PARTITION, "added", 0, 0, "", 3))
    later_order = (2.0, "broker-1", role("follower", 0, 4))
    lasting = Fetched(1.0, 1, source=0, epoch=3)
    assert history_from((0.5, "broker-1", role("follower", 0, 3)), begun, later_order).fetched[TOPIC_PARTITION] == [
        lasting
    ]
    for end in (fetcher("removed"), fetcher("failed"), STARTED):
        history = history_from((0.5, "broker-1", role("follower", 0, 3)), begun, (3.0, "broker-1", end))
        assert history.fetched[TOPIC_PARTITION] == [replace(lasting, until_ms=3.0)]


def test_a_log_shorter_than_reported_has_been_cut() -> None:
    """A step's events are lost with the incarnation that dies in it.
    Its changes on disk are not.
    """
    loaded = [LogLoaded(*TOPIC_PARTITION, 0, end, 0, False) for end in (2, 3)]
    appended = (2.0, "broker-1", batch(2, 7, 0, as_leader=False))
    assert history_from(appended, (5.0, "broker-1", loaded[0])).cuts == {
        TOPIC_PARTITION: [Cut(5.0, 1, to=2, log_end=3, reason=UNTOLD)]
    }
    assert history_from(appended, (5.0, "broker-1", loaded[1])).cuts == {}
    assert history_from(appended, (5.0, "broker-0", loaded[0])).cuts == {}, "another's"
    cut = (3.0, "broker-1", LogTruncated(*TOPIC_PARTITION, 2, 3, True, 2, "high-watermark"))
    cuts = history_from(appended, cut, (5.0, "broker-1", loaded[0])).cuts[TOPIC_PARTITION]
    assert [one.reason for one in cuts] == ["high-watermark"]


def test_a_log_longer_than_reported_has_unobserved_records() -> None:
    """The same, of what its last life wrote: as leader, or from whom it followed."""
    for place_in, leader in (("leader", 1), ("follower", 0)):
        begun = (1.0, "broker-1", role(place_in, leader, 4))
        dead, loaded = (2.0, "broker-1", STARTED), (3.0, "broker-1", LogLoaded(*TOPIC_PARTITION, 0, 1, 0, False))
        unseen = Unseen(Written(3.0, 1, epoch=4, first=0, last=0, digest=UNSEEN), leader)
        assert history_from(begun, dead, loaded).unseen == {TOPIC_PARTITION: [unseen]}
        written = (1.5, "broker-1", batch(0, 7, 4, as_leader=place_in == "leader"))
        assert history_from(begun, written, dead, loaded).unseen == {}


def test_a_follower_goes_by_an_answer_or_by_its_own_high_watermark() -> None:
    begun = (1.0, "broker-1", role("follower", 0, 4))
    answered = (2.0, "broker-1", EpochAnswered(*TOPIC_PARTITION, 0, 3, 5, 3, 6, 5, True))
    unknown = (2.0, "broker-1", EpochAnswered(*TOPIC_PARTITION, 0, -1, -1, -1, 6, 2, True))
    unasked = (2.0, "broker-1", LogTruncated(*TOPIC_PARTITION, 2, 6, False, 2, "high-watermark"))
    assert history_from(begun, answered).settled == {
        TOPIC_PARTITION: [Settled(2.0, 1, leader=0, to=5, epoch=3, answered=True)]
    }
    by_itself = {TOPIC_PARTITION: [Settled(2.0, 1, leader=0, to=2, epoch=-1, answered=False)]}
    assert history_from(begun, unknown).settled == history_from(begun, unasked).settled == by_itself


def test_a_copy_of_a_later_epoch_is_ahead() -> None:
    """Also before 0.11, where batches have no epoch: it is the one its leader wrote it in."""
    for written_epoch in (2, -1):
        history = history_from(
            (1.0, "broker-1", role("follower", 0, 0)),
            (2.0, "broker-0", role("leader", 0, 2)),
            (3.0, "broker-0", batch(4, 7, written_epoch, as_leader=True)),
            (4.0, "broker-1", batch(4, 7, written_epoch, as_leader=False)),
        )
        assert history.written[TOPIC_PARTITION] == [
            Written(3.0, 0, epoch=2, first=4, last=4, digest=7, of=written_epoch)
        ]
        assert history.copied[TOPIC_PARTITION] == [
            Written(4.0, 1, epoch=0, first=4, last=4, digest=7, of=written_epoch)
        ]
        assert history.ahead[TOPIC_PARTITION] == [Copied(4.0, 1, first=4, followed=0, epoch=2)]


def test_a_copy_of_the_epoch_followed_is_not() -> None:
    history = history_from(
        (1.0, "broker-0", role("leader", 0, 0)),
        (1.0, "broker-1", role("follower", 0, 0)),
        (3.0, "broker-0", batch(4, 7, -1, as_leader=True)),
        (4.0, "broker-1", batch(4, 7, -1, as_leader=False)),
    )
    assert history.ahead == {}


def ignored(reason: str) -> LeaderAndIsrIgnored:
    return LeaderAndIsrIgnored(*TOPIC_PARTITION, 3, 3, 1, reason, leader=0)


def test_an_order_that_a_lost_session_ends_leaves_some_half_way_and_does_not_come_to_others() -> None:
    """KAFKA-9307."""
    role_taken, cut_short = (2.0, "broker-1", role("follower", 0, 3)), (3.0, "broker-1", ignored("half-way"))
    assert history_from(role_taken, cut_short).stopped == {
        (TOPIC_PARTITION, 1): Stopped(3.0, "half-way", "", ((0, 3),))
    }
    again = history_from(role_taken, cut_short, (4.0, "broker-1", role("follower", 0, 4)))
    assert again.stopped[TOPIC_PARTITION, 1].roles == ((0, 3), (0, 4))
    for after in (fetcher("added"), role("leader", 1, 4), STARTED):
        assert history_from(role_taken, cut_short, (4.0, "broker-1", after)).stopped == {}
    before = history_from((3.0, "broker-1", ignored("session expired")))
    assert (before.stopped, before.cut_short) == ({}, {(TOPIC_PARTITION, 1): [3.0]})
    assert history_from((3.0, "broker-1", ignored("leader epoch not newer"))) == history_from()


def test_a_fetcher_that_ended_is_stopped_until_it_begins_again() -> None:
    followed = (1.0, "broker-1", role("follower", 0, 3))
    for change, reason in (("removed", ""), ("failed", "FENCED_LEADER_EPOCH")):
        ended = (2.0, "broker-1", fetcher(change, reason))
        assert history_from(followed, ended).stopped == {(TOPIC_PARTITION, 1): Stopped(2.0, change, reason, ((0, 3),))}
        assert history_from(followed, ended, (3.0, "broker-1", fetcher("added"))).stopped == {}
        assert history_from(followed, ended, (3.0, "broker-1", STARTED)).stopped == {}
    assert history_from(followed, (2.0, "broker-1", fetcher("delayed"))).stopped == {}


def test_absences_from_zookeeper_and_their_times() -> None:
    history = history_from(
        (1.0, "broker-1", session("connected")),
        (2.0, "broker-1", session("disconnected")),
        (3.0, "broker-1", session("connected")),
        (4.0, "broker-1", session("disconnected")),
    )
    assert history.away == {"broker-1": [(2.0, 3.0)]}


def test_arrivals_and_departures_that_a_controller_saw() -> None:
    history = history_from(
        (1.0, "broker-3", BrokersSeen("0,2", "1", "", "0,2")), (2.0, "broker-3", BrokersSeen("", "", "2", "0,2"))
    )
    assert history.named == {("broker-3", 0): [1.0], ("broker-3", 2): [1.0, 2.0], ("broker-3", 1): [1.0]}


def test_answers_of_clients_are_in_the_history() -> None:
    def ended(outcome: str, acks: int) -> OperationEnded:
        return OperationEnded("w:1", "produce", outcome, 0, *TOPIC_PARTITION, 0, -1, 7, acks)

    history = history_from(
        (1.0, "client-0", AttemptSent("w:1", 1, 0, 7)),
        (2.0, "client-0", AttemptSent("w:1", 2, 1, 7)),
        (3.0, "client-0", ended("ok", -1)),
    )
    assert history.attempts == {"w:1": 2} and history.acknowledged == {(TOPIC_PARTITION, 7): 3.0}
    assert history_from((3.0, "client-0", ended("unknown", -1))).acknowledged == {}
    assert history_from((3.0, "client-0", ended("ok", 1))).acknowledged == {}
