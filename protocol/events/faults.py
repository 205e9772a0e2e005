"""Faults, and the steps of the scenario that asks for them."""

from protocol.events.base import Event

# fmt: off

class FaultAsked(Event):
    """The injector was asked for a rule, or to heal it. `rule` names it in the run; `what` is its text ("cut az-0",
    "heal cut az-0")."""
    NAME = "fault_asked"
    rule: str
    what: str
    expects_traffic: bool       # a cut of links that carry traffic must stop something


class FaultInForce(Event):
    """At this node, from now on."""
    NAME = "fault_in_force"
    rule: str
    what: str


class FaultHealed(Event):
    """At this node; `frames_stopped`: held or dropped here while it lasted."""
    NAME = "fault_healed"
    rule: str
    what: str
    frames_stopped: int


class FaultLasted(Event):
    """In force at this node until its end, which comes now; `frames_stopped`: held or dropped here until then. Not told
    where the kernel stops them."""
    NAME = "fault_lasted"
    rule: str
    what: str
    frames_stopped: int


class FaultTried(Event):
    """First attempt to send to `peer`, or to connect to it, over a link that a rule had stopped, after its heal: from
    here on traffic is owed."""
    NAME = "fault_tried"
    rule: str
    peer: str


class FaultTraffic(Event):
    """First traffic from `peer` over a link that a rule had stopped, after its heal: the proof that it healed."""
    NAME = "fault_traffic"
    rule: str
    peer: str


DEADLY_FAULTS = ("disk-full", "disk-error")
"""Machine faults that a broker may die of by itself, as Kafka's does: no surprise when they were done on purpose."""


START_REFUSED = "start-refused"
"""What a machine fault is called that tells of an end to whom it concerns: no surprise either."""


UNRESPONSIVE = "unresponsive"
"""Machine fault of a process that did not answer the supervisor when it was killed: it may have stood still."""


class MachineFault(Event):
    """Something was done to a node: kill, stop, pause, resume, start, power-loss, lose-unsynced, lose-disk, disk-full,
    disk-error, slow-disk, clock-jump. `died`: it ended, and nobody had asked for it. `start-refused`: whoever asked for
    its start was told that it had ended, and why. `unresponsive`: it gave no answer when it was killed. `directory`: of
    its log directories that one alone. `life`: the incarnation that a start begins, or that a kill or power loss ends.
    """
    NAME = "machine_fault"
    what: str
    target: str
    directory: str = ""
    life: int = 0


class HardwareChanged(Event):
    """What a node's machine is like from now on, in this life and later ones: each storage operation takes so much
    longer, each fsync so much, and its wall clock is so far ahead of the others'."""
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
