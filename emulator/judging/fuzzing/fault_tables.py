"""Tables of the fault types of a cluster, by its metadata mode."""

from collections.abc import Mapping

from emulator.judging.fuzzing.fault_generator import USUAL, Fault, seldom
from emulator.judging.fuzzing.fault_sequences import SEQUENCES
from emulator.judging.fuzzing.kraft_faults import (
    KRAFT_SELDOM,
    KRAFT_SEQUENCES,
    KRAFT_USUAL,
    VOTERS_SEQUENCES,
    VOTERS_USUAL,
)
from emulator.judging.fuzzing.schedule import Cluster

Kinds = Mapping[str, tuple[Fault, int]]


def fault_tables(cluster: Cluster) -> tuple[Kinds, Kinds, Kinds]:
    """(fault types of every schedule, those of some, sequences), with their weights."""
    if cluster.first_voters:
        return VOTERS_USUAL, KRAFT_SELDOM, VOTERS_SEQUENCES
    if cluster.voters:
        return KRAFT_USUAL, KRAFT_SELDOM, KRAFT_SEQUENCES
    return USUAL, seldom(cluster.space), SEQUENCES
