"""A member of a group: joining, heartbeats, commits, and its expulsion (semantics 6)."""

from typing import Any

import pytest

from emulator.machines.client.client_operations import OperationLog
from emulator.machines.client.client_settings import UnusableSetting, consumer_settings
from emulator.machines.client.client_state import FetchedEntry
from emulator.machines.client.consumer_position import ReadProblem
from emulator.machines.client.subscribed_consumer import SubscribedConsumer
from protocol.chance import Chance
from protocol.errors import ErrorCode
from protocol.events import GroupMemberChanged
from protocol.ids import EPOCH_UNKNOWN, Offset
from protocol.machine import Now
from protocol.messages.groups import FindCoordinatorRequest, OffsetCommitRequest, OffsetFetchRequest
from protocol.messages.membership import (
    GroupProtocol,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinedMember,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeavingMember,
    MemberAssignment,
    SyncGroupRequest,
    SyncGroupResponse,
)
from protocol.messages.message_base import Message
from protocol.messages.replication_messages import FetchRequest
from protocol.outbox import Outbox
from protocol.records.consumer_protocol import Subscription, encode_assignment, encode_subscription
from protocol.records.format import encode
from tests.emulator.machines.client.fake_cluster import FakeCluster

FOLLOWER_OF_1 = JoinGroupResponse(0, 1, "consumer", "range", "other", "m-1")
STRANGER = HeartbeatResponse(ErrorCode.UNKNOWN_MEMBER_ID)


class Bench:
    """A consumer that subscribes to `t`, of two partitions, in the group `g`."""

    def __init__(self, version: str = "2.8", **options: Any) -> None:
        self.cluster = FakeCluster(2)
        given = {"group.id": "g", "auto.offset.reset": "earliest"}
        settings = consumer_settings(version, given | {name.replace("_", "."): v for name, v in options.items()})
        self.read: list[tuple[int, int]] = []
        self.problems: list[ReadProblem] = []
        self.failed: list[str] = []
        self.left: list[int | str] = []
        self.consumer = SubscribedConsumer(
            "c", ["broker-0", "broker-1"], OperationLog("client-0", 1), version, settings, Chance(3),
            self._on_records, lambda now, out, problem: self.problems.append(problem),
            lambda now, out, error: self.failed.append(error),
        )  # fmt: skip
        for partition in (0, 1):
            log = self.cluster.add(partition=partition, leader=partition)
            for value in (b"a", b"b"):
                log.append(encode([value], magic=2, timestamp_ms=0))

    def _on_records(self, now: Now, out: Outbox, key: tuple[str, int], entries: list[FetchedEntry]) -> None:
        self.read += [(key[1], record.offset) for entry in entries for record in entry.records]

    def subscribe(self, ms: float = 100) -> None:
        self.consumer.subscribe(self.cluster.now, self.cluster.out, ["t"])
        self.run(ms)

    def leave(self) -> None:
        self.consumer.leave(self.cluster.now, self.cluster.out, lambda now, out, error: self.left.append(error))
        self.run(100)

    def run(self, ms: float) -> None:
        self.cluster.run(self.cluster.now.mono_ms + ms)

    def answer(self, kind: type[Message], *answers: Message | None) -> None:
        self.cluster.member_answers.setdefault(kind, []).extend(answers)

    def requests_of(self, kind: type[Message]) -> list[Any]:
        return [message for _, _, message in self.cluster.requests if isinstance(message, kind)]

    @property
    def changes(self) -> list[tuple[str, int, str, str]]:
        events = [event for _, event in self.cluster.events if isinstance(event, GroupMemberChanged)]
        return [(event.change, event.generation, event.partitions, event.reason) for event in events]


def given_to(member: str, *partitions: int) -> SyncGroupResponse:
    return SyncGroupResponse(0, "consumer", "range", encode_assignment([("t", number) for number in partitions], 1))


def test_the_first_member_is_named_joins_leads_assigns_and_reads_from_where_the_group_was() -> None:
    bench = Bench()
    bench.cluster.committed["g", "t", 1] = (Offset(1), EPOCH_UNKNOWN)
    bench.answer(JoinGroupRequest, JoinGroupResponse(ErrorCode.MEMBER_ID_REQUIRED, member="m-1"))
    bench.subscribe()
    protocol_sent = GroupProtocol("range", encode_subscription(Subscription(("t",)), 1))
    first, second = bench.requests_of(JoinGroupRequest)
    assert first == JoinGroupRequest("g", "", 10_000, 300_000, "consumer", [protocol_sent], None, "client-0")
    assert second == JoinGroupRequest("g", "m-1", 10_000, 300_000, "consumer", [protocol_sent], None, "client-0")
    both = encode_assignment([("t", 0), ("t", 1)], 1)
    assert bench.requests_of(SyncGroupRequest) == [SyncGroupRequest("g", 1, "m-1", [MemberAssignment("m-1", both)])]
    assert bench.changes == [("joined", 1, "", "leader"), ("assigned", 1, "t-0,t-1", "")]
    assert sorted(bench.read) == [(0, 0), (0, 1), (1, 1)]
    assert len(bench.requests_of(OffsetFetchRequest)) == 1


def test_a_leader_assigns_to_all_by_the_strategy_that_the_coordinator_has_chosen() -> None:
    bench = Bench(partition_assignment_strategy="RangeAssignor,RoundRobinAssignor")
    subscription = encode_subscription(Subscription(("t",)), 0)
    others = [JoinedMember("m-1", subscription), JoinedMember("a", subscription), JoinedMember("b", b"\x00")]
    bench.answer(JoinGroupRequest, JoinGroupResponse(0, 4, "consumer", "roundrobin", "m-1", "m-1", others))
    bench.subscribe()
    (sync,) = bench.requests_of(SyncGroupRequest)
    assert {one.member: one.assignment for one in sync.assignments} == {
        "a": encode_assignment([("t", 0)], 1), "m-1": encode_assignment([("t", 1)], 1), "b": encode_assignment([], 1),
    }  # fmt: skip
    assert bench.read == [(1, 0), (1, 1)], "whose subscription cannot be read gets nothing"


def test_it_sends_a_heartbeat_every_interval_with_its_generation() -> None:
    bench = Bench(heartbeat_interval_ms=1_000, group_instance_id="i")
    bench.subscribe()
    bench.run(3_500)
    assert bench.requests_of(HeartbeatRequest) == [HeartbeatRequest("g", 1, "m-1", "i")] * 3
    assert bench.requests_of(JoinGroupRequest)[0].instance == "i"


def test_on_a_rebalance_it_commits_lets_go_and_joins_under_its_id() -> None:
    bench = Bench(heartbeat_interval_ms=1_000)
    bench.answer(HeartbeatRequest, HeartbeatResponse(ErrorCode.REBALANCE_IN_PROGRESS))
    bench.subscribe()
    bench.answer(JoinGroupRequest, JoinGroupResponse(0, 2, "consumer", "range", "other", "m-1"))
    bench.answer(SyncGroupRequest, given_to("m-1", 1))
    bench.run(1_000)
    (commit,) = bench.requests_of(OffsetCommitRequest)
    assert (commit.generation, commit.member) == (1, "m-1")
    assert [(each.partition, each.offset) for each in commit.partitions] == [(0, 2), (1, 2)]
    assert bench.requests_of(JoinGroupRequest)[1].member == "m-1"
    assert bench.requests_of(SyncGroupRequest)[1] == SyncGroupRequest("g", 2, "m-1")
    assert bench.changes[2:] == [("revoked", 1, "t-0,t-1", ""), ("joined", 2, "", ""), ("assigned", 2, "t-1", "")]
    kinds = [type(message) for _, _, message in bench.cluster.requests]
    assert kinds.index(OffsetCommitRequest) < len(kinds) - 1 - kinds[::-1].index(JoinGroupRequest)


@pytest.mark.parametrize(("version", "reported"), [("2.3", "revoked"), ("2.4", "lost")])
@pytest.mark.parametrize("error", [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION])
def test_a_stranger_has_lost_its_partitions_commits_nothing_and_joins_as_a_new_member(
    version: str, reported: str, error: ErrorCode
) -> None:
    bench = Bench(version, heartbeat_interval_ms=1_000)
    bench.answer(HeartbeatRequest, HeartbeatResponse(error))
    bench.subscribe()
    bench.run(1_000)
    assert bench.changes[2:4] == [("refused", 1, "", error.name), (reported, -1, "t-0,t-1", "")]
    assert [requested.member for requested in bench.requests_of(JoinGroupRequest)] == ["", ""]
    assert bench.requests_of(OffsetCommitRequest) == []
    assert bench.consumer.member.lost == 2


def test_a_refused_commit_makes_it_a_stranger_too() -> None:
    bench = Bench(auto_commit_interval_ms=500)
    bench.cluster.group_codes = [0, int(ErrorCode.UNKNOWN_MEMBER_ID)]
    bench.subscribe()
    bench.run(600)
    assert ("refused", 1, "", "UNKNOWN_MEMBER_ID") in bench.changes
    assert bench.consumer.member.refused_commits == 1
    assert len(bench.requests_of(JoinGroupRequest)) == 2


@pytest.mark.parametrize(("version", "rejoins_as"), [("2.3", ""), ("2.4", "m-1")])
def test_a_commit_that_meets_a_rebalance(version: str, rejoins_as: str) -> None:
    bench = Bench(version, auto_commit_interval_ms=500)
    bench.cluster.group_codes = [0, int(ErrorCode.REBALANCE_IN_PROGRESS)]
    bench.subscribe()
    bench.run(600)
    assert [requested.member for requested in bench.requests_of(JoinGroupRequest)] == ["", rejoins_as]


@pytest.mark.parametrize(("version", "joins"), [("2.5", 3), ("2.6", 2)])
def test_late_answers_to_its_former_membership(version: str, joins: int) -> None:
    """Two heartbeats are under way, and both answers say that the member is unknown.
    In between it has joined again. Up to 2.5 the second answer expels it once more, and it drops the answer to its
    JoinGroup: the group has it twice.
    """
    bench = Bench(version, heartbeat_interval_ms=1_000, enable_auto_commit=False)
    bench.subscribe()
    identity = bench.consumer.member._own_identity()
    bench.answer(HeartbeatRequest, STRANGER)
    again = JoinGroupResponse(0, 2, "consumer", "range", "other", "m-2")
    bench.answer(JoinGroupRequest, again, again)
    bench.answer(SyncGroupRequest, given_to("m-2", 0))
    while len(bench.requests_of(JoinGroupRequest)) < 2:
        bench.run(0.5)
    bench.consumer.member._heartbeat_answered(bench.cluster.now, bench.cluster.out, identity, STRANGER)
    bench.run(500)
    assert len(bench.requests_of(JoinGroupRequest)) == joins
    assert bench.changes[-1][0] == "assigned"


@pytest.mark.parametrize(("version", "gives_up"), [("0.11", False), ("1.0", True)])
def test_a_silent_coordinator_is_looked_for_again_and_it_keeps_what_it_has(version: str, gives_up: bool) -> None:
    bench = Bench(version, heartbeat_interval_ms=1_000, session_timeout_ms=4_000, enable_auto_commit=False)
    bench.subscribe()
    looked = len(bench.requests_of(FindCoordinatorRequest))
    connections = set(bench.cluster.connections)
    bench.answer(HeartbeatRequest, *[None] * 10)
    bench.run(4_200)
    # Where the connection was given up, it pauses: the coordinator is looked for once more.
    assert len(bench.requests_of(FindCoordinatorRequest)) == looked + (2 if gives_up else 1)
    assert (connections <= set(bench.cluster.connections)) is not gives_up
    assert [change for change, *_ in bench.changes] == ["joined", "assigned"], "it has received nothing"
    bench.run(1_000)
    assert bench.requests_of(HeartbeatRequest)[-1] == HeartbeatRequest("g", 1, "m-1")


def without_coordinator(version: str, **options: Any) -> Bench:
    """A consumer that has read all there is, and has no coordinator.
    Its coordinator has just resigned, and no other broker is one.
    """
    bench = Bench(version, heartbeat_interval_ms=1_000, **options)
    bench.subscribe()
    bench.cluster.finding_codes = [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 99
    bench.answer(HeartbeatRequest, HeartbeatResponse(ErrorCode.NOT_COORDINATOR))
    bench.run(920)
    bench.read.clear()
    return bench


@pytest.mark.parametrize(("version", "reads"), [("0.10.2", False), ("2.4", False), ("2.5", True)])
def test_while_its_coordinator_is_unknown_it_reads_on_from_2_5(version: str, reads: bool) -> None:
    """`client_reads_while_it_joins`, semantics 6."""
    bench = without_coordinator(version, fetch_max_wait_ms=200, auto_commit_interval_ms=1_500)
    bench.run(300)
    fetches = len(bench.requests_of(FetchRequest))
    bench.cluster.partitions["t", 1].append(encode([b"c"], magic=2, timestamp_ms=0))
    bench.run(2_000)
    assert bench.read == ([(1, 2)] if reads else [])
    assert (len(bench.requests_of(FetchRequest)) > fetches) is reads
    assert bench.requests_of(OffsetCommitRequest) == []
    bench.cluster.finding_codes.clear()
    bench.run(300)
    assert bench.read == [(1, 2)]
    assert bench.requests_of(OffsetCommitRequest), "it was time to"
    assert [change for change, *_ in bench.changes] == ["joined", "assigned"]


def test_up_to_2_4_what_was_fetched_before_is_given_when_it_goes_on() -> None:
    bench = without_coordinator("2.4", fetch_max_wait_ms=1_500)
    bench.cluster.partitions["t", 1].append(encode([b"c"], magic=2, timestamp_ms=0))
    fetches = len(bench.requests_of(FetchRequest))
    bench.run(1_000)
    assert (bench.read, len(bench.requests_of(FetchRequest))) == ([], fetches), (
        "those under way are answered, that is all"
    )
    bench.cluster.partitions["t", 1].truncate(2)
    bench.cluster.finding_codes.clear()
    bench.run(150)
    assert bench.read[0] == (1, 2), "though its leader does not have it any more"
    assert len(bench.requests_of(FetchRequest)) > fetches


@pytest.mark.parametrize(("version", "wait_ms"), [("1.1", 305_000), ("2.0.0", 35_000), ("2.8", 35_000)])
def test_how_long_it_waits_for_others_to_join(version: str, wait_ms: int) -> None:
    bench = Bench(version, max_poll_interval_ms=30_000)
    bench.answer(JoinGroupRequest, None)
    bench.subscribe()
    bench.run(wait_ms - 200)
    assert len(bench.requests_of(JoinGroupRequest)) == 1
    bench.run(1_000)
    assert len(bench.requests_of(JoinGroupRequest)) == 2


@pytest.mark.parametrize(("version", "received"), [("2.5", 0), ("2.6", 3)])
def test_while_it_waits_for_its_assignment(version: str, received: int) -> None:
    bench = Bench(version, heartbeat_interval_ms=1_000)
    bench.answer(JoinGroupRequest, FOLLOWER_OF_1)
    bench.answer(SyncGroupRequest, None)
    bench.subscribe()
    bench.run(3_000)
    assert len(bench.requests_of(HeartbeatRequest)) == received


@pytest.mark.parametrize("error", [16, 15, 14])
def test_a_join_without_a_coordinator_is_tried_again_later(error: int) -> None:
    bench = Bench()
    bench.answer(JoinGroupRequest, JoinGroupResponse(error))
    bench.subscribe(90)
    assert (len(bench.requests_of(JoinGroupRequest)), len(bench.requests_of(FindCoordinatorRequest))) == (1, 1)
    bench.run(200)
    assert (len(bench.requests_of(JoinGroupRequest)), len(bench.requests_of(FindCoordinatorRequest))) == (
        2,
        1 if error == 14 else 2,
    )
    assert bench.changes[-1][0] == "assigned"


def test_a_fenced_member_gives_up_its_partitions_and_is_never_a_member_again() -> None:
    bench = Bench(heartbeat_interval_ms=1_000, group_instance_id="i")
    bench.answer(HeartbeatRequest, HeartbeatResponse(ErrorCode.FENCED_INSTANCE_ID))
    bench.subscribe()
    bench.run(60_000)
    assert bench.failed == ["FENCED_INSTANCE_ID"]
    assert bench.changes[-1] == ("failed", 1, "t-0,t-1", "FENCED_INSTANCE_ID")
    assert len(bench.requests_of(JoinGroupRequest)) == 1 and bench.consumer.owned() == []


def test_no_strategy_in_common_is_reported_and_not_tried_again() -> None:
    bench = Bench()
    bench.answer(JoinGroupRequest, JoinGroupResponse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
    bench.subscribe(60_000)
    assert bench.failed == ["INCONSISTENT_GROUP_PROTOCOL"] and len(bench.requests_of(JoinGroupRequest)) == 1


def test_partitions_that_come_later_are_assigned_by_the_leader() -> None:
    bench = Bench(metadata_max_age_ms=1_000)
    bench.subscribe()
    bench.cluster.add(partition=2)
    bench.run(1_500)
    assert bench.changes[-1] == ("assigned", 1, "t-0,t-1,t-2", "")


def test_in_2_4_a_cooperative_member_reads_nothing_while_others_are_waited_for() -> None:
    bench = Bench("2.4", partition_assignment_strategy="CooperativeStickyAssignor", heartbeat_interval_ms=1_000)
    bench.subscribe()
    bench.answer(HeartbeatRequest, HeartbeatResponse(ErrorCode.REBALANCE_IN_PROGRESS))
    bench.answer(JoinGroupRequest, None)
    bench.run(1_000)
    bench.cluster.partitions["t", 0].append(encode([b"c"], magic=2, timestamp_ms=0))
    bench.run(1_000)
    assert (0, 2) not in bench.read
    bench.cluster.lose_connections("broker-0")
    bench.run(1_000)
    assert (0, 2) in bench.read, "it has joined"


def test_a_cooperative_member_keeps_reading_and_lets_go_of_what_it_is_not_given_again() -> None:
    bench = Bench(partition_assignment_strategy="CooperativeStickyAssignor", heartbeat_interval_ms=1_000)
    bench.subscribe()
    assert bench.changes[-1] == ("assigned", 1, "t-0,t-1", "")
    bench.answer(HeartbeatRequest, HeartbeatResponse(ErrorCode.REBALANCE_IN_PROGRESS))
    bench.answer(JoinGroupRequest, None)  # others take their time
    bench.run(1_000)
    bench.cluster.partitions["t", 0].append(encode([b"c"], magic=2, timestamp_ms=0))
    bench.run(1_000)
    assert (0, 2) in bench.read, "it reads on while it joins"
    owned = encode_subscription(Subscription(("t",), (("t", 0), ("t", 1))), 1)
    assert bench.requests_of(JoinGroupRequest)[1].protocols == [GroupProtocol("cooperative-sticky", owned)]
    bench.answer(JoinGroupRequest, JoinGroupResponse(0, 2, "consumer", "cooperative-sticky", "other", "m-1"))
    bench.answer(SyncGroupRequest, given_to("m-1", 0))
    bench.cluster.lose_connections("broker-0")  # its JoinGroup is lost with the connection, and sent again
    bench.answer(JoinGroupRequest, JoinGroupResponse(0, 3, "consumer", "cooperative-sticky", "other", "m-1"))
    bench.answer(SyncGroupRequest, given_to("m-1", 0))
    bench.run(1_000)
    assert bench.changes[2:] == [
        ("joined", 2, "", ""), ("revoked", 2, "t-1", ""), ("assigned", 2, "", ""),
        ("joined", 3, "", ""), ("assigned", 3, "", ""),
    ]  # fmt: skip


def test_it_commits_leaves_and_closes_and_a_static_member_sends_no_leave() -> None:
    for options, leaving in (({}, [LeavingMember("m-1")]), ({"group_instance_id": "i"}, None)):
        bench = Bench(**options)
        bench.subscribe()
        bench.leave()
        assert bench.left == [0] and len(bench.requests_of(OffsetCommitRequest)) == 1
        assert [requested.members for requested in bench.requests_of(LeaveGroupRequest)] == (
            [leaving] if leaving else []
        )
        assert bench.changes[-1] == ("left", 1, "t-0,t-1", "")
        requests = len(bench.cluster.requests)
        bench.run(60_000)
        assert len(bench.cluster.requests) == requests and not bench.cluster.open_connections()


def test_closed_in_the_middle_of_anything_nothing_follows() -> None:
    for at_ms in (0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5):
        bench = Bench(auto_commit_interval_ms=2.0)
        bench.subscribe(at_ms)
        bench.consumer.close(bench.cluster.now, bench.cluster.out)
        bench.consumer.close(bench.cluster.now, bench.cluster.out)
        requests = len(bench.cluster.requests)
        bench.run(60_000)
        assert len(bench.cluster.requests) == requests and not bench.cluster.open_connections()
        assert len(bench.cluster.ended()) == len(bench.cluster.invoked())


@pytest.mark.parametrize(
    ("version", "settings", "problem"),
    [
        ("2.2", {"group.instance.id": "i"}, "group.instance.id came with Kafka 2.3"),
        ("2.8", {"heartbeat.interval.ms": 9_000, "session.timeout.ms": 9_000}, "must be less than session.timeout.ms"),
        ("2.8", {"partition.assignment.strategy": "Sticky"}, "the nearest known one is CooperativeStickyAssignor"),
    ],
)
def test_what_a_member_cannot_be(version: str, settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(UnusableSetting, match=problem):
        consumer_settings(version, {"group.id": "g", **settings})
