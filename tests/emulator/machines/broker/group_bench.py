"""A bench whose broker coordinates a group of members."""

from typing import Any

from protocol.ids import BrokerId, Offset
from protocol.messages.groups import OffsetCommitRequest, OffsetCommitResponse, OffsetToCommit
from protocol.messages.membership import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    GroupProtocol,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
    MemberAssignment,
    SyncGroupRequest,
    SyncGroupResponse,
)
from protocol.messages.replication_messages import FetchPartition, FetchRequest
from protocol.records.offset_commits import OFFSETS_TOPIC
from verification.broker_bench import T0, Bench, state

OFFSETS = (OFFSETS_TOPIC, 0)
IN_SYNC = (0, 1)
DELAY_MS = 3000
SESSION_MS = 10_000
REBALANCE_MS = 60_000


class Group(Bench):
    """Coordinates group `g`, alone in the ISR of the offsets topic."""

    def __init__(self, version: str = "2.1", *, isr: tuple[int, ...] = (0,), **settings: Any) -> None:
        super().__init__(version, **settings)
        self.update_metadata(state(0, topic_partition=OFFSETS), state(0, topic_partition=T0))
        self.leader_and_isr(state(0, 0, isr, topic_partition=OFFSETS))
        self.advance(0)

    def elsewhere_and_back(self) -> None:
        """Another broker coordinates, then this one again: what it knows is what the log tells."""
        self.leader_and_isr(state(1, 1, IN_SYNC, topic_partition=OFFSETS))
        self.leader_and_isr(state(0, 2, (0,), topic_partition=OFFSETS))
        self.advance(0)

    def replicate(self) -> None:
        """Broker 1 has all of the offsets topic."""
        end = self.broker.replicas.partitions[OFFSETS].the_log.log_end
        self.ask(FetchRequest(BrokerId(1), 0, 1, 1_000_000, [FetchPartition(*OFFSETS, end)]))

    def join(
        self, member: str = "", *, says: bytes = b"", instance: str | None = None, version: int = 3,
        protocols: tuple[str, ...] = ("range",), kind: str = "consumer", session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
    ) -> int:  # fmt: skip
        requested = JoinGroupRequest(
            "g", member, session_ms, rebalance_ms, kind, [GroupProtocol(name, says) for name in protocols], instance,
            "app",
        )  # fmt: skip
        return self.ask(requested, version)

    def joined(self, connection: int) -> JoinGroupResponse:
        return self.answer(connection, JoinGroupResponse)

    def waits(self, connection: int) -> bool:
        return not self.answers(connection)

    def sync(self, member: str, generation: int, instance: str | None = None) -> int:
        return self.ask(SyncGroupRequest("g", generation, member, [], instance))

    def synced(self, connection: int) -> tuple[int, bytes]:
        answer = self.answer(connection, SyncGroupResponse)
        return answer.error, answer.assignment

    def heartbeat(self, member: str, generation: int, instance: str | None = None) -> int:
        requested = HeartbeatRequest("g", generation, member, instance)
        return self.answer(self.ask(requested), HeartbeatResponse).error

    def leave(self, *members: LeavingMember) -> list[int]:
        answer = self.answer(self.ask(LeaveGroupRequest("g", list(members))), LeaveGroupResponse)
        assert answer.error == 0
        return [one.error for one in answer.members]

    def commit(self, member: str, generation: int, instance: str | None = None) -> int:
        requested = OffsetCommitRequest("g", [OffsetToCommit(*T0, Offset(5))], generation, member, instance)
        (result,) = self.answer(self.ask(requested), OffsetCommitResponse).partitions
        return result.error

    def described(self) -> DescribedGroup:
        return self.answer(self.ask(DescribeGroupsRequest(["g"])), DescribeGroupsResponse).groups[0]

    def state(self) -> str:
        return self.described().state

    def stable(self) -> tuple[str, str]:
        """Two members, the leader first, in generation 1."""
        first, second = self.join(says=b"1"), self.join(says=b"2")
        self.advance(DELAY_MS)
        self.advance(DELAY_MS)
        leader, other = self.joined(first), self.joined(second)
        assert (leader.generation, leader.leader, leader.member) == (1, leader.member, leader.member)
        waiting = self.sync(other.member, 1)
        assert self.waits(waiting)
        given = [MemberAssignment(leader.member, b"p0"), MemberAssignment(other.member, b"p1")]
        leading = self.ask(SyncGroupRequest("g", 1, leader.member, given))
        assert (self.synced(leading), self.synced(waiting)) == ((0, b"p0"), (0, b"p1"))
        assert self.state() == "Stable"
        return leader.member, other.member
