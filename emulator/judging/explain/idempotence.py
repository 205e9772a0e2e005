"""Records of a scenario's idempotent producers; none may be stored twice (semantics 6)."""

from emulator.scenario import scenario_model as m
from emulator.scenario.scenario_model import AnyStep
from protocol.ids import TopicPartition, topic_partition_of

ANY_PARTITION = -1
"""In place of a partition that the partitioner chooses."""


def idempotent_writes(steps: tuple[AnyStep, ...], first: str = "") -> set[tuple[str, int, str]]:
    """(topic, partition, value) of all records of idempotent producers.

    ANY_PARTITION: the partitioner chooses. `first`: topic of steps without a partition (the first one created).
    """
    found: set[tuple[str, int, str]] = set()
    first = first or next((step.topic for step in steps if isinstance(step, m.CreateTopic)), "")
    for step in m.plain_steps(steps):
        match step:
            case m.Produce(idempotent=True):
                found |= _numbered(step, first)
            case m.LibraryProduce(settings=settings) if is_true(settings.get("enable.idempotence")):
                found |= _numbered(step, first)
            case _:
                pass
    return found


def _numbered(step: m.Produce | m.LibraryProduce, first: str) -> set[tuple[str, int, str]]:
    topic_partition: TopicPartition | None = (first, 0)
    if step.partition == m.ANY_PARTITION:
        topic_partition = (first, ANY_PARTITION)
    elif step.partition is not None:
        topic_partition = topic_partition_of(step.partition)
    assert topic_partition is not None, step.partition
    return {(*topic_partition, value) for value in step.values}


def is_true(value: object) -> bool:
    """Whether a setting's value, as YAML or as text, is true."""
    return str(value).lower() == "true"
