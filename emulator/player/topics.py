"""A topic as Kafka's admin tool creates it: where its replicas go, and when it is there to be used (semantics 4.4)."""

from collections.abc import Sequence

from controller.assignment import assign_replicas
from emulator.player.observing import Observing
from emulator.scenario.model import CreateTopic
from protocol.chance import Chance


def placed(step: CreateTopic, seen: Observing, chance: Chance) -> dict[int, list[int]]:
    """{partition: replicas, preferred leader first}: as the step names them, or over the brokers that are registered,
    rack by rack. Raises UnassignableTopic."""
    if step.assignment:
        return {number: list(brokers) for number, brokers in enumerate(step.assignment)}
    racks = {broker: seen.racks[broker] for broker in sorted(seen.live)}
    return assign_replicas(list(racks), step.count, step.replicas, chance, racks)


def all_led(names: Sequence[str], seen: Observing) -> bool:
    """Each partition's leader has it in its own metadata."""
    if not seen.states.keys() >= set(names):
        return False
    views = seen.broker_views()
    return all(name in views.get(seen.states[name].leader, ()) for name in names)
