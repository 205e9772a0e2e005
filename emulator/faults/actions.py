"""What the scenario's player asks of the world itself: faults, starts, snapshots. Only the player's machine uses these.

`Act` is an effect beside those of `protocol.machine`; its outcome comes back as the input `ActDone`. Both worlds
carry out the same actions, so the player cannot tell them apart either. """

from typing import final

import msgspec

from emulator.faults.machines import (
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
    """A fault on links, in force at both ends when done."""

    rule: LinkRule


class HealRules(msgspec.Struct, frozen=True, tag="heal"):
    """Lift these rules; empty: all."""

    rules: tuple[str, ...] = ()


class Snapshot(msgspec.Struct, frozen=True, tag="snapshot"):
    """Read a partition's files at these nodes, dead or alive. Result: {node: `inspect.read_partition`}."""

    partition: str
    nodes: tuple[str, ...]


class Batches(msgspec.Struct, frozen=True, tag="batches"):
    """Like Snapshot, but wrapper by wrapper: {node: `inspect.batches_of`}."""

    partition: str
    nodes: tuple[str, ...]


class LogSizes(msgspec.Struct, frozen=True, tag="log-sizes"):
    """How large the logs of these nodes are, dead or alive. Result: {node: `inspect.log_sizes`}."""

    nodes: tuple[str, ...]


Action = MachineStep | ApplyRule | HealRules | Snapshot | Batches | LogSizes


class Act(msgspec.Struct, frozen=True, tag="act"):
    """Effect: carry out `action`; ActDone(number) follows."""

    number: int
    action: Action


@final
class ActDone(msgspec.Struct, frozen=True, tag="act-done"):
    """Input: `result` as the action describes, or {}; `error` "" or why it could not be done."""

    number: int
    result: dict[str, object]
    error: str = ""
