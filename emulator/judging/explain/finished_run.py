"""A finished simulated run, as far as its violations are explained."""

import msgspec

from emulator.judging.explain.recoveries import Recovery
from emulator.judging.explain.settled_partitions import Unsettled
from emulator.judging.oracle.probe import Probe
from emulator.machines.client.client_operations import KeptOperations
from emulator.runs.resolve import Resolved
from emulator.worlds.simulated.world import SimulatedWorld
from protocol.kinds import ExitKind


class Exited(msgspec.Struct, frozen=True):
    """An incarnation that ended by itself."""

    at_ms: float
    node: str
    code: int
    reason: str
    kind: ExitKind


class FinishedRun(msgspec.Struct, kw_only=True):
    """A finished run.

    `recoveries`: logs at deaths, and after them. `unsettled`: failures to settle at its end. `exits`: incarnations that
    ended by themselves.
    """

    resolved: Resolved
    world: SimulatedWorld
    probe: Probe
    operations: KeptOperations
    recoveries: list[Recovery]
    exits: list[Exited]
    unsettled: list[Unsettled] = []
