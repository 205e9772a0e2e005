"""Wrong controllers of KRaft: an invariant named for its fault detects each."""

import pytest

from controller.kraft.feature_levels import ELR_VERSION
from protocol.ids import NO_BROKER, BrokerId, LeaderEpoch, Offset
from protocol.records.metadata_records import (
    FeatureLevelRecord,
    MetadataBatch,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from verification.kraft.controller_invariants import Committed, InvariantBroken
from verification.kraft.controller_mutants import CONTROLLER_MUTANTS, broken_by, search

FIRST = {"keeps-unclean-in-elr": 3, "takes-stops-for-clean": 3}
"""{mutant: its first seed, others 0}: earlier seeds have a release without its rule."""


@pytest.mark.parametrize("mutant", CONTROLLER_MUTANTS)
def test_a_wrong_controller_is_detected(mutant: str) -> None:
    assert search(mutant, 6, FIRST.get(mutant, 0))["detected"]


def test_a_last_known_leader_outside_the_replicas_breaks_no_invariant() -> None:
    """A reassignment has removed it (kraft-semantics 7.4)."""
    committed = Committed()
    last, other = BrokerId(0), BrokerId(1)
    records: tuple[MetadataRecord, ...] = (
        FeatureLevelRecord(ELR_VERSION, 1),
        RegisterBrokerRecord(last, "life", 1, "broker-0", "", fenced=False),
        TopicRecord("t", "T"),
        PartitionRecord("T", 0, (last, other), (), leader=NO_BROKER, last_known_elr=(last,)),
        PartitionChangeRecord("T", 0, replicas=(other,)),
        PartitionChangeRecord("T", 0, leader=last, isr=(last,), recovering=True, last_known_elr=()),
    )
    for offset, record in enumerate(records):
        committed.apply(MetadataBatch(Offset(offset), Offset(offset + 1), LeaderEpoch(1), (record,)), "4.4")
    assert any(set(state.isr) - set(state.replicas) for state in committed.states.values())


def test_another_leader_outside_the_replicas_breaks_an_invariant() -> None:
    committed = Committed()
    topic = TopicRecord("t", "T")
    partition = PartitionRecord("T", 0, (BrokerId(1),), (BrokerId(0),), leader=BrokerId(0))
    with pytest.raises(InvariantBroken, match="leader-in-isr"):
        committed.apply(MetadataBatch(Offset(0), Offset(2), LeaderEpoch(1), (topic, partition)), "4.4")


@pytest.mark.parametrize("seed", range(1_000, 1_010))
def test_right_controllers_break_no_invariant(seed: int) -> None:
    assert broken_by(seed) == ""
