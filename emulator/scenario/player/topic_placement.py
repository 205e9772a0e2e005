"""A topic as Kafka's admin tool creates it.

Placement of its replicas, and its readiness (semantics 4.4).
"""

from collections.abc import Sequence

from controller.assignment import UnassignableTopic, assign_replicas
from controller.growth import place_more
from emulator.scenario.player.metadata_view import MetadataView
from emulator.scenario.scenario_model import AddPartitions, CreateTopic
from protocol.chance import Chance
from protocol.ids import BrokerId, topic_partition_of, topic_partition_text


def placed(step: CreateTopic, seen: MetadataView, chance: Chance) -> dict[int, list[BrokerId]]:
    """{partition: replicas, preferred leader first}. Raises UnassignableTopic.

    As the step names them, or over the registered brokers, rack by rack.
    """
    if step.assignment:
        return {number: list(brokers) for number, brokers in enumerate(step.assignment)}
    racks = {broker: seen.racks[broker] for broker in sorted(seen.live)}
    return assign_replicas(list(racks), step.count, step.replicas, chance, racks)


def more_placed(step: AddPartitions, seen: MetadataView) -> dict[int, list[BrokerId]]:
    """The new partitions only. Raises UnassignableTopic.

    As the step names them, or placed from the first partition's preferred leader on (AdminUtils.addPartitions).
    """
    first = seen.assignments.get(topic_partition_text(step.topic, 0))
    if first is None:
        raise UnassignableTopic("there is no such topic")
    count = sum(
        topic_partition is not None and topic_partition[0] == step.topic
        for topic_partition in map(topic_partition_of, seen.assignments)
    )
    if step.partitions <= count:
        raise UnassignableTopic(f"it has {count} partitions, and can only have more, not {step.partitions}")
    numbers = range(count, step.partitions)
    if step.assignment:
        if len(step.assignment) != len(numbers):
            raise UnassignableTopic(f"{len(step.assignment)} lists of replicas for {len(numbers)} new partitions")
        return {number: list(brokers) for number, brokers in zip(numbers, step.assignment, strict=True)}
    return place_more(first, count, len(numbers), {broker: seen.racks[broker] for broker in seen.live})


def all_led(names: Sequence[str], seen: MetadataView) -> bool:
    """Each partition's leader has it in its own metadata."""
    if not seen.states.keys() >= set(names):
        return False
    views = seen.broker_views()
    return all(name in views.get(seen.states[name].leader, ()) for name in names)
