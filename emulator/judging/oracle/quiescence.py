"""Finds the quiescent period at a run's end: every fault is undone, and all processes live.

The world's own trace shows the disturbances: acts of the injector, starts and ends of processes, the first traffic
after a heal. No machine's state is needed.
"""

from emulator.judging.oracle.poll_state import controller_part_of
from emulator.judging.oracle.probe import PLACES
from emulator.judging.oracle.truth import QuiescentPeriod
from emulator.machines.node.broker_node import BrokerNode
from emulator.machines.node.kraft_broker_node import KraftBrokerNode
from emulator.worlds.simulated.world import SimulatedWorld
from protocol.events import (
    FaultHealed,
    FaultInForce,
    FaultRequested,
    FaultTraffic,
    FaultTried,
    HardwareChanged,
    MachineFault,
    NodeStarted,
    NodeStopped,
)

DISTURBING = frozenset((
    *(FaultRequested, FaultInForce, FaultHealed, FaultTried, FaultTraffic),
    *(MachineFault, HardwareChanged, NodeStarted),
))  # fmt: skip
RELEVANT = DISTURBING | {NodeStopped}
MENDING = ("start", "resume")
HARDWARE = ("slow-disk", "clock-jump")
"""A separate event reports their state.

No timer uses a wall clock, so a clock jump breaks nothing.
"""


def quiescence_of(world: SimulatedWorld) -> QuiescentPeriod | None:
    """The quiescent period; None: the run ended with a fault in force, or with a dead process."""
    last_done: dict[str, str] = {}
    slower_ms: dict[str, float] = {}
    since_ms = 0.0
    entries = world.trace.entries
    for *_, at_ms, event in entries:
        if type(event) not in RELEVANT:
            continue
        if type(event) in DISTURBING:
            since_ms = round(at_ms, PLACES)
        if isinstance(event, MachineFault) and event.what not in HARDWARE:
            last_done[event.target] = event.what
        elif isinstance(event, HardwareChanged):
            slower_ms[event.target] = event.operation_ms + event.fsync_ms
        elif isinstance(event, NodeStopped) and event.code != 0:
            return None
    if any(slower_ms.values()) or not all(what in MENDING for what in last_done.values()):
        return None
    if any(node.links.in_force for node in world.nodes.values()):
        return None
    machines = [node.machine for node in world.nodes.values()]
    brokers = [machine.context for machine in machines if isinstance(machine, BrokerNode | KraftBrokerNode)]
    if not brokers:
        return None
    settings = [broker.settings for broker in brokers]
    sessions_ms = [one.zookeeper_session_timeout_ms for one in settings]
    requests_ms = [one.request_timeout_ms for one in settings]
    if any(isinstance(machine, KraftBrokerNode) for machine in machines):
        parts = [part for part in map(controller_part_of, machines) if part is not None]
        sessions_ms = [part.fencing_limit_ms for part in parts]
        requests_ms = [one.controller_socket_timeout_ms for one in settings]
    if not sessions_ms:
        return None
    stalled_ms, links_broken = 0, any(type(entry[5]) is FaultInForce for entry in entries)
    if links_broken:
        stalled_ms = max(*requests_ms, *(one.replica_socket_timeout_ms for one in settings))
    elif any(broker.gates.alter_isr for broker in brokers):
        stalled_ms = max(requests_ms)
    return QuiescentPeriod(
        since_ms,
        end_ms=round(entries[-1][4], PLACES),
        session_ms=max(sessions_ms),
        lag_ms=max(one.replica_lag_time_max_ms for one in settings),
        stalled_ms=stalled_ms,
        links_broken=links_broken,
    )
