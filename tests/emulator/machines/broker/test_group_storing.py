"""Groups outlive their coordinator: members in the offsets topic.
Semantics 6, "Members of a group".
"""

import msgspec
import pytest

from protocol.errors import ErrorCode as E
from protocol.messages.membership import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    LeavingMember,
    MemberAssignment,
    SyncGroupRequest,
)
from protocol.records.format import iter_headers, read_records
from protocol.records.group_metadata import StoredGroup, decode_group
from protocol.records.offset_commits import GroupKey, decode_key
from tests.emulator.machines.broker.group_bench import DELAY_MS, IN_SYNC, OFFSETS, REBALANCE_MS, SESSION_MS, Group
from verification.broker_bench import T0, state

COMMIT_MS = 5000
"""offsets.commit.timeout.ms"""


def stored(group: Group) -> list[StoredGroup | None]:
    """The log's latest value of the group; None: it is forgotten."""
    log = group.broker.replicas.partitions[OFFSETS].the_log
    data = log.read(log.log_start, log.log_end, 1_000_000)
    records = [record for position, _ in iter_headers(data) for record in read_records(data, position)]
    return [
        decode_group(record.value) if record.value is not None else None
        for record in records
        if decode_key(record.key or b"") == GroupKey("g")
    ]


def led(group: Group) -> str:
    """One member, which has joined generation 1 and is to assign."""
    joining = group.join(says=b"1")
    group.advance(DELAY_MS)
    return group.joined(joining).member


def assign(group: Group, leader: str, generation: int = 1) -> int:
    return group.ask(SyncGroupRequest("g", generation, leader, [MemberAssignment(leader, b"p0")]))


@pytest.mark.parametrize("version", ["0.10.2", "2.0", "2.1", "2.3", "2.8"])
def test_the_next_coordinator_goes_on_with_the_members_in_the_log(version: str) -> None:
    group = Group(version)
    leader = led(group)
    assert group.synced(assign(group, leader)) == (E.NONE, b"p0")
    group.elsewhere_and_back()
    assert group.state() == "Stable"
    assert group.heartbeat(leader, 1) == E.NONE
    assert group.commit(leader, 1) == E.NONE
    assert group.synced(group.sync(leader, 1)) == (E.NONE, b"p0"), "it keeps its assignment"
    assert group.heartbeat(leader, 2) == E.ILLEGAL_GENERATION
    group.advance(SESSION_MS)
    assert group.heartbeat(leader, 1) == E.UNKNOWN_MEMBER_ID, "sessions begin when it is loaded"
    assert group.state() == "Empty"


def test_what_was_under_way_is_lost_and_the_generation_before_it_counts() -> None:
    group = Group()
    leader, other = group.stable()
    third = group.join()
    assert group.heartbeat(leader, 1) == E.REBALANCE_IN_PROGRESS
    group.elsewhere_and_back()
    assert group.joined(third).error == E.NOT_COORDINATOR
    assert (group.heartbeat(leader, 1), group.heartbeat(other, 1)) == (E.NONE, E.NONE)


def test_an_assignment_is_sent_only_once_the_in_sync_replicas_have_it() -> None:
    group = Group(isr=IN_SYNC)
    leader = led(group)
    waiting = assign(group, leader)
    assert group.waits(waiting)
    assert group.state() == "CompletingRebalance"
    group.replicate()
    group.replicate()  # it tells what it has by asking for more
    assert group.synced(waiting) == (E.NONE, b"p0")
    assert group.state() == "Stable"


def test_what_is_not_replicated_in_time_makes_them_join_again() -> None:
    """Error 7 of the append is told as 27."""
    group = Group(isr=IN_SYNC)
    leader = led(group)
    waiting = assign(group, leader)
    group.advance(COMMIT_MS)
    assert group.synced(waiting) == (E.REBALANCE_IN_PROGRESS, b"")
    assert group.state() == "PreparingRebalance"
    assert group.heartbeat(leader, 1) == E.REBALANCE_IN_PROGRESS


def test_a_coordinator_without_enough_replicas_is_not_available() -> None:
    group = Group(min_insync_replicas=2)
    leader = led(group)
    assert group.synced(assign(group, leader)) == (E.COORDINATOR_NOT_AVAILABLE, b"")


def test_an_assignment_that_another_member_has_overtaken_is_not_sent() -> None:
    group = Group(isr=IN_SYNC)
    leader = led(group)
    waiting = assign(group, leader)
    group.join(says=b"2")
    assert group.synced(waiting) == (E.REBALANCE_IN_PROGRESS, b"")
    group.replicate()
    group.replicate()
    assert group.state() == "PreparingRebalance"


def test_a_member_that_waits_for_its_assignment_is_not_silent() -> None:
    group = Group()
    first, second = group.join(says=b"1"), group.join(says=b"2")
    group.advance(DELAY_MS)
    group.advance(DELAY_MS)
    leader, other = group.joined(first), group.joined(second)
    waiting = group.sync(other.member, 1)
    group.advance(SESSION_MS - 1)
    assert group.heartbeat(leader.member, 1) == E.REBALANCE_IN_PROGRESS, "it may not (before KAFKA-10134)"
    group.advance(1)
    assert group.synced(waiting) == (E.REBALANCE_IN_PROGRESS, b""), "who assigns is gone"
    again = group.join(other.member, says=b"2")
    assert group.joined(again).members[0].member == other.member


@pytest.mark.parametrize(("version", "error"), [("2.5", E.REBALANCE_IN_PROGRESS), ("2.6", E.NONE)])
def test_a_heartbeat_while_the_leader_assigns(version: str, error: E) -> None:
    """KAFKA-10134."""
    group = Group(version)
    assert group.heartbeat(led(group), 1) == error


@pytest.mark.parametrize(
    ("version", "heartbeat", "sync", "join"),
    [
        ("1.1", E.NOT_COORDINATOR, E.NOT_COORDINATOR, E.NOT_COORDINATOR),
        ("2.0", E.NONE, E.REBALANCE_IN_PROGRESS, E.COORDINATOR_LOAD_IN_PROGRESS),
    ],
)
def test_a_coordinator_reading_its_log_responds_so_since_2_0(version: str, heartbeat: E, sync: E, join: E) -> None:
    group = Group(version)
    leader = led(group)
    assert group.synced(assign(group, leader)) == (E.NONE, b"p0")
    group.leader_and_isr(state(1, 1, IN_SYNC, topic_partition=OFFSETS))
    group.leader_and_isr(state(0, 2, (0,), topic_partition=OFFSETS))
    assert group.heartbeat(leader, 1) == heartbeat
    assert group.synced(group.sync(leader, 1)) == (sync, b"")
    assert group.joined(group.join(leader)).error == join
    group.advance(0)
    assert group.heartbeat(leader, 1) == E.NONE


def test_an_empty_group_is_stored_and_comes_back_empty() -> None:
    group = Group()
    leader, other = group.stable()
    assert group.leave(LeavingMember(leader), LeavingMember(other)) == [E.NONE, E.NONE]
    first, *_, last = stored(group)
    assert first is not None and last is not None
    assert (first.generation, first.protocol, first.leader, len(first.members)) == (1, "range", leader, 2)
    assert (last.generation, last.protocol, last.leader, last.members) == (2, None, None, ())
    group.elsewhere_and_back()
    assert group.state() == "Empty"
    joining = group.join()
    group.advance(DELAY_MS)
    assert group.joined(joining).generation == 3


def test_a_deleted_group_is_forgotten_in_the_log() -> None:
    group = Group()
    leader = led(group)
    group.synced(assign(group, leader))
    group.commit(leader, 1)
    group.leave(LeavingMember(leader))
    answer = group.answer(group.ask(DeleteGroupsRequest(["g"])), DeleteGroupsResponse)
    assert [one.error for one in answer.groups] == [E.NONE]
    assert stored(group)[-1] is None
    group.elsewhere_and_back()
    assert group.state() == "Dead"


def test_a_group_without_members_dies_with_the_last_topic_it_had_committed_of() -> None:
    group = Group()
    leader = led(group)
    group.synced(assign(group, leader))
    group.commit(leader, 1)
    group.leave(LeavingMember(leader))
    deletion = group.broker.coordinator.partitions_deleted([T0])
    group.do(lambda: group.broker.context.threads.start("controller", "deletion", deletion))
    assert group.state() == "Dead"
    assert stored(group)[-1] is None


@pytest.mark.parametrize(("version", "known"), [("2.5", False), ("2.6", True)])
def test_a_static_member_that_came_back_is_known_to_the_next_coordinator(version: str, known: bool) -> None:
    """KAFKA-10284: before, its old self comes back to life, and it is fenced."""
    group = Group(version)
    first = group.join(instance="one", version=5)
    group.advance(DELAY_MS)
    old = group.joined(first).member
    assert group.synced(assign(group, old)) == (E.NONE, b"p0")
    new = group.joined(group.join(instance="one", version=5))
    assert (new.error, new.generation) == (E.NONE, 1)
    group.elsewhere_and_back()
    assert group.heartbeat(new.member, 1, "one") == (E.NONE if known else E.FENCED_INSTANCE_ID)
    assert group.heartbeat(old, 1, "one") == (E.FENCED_INSTANCE_ID if known else E.NONE)


def test_a_static_members_return_that_cannot_be_stored_is_undone() -> None:
    group = Group("2.6", isr=IN_SYNC)
    first = group.join(instance="one", version=5)
    group.advance(DELAY_MS)
    old = group.joined(first).member
    assigned = assign(group, old)
    group.replicate()
    group.replicate()
    assert group.synced(assigned) == (E.NONE, b"p0")
    back = group.join(instance="one", version=5)
    assert group.waits(back)
    group.advance(COMMIT_MS)
    assert group.joined(back).error == E.REBALANCE_IN_PROGRESS
    assert group.heartbeat(old, 1, "one") == E.NONE


def test_more_members_than_there_may_be_are_rebalanced_when_they_are_loaded() -> None:
    group = Group("2.6")
    leader, _ = group.stable()
    group.broker.context.settings = msgspec.structs.replace(group.broker.context.settings, group_max_size=1)
    group.elsewhere_and_back()
    assert group.heartbeat(leader, 1) == E.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize(("version", "rebalances"), [("2.4", False), ("2.5", True)])
def test_a_static_member_that_comes_back_while_the_leader_assigns(version: str, rebalances: bool) -> None:
    """KAFKA-9801: from 2.5 on the group is prepared again.
    Before, the leader assigns to its old self.
    """
    group = Group(version)
    first, second = group.join(instance="one", version=5), group.join(instance="two", version=5)
    group.advance(DELAY_MS)
    group.advance(DELAY_MS)
    leader, old = group.joined(first), group.joined(second)
    back = group.join(instance="two", version=5)
    assert group.waits(back) is rebalances
    assert group.state() == ("PreparingRebalance" if rebalances else "CompletingRebalance")
    if not rebalances:
        new = group.joined(back)
        given = [MemberAssignment(leader.member, b"p0"), MemberAssignment(old.member, b"p1")]
        group.ask(SyncGroupRequest("g", 1, leader.member, given))
        assert group.synced(group.sync(new.member, 1)) == (E.NONE, b"")


@pytest.mark.parametrize(("version", "left"), [("2.7", "Stable"), ("2.8", "PreparingRebalance")])
def test_a_member_that_never_requests_its_assignment_is_removed_since_2_8(version: str, left: str) -> None:
    """KAFKA-12890: heartbeats alone kept it."""
    group = Group(version)
    first, second = group.join(says=b"1"), group.join(says=b"2")
    group.advance(DELAY_MS)
    group.advance(DELAY_MS)
    leader, other = group.joined(first).member, group.joined(second).member
    assert group.synced(assign(group, leader)) == (E.NONE, b"p0")
    waited_ms = 0.0
    while waited_ms < REBALANCE_MS:
        waited_ms += SESSION_MS / 2
        group.advance(SESSION_MS / 2)
        assert group.heartbeat(leader, 1) == (E.NONE if group.state() == "Stable" else E.REBALANCE_IN_PROGRESS)
        if waited_ms < REBALANCE_MS:
            assert group.heartbeat(other, 1) == E.NONE
    assert group.state() == left
    assert group.heartbeat(other, 1) == (E.NONE if left == "Stable" else E.UNKNOWN_MEMBER_ID)
