"""Faults of machines and disks, and their repairs: each defined once.

A class is the step of a scenario, the action of a world, and the live command. Its fields are the verb's keys. Its
class variables are the node's required state and the state after it. A new fault needs a class here, an entry in
`MACHINE_STEPS`, and its effect in each world (`emulator.worlds.simulated.fault_executor`, `emulator.runs.network_run`).
"""

from typing import Annotated, Any, ClassVar, Final, Literal

import msgspec
from msgspec.structs import FieldInfo

from protocol.events.fault_events import DIED
from protocol.hardware import Hardware

AMOUNT_MS_MAX: Final = 60_000.0
JUMP_MS_MAX: Final = 1_000.0 * 86_400.0 * 3_650.0
"""Ten years."""

Leaves = Literal["as it was", "running", "dead", "paused", "unknown"]


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all steps. `at_s`: earliest time of the step, in seconds of the scenario."""

    at_s: float | None = None


class MachineStep(Step, frozen=True, forbid_unknown_fields=True):
    """Base of the faults of machines.

    - VERB: name on every surface, and `what` of its event.
    - NEEDS_LIFE: a stopped node is refused. ALIVE: reason why a running node is refused; "": it is not.
    - HEARS: a paused node is refused. LEAVES: state of the node afterwards.
    - OF_BROKERS: only for nodes that keep logs. OF_QUORUM: also for KRaft's controllers, by name.
    - BREAKS: a fault begins, rather than ends. LIVE: a command, too.
    """

    VERB: ClassVar[str]
    NEEDS_LIFE: ClassVar[bool] = False
    ALIVE: ClassVar[str] = ""
    HEARS: ClassVar[bool] = False
    LEAVES: ClassVar[Leaves] = "as it was"
    OF_BROKERS: ClassVar[bool] = False
    OF_QUORUM: ClassVar[bool] = False
    BREAKS: ClassVar[bool] = True
    LIVE: ClassVar[bool] = True

    node: str

    @classmethod
    def own_fields(cls) -> tuple[FieldInfo, ...]:
        """Its fields besides the node."""
        return tuple(field for field in msgspec.structs.fields(cls) if field.name not in ("node", "at_s"))


class Together(Step, frozen=True, kw_only=True):
    """The same fault on several machines at once, as when an AZ loses power.

    Ends when all are done.
    """

    steps: tuple[MachineStep, ...]


class Start(MachineStep, frozen=True):
    """Start a node and wait until it is ready: a broker when it is registered and answers.

    From then on it has the binary of `kafka_version`, and these `settings` besides its earlier ones (null: removed).
    """

    VERB = "start"
    ALIVE = "runs already"
    LEAVES = "running"
    BREAKS = False

    version: str = msgspec.field(default="", name="kafka_version")
    settings: dict[str, Any] = {}


class Kill(MachineStep, frozen=True):
    """SIGKILL the node. Its written bytes stay, for the machine goes on; it sends nothing more."""

    VERB = "kill"
    LEAVES = "dead"


class Stop(MachineStep, frozen=True):
    """SIGTERM the node: an orderly shutdown."""

    VERB = "stop"
    NEEDS_LIFE = True
    HEARS = True
    LEAVES = "dead"


class PauseNode(MachineStep, frozen=True):
    """SIGSTOP the node."""

    VERB = "pause"
    NEEDS_LIFE = True
    LEAVES = "paused"


class ResumeNode(MachineStep, frozen=True):
    """SIGCONT the node."""

    VERB = "resume"
    NEEDS_LIFE = True
    LEAVES = "running"
    BREAKS = False


class PowerLoss(MachineStep, frozen=True):
    """Stop the node by a power loss: it loses its page cache.

    Synced bytes of the partition's log survive, and of the rest the first batches, so that `batches_kept` are left in
    all. None: the run's seed decides. No partition: of every log.
    """

    VERB = "power-loss"
    LEAVES = "dead"

    batches_kept: int | None = None
    partition: str | None = None


class LoseUnsynced(MachineStep, frozen=True):
    """Cut the partition's log file of a stopped broker to its first `batches_kept` batches."""

    VERB = "lose-unsynced"
    ALIVE = "runs: its disk cannot be lost under it"
    OF_BROKERS = True
    BREAKS = False
    LIVE = False

    batches_kept: int
    partition: str | None = None


class LoseDisk(MachineStep, frozen=True):
    """Replace a stopped node's disk, or its log `directory`, by an empty one.

    The node starts with it: a broker, or a controller of KRaft.
    """

    VERB = "lose-disk"
    ALIVE = "runs: its disk cannot be lost under it"
    OF_BROKERS = True
    OF_QUORUM = True
    BREAKS = False

    directory: str = ""


class DiskFull(MachineStep, frozen=True):
    """Fail every write to the node's disk, or its log `directory`, until the next start.

    A start frees space on the disk.
    """

    VERB = "disk-full"
    NEEDS_LIFE = True
    HEARS = True
    LEAVES = "unknown"

    directory: str = ""


class DiskError(MachineStep, frozen=True):
    """Fail every operation on the disk, or its log `directory`, until `lose-disk`.

    The disk is a broker's, or that of a controller of KRaft.
    """

    VERB = "disk-error"
    OF_BROKERS = True
    OF_QUORUM = True
    LEAVES = "unknown"

    directory: str = ""


Amount = Annotated[float, msgspec.Meta(ge=0.0, le=AMOUNT_MS_MAX)]


class HardwareFault(MachineStep, frozen=True):
    """Base of the faults that change a machine's hardware, until the next change.

    They are also for a stopped node, and for its next incarnations.
    """

    HEARS = True

    def of(self, before: Hardware) -> Hardware:
        """The machine's hardware after the fault."""
        raise NotImplementedError


class SlowDisk(HardwareFault, frozen=True):
    """Slow down each operation on the node's disk by `operation_ms`, each fsync by `fsync_ms`.

    Without both it has its full speed again.
    """

    VERB = "slow-disk"

    operation_ms: Amount = 0.0
    fsync_ms: Amount = 0.0

    def of(self, before: Hardware) -> Hardware:
        return msgspec.structs.replace(before, operation_ms=self.operation_ms, fsync_ms=self.fsync_ms)


class ClockJump(HardwareFault, frozen=True):
    """Move the node's wall clock by `jump_ms`, backwards if negative; timers are unaffected."""

    VERB = "clock-jump"

    jump_ms: Annotated[float, msgspec.Meta(ge=-JUMP_MS_MAX, le=JUMP_MS_MAX)]

    def of(self, before: Hardware) -> Hardware:
        ahead_ms = max(-JUMP_MS_MAX, min(JUMP_MS_MAX, before.clock_ahead_ms + self.jump_ms))
        return msgspec.structs.replace(before, clock_ahead_ms=ahead_ms)


MACHINE_STEPS: Final[tuple[type[MachineStep], ...]] = (
    Start, Kill, Stop, PauseNode, ResumeNode, PowerLoss, LoseUnsynced, LoseDisk, DiskFull, DiskError,
    SlowDisk, ClockJump,
)  # fmt: skip
LIVE_FAULTS: Final = {step.VERB: step for step in MACHINE_STEPS if step.LIVE}
"""Live faults by their verbs."""


def _verbs(*leaves: Leaves) -> frozenset[str]:
    return frozenset(step.VERB for step in MACHINE_STEPS if leaves.count(step.LEAVES))


ENDING: Final = _verbs("dead")
"""`what` of the events of faults that end a process."""
DISTURBING: Final = _verbs("dead", "paused")
"""Of those that may cost a partition its leader."""
MAY_KILL: Final = _verbs("unknown")
"""Of those after which a broker may end itself, as Kafka's does."""
KILLING: Final = frozenset(step.VERB for step in MACHINE_STEPS if step.LEAVES == "dead" and not step.HEARS)
"""Of those that end a process unnoticed by itself: no event of its own reports the end."""
SILENT_ENDS: Final = KILLING | {DIED}
"""Of all ends without an event of the process itself."""


def unfit(fault: object, *, alive: bool, paused: bool) -> str:
    """Reason why the node's state does not allow the fault.

    "": it does, or it is no fault of a node.

    A stopped node that is killed stays stopped, and its machine may still lose its power.
    """
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
        return f"{fault.node} is paused and receives nothing; resume it first"
    return ""
