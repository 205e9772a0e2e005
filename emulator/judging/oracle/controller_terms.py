"""Terms of leaders and controllers, and decreases of numbers that must not decrease."""

from collections.abc import Iterable, Iterator

from emulator.judging.oracle.truth import Office
from protocol.ids import TopicPartition


def end(office: Office | None, at_ms: float) -> None:
    """End a term, if there is one."""
    if office is not None:
        office.to_ms = at_ms


def overlapping(offices: Iterable[Office]) -> Iterator[tuple[Office, Office]]:
    """Pairs of overlapping terms of one partition, different nodes and epochs, the older first.

    The pairs of a partition are in the order of their epochs. Few terms overlap, because a node has one at a time.
    """
    of_partition: dict[TopicPartition | None, list[Office]] = {}
    for office in offices:
        of_partition.setdefault(office.topic_partition, []).append(office)
    for some in of_partition.values():
        some.sort(key=lambda office: office.epoch)
        pairs: list[tuple[int, int]] = []
        held: list[int] = []
        for place in sorted(range(len(some)), key=lambda place: some[place].from_ms):
            office = some[place]
            if office.to_ms is not None and office.to_ms <= office.from_ms:
                continue
            held = [one for one in held if _lasts_beyond(some[one], office.from_ms)]
            for one in held:
                if some[one].node != office.node and some[one].epoch != office.epoch:
                    pairs.append((min(one, place), max(one, place)))
            held.append(place)
        for older, newer in sorted(pairs):
            yield some[older], some[newer]


def _lasts_beyond(office: Office, at_ms: float) -> bool:
    return office.to_ms is None or office.to_ms > at_ms
