"""Checks of a KRaft quorum: its leaders, its committed batches, its high watermarks."""

from collections.abc import Iterator

from emulator.judging.oracle.oracle_check import oracle_check
from emulator.judging.oracle.truth import NO_PARTITION, Truth, Violation


def quorum_states(truth: Truth) -> int:
    return sum(len(life.leaders) for life in truth.metadata_lives) or len(truth.metadata_lives)


def committed_batches(truth: Truth) -> int:
    return sum(len(life.committed) for life in truth.metadata_lives)


@oracle_check("dual-quorum-leader", "states of the quorum's nodes", quorum_states)
def dual_quorum_leader(truth: Truth) -> Iterator[Violation]:
    """One epoch of the quorum of which its nodes know several leaders."""
    known: dict[int, set[int]] = {}
    for life in truth.metadata_lives:
        for epoch, leaders in life.leaders.items():
            known.setdefault(epoch, set()).update(leaders)
    for epoch, leaders in sorted(known.items()):
        if len(leaders) > 1:
            held = " and ".join(map(str, sorted(leaders)))
            text = f"the quorum had {held} as leaders of one epoch, {epoch}"
            yield Violation(NO_PARTITION, -1, text, {"epoch": epoch, "leaders": sorted(leaders)})


@oracle_check("metadata-divergence", "committed batches of the metadata log", committed_batches)
def metadata_divergence(truth: Truth) -> Iterator[Violation]:
    """One offset of a committed batch that a node which got beyond it has not read."""
    without: dict[int, set[str]] = {}
    batches = {batch for life in truth.metadata_lives for batch in life.committed}
    for life in truth.metadata_lives:
        reached = max((end for _, end, _, _ in life.committed), default=-1)
        for base_offset, end, *_ in batches.difference(life.committed):
            if life.loaded < end <= reached:
                without.setdefault(base_offset, set()).add(life.node)
    for offset, nodes in sorted(without.items()):
        some = " and ".join(sorted(nodes))
        text = f"the batch at offset {offset} of the metadata log was committed; {some} read on without it"
        yield Violation(NO_PARTITION, offset, text, {"nodes": sorted(nodes)})


@oracle_check("quorum-high-watermark", "states of the quorum's nodes", quorum_states)
def quorum_high_watermark(truth: Truth) -> Iterator[Violation]:
    """Incarnation whose high watermark of the metadata log fell, or whose log was cut below it."""
    for life in truth.metadata_lives:
        if life.fell is not None:
            was, now = life.fell
            text = (
                f"{life.node}, in incarnation {life.incarnation}, had a high watermark of {was} in the metadata log, "
                f"and then {now}"
            )
            details = {"node": life.node, "incarnation": life.incarnation, "was": was, "now": now}
            yield Violation(NO_PARTITION, now, text, details)
