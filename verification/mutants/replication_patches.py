"""Patches that break the high watermark, the ISR, elections, truncation or producers."""

from typing import Any
from zlib import crc32

import msgspec
from google_crc32c import value as crc32c

from controller import elections
from emulator.machines.broker import partition as partition_state
from emulator.machines.broker import truncating
from emulator.machines.broker.appends import Appends
from emulator.machines.broker.isr_writes import IsrChanges
from emulator.machines.broker.leader_epochs import LeaderEpochCache
from emulator.machines.broker.partition import Partition, PendingIsr
from emulator.machines.broker.producer_state import ProducerState
from emulator.machines.broker.remote_replica import RemoteReplica
from emulator.machines.broker.replica_log import Log
from emulator.machines.broker.replica_manager import Replicas
from emulator.machines.broker.replica_transitions import ReplicaTransitions
from emulator.machines.broker.truncation import Cut, cut_for
from emulator.machines.node import specs
from protocol.errors import ErrorCode
from protocol.gates import Gates, gates_for
from protocol.ids import BrokerId, LeaderEpoch, Offset
from protocol.kinds import CutReason
from protocol.records.format import iter_headers
from verification.mutants.mutant import Patches


def gates_altered(**wrong: bool) -> Patches:
    """Behaviour of a version with one altered gate."""

    def mutated(*versions: str) -> Gates:
        gates: Gates = msgspec.structs.replace(gates_for(*versions), **wrong)
        return gates

    return [(specs, "gates_for", mutated)]


def another_record(data: bytes) -> bytes:
    """Every batch has another time, and a checksum that is right."""
    altered = bytearray(data)
    for position, header in iter_headers(data):
        old = header.magic < 2
        crc, covered, time = (12, 16, 18) if old else (17, 21, 27)
        end = position + header.size_bytes
        altered[position + time + 7] ^= 1
        checksum = (crc32 if old else crc32c)(bytes(altered[position + covered : end]))
        altered[position + crc : position + crc + 4] = checksum.to_bytes(4, "big")
    return bytes(altered)


# --- the high watermark ---


def taken_for_as_far_as_the_leader() -> Patches:
    began = RemoteReplica.leader_epoch_began

    def believing(self: RemoteReplica, leader_log_end: Offset, now_ms: float, **named: Any) -> None:
        began(self, leader_log_end, now_ms, **named)
        if named["in_isr"]:
            self.log_end = leader_log_end

    return [(RemoteReplica, "leader_epoch_began", believing)]


def at_the_log_end() -> Patches:
    def advance(self: Partition, at_ms: float | None = None) -> bool:
        return _moved(self, self.the_log.log_end)

    return [(Partition, "advance_high_watermark", advance)]


def by_the_fastest() -> Patches:
    def advance(self: Partition, at_ms: float | None = None) -> bool:
        others = [replica.log_end for replica in self.remotes.values() if replica.broker in self.maximal_isr]
        return _moved(self, min(self.the_log.log_end, max(others, default=self.the_log.log_end)))

    return [(Partition, "advance_high_watermark", advance)]


def without_the_isr() -> Patches:
    """A leader does not wait for in-sync replicas without a recent fetch."""

    def advance(self: Partition, at_ms: float | None = None) -> bool:
        now_ms = self.context.now.mono_ms if at_ms is None else at_ms
        recent = [r.log_end for r in self.remotes.values() if now_ms - r.last_caught_up_ms <= 500.0]
        return _moved(self, min([self.the_log.log_end, *recent]))

    return [(Partition, "advance_high_watermark", advance)]


def _moved(partition: Partition, reached: Offset) -> bool:
    if reached <= partition.the_log.high_watermark:
        return False
    partition._moved(reached)
    return True


def counted_when_sent() -> Patches:
    fetched = RemoteReplica.fetched

    def counted(self: RemoteReplica, fetch_offset: Offset, leader_log_end: Offset, *others: Any) -> None:
        fetched(self, max(fetch_offset, leader_log_end), leader_log_end, *others)

    return [(RemoteReplica, "fetched", counted)]


def answered_at_once() -> Patches:
    append = Appends._append

    def hasty(self: Appends, *requested: Any, **named: Any) -> Any:
        result, _ = append(self, *requested, **named)
        return result, None

    return [(Appends, "_append", hasty)]


# --- the ISR ---


def joins_behind() -> Patches:
    def may_join(self: Partition, replica: RemoteReplica) -> bool:
        return self.pending is None and replica.broker not in self.isr and self.leads

    return [(Partition, "may_join_isr", may_join)]


def shrunk_before_it_is_recorded() -> Patches:
    class Hasty(PendingIsr):
        def __init__(self, isr: list[BrokerId], maximal: list[BrokerId], *, expands: bool) -> None:
            super().__init__(isr, isr, expands=expands)

    change = IsrChanges._change

    def counted(self: IsrChanges, partition: Partition, isr: list[BrokerId], *, expands: bool) -> Any:
        yield from change(self, partition, isr, expands=expands)
        if partition.leads and partition.advance_high_watermark():
            yield from partition.check_parked()

    return [(partition_state, "PendingIsr", Hasty), (IsrChanges, "_change", counted)]


# --- elections ---


def elects_any_replica() -> Patches:
    offline = elections.offline

    def anybody(assignment: Any, state: Any, live: Any, unclean: bool, **marks: bool) -> Any:
        return offline(assignment, msgspec.structs.replace(state, isr=tuple(assignment)), live, unclean, **marks)

    return [(elections, "offline", anybody)]


# --- truncation ---


def cut_to_high_watermark() -> Patches:
    return gates_altered(truncates_to_high_watermark=True)


def cut_too_far() -> Patches:
    def too_far(log: Log, fetch_offset: Offset, epoch: LeaderEpoch, end_offset: Offset) -> Cut:
        cut = cut_for(log, fetch_offset, epoch, end_offset)
        return msgspec.structs.replace(cut, offset=max(log.log_start, min(cut.offset, log.high_watermark) - 1))

    return [(truncating, "cut_for", too_far)]


def keeps_its_tail() -> Patches:
    """A new follower cuts nothing: the era in which it has to without asking."""
    truncate = Replicas.truncate

    def spared(self: Replicas, cuts: Any, reason: CutReason) -> None:
        own = reason == CutReason.HIGH_WATERMARK
        truncate(self, [(one, one.the_log.log_end if own else offset) for one, offset in cuts], reason)

    return [(Replicas, "truncate", spared)]


def stores_another_record() -> Patches:
    append = Log.append_as_follower

    def another(self: Log, data: bytes) -> Any:
        return append(self, another_record(data))

    return [(Log, "append_as_follower", another)]


def new_leader_cuts() -> Patches:
    make = ReplicaTransitions._make_leader

    def cutting(self: ReplicaTransitions, partition: Partition, state: Any) -> Any:
        if not partition.leads:
            partition.truncate_to(partition.the_log.high_watermark, CutReason.HIGH_WATERMARK)
        yield from make(self, partition, state)

    return [(ReplicaTransitions, "_make_leader", cutting)]


def recovered_to_high_watermark() -> Patches:
    load = Log.load

    def forgetful(*arguments: Any, **named: Any) -> Log:
        log = load(*arguments, **named)
        log.truncate_to(log.high_watermark)
        return log

    return [(Log, "load", forgetful)]


def epochs_not_cut() -> Patches:
    def kept(self: LeaderEpochCache, offset: int) -> None:
        return

    return [(LeaderEpochCache, "truncate_from_end", kept)]


def fences_none() -> Patches:
    return gates_altered(fences_by_epoch=False)


def no_epoch_on_election() -> Patches:
    return gates_altered(assigns_epoch_on_election=False)


# --- producers ---


def retries_are_stored() -> Patches:
    def anything(self: ProducerState, header: Any) -> Any:
        return ErrorCode.NONE, None

    return [(ProducerState, "check", anything)]
