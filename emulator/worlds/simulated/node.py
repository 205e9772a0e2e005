"""A node of the simulated world: its disk, its incarnation, its timers and connections."""

from collections import deque
from collections.abc import Callable

from emulator.faults.enforcement import LinkState
from emulator.storage.memory_files import MemoryFiles
from emulator.topology import Node
from emulator.worlds.simulated.simulated_wire import End
from protocol.hardware import SOUND
from protocol.machine import Exit, Machine, TimerKey

WALL_EPOCH_MS = 1_600_000_000_000.0
Due = tuple[float, int]
"""(at_ms, seq) of an entry of the heap."""
MachineFactory = Callable[[Node, MemoryFiles], Machine]


class SimulatedNode:
    """`machine` None: stopped. `held`: inputs that wait while the process is paused."""

    __slots__ = (
        "accepted", "before_storage", "busy_until_ms", "closed", "cuts", "died", "ends", "files", "hardware", "held",
        "incarnation", "leaving", "links", "machine", "node", "paused", "resumes_ms", "resuming", "seq",
        "stall_ms", "timer_looks", "timers", "wall_epoch_ms", "warm",
    )  # fmt: skip

    def __init__(self, node: Node, links: LinkState) -> None:
        self.node = node
        self.links = links
        self.files = MemoryFiles()
        self.machine: Machine | None = None
        self.incarnation = 0
        self.paused = False
        self.resumes_ms = 0.0
        """Time until which the connections in `resuming` wait, since the process continues."""
        self.resuming: frozenset[int] = frozenset()
        self.held: deque[Callable[[], None]] = deque()
        self.ends: dict[int, End] = {}
        self.leaving: dict[End, None] = {}
        """Ends that a process of this node closed with frames at the gate, in the order of closing.

        They may outlive the process.
        """
        self.closed: set[int] = set()
        """Connections that this incarnation has closed: no input of theirs follows."""
        self.accepted = 0
        self.busy_until_ms = 0.0
        """End of its disk's stall: inputs wait until then, and so do the effects of the step."""
        self.stall_ms = 0.0
        self.hardware = SOUND
        self.wall_epoch_ms = WALL_EPOCH_MS
        """Time of its wall clock at scenario time 0."""
        self.warm: set[str] = set()
        """First actions that this incarnation has done already: the first of a kind takes longer."""
        self.before_storage: Callable[[str, str], None] | None = None
        """Called before every primitive storage operation.

        May raise NodeKilled, DiskFull or DiskFailed.
        """
        self.cuts = 0
        """Number of cuts and deletions of files in its storage."""
        self.timers: dict[TimerKey, Due] = {}
        self.timer_looks: dict[TimerKey, Due] = {}
        """The heap's next entry for each timer.

        It may be earlier than the timer is due, which was moved since.
        """
        self.seq = 0
        self.died: Exit | None = None
        """The last incarnation's own end."""

    @property
    def alive(self) -> bool:
        return self.machine is not None
