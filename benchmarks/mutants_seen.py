"""For each check of the audit a mutant that it must detect, and a play.

Mutants are wrong machines; some of them are in `benchmarks.mutants`. In its play a mutant violates its check, or
violates it more often than right machines do, for the oracle as for Spark, and the run reaches its end.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.mutants import MUTANTS, Mutant, Patches, another_record, gates_altered
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
from protocol.messages.replication_messages import FetchedPartition, ProducePartition
from protocol.messages.session_messages import SetData
from protocol.outbox import Outbox
from protocol.records.format import iter_headers
from protocol.znodes import Leadership, decode_controller_epoch

IN_PEACE = str(Path(__file__).parent / "left_in_peace.yaml")


class Seen(msgspec.Struct, frozen=True):
    """`check` finds `mutant` in this play."""

    check: str
    mutant: Mutant
    scenario: str
    version: str
    seed: int = 1


# --- consumers' records ---


def _fetches_as_follower() -> Patches:
    one = Reads._one

    def all_of_it(self: Reads, replica_id: BrokerId, *requested: Any, **named: Any) -> Any:
        return one(self, max(replica_id, BrokerId(0)), *requested, **named)

    return [(Reads, "_one", all_of_it)]


def _altered_on_the_way() -> Patches:
    return _given(another_record)


def _the_second_left_out() -> Patches:
    def without(records: bytes) -> bytes:
        places = [(position, position + header.size_bytes) for position, header in iter_headers(records)]
        return records if len(places) < 3 else records[: places[0][1]] + records[places[1][1] :]

    return _given(without)


def _given(altered: Any) -> Patches:
    """To consumers."""
    one = Reads._one

    def other(self: Reads, replica_id: BrokerId, *requested: Any, **named: Any) -> tuple[FetchedPartition, int]:
        result, leader_log_end = one(self, replica_id, *requested, **named)
        if replica_id < 0 and result.records:
            result.records = altered(result.records)
        return result, leader_log_end

    return [(Reads, "_one", other)]


def _elsewhere_at_a_new_leader(by: int) -> Patches:
    """Of a consumer."""
    meet = Position.meet_leader

    def met(self: Position, epoch: LeaderEpoch) -> None:
        if epoch > self.leader_epoch >= 0 and self.state == "fetching" and self.offset + by >= 0:
            self.seek(Offset(self.offset + by))
            self.leader_epoch = epoch
        meet(self, epoch)

    return [(Position, "meet_leader", met)]


# --- groups' commits, and leaders' acknowledgements ---


def _one_more_than_it_was_given() -> Patches:
    commit = CoordinatorOffsets.commit

    def more(self: CoordinatorOffsets, now: Now, out: Outbox, offsets: Any, *of: Any) -> None:
        commit(self, now, out, {key: Committed(Offset(one.offset + 1)) for key, one in offsets.items()}, *of)

    return [(CoordinatorOffsets, "commit", more)]


def _ignores_isr_size() -> Patches:
    append, outcome = Appends._append, delayed_produce._outcome

    def alone(partition: Partition, step: Callable[[], Any]) -> Any:
        settings = partition.settings
        partition.settings = msgspec.structs.replace(settings, min_insync_replicas=1)
        try:
            return step()
        finally:
            partition.settings = settings

    def appended(self: Appends, requested: ProducePartition, acks: int) -> Any:
        partition = self._replicas.partitions[requested.topic, requested.partition]
        return alone(partition, lambda: append(self, requested, acks))

    def waited(partition: Partition, required: Offset) -> Any:
        return alone(partition, lambda: outcome(partition, required))

    return [(Appends, "_append", appended), (delayed_produce, "_outcome", waited)]


def _stores_what_it_refuses() -> Patches:
    append = Appends._append

    def appended(self: Appends, requested: ProducePartition, acks: int) -> Any:
        result, required = append(self, requested, acks)
        if result.error == ErrorCode.NOT_ENOUGH_REPLICAS:
            append(self, requested, 1)
        return result, required

    return [(Appends, "_append", appended)]


# --- high watermarks ---


def _one_too_many() -> Patches:
    def follow(self: Partition, leaders: int) -> None:
        if leaders > 0 and leaders + 1 != self.the_log.high_watermark and not self.leads:
            self._moved(Offset(leaders + 1))

    return [(Partition, "follow_high_watermark", follow)]


def _backwards() -> Patches:
    fetched, fallen = Partition.follower_fetched, list[Partition]()

    def falling(self: Partition, *of: Any, **named: Any) -> None:
        """Once, and as the last thing in a step: between two steps is when the oracle looks."""
        fetched(self, *of, **named)
        if self.the_log.high_watermark == 2 and not any(one is self for one in fallen):
            fallen.append(self)
            self._moved(Offset(1))

    return [(Partition, "follower_fetched", falling)]


# --- data of the session service ---


def _whatever_the_version() -> Patches:
    def unversioned(path: str, data: bytes, version: int) -> SetData:
        return SetData(path, data, -1)

    return [(isr_writes, "SetData", unversioned)]


def _elected_out_of_sync() -> Patches:
    elected = elections._elected

    def without_itself(state: Leadership, leader: BrokerId, isr: Sequence[BrokerId]) -> Leadership:
        return elected(state, leader, [member for member in isr if member != leader] or isr)

    return [(elections, "_elected", without_itself)]


def _epoch_of_the_one_before() -> Patches:
    def before(data: bytes) -> int:
        return max(0, decode_controller_epoch(data) - 1)

    return [(term, "decode_controller_epoch", before)]


def _epoch_unchecked() -> Patches:
    return gates_altered(controller_epoch_multi=False)


# --- leadership ---


def _never_follows() -> Patches:
    follow = ReplicaTransitions.make_followers

    def stays(self: ReplicaTransitions, changes: list[Change], *of: Any) -> Any:
        yield from follow(self, [change for change in changes if not change[0].leads], *of)

    return [(ReplicaTransitions, "make_followers", stays)]


def _every_second_of_epoch_0() -> Patches:
    place = Log.place

    def stamped(self: Log, records: bytes, leader_epoch: int) -> Any:
        return place(self, records, LeaderEpoch(leader_epoch * (1 - self.log_end % 2)))

    return [(Log, "place", stamped)]


# --- self-correcting errors ---


_PAUSED = Mutant("a controller's writes do not depend on its epoch", ("2.1",), _epoch_unchecked, ("kafka-6082",))
"""Only a controller that halts during its successor's election, then decides, writes."""


def _never_joins() -> Patches:
    def may_join(self: Partition, replica: RemoteReplica) -> bool:
        return False

    return [(Partition, "may_join_isr", may_join)]


def _fetches_and_forgets() -> Patches:
    """A follower keeps only the offset of fetched records, so its leader counts it."""
    take = ReplicaFetcher._take

    def took(self: ReplicaFetcher, topic_partition: Any, state: FetchState, result: FetchedPartition) -> None:
        if result.error or not result.records:
            take(self, topic_partition, state, result)
            return
        for _, header in iter_headers(result.records):
            state.offset = Offset(header.last_offset + 1)

    return [(ReplicaFetcher, "_take", took)]


def _parks_and_forgets() -> Patches:
    """A produce that is parked is never looked at again, nor is its deadline."""
    due = Purgatory._due

    def forgotten(self: Purgatory, number: int, now: Now, out: Outbox) -> None:
        if not isinstance(self.waiting.get(number), delayed_produce.DelayedProduce):
            due(self, number, now, out)

    return [(delayed_produce.DelayedProduce, "watch", lambda self: None), (Purgatory, "_due", forgotten)]


def _elects_none() -> Patches:
    def elect_none(assignment: Any, state: Any, live: Any, unclean: bool) -> None:
        return None

    return [(elections, "offline", elect_none)]


def _mutant(wrong: str, patches: Any, *scenarios: str) -> Mutant:
    """`scenarios`: in which crash testing plays it; all if empty."""
    return Mutant(wrong, (), patches, scenarios)


_A_STEP_BACK = _mutant("a consumer reads a record again from a new leader", partial(_elsewhere_at_a_new_leader, -1))
_A_STEP_AHEAD = _mutant("a consumer leaves a record out at a new leader", partial(_elsewhere_at_a_new_leader, 1))

SEEN: dict[str, Seen] = {
    "acks-all-as-1": Seen("lost-acknowledged", MUTANTS["acks-all-as-1"], "az-isolated-leader-acks-all", "2.8"),
    "retries-are-stored": Seen("duplicate", MUTANTS["retries-are-stored"], "retry-idempotent", "2.8"),
    "high-watermark-at-log-end": Seen(
        "read-then-lost", MUTANTS["high-watermark-at-log-end"], "az-isolated-leader", "2.6"
    ),
    "altered-on-the-way": Seen(
        "phantom-read", _mutant("consumers are given other bytes than are stored", _altered_on_the_way),
        "az-isolated-leader", "2.8",
    ),
    "consumers-read-to-the-end": Seen(
        "read-above-high-watermark", _mutant("consumers are given what is not committed", _fetches_as_follower),
        "az-isolated-leader", "2.6",
    ),
    "a-batch-left-out": Seen(
        "read-gap", _mutant("consumers are not given the second of several batches", _the_second_left_out),
        "incident-reverse-order", "0.10.2",
    ),
    "a-step-back": Seen("non-monotonic-read", _A_STEP_BACK, "workload-az-cut", "2.8"),
    "a-step-ahead": Seen("skipped-read", _A_STEP_AHEAD, "workload-az-cut", "2.8"),
    "a-step-ahead-of-a-record": Seen("unseen", _A_STEP_AHEAD, "workload-az-cut", "2.8"),
    "min-insync-means-nothing": Seen(
        "acknowledged-below-min-insync",
        _mutant("a leader acknowledges acks=all whatever the ISR", _ignores_isr_size, "min-insync"),
        "min-insync", "2.8",
    ),
    "stores-what-it-refuses": Seen(
        "failed-but-stored",
        _mutant("a leader stores records that it refuses", _stores_what_it_refuses, "min-insync"),
        "min-insync", "2.8",
    ),
    "commits-one-more": Seen(
        "group-ahead-of-log",
        _mutant(
            "a group commits one more than it was given", _one_more_than_it_was_given, "committed-offsets-az-cut"
        ),
        "committed-offsets-az-cut", "2.8",
    ),
    "keeps-its-tail": Seen("replica-divergence", MUTANTS["keeps-its-tail"], "acks-1-loss", "0.10.2"),
    "stores-another-record": Seen("log-matching", MUTANTS["stores-another-record"], "az-isolated-follower", "2.6"),
    "never-follows": Seen(
        "dual-leader", _mutant("a leader that was succeeded goes on leading", _never_follows), "kafka-9307", "2.8"
    ),
    "controller-epoch-unchecked": Seen(
        "dual-controller", _PAUSED,
        "kafka-6082", "2.1",
    ),
    "epoch-of-the-one-before": Seen(
        "dual-controller", _mutant("a controller takes the epoch of the one before", _epoch_of_the_one_before),
        "brokers-altered", "2.6",
    ),
    "high-watermark-falls": Seen(
        "high-watermark-regression", _mutant("a leader's high watermark falls", _backwards),
        "az-isolated-follower", "2.8",
    ),
    "one-too-many": Seen(
        "high-watermark-above-log-end", _mutant("a follower counts one record too many as committed", _one_too_many),
        "az-isolated-follower", "2.8",
    ),
    "every-second-of-epoch-0": Seen(
        "leader-epoch-monotonicity", _mutant("a leader stamps batches with an older epoch", _every_second_of_epoch_0),
        "az-isolated-leader", "2.6",
    ),
    "isr-written-unversioned": Seen(
        "fenced-leader-change", _mutant("a leader writes its ISR over whatever is there", _whatever_the_version),
        "az-isolated-leader-direct-zk", "2.6",
    ),
    "elected-out-of-sync": Seen(
        "partition-state", _mutant("an elected leader is not in sync", _elected_out_of_sync),
        "az-isolated-leader", "2.8",
    ),
    "cut-too-far": Seen("committed-truncated", MUTANTS["cut-too-far"], "az-isolated-leader", "2.6"),
    "epochs-not-cut": Seen("epoch-cache", MUTANTS["epochs-not-cut"], "kafka-7164", "2.6"),
    "recovered-to-high-watermark": Seen(
        "checkpoint-ahead", MUTANTS["recovered-to-high-watermark"], "kip101-case1", "2.6"
    ),
    "elects-no-leader": Seen(
        "no-leader", _mutant("no leader is elected after the leader is gone", _elects_none), IN_PEACE, "2.6"
    ),
    "never-joins": Seen(
        "under-replicated", _mutant("a follower that has caught up stays out of the ISR", _never_joins), IN_PEACE, "2.6"
    ),
    "fetches-and-forgets": Seen(
        "too-few-copies", _mutant("a follower does not append what it fetches", _fetches_and_forgets), IN_PEACE, "2.8"
    ),
    "parked-and-forgotten": Seen(
        "unanswered-request", _mutant("a produce that is parked is forgotten", _parks_and_forgets), IN_PEACE, "2.8"
    ),
}  # fmt: skip
