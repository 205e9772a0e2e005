"""Patches that break reads, the data of ZooKeeper, leadership, and progress after a fault."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from controller import elections, term
from emulator.machines.broker import delayed_produce, isr_writes
from emulator.machines.broker.appends import Appends
from emulator.machines.broker.fetch_reads import Reads
from emulator.machines.broker.fetch_state import FetchState
from emulator.machines.broker.fetcher import ReplicaFetcher
from emulator.machines.broker.partition import Partition
from emulator.machines.broker.purgatory import Purgatory
from emulator.machines.broker.remote_replica import RemoteReplica
from emulator.machines.broker.replica_log import Log
from emulator.machines.broker.replica_transitions import Change, ReplicaTransitions
from emulator.machines.client.consumer_position import Position
from emulator.machines.client.coordinator_offsets import CoordinatorOffsets
from emulator.machines.client.offset_store import Committed
from protocol.errors import ErrorCode
from protocol.ids import BrokerId, LeaderEpoch, Offset
from protocol.machine import Now
from protocol.messages.replication_messages import FetchedPartition, FetchRequest, ProducePartition
from protocol.messages.session_messages import SetData
from protocol.outbox import Outbox
from protocol.records.format import iter_headers
from protocol.znodes import Leadership, decode_controller_epoch
from verification.mutants.mutant import Patches
from verification.mutants.replication_patches import another_record, gates_altered

# --- consumers' records ---


def fetches_as_follower() -> Patches:
    one = Reads._one

    def all_of_it(self: Reads, fetch: FetchRequest, *requested: Any, **named: Any) -> Any:
        follower = msgspec.structs.replace(fetch, replica_id=max(fetch.replica_id, BrokerId(0)))
        return one(self, follower, *requested, **named)

    return [(Reads, "_one", all_of_it)]


def altered_on_the_way() -> Patches:
    return _given(another_record)


def the_second_left_out() -> Patches:
    def without(records: bytes) -> bytes:
        places = [(position, position + header.size_bytes) for position, header in iter_headers(records)]
        return records if len(places) < 3 else records[: places[0][1]] + records[places[1][1] :]

    return _given(without)


def _given(altered: Any) -> Patches:
    """To consumers."""
    one = Reads._one

    def other(self: Reads, fetch: FetchRequest, *requested: Any, **named: Any) -> tuple[FetchedPartition, int]:
        result, leader_log_end = one(self, fetch, *requested, **named)
        if fetch.replica_id < 0 and result.records:
            result.records = altered(result.records)
        return result, leader_log_end

    return [(Reads, "_one", other)]


def elsewhere_at_a_new_leader(by: int) -> Patches:
    """Of a consumer."""
    meet = Position.meet_leader

    def met(self: Position, epoch: LeaderEpoch) -> None:
        if epoch > self.leader_epoch >= 0 and self.state == "fetching" and self.offset + by >= 0:
            self.seek(Offset(self.offset + by))
            self.leader_epoch = epoch
        meet(self, epoch)

    return [(Position, "meet_leader", met)]


# --- groups' commits, and leaders' acknowledgements ---


def one_more_than_it_was_given() -> Patches:
    commit = CoordinatorOffsets.commit

    def more(self: CoordinatorOffsets, now: Now, out: Outbox, offsets: Any, *of: Any) -> None:
        commit(self, now, out, {key: Committed(Offset(one.offset + 1)) for key, one in offsets.items()}, *of)

    return [(CoordinatorOffsets, "commit", more)]


def ignores_isr_size() -> Patches:
    append, outcome = Appends._append, delayed_produce._outcome

    def alone(partition: Partition, step: Callable[[], Any]) -> Any:
        settings = partition.settings
        partition.settings = msgspec.structs.replace(settings, min_insync_replicas=1)
        try:
            return step()
        finally:
            partition.settings = settings

    def appended(self: Appends, requested: ProducePartition, *more: Any, **named: Any) -> Any:
        partition = self._replicas.partitions[requested.topic, requested.partition]
        return alone(partition, lambda: append(self, requested, *more, **named))

    def waited(partition: Partition, required: Offset) -> Any:
        return alone(partition, lambda: outcome(partition, required))

    return [(Appends, "_append", appended), (delayed_produce, "_outcome", waited)]


def stores_what_it_refuses() -> Patches:
    append = Appends._append

    def appended(self: Appends, requested: ProducePartition, acks: int, *more: Any, **named: Any) -> Any:
        result, required = append(self, requested, acks, *more, **named)
        if result.error == ErrorCode.NOT_ENOUGH_REPLICAS:
            append(self, requested, 1, *more, **named)
        return result, required

    return [(Appends, "_append", appended)]


# --- high watermarks ---


def one_too_many() -> Patches:
    def follow(self: Partition, leaders: int) -> None:
        if leaders > 0 and leaders + 1 != self.the_log.high_watermark and not self.leads:
            self._moved(Offset(leaders + 1))

    return [(Partition, "follow_high_watermark", follow)]


def backwards() -> Patches:
    fetched, fallen = Partition.follower_fetched, list[Partition]()

    def falling(self: Partition, *of: Any, **named: Any) -> None:
        """Once, and as the last thing in a step: between two steps is when the oracle looks."""
        fetched(self, *of, **named)
        if self.the_log.high_watermark == 2 and not any(one is self for one in fallen):
            fallen.append(self)
            self._moved(Offset(1))

    return [(Partition, "follower_fetched", falling)]


# --- data of the session service ---


def whatever_the_version() -> Patches:
    def unversioned(path: str, data: bytes, version: int) -> SetData:
        return SetData(path, data, -1)

    return [(isr_writes, "SetData", unversioned)]


def elected_out_of_sync() -> Patches:
    elected = elections._elected

    def without_itself(state: Leadership, leader: BrokerId, isr: Sequence[BrokerId]) -> Leadership:
        return elected(state, leader, [member for member in isr if member != leader] or isr)

    return [(elections, "_elected", without_itself)]


def epoch_of_the_one_before() -> Patches:
    def before(data: bytes) -> int:
        return max(0, decode_controller_epoch(data) - 1)

    return [(term, "decode_controller_epoch", before)]


def epoch_unchecked() -> Patches:
    return gates_altered(controller_epoch_multi=False)


# --- leadership ---


def never_follows() -> Patches:
    follow = ReplicaTransitions.make_followers

    def stays(self: ReplicaTransitions, changes: list[Change], *of: Any) -> Any:
        yield from follow(self, [change for change in changes if not change[0].leads], *of)

    return [(ReplicaTransitions, "make_followers", stays)]


def every_second_of_epoch_0() -> Patches:
    place = Log.place

    def stamped(self: Log, records: bytes, leader_epoch: int) -> Any:
        return place(self, records, LeaderEpoch(leader_epoch * (1 - self.log_end % 2)))

    return [(Log, "place", stamped)]


# --- self-correcting errors ---


def never_joins() -> Patches:
    def may_join(self: Partition, replica: RemoteReplica) -> bool:
        return False

    return [(Partition, "may_join_isr", may_join)]


def fetches_and_forgets() -> Patches:
    """A follower keeps only the offset of fetched records, so its leader counts it."""
    take = ReplicaFetcher._take

    def took(self: ReplicaFetcher, topic_partition: Any, state: FetchState, result: FetchedPartition) -> None:
        if result.error or not result.records:
            take(self, topic_partition, state, result)
            return
        for _, header in iter_headers(result.records):
            state.offset = Offset(header.last_offset + 1)

    return [(ReplicaFetcher, "_take", took)]


def parks_and_forgets() -> Patches:
    """A produce that is parked is never looked at again, nor is its deadline."""
    due = Purgatory._due

    def forgotten(self: Purgatory, number: int, now: Now, out: Outbox) -> None:
        if not isinstance(self.waiting.get(number), delayed_produce.DelayedProduce):
            due(self, number, now, out)

    return [(delayed_produce.DelayedProduce, "watch", lambda self: None), (Purgatory, "_due", forgotten)]


def elects_none() -> Patches:
    def elect_none(assignment: Any, state: Any, live: Any, unclean: bool, **_marks: bool) -> None:
        return None

    return [(elections, "offline", elect_none)]
