"""Members of a group, as its coordinator has them.
Kafka's GroupCoordinator; KIP-134, KIP-345, KIP-394.
"""

import msgspec
import pytest

from protocol.errors import ErrorCode as E
from protocol.messages.membership import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    JoinedMember,
    LeavingMember,
    ListGroupsRequest,
    ListGroupsResponse,
    MemberAssignment,
    SyncGroupRequest,
)
from protocol.messages.message_base import Message
from tests.emulator.machines.broker.group_bench import DELAY_MS, OFFSETS, REBALANCE_MS, SESSION_MS, Group
from verification.broker_bench import state


def test_the_first_rebalance_waits_for_others_and_the_leader_receives_all() -> None:
    group = Group()
    first = group.join(says=b"1")
    group.advance(DELAY_MS - 1)
    second = group.join(says=b"2")
    group.advance(1)
    assert group.waits(first), "a member came: it waits once more"
    group.advance(DELAY_MS)
    leader, other = group.joined(first), group.joined(second)
    assert leader.members == [JoinedMember(leader.member, b"1"), JoinedMember(other.member, b"2")]
    assert (other.leader, other.members, other.protocol) == (leader.member, [], "range")
    assert group.state() == "CompletingRebalance"


@pytest.mark.parametrize("version", ["0.11", "2.1", "2.8"])
def test_a_group_that_has_had_generations_waits_once(version: str) -> None:
    """GroupCoordinator.addMemberAndRebalance.
    newMemberAdded is set only while generationId is 0.
    """
    group = Group(version)
    leader, other = group.stable()
    group.leave(LeavingMember(leader), LeavingMember(other))
    assert group.state() == "Empty"
    first = group.join()
    group.advance(DELAY_MS - 1)
    second = group.join()
    assert group.waits(first)
    group.advance(1)
    assert group.joined(first).generation == group.joined(second).generation == 3


def test_before_0_11_a_first_member_does_not_wait() -> None:
    group = Group("0.10.2")
    assert group.joined(group.join(version=1)).generation == 1


def test_a_new_member_is_named_first_since_2_2() -> None:
    group = Group("2.2")
    named = group.joined(group.join(version=4))
    assert (named.error, named.generation) == (E.MEMBER_ID_REQUIRED, -1)
    again = group.join(named.member, version=4)
    group.advance(DELAY_MS)
    assert group.joined(again).member == named.member
    older = Group("2.1")
    assert older.waits(older.join(version=3)), "it knows nothing of that"


def test_a_common_strategy_is_chosen_by_votes_and_others_are_refused() -> None:
    group = Group()
    first = group.join(protocols=("a", "b", "c"))
    second, third = group.join(protocols=("b", "c")), group.join(protocols=("c", "b"))
    assert group.joined(group.join(protocols=("d",))).error == E.INCONSISTENT_GROUP_PROTOCOL
    assert group.joined(group.join(kind="connect")).error == E.INCONSISTENT_GROUP_PROTOCOL
    group.advance(DELAY_MS)
    group.advance(DELAY_MS)
    assert {group.joined(one).protocol for one in (first, second, third)} == {"b"}


@pytest.mark.parametrize("session_ms", [5_999, 1_800_001])
def test_session_time_outs_are_within_the_broker_s_bounds(session_ms: int) -> None:
    group = Group()
    assert group.joined(group.join(session_ms=session_ms)).error == E.INVALID_SESSION_TIMEOUT


def test_unknown_members_and_other_generations_receive_their_error() -> None:
    group = Group()
    assert group.joined(group.join("stranger")).error == E.UNKNOWN_MEMBER_ID
    assert group.heartbeat("stranger", 1) == E.UNKNOWN_MEMBER_ID
    leader, _ = group.stable()
    assert group.heartbeat("stranger", 1) == E.UNKNOWN_MEMBER_ID
    assert group.heartbeat(leader, 2) == E.ILLEGAL_GENERATION
    assert group.synced(group.sync(leader, 0)) == (E.ILLEGAL_GENERATION, b"")
    assert group.heartbeat(leader, 1) == E.NONE


def test_a_third_member_makes_the_others_join_again() -> None:
    group = Group()
    leader, other = group.stable()
    third = group.join(says=b"3")
    assert group.heartbeat(leader, 1) == E.REBALANCE_IN_PROGRESS
    rejoined = [group.join(leader, says=b"1"), group.join(other, says=b"2")]
    answers = [group.joined(one) for one in (*rejoined, third)]
    assert {(one.generation, one.leader) for one in answers} == {(2, leader)}
    assert len(answers[0].members) == 3


def test_a_member_that_does_not_rejoin_in_time_is_removed() -> None:
    group = Group()
    leader, other = group.stable()
    third = group.join()
    again = group.join(leader)
    for _ in range(REBALANCE_MS // 5000):
        group.advance(5000)
    assert group.joined(again).generation == group.joined(third).generation == 2
    assert group.heartbeat(other, 1) == E.UNKNOWN_MEMBER_ID


def test_a_silent_member_is_removed_and_the_others_share() -> None:
    group = Group()
    leader, other = group.stable()
    group.advance(SESSION_MS - 1)
    assert group.heartbeat(leader, 1) == E.NONE
    group.advance(1)
    assert group.heartbeat(leader, 1) == E.REBALANCE_IN_PROGRESS
    assert group.joined(group.join(leader)).members == [JoinedMember(leader)]
    assert group.heartbeat(other, 2) == E.UNKNOWN_MEMBER_ID


def test_the_last_member_leaves_an_empty_group() -> None:
    group = Group()
    leader, other = group.stable()
    assert group.leave(LeavingMember(other), LeavingMember("stranger")) == [E.NONE, E.UNKNOWN_MEMBER_ID]
    assert group.leave(LeavingMember(leader)) == [E.NONE]
    assert group.state() == "Empty"
    listed = group.answer(group.ask(ListGroupsRequest()), ListGroupsResponse).groups
    assert [(one.group, one.state) for one in listed] == [("g", "Empty")]


def test_subscriptions_and_assignments_are_described_of_a_stable_group_alone() -> None:
    """GroupMetadata.summary: MemberMetadata.summaryNoMetadata in any other state."""
    group = Group()
    leader, other = group.stable()
    assert [(one.metadata, one.assignment) for one in group.described().members] == [(b"1", b"p0"), (b"2", b"p1")]
    group.join()
    described = group.described()
    assert (described.state, described.protocol, len(described.members)) == ("PreparingRebalance", "", 3)
    assert {(one.metadata, one.assignment) for one in described.members} == {(b"", b"")}
    assert {leader, other} < {one.member for one in described.members}


@pytest.mark.parametrize(
    ("version", "state"),
    [
        ("0.10.2", "AwaitingSync"),
        ("1.0", "AwaitingSync"),
        ("1.1", "CompletingRebalance"),
        ("2.8", "CompletingRebalance"),
    ],
)
def test_while_the_leader_assigns_the_group_has_the_name_of_its_version(version: str, state: str) -> None:
    group = Group(version)
    group.join(version=1)
    group.advance(DELAY_MS)
    assert group.state() == state
    (listed,) = group.answer(group.ask(ListGroupsRequest()), ListGroupsResponse).groups
    assert listed.state == state


def test_commits_without_members_make_an_empty_group() -> None:
    """GroupCoordinator.handleCommitOffsets makes one of it.
    So does loading, GroupMetadataManager.
    """
    group = Group()
    assert group.state() == "Dead"
    assert group.commit("", -1) == E.NONE

    def listed(*states: str) -> list[tuple[str, str, str]]:
        answer = group.answer(group.ask(ListGroupsRequest(list(states))), ListGroupsResponse)
        assert answer.error == E.NONE
        return [(one.group, one.protocol_type, one.state) for one in answer.groups]

    for _ in range(2):
        assert group.state() == "Empty"
        assert listed() == listed("Empty") == [("g", "", "Empty")]
        assert listed("Stable") == []
        group.elsewhere_and_back()
    group.answer(group.ask(DeleteGroupsRequest(["g"])), DeleteGroupsResponse)
    assert (group.state(), listed()) == ("Dead", [])


def test_groups_are_listed_with_an_error_while_the_log_is_read() -> None:
    group = Group()
    assert group.commit("", -1) == E.NONE
    group.leader_and_isr(state(1, 1, (0, 1), topic_partition=OFFSETS))
    group.leader_and_isr(state(0, 2, (0,), topic_partition=OFFSETS))
    answer = group.answer(group.ask(ListGroupsRequest()), ListGroupsResponse)
    assert (answer.error, answer.groups) == (E.COORDINATOR_LOAD_IN_PROGRESS, [])
    group.advance(0)
    assert group.answer(group.ask(ListGroupsRequest()), ListGroupsResponse).error == E.NONE


def test_a_static_member_returns_to_its_assignment_and_its_old_self_is_fenced() -> None:
    group = Group("2.3")
    first, second = group.join(instance="one", version=5), group.join(instance="two", version=5)
    group.advance(DELAY_MS)
    group.advance(DELAY_MS)
    leader, other = group.joined(first), group.joined(second)
    given = [MemberAssignment(leader.member, b"p0"), MemberAssignment(other.member, b"p1")]
    group.ask(SyncGroupRequest("g", 1, leader.member, given))
    back = group.joined(group.join(instance="two", version=5))
    assert (back.error, back.generation, back.member != other.member) == (0, 1, True)
    assert group.synced(group.sync(back.member, 1)) == (0, b"p1")
    assert group.heartbeat(other.member, 1, "two") == E.FENCED_INSTANCE_ID
    assert group.heartbeat(back.member, 1, "two") == E.NONE
    led = group.joined(group.join(instance="one", version=5))
    assert (led.leader, led.members) == (leader.member, []), "it does not take itself for the leader"
    assert group.leave(LeavingMember("", "two")) == [E.NONE]


def test_with_a_generation_the_session_begins_anew_also_of_a_static_member_that_did_not_join_again() -> None:
    """GroupCoordinator.onCompleteJoin.
    It calls completeAndScheduleNextHeartbeatExpiration for every member.
    """
    session_ms = 90_000
    group = Group("2.6")
    first = group.join(instance="one", version=5, session_ms=session_ms)
    second = group.join(instance="two", version=5, session_ms=session_ms)
    group.advance(DELAY_MS)
    group.advance(DELAY_MS)
    leader, silent = group.joined(first), group.joined(second)
    again = group.join(leader.member, instance="one", version=5, says=b"1", session_ms=session_ms)
    group.advance(REBALANCE_MS)
    assert group.joined(again).generation == 2
    group.synced(group.sync(leader.member, 2))
    group.advance(session_ms - 1)
    assert group.heartbeat(leader.member, 2) == E.NONE
    assert {one.member for one in group.described().members} == {leader.member, silent.member}
    group.advance(1)
    assert group.heartbeat(leader.member, 2) == E.REBALANCE_IN_PROGRESS


def test_a_member_that_receives_27_while_it_waits_for_its_assignment_falls_silent_later() -> None:
    """GroupCoordinator.propagateAssignment.
    A session that is over while its member waits ends nothing.
    """
    group = Group("2.6")
    first = group.join(instance="one", version=5, session_ms=REBALANCE_MS)
    second = group.join(instance="two", version=5)
    group.advance(DELAY_MS)
    group.advance(DELAY_MS)
    leader, silent = group.joined(first), group.joined(second)
    waiting = group.sync(silent.member, 1)
    group.advance(SESSION_MS)
    again = group.join(leader.member, instance="one", version=5, says=b"1", session_ms=REBALANCE_MS)
    assert group.synced(waiting)[0] == E.REBALANCE_IN_PROGRESS
    group.advance(SESSION_MS - 1)
    assert group.waits(again)
    group.advance(1)
    assert [one.member for one in group.joined(again).members] == [leader.member]


def test_to_join_again_as_before_is_no_sign_of_life() -> None:
    """GroupCoordinator.doJoinGroup: a follower receives the present generation.
    Its session goes on.
    """
    group = Group()
    leader, other = group.stable()
    group.advance(SESSION_MS - 1)
    assert group.heartbeat(leader, 1) == E.NONE
    assert group.joined(group.join(other, says=b"2")).generation == 1
    group.advance(1)
    assert group.heartbeat(leader, 1) == E.REBALANCE_IN_PROGRESS


def test_a_returning_member_keeps_its_first_timeouts() -> None:
    """MemberMetadata.sessionTimeoutMs is a val.
    GroupMetadata.updateMember takes the protocols alone.
    """
    group = Group("2.6")
    first = group.join(instance="one", version=5)
    group.advance(DELAY_MS)
    group.synced(group.sync(group.joined(first).member, 1))
    back = group.joined(group.join(instance="one", version=5, session_ms=60_000)).member
    assert group.heartbeat(back, 1) == E.NONE
    group.advance(SESSION_MS)
    assert group.heartbeat(back, 1) == E.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(("version", "gives_up"), [("2.0", False), ("2.1", True), ("2.8", True)])
def test_a_new_member_waits_for_others_for_five_minutes(version: str, gives_up: bool) -> None:
    """NewMemberJoinTimeoutMs.
    The longest rebalance time-out limits the wait for others.
    """
    group = Group(version)
    rebalance_ms = 900_000
    first = group.join(rebalance_ms=rebalance_ms)
    group.advance(DELAY_MS)
    member = group.joined(first).member
    group.synced(group.sync(member, 1))
    newcomer = group.join()  # `member` is heard of, and does not join again
    for _ in range(100):
        group.advance(2_999)
        assert group.heartbeat(member, 1) == E.REBALANCE_IN_PROGRESS
    assert group.waits(newcomer)
    group.advance(100)
    assert group.waits(newcomer) is not gives_up
    if gives_up:
        assert group.joined(newcomer).error == E.UNKNOWN_MEMBER_ID
        assert [one.member for one in group.described().members] == [member]


@pytest.mark.parametrize(("ibp", "error"), [("2.2", E.UNSUPPORTED_VERSION), ("2.3", E.NONE)])
def test_static_members_need_the_protocol_of_2_3(ibp: str, error: E) -> None:
    """KafkaApis checks groupInstanceId and interBrokerProtocolVersion before anything else.
    groupInstanceId != null && interBrokerProtocolVersion < KAFKA_2_3_IV0.
    """
    group = Group("2.6", ibp=ibp)
    first = group.join(instance="one", version=5)
    group.advance(DELAY_MS)
    joined = group.joined(first)
    assert joined.error == error
    member = joined.member or "member-0"
    assert group.synced(group.sync(member, 1, "one"))[0] == error
    assert group.heartbeat(member, 1, "one") == error
    assert group.commit(member, 1, "one") == error


def test_members_commit_in_their_generation_and_strangers_only_to_an_empty_group() -> None:
    group = Group()
    assert group.commit("", -1) == E.NONE
    leader, _ = group.stable()
    assert group.commit(leader, 1) == E.NONE
    assert group.commit(leader, 0) == E.ILLEGAL_GENERATION
    assert group.commit("zombie", 1) == E.UNKNOWN_MEMBER_ID
    assert group.commit("", -1) == E.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("version", "stranger", "of_the_past"),
    [
        ("0.10.2", E.REBALANCE_IN_PROGRESS, E.REBALANCE_IN_PROGRESS),
        ("2.3", E.REBALANCE_IN_PROGRESS, E.REBALANCE_IN_PROGRESS),
        ("2.4", E.UNKNOWN_MEMBER_ID, E.ILLEGAL_GENERATION),
        ("2.8", E.UNKNOWN_MEMBER_ID, E.ILLEGAL_GENERATION),
    ],
)
def test_a_commit_while_the_leader_assigns(version: str, stranger: E, of_the_past: E) -> None:
    """GroupCoordinator.doCommitOffsets.
    Up to 2.3.1 it checks CompletingRebalance before the member.
    """
    group = Group(version)
    first = group.join(version=1)
    group.advance(DELAY_MS)
    member = group.joined(first).member
    group.advance(SESSION_MS - DELAY_MS - 1)
    assert (group.commit("stranger", 7), group.commit(member, 7)) == (stranger, of_the_past)
    assert group.commit(member, 1) == E.REBALANCE_IN_PROGRESS
    group.advance(DELAY_MS + 1)
    assert group.state() == "Empty", "a commit is no sign of life"


@pytest.mark.parametrize(("version", "other"), [("2.3", E.UNKNOWN_MEMBER_ID), ("2.7", E.UNKNOWN_MEMBER_ID),
                                              ("2.8", E.FENCED_INSTANCE_ID)])  # fmt: skip
def test_a_static_member_does_not_come_back_to_a_full_group(version: str, other: E) -> None:
    """GroupCoordinator.handleJoinGroup: removeStaticMember(groupInstanceId) up to 2.7.2."""
    group = Group(version, group_max_size=1)
    first = group.join(instance="one", version=5)
    group.advance(DELAY_MS)
    member = group.joined(first).member
    group.synced(group.sync(member, 1))
    assert group.joined(group.join(instance="one", version=5)).error == E.GROUP_MAX_SIZE_REACHED
    assert group.heartbeat(member, 1, "one") == E.NONE
    assert group.heartbeat("other", 1, "one") == other


@pytest.mark.parametrize(("version", "first_stays"), [("2.3", False), ("2.5", False), ("2.6", True), ("2.8", True)])
def test_a_group_that_was_loaded_with_too_many_sheds_some(version: str, first_stays: bool) -> None:
    """GroupCoordinator.handleJoinGroup, from 2.6 on acceptJoiningMember (KAFKA-9885)."""
    group = Group(version)
    leader, other = group.stable()
    group.broker.context.settings = msgspec.structs.replace(group.broker.context.settings, group_max_size=1)
    group.elsewhere_and_back()
    assert group.heartbeat(leader, 1) == E.REBALANCE_IN_PROGRESS
    first, second = group.join(leader, says=b"1"), group.join(other, says=b"2")
    stays, goes = (first, second) if first_stays else (second, first)
    assert group.joined(goes).error == E.GROUP_MAX_SIZE_REACHED
    assert (group.joined(stays).error, len(group.joined(stays).members)) == (E.NONE, 1)


def test_waiting_members_learn_that_the_coordinator_is_elsewhere() -> None:
    group = Group()
    leader, _ = group.stable()
    waiting = group.join()
    group.leader_and_isr(state(1, 1, (0, 1), topic_partition=OFFSETS))
    assert group.joined(waiting).error == E.NOT_COORDINATOR
    assert group.heartbeat(leader, 1) == E.NOT_COORDINATOR


def test_a_group_is_deleted_with_what_it_has_committed_once_it_has_no_members() -> None:
    group = Group()
    leader, other = group.stable()
    assert group.commit(leader, 1) == E.NONE

    def deleted(*names: str) -> list[int]:
        answer: Message = group.answer(group.ask(DeleteGroupsRequest(list(names))), DeleteGroupsResponse)
        assert isinstance(answer, DeleteGroupsResponse)
        return [one.error for one in answer.groups]

    assert deleted("g", "none") == [E.NON_EMPTY_GROUP, E.GROUP_ID_NOT_FOUND]
    group.leave(LeavingMember(leader), LeavingMember(other))
    assert deleted("g") == [E.NONE]
    assert deleted("g") == [E.GROUP_ID_NOT_FOUND]
    assert group.state() == "Dead"
