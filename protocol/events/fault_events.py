"""Events of faults, and of the scenario's steps that request them."""

from protocol.events.event_base import Event

# fmt: off

class FaultRequested(Event):
    """The injector received a request for a rule, or to heal it.

    `rule`: its name in the run; `what`: its text ("cut az-0", "heal cut az-0").
    """
    NAME = "fault_asked"        # as in all formats so far
    rule: str
    what: str
    expects_traffic: bool       # a cut of links that carry traffic must stop something


class FaultInForce(Event):
    """A rule is in force at this node, from now on."""
    NAME = "fault_in_force"
    rule: str
    what: str


class FaultHealed(Event):
    """A rule is healed at this node. `frames_stopped`: frames held or dropped here."""
    NAME = "fault_healed"
    rule: str
    what: str
    frames_stopped: int


class FaultLasted(Event):
    """A rule was in force at this node until the node's end, which comes now.

    `frames_stopped`: frames held or dropped here. Not written where the kernel stops the frames.
    """
    NAME = "fault_lasted"
    rule: str
    what: str
    frames_stopped: int


class FaultTried(Event):
    """First attempt to send to `peer`, or to connect to it, over a healed link.

    A rule had stopped that link. From here on traffic is due.
    """
    NAME = "fault_tried"
    rule: str
    peer: str


class FaultTraffic(Event):
    """First traffic from `peer` over a link that a rule had stopped: proof of its heal."""
    NAME = "fault_traffic"
    rule: str
    peer: str


DIED = "died"
"""`what` of a machine fault that reports an unrequested end of a process."""


START_REFUSED = "start-refused"
"""`what` of a machine fault that reports a failed start to its requester: also expected."""


UNRESPONSIVE = "unresponsive"
"""Machine fault of a killed process that did not answer the supervisor.

The process may have stood still.
"""


class MachineFault(Event):
    """A fault on a node's machine, or an unrequested end of its process.

    kill, stop, pause, resume, start, power-loss, lose-unsynced, lose-disk, disk-full, disk-error, slow-disk,
    clock-jump. `died`: the process ended without a request. `start-refused`: the start failed, and its requester has
    the reason. `unresponsive`: the process did not answer when it was killed. `directory`: the one log directory
    concerned. `life`: the incarnation that a start begins, or that a kill or power loss ends.
    """
    NAME = "machine_fault"
    what: str
    target: str
    directory: str = ""
    life: int = 0


class HardwareChanged(Event):
    """Properties of a node's machine from now on, in this incarnation and later ones.

    `operation_ms`, `fsync_ms`: additional time of each storage operation and fsync; `clock_ahead_ms`: lead of its wall
    clock over the others'.
    """
    NAME = "hardware_changed"
    target: str
    operation_ms: float
    fsync_ms: float
    clock_ahead_ms: float


class ScenarioStep(Event):
    """The player began a step; `text` is its line."""
    NAME = "scenario_step"
    step: int
    text: str
# fmt: on
