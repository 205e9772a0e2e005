"""Wrong controllers of KRaft: an invariant named for its fault detects each."""

import pytest

from protocol.ids import BrokerId, LeaderEpoch, Offset
from protocol.records.metadata_records import MetadataBatch, PartitionRecord, TopicRecord
from verification.kraft.controller_invariants import Committed, InvariantBroken
from verification.kraft.controller_mutants import CONTROLLER_MUTANTS, broken_by, search
from verification.kraft.controller_world import ControllerWorld

FIRST = {"keeps-unclean-in-elr": 3, "takes-stops-for-clean": 3}
"""{mutant: its first seed, others 0}: earlier seeds have a release without its rule."""


@pytest.mark.parametrize("mutant", CONTROLLER_MUTANTS)
def test_a_wrong_controller_is_detected(mutant: str) -> None:
    assert search(mutant, 6, FIRST.get(mutant, 0))["detected"]


@pytest.mark.parametrize("version", ["4.1", "4.4"])
def test_a_last_known_leader_outside_the_replicas_breaks_no_invariant(version: str) -> None:
    """A reassignment has removed it (kraft-semantics 7.4)."""
    world = ControllerWorld(version, 0, steps=1_500)
    world.run()
    assert any(set(state.isr) - set(state.replicas) for state in world.committed.states.values())


def test_another_leader_outside_the_replicas_breaks_an_invariant() -> None:
    committed = Committed()
    topic = TopicRecord("t", "T")
    partition = PartitionRecord("T", 0, (BrokerId(1),), (BrokerId(0),), leader=BrokerId(0))
    with pytest.raises(InvariantBroken, match="leader-in-isr"):
        committed.apply(MetadataBatch(Offset(0), Offset(2), LeaderEpoch(1), (topic, partition)), "4.4")


@pytest.mark.parametrize("seed", range(1_000, 1_010))
def test_right_controllers_break_no_invariant(seed: int) -> None:
    assert broken_by(seed) == ""
