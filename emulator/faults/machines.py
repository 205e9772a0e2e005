"""Faults of machines and disks, and what mends them: each defined once.

A class is the step of a scenario, the action that a world is asked for, and the live command. Its fields are the verb's
keys; what must hold of the node, and what becomes of it, are its class variables. Adding one takes a class here, an
entry in `MACHINE_STEPS`, and what each world does (`emulator.worlds.simulated.fault_executor`,
`emulator.runs.network`).
"""

from typing import Annotated, Any, ClassVar, Final, Literal

import msgspec
from msgspec.structs import FieldInfo

from protocol.hardware import Hardware

AMOUNT_MS_MAX: Final = 60_000.0
JUMP_MS_MAX: Final = 1_000.0 * 86_400.0 * 3_650.0
"""Ten years."""

Leaves = Literal["as it was", "running", "dead", "paused", "unknown"]


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all steps. `at_s`: not before that moment of the scenario."""

    at_s: float | None = None


class MachineStep(Step, frozen=True, forbid_unknown_fields=True):
    """Base of these. VERB: of scenarios; WORD: of the command line, and `what` of its event. NEEDS_LIFE: it cannot be
    done to a dead node; ALIVE: why it cannot be done to a living one, "": it can; HEARS: nor to a paused one. LEAVES:
    what the node is afterwards. OF_BROKERS: of nodes that keep logs alone. BREAKS: a fault begins, rather than ends.
    LIVE: it is a command, too."""

    VERB: ClassVar[str]
    WORD: ClassVar[str]
    NEEDS_LIFE: ClassVar[bool] = False
    ALIVE: ClassVar[str] = ""
    HEARS: ClassVar[bool] = False
    LEAVES: ClassVar[Leaves] = "as it was"
    OF_BROKERS: ClassVar[bool] = False
    BREAKS: ClassVar[bool] = True
    LIVE: ClassVar[bool] = True

    node: str

    @classmethod
    def own_fields(cls) -> tuple[FieldInfo, ...]:
        """What it takes besides the node."""
        return tuple(field for field in msgspec.structs.fields(cls) if field.name not in ("node", "at_s"))


class Start(MachineStep, frozen=True):
    """Starts a node and waits until it is ready: a broker when it is registered and answers. From then on it has the
    binary of that `version`, and these `settings` besides those it had (null: no longer)."""

    VERB = WORD = "start"
    ALIVE = "runs already"
    LEAVES = "running"
    BREAKS = False

    version: str = ""
    settings: dict[str, Any] = {}


class Kill(MachineStep, frozen=True):
    """SIGKILL: what was written stays (the machine goes on), nothing else is said."""

    VERB = WORD = "kill"
    LEAVES = "dead"


class Stop(MachineStep, frozen=True):
    """SIGTERM: an orderly shutdown."""

    VERB = WORD = "stop"
    NEEDS_LIFE = True
    HEARS = True
    LEAVES = "dead"


class PauseNode(MachineStep, frozen=True):
    """SIGSTOP."""

    VERB = "pause-node"
    WORD = "pause"
    NEEDS_LIFE = True
    LEAVES = "paused"


class ResumeNode(MachineStep, frozen=True):
    """SIGCONT."""

    VERB = "resume-node"
    WORD = "resume"
    NEEDS_LIFE = True
    LEAVES = "running"
    BREAKS = False


class PowerLoss(MachineStep, frozen=True):
    """Dies with its page cache. Of the partition's log what was synced survives and of the rest the first
    batches, so that `batches_kept` are left in all; None: the run's seed says. No partition: of every log."""

    VERB = WORD = "power-loss"
    LEAVES = "dead"

    batches_kept: int | None = None
    partition: str | None = None


class LoseUnsynced(MachineStep, frozen=True):
    """Cuts the partition's log file of a dead broker to its first `batches_kept` batches."""

    VERB = WORD = "lose-unsynced"
    ALIVE = "runs: its disk cannot be lost under it"
    OF_BROKERS = True
    BREAKS = False
    LIVE = False

    batches_kept: int
    partition: str | None = None


class LoseDisk(MachineStep, frozen=True):
    """A dead broker's disk, or one log directory of it (`dir`), is replaced by an empty one, with which it will
    return."""

    VERB = WORD = "lose-disk"
    ALIVE = "runs: its disk cannot be lost under it"
    OF_BROKERS = True
    BREAKS = False

    directory: str = msgspec.field(default="", name="dir")


class DiskFull(MachineStep, frozen=True):
    """From now on every write to the node's disk, or to one log directory (`dir`), fails; who starts it again has made
    room."""

    VERB = WORD = "disk-full"
    NEEDS_LIFE = True
    HEARS = True
    LEAVES = "unknown"

    directory: str = msgspec.field(default="", name="dir")


class DiskError(MachineStep, frozen=True):
    """From now on everything that a broker does with its disk, or with one log directory (`dir`), fails, until
    `lose-disk`."""

    VERB = WORD = "disk-error"
    OF_BROKERS = True
    LEAVES = "unknown"

    directory: str = msgspec.field(default="", name="dir")


Amount = Annotated[float, msgspec.Meta(ge=0.0, le=AMOUNT_MS_MAX)]


class HardwareFault(MachineStep, frozen=True):
    """Base of those that change what a machine is like, until they change it again: also of a dead node, and for its
    next lives."""

    HEARS = True

    def of(self, before: Hardware) -> Hardware:
        """What the machine is like then."""
        raise NotImplementedError


class SlowDisk(HardwareFault, frozen=True):
    """From now on each operation on the node's disk takes `takes_ms` longer, each fsync `fsync_ms`; with neither it is
    as fast as before."""

    VERB = WORD = "slow-disk"

    takes_ms: Amount = 0.0
    fsync_ms: Amount = 0.0

    def of(self, before: Hardware) -> Hardware:
        return msgspec.structs.replace(before, operation_ms=self.takes_ms, fsync_ms=self.fsync_ms)


class ClockJump(HardwareFault, frozen=True):
    """The node's wall clock jumps by `jump_ms`, back if that is negative; timers do not notice."""

    VERB = WORD = "clock-jump"

    jump_ms: Annotated[float, msgspec.Meta(ge=-JUMP_MS_MAX, le=JUMP_MS_MAX)]

    def of(self, before: Hardware) -> Hardware:
        ahead_ms = max(-JUMP_MS_MAX, min(JUMP_MS_MAX, before.clock_ahead_ms + self.jump_ms))
        return msgspec.structs.replace(before, clock_ahead_ms=ahead_ms)


MACHINE_STEPS: Final[tuple[type[MachineStep], ...]] = (
    Start, Kill, Stop, PauseNode, ResumeNode, PowerLoss, LoseUnsynced, LoseDisk, DiskFull, DiskError,
    SlowDisk, ClockJump,
)  # fmt: skip
LIVE_FAULTS: Final = {step.WORD: step for step in MACHINE_STEPS if step.LIVE}
"""By the words of the command line."""


def unfit(fault: object, *, alive: bool, paused: bool) -> str:
    """Why this cannot be done to a node as it is now; "": it can, or it is nothing that is done to one. A dead node
    that is killed stays dead, and its machine may still lose its power."""
    if not isinstance(fault, MachineStep):
        return ""
    if alive and fault.ALIVE:
        return f"{fault.node} {fault.ALIVE}"
    if not alive and fault.NEEDS_LIFE:
        return f"{fault.node} does not run"
    if paused and isinstance(fault, PauseNode):
        return f"{fault.node} is paused already"
    if not paused and isinstance(fault, ResumeNode):
        return f"{fault.node} is not paused"
    if paused and fault.HEARS:
        return f"{fault.node} is paused, and hears nothing: resume it first"
    return ""
