"""Events of a replica's files: its batches, and the leader epochs of its checkpoint. Pure."""

from collections.abc import Iterator

from emulator.runs.importing.append_places import Placed
from emulator.runs.importing.line_events import NodeEvent
from emulator.runs.importing.replica_contents import ReplicaContents, is_metadata_log
from protocol import events as e


def appended(replica: ReplicaContents, placed: Placed) -> NodeEvent:
    """The append of a batch at its place."""
    batch = placed.batch
    event = e.BatchAppended(
        topic=replica.place[0], partition=replica.place[1], base_offset=batch.base_offset,
        last_offset=batch.last_offset, leader_epoch=batch.epoch, digest=batch.digest, as_leader=placed.as_leader,
    )  # fmt: skip
    return NodeEvent(placed.wall_ms, placed.incarnation, event, f"{replica.name}/{batch.file}@{batch.position}")


def final_epochs(replica: ReplicaContents, end: tuple[float, int]) -> Iterator[NodeEvent]:
    """The leader epochs of a replica's checkpoint, as the event of its last entry."""
    if not replica.leader_epochs or is_metadata_log(replica.name):
        return
    *before, (epoch, offset) = replica.leader_epochs
    previous = before[-1] if before else (-1, -1)
    texts = [f"{one}:{start}" for one, start in replica.leader_epochs[-32:]]
    event = e.LeaderEpochBegan(
        topic=replica.place[0], partition=replica.place[1], leader_epoch=epoch, offset=offset,
        previous_epoch=previous[0], previous_offset=previous[1], entries=len(before), epochs=" ".join(texts),
    )  # fmt: skip
    yield NodeEvent(end[0], end[1], event, f"{replica.name}/leader-epoch-checkpoint")
