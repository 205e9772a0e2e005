"""Broken promises of liveness in a quiescent period, and the rule of an unanswered request."""

from collections.abc import Callable, Iterator

from emulator.judging.explain.broken_promises import Broken
from emulator.judging.oracle.liveness import unanswered_request
from emulator.judging.oracle.promise_registry import too_few_copies
from emulator.judging.oracle.truth import Truth, Violation
from emulator.topology import broker_name
from emulator.worlds.simulated.world import SimulatedWorld
from protocol.events import RoleChanged
from protocol.gates import Gates
from protocol.ids import TopicPartition

TOO_FEW = "too-few-copies"
LIVENESS: dict[str, Callable[[Truth], Iterator[Violation]]] = {
    "unanswered-request": unanswered_request,
    TOO_FEW: too_few_copies,
}
"""Checks of the oracle for liveness in a quiescent period."""
LEFT_PARKED = "1.7: what is parked at a leader that is deposed is left to its time-out"


def broken_liveness(truth: Truth) -> Iterator[Broken]:
    """Broken promises. `broker` of an unanswered request: its receiver."""
    for name, anomaly in LIVENESS.items():
        for found in anomaly(truth):
            broker = int(found.details.get("broker", -1))
            yield Broken(name, found.text, found.topic_partition, found.offset, broker=broker)


def parked_rule(world: SimulatedWorld, gates: Gates, broker: int) -> str:
    """The rule if the broker followed where it had led; "": it did not."""
    if gates.deposed_leader_answers_parked:
        return ""
    led: set[TopicPartition] = set()
    for node, *_, event in world.trace.entries:
        if type(event) is RoleChanged and node == broker_name(broker):
            if event.role == "leader":
                led.add((event.topic, event.partition))
            elif event.role == "follower" and (event.topic, event.partition) in led:
                return LEFT_PARKED
    return ""
