"""Requests of the scenario player to the world: faults, starts, snapshots.

Only the player's machine uses these. `Act` is an effect beside those of `protocol.machine`; its outcome comes back as
the input `ActDone`. Both worlds carry out the same actions, so the player cannot distinguish them either.
"""

from typing import final

import msgspec

from emulator.faults.machine_fault_kinds import (
    DiskError,
    DiskFull,
    HardwareFault,
    Kill,
    LoseDisk,
    LoseUnsynced,
    MachineStep,
    PauseNode,
    PowerLoss,
    ResumeNode,
    Start,
    Stop,
    unfit,
)
from protocol.link_rules import LinkRule

__all__ = [
    "Act", "ActDone", "Action", "ApplyRule", "Batches", "DiskError", "DiskFull", "HardwareFault", "HealRules", "Kill",
    "LogSizes", "LoseDisk", "LoseUnsynced", "MachineStep", "PauseNode", "PowerLoss", "ResumeNode", "Snapshot", "Start",
    "Stop", "unfit",
]  # fmt: skip


class ApplyRule(msgspec.Struct, frozen=True, tag="apply"):
    """Put a link fault in force at both ends."""

    rule: LinkRule


class HealRules(msgspec.Struct, frozen=True, tag="heal"):
    """Lift these rules; empty: all."""

    rules: tuple[str, ...] = ()


class Snapshot(msgspec.Struct, frozen=True, tag="snapshot"):
    """Read a partition's files at these nodes, running or not.

    Result: {node: `inspect.read_partition`}.
    """

    partition: str
    nodes: tuple[str, ...]


class Batches(msgspec.Struct, frozen=True, tag="batches"):
    """Like Snapshot, but wrapper by wrapper: {node: `inspect.batches_of`}."""

    partition: str
    nodes: tuple[str, ...]


class BatchEntries(msgspec.Struct, frozen=True, tag="batch-entries"):
    """Like Snapshot, but batches with producers' numbers: {node: `inspect.batch_entries_of`}."""

    partition: str
    nodes: tuple[str, ...]


class LogSizes(msgspec.Struct, frozen=True, tag="log-sizes"):
    """Sizes of the logs of these nodes, running or not. Result: {node: `inspect.log_sizes`}."""

    nodes: tuple[str, ...]


Action = MachineStep | ApplyRule | HealRules | Snapshot | Batches | BatchEntries | LogSizes


class Act(msgspec.Struct, frozen=True, tag="act"):
    """Effect: carry out `action`; ActDone(number) follows."""

    number: int
    action: Action


@final
class ActDone(msgspec.Struct, frozen=True, tag="act-done"):
    """Input: `result` as the action describes, or {}; `error` "" or the reason of the failure."""

    number: int
    result: dict[str, object]
    error: str = ""
