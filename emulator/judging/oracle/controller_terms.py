"""Terms of leaders and controllers, and decreases of numbers that must not decrease."""

from collections.abc import Iterable, Iterator

from emulator.judging.oracle.truth import Term
from protocol.ids import TopicPartition


def end(term: Term | None, at_ms: float) -> None:
    """End a term, if there is one."""
    if term is not None:
        term.to_ms = at_ms


def overlapping(terms: Iterable[Term]) -> Iterator[tuple[Term, Term]]:
    """Pairs of overlapping terms of one partition, different nodes and epochs, the older first.

    The pairs of a partition are in the order of their epochs. Few terms overlap, because a node has one at a time.
    """
    of_partition: dict[TopicPartition | None, list[Term]] = {}
    for term in terms:
        of_partition.setdefault(term.topic_partition, []).append(term)
    for some in of_partition.values():
        some.sort(key=lambda term: term.epoch)
        pairs: list[tuple[int, int]] = []
        held: list[int] = []
        for place in sorted(range(len(some)), key=lambda place: some[place].from_ms):
            term = some[place]
            if term.to_ms is not None and term.to_ms <= term.from_ms:
                continue
            held = [one for one in held if _lasts_beyond(some[one], term.from_ms)]
            for one in held:
                if some[one].node != term.node and some[one].epoch != term.epoch:
                    pairs.append((min(one, place), max(one, place)))
            held.append(place)
        for older, newer in sorted(pairs):
            yield some[older], some[newer]


def _lasts_beyond(term: Term, at_ms: float) -> bool:
    return term.to_ms is None or term.to_ms > at_ms
