"""Views of the quorum from one of its nodes: pushes to observers, DescribeQuorum, status.

An observer receives this node's state and all committed batches when it subscribes, and then each change once. The
player reads the cluster's metadata there (emulator only).
"""

from collections.abc import Iterable, Sequence
from typing import Final

from controller.quorum.leader_state import FetchTimes
from emulator.machines.node.quorum_member import QuorumMember
from protocol.errors import ErrorCode
from protocol.ids import BrokerId, Offset
from protocol.machine import Now
from protocol.messages.kraft_messages import CommittedBatch, DescribeQuorumResponse, QuorumObserved, QuorumReplica
from protocol.messages.status_messages import QuorumStatus
from protocol.outbox import Outbox
from protocol.records.metadata_codec import encode_metadata_record
from protocol.records.metadata_records import MetadataBatch

BATCHES_MAX: Final = 256
"""Bound of the batches in one message; more become several messages."""
OBSERVERS_MAX: Final = 64
"""Bound of the subscriptions of one node."""


class QuorumObservers:
    """Subscriptions to one member. Every batch that the member reports goes through `committed`."""

    def __init__(self, member: QuorumMember) -> None:
        self._member = member
        self._connections: dict[int, None] = {}
        self._unsent: list[MetadataBatch] = []
        self._sent: tuple[str, int, int, bool] = ("", -1, -1, False)

    def subscribe(self, out: Outbox, connection: int, active: bool) -> bool:
        """Send all that is known, and push from now on. False: there are too many subscriptions.

        Raises StorageError.
        """
        if connection in self._connections:
            return True
        if len(self._connections) == OBSERVERS_MAX:
            return False
        self.push(out, active)
        self._connections[connection] = None
        self._send(out, [connection], self._member.committed_batches(), active)
        return True

    def forget(self, connection: int) -> None:
        self._connections.pop(connection, None)

    def committed(self, batches: Sequence[MetadataBatch]) -> None:
        """Note batches for the next push."""
        if self._connections:
            self._unsent += batches

    def push(self, out: Outbox, active: bool) -> None:
        """Push what has changed since the last push. The process calls this at the end of a step."""
        member = self._member
        state = (member.state_name, member.epoch, member.leader, active)
        if state != self._sent or self._unsent:
            self._sent = state
            batches, self._unsent = self._unsent, []
            self._send(out, list(self._connections), batches, active)

    def _send(self, out: Outbox, to: list[int], batches: Iterable[MetadataBatch], active: bool) -> None:
        """Send the batches in as many messages as they need, at least one."""
        member = self._member
        committed = [committed_batch(batch) for batch in batches] if to else []
        for first in range(0, max(len(committed), 1), BATCHES_MAX):
            message = QuorumObserved(
                member.me, member.state_name, member.epoch, member.leader, active, member.high_watermark,
                committed[first : first + BATCHES_MAX],
            )  # fmt: skip
            for connection in to:
                out.send(connection, message)


def committed_batch(batch: MetadataBatch) -> CommittedBatch:
    """The batch as observers receive it."""
    values = [encode_metadata_record(record) for record in batch.records]
    return CommittedBatch(Offset(batch.base_offset), Offset(batch.end), batch.epoch, values, batch.is_snapshot)


def describe_quorum(member: QuorumMember, now: Now) -> DescribeQuorumResponse:
    """The leader's view of the quorum. Source: KafkaRaftClient.handleDescribeQuorumRequest."""
    leader = member.leadership
    if leader is None:
        return DescribeQuorumResponse(ErrorCode.NOT_LEADER_OR_FOLLOWER, member.leader, member.epoch)
    wall_ms = now.wall_ms - now.mono_ms

    def replica(identifier: BrokerId, log_end: Offset, times: FetchTimes | None) -> QuorumReplica:
        if identifier == member.me:
            return QuorumReplica(identifier, log_end, int(now.wall_ms), int(now.wall_ms))
        times = times or FetchTimes(-1.0, -1.0, Offset(-1))
        last, caught_up = (int(at_ms + wall_ms) if at_ms >= 0 else -1 for at_ms in times[:2])
        return QuorumReplica(identifier, log_end, last, caught_up)

    return DescribeQuorumResponse(
        0, member.me, member.epoch, leader.high_watermark,
        [replica(voter, end, leader.times_of(voter)) for voter, end in sorted(leader.log_ends.items())],
        [
            replica(key.id, end, leader.fetch_times.get(key))
            for key, end in sorted(leader.active_observers(now.mono_ms).items())
        ],
    )  # fmt: skip


def quorum_status(member: QuorumMember, broker_state: str = "", fenced: Sequence[BrokerId] = ()) -> QuorumStatus:
    return QuorumStatus(
        member.state_name, member.epoch, member.leader, member.high_watermark, member.log_end, member.voters,
        broker_state, list(fenced),
    )  # fmt: skip
