"""For each check of the audit a mutant that it must find, and where: machines that are wrong on purpose, some of them
those of `benchmarks.mutants`.

In its play a mutant violates its check, or violates it more often than right machines do, for the oracle as for Spark,
and the run comes to its end."""

from collections.abc import Sequence
from typing import Any

import msgspec

from benchmarks.mutants import MUTANTS, Mutant, Patches, another_record
from controller import elections, term
from emulator.machines.broker import isr_changes
from emulator.machines.broker.log import Log
from emulator.machines.broker.partition import Partition
from emulator.machines.broker.reads import Reads
from emulator.machines.broker.replica_transitions import Change, ReplicaTransitions
from protocol.ids import BrokerId, LeaderEpoch, Offset
from protocol.messages.replication import FetchedPartition
from protocol.messages.session import SetData
from protocol.records.format import iter_headers
from protocol.znodes import Leadership, decode_controller_epoch


class Seen(msgspec.Struct, frozen=True):
    """`check` finds `mutant` in this play."""

    check: str
    mutant: Mutant
    scenario: str
    version: str
    seed: int = 1


# --- what consumers are given ---


def _as_if_a_follower_asked() -> Patches:
    one = Reads._one

    def all_of_it(self: Reads, replica_id: BrokerId, *asked: Any, **named: Any) -> Any:
        return one(self, max(replica_id, BrokerId(0)), *asked, **named)

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

    def other(self: Reads, replica_id: BrokerId, *asked: Any, **named: Any) -> tuple[FetchedPartition, int]:
        result, leader_log_end = one(self, replica_id, *asked, **named)
        if replica_id < 0 and result.records:
            result.records = altered(result.records)
        return result, leader_log_end

    return [(Reads, "_one", other)]


# --- high watermarks ---


def _one_too_many() -> Patches:
    def follow(self: Partition, leaders: int) -> None:
        if leaders > 0 and leaders + 1 != self.the_log.high_watermark and not self.leads:
            self._moved(Offset(leaders + 1))

    return [(Partition, "follow_high_watermark", follow)]


def _backwards() -> Patches:
    fetched = Partition.follower_fetched

    def falling(self: Partition, *of: Any, **named: Any) -> None:
        if self.the_log.high_watermark == 2:
            self._moved(Offset(1))
        fetched(self, *of, **named)

    return [(Partition, "follower_fetched", falling)]


# --- what the session service keeps ---


def _whatever_the_version() -> Patches:
    def unversioned(path: str, data: bytes, version: int) -> SetData:
        return SetData(path, data, -1)

    return [(isr_changes, "SetData", unversioned)]


def _elected_out_of_sync() -> Patches:
    elected = elections._elected

    def without_itself(state: Leadership, leader: BrokerId, isr: Sequence[BrokerId]) -> Leadership:
        return elected(state, leader, [member for member in isr if member != leader] or isr)

    return [(elections, "_elected", without_itself)]


def _epoch_of_the_one_before() -> Patches:
    def before(data: bytes) -> int:
        return max(0, decode_controller_epoch(data) - 1)

    return [(term, "decode_controller_epoch", before)]


def _never_resigns() -> Patches:
    def stays(*_: Any) -> Any:
        return
        yield

    return [(term, "resign", stays)]


# --- who leads ---


def _never_follows() -> Patches:
    follow = ReplicaTransitions.make_followers

    def stays(self: ReplicaTransitions, changes: list[Change], *of: Any) -> Any:
        yield from follow(self, [change for change in changes if not change[0].leads], *of)

    return [(ReplicaTransitions, "make_followers", stays)]


def _every_second_of_epoch_0() -> Patches:
    append = Log.append_as_leader

    def stamped(self: Log, data: bytes, leader_epoch: int) -> Any:
        return append(self, data, LeaderEpoch(leader_epoch * (1 - self.log_end % 2)))

    return [(Log, "append_as_leader", stamped)]


def _mutant(wrong: str, patches: Any) -> Mutant:
    return Mutant(wrong, (), patches)


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
        "read-above-high-watermark", _mutant("consumers are given what is not committed", _as_if_a_follower_asked),
        "az-isolated-leader", "2.6",
    ),
    "a-batch-left-out": Seen(
        "read-gap", _mutant("consumers are not given the second of several batches", _the_second_left_out),
        "incident-reverse-order", "0.10.2",
    ),
    "keeps-its-tail": Seen("replica-divergence", MUTANTS["keeps-its-tail"], "acks-1-loss", "0.10.2"),
    "stores-another-record": Seen("log-matching", MUTANTS["stores-another-record"], "az-isolated-follower", "2.6"),
    "never-follows": Seen(
        "dual-leader", _mutant("a leader that was succeeded goes on leading", _never_follows), "kafka-9307", "2.8"
    ),
    "never-resigns": Seen(
        "dual-controller", _mutant("a controller that was succeeded does not resign", _never_resigns),
        "brokers-altered", "2.6",
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
        "partition-state", _mutant("a leader writes its ISR over whatever is there", _whatever_the_version),
        "az-isolated-leader-direct-zk", "2.6",
    ),
    "elected-out-of-sync": Seen(
        "partition-state", _mutant("whoever is elected is not in sync", _elected_out_of_sync),
        "az-isolated-leader", "2.8",
    ),
}  # fmt: skip
