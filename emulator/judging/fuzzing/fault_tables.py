"""Tables of the fault types of a cluster, by its metadata mode and its transactions."""

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
from emulator.judging.fuzzing.transaction_faults import (
    TRANSACTION_SELDOM,
    TRANSACTION_SEQUENCES,
    TRANSACTION_USUAL,
)

Kinds = Mapping[str, tuple[Fault, int]]


def fault_tables(cluster: Cluster) -> tuple[Kinds, Kinds, Kinds]:
    """(fault types of every schedule, those of some, sequences), with their weights."""
    usual, some, sequences = _of_metadata(cluster)
    if not cluster.clients:
        return usual, some, sequences
    return (
        {**usual, **TRANSACTION_USUAL}, {**some, **TRANSACTION_SELDOM}, {**sequences, **TRANSACTION_SEQUENCES}
    )  # fmt: skip


def _of_metadata(cluster: Cluster) -> tuple[Kinds, Kinds, Kinds]:
    """The tables of a cluster without transactions."""
    if cluster.first_voters:
        return VOTERS_USUAL, KRAFT_SELDOM, VOTERS_SEQUENCES
    if cluster.voters:
        return KRAFT_USUAL, KRAFT_SELDOM, KRAFT_SEQUENCES
    return USUAL, seldom(cluster.space), SEQUENCES
