"""Properties of a partition's change, over all states, targets and rules.

Kraft-semantics 6 and 7.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.kraft.metadata_image import PartitionRegistration
from controller.kraft.partition_changes import ChangeRules, Election, TargetState, partition_change
from protocol.ids import NO_LEADER, BrokerId, LeaderEpoch
from protocol.records.metadata_records import UNCHANGED, PartitionChangeRecord

ALL = tuple(BrokerId(one) for one in range(4))


@st.composite
def partitions(draw: st.DrawFn, *, elr_enabled: bool) -> PartitionRegistration:
    """A state that a controller can write."""
    replicas = tuple(draw(st.permutations(ALL)))[: draw(st.integers(1, 4))]
    isr = tuple(one for one in replicas if draw(st.booleans()))
    elr: tuple[BrokerId, ...] = ()
    last: tuple[BrokerId, ...] = ()
    if elr_enabled:
        elr = tuple(sorted(one for one in replicas if one not in isr and draw(st.booleans())))
    else:
        isr = isr or replicas[:1]
    leader = draw(st.sampled_from([NO_LEADER, *isr]))
    if elr_enabled and leader == NO_LEADER:
        last = tuple(draw(st.lists(st.sampled_from(replicas), max_size=1)))
    return PartitionRegistration(
        replicas, isr, leader, LeaderEpoch(3), 5, recovering=draw(st.booleans()), elr=elr, last_known_elr=last
    )


@st.composite
def cases(
    draw: st.DrawFn,
) -> tuple[PartitionRegistration, frozenset[BrokerId], ChangeRules, TargetState]:
    rules = draw(
        st.builds(
            ChangeRules, elr_enabled=st.booleans(), min_isr=st.integers(1, 3), shrink_raises_epoch=st.booleans(),
            reassigned_replicas_all_in_isr=st.booleans(), elects_fenced_last_known_leader=st.just(False),
        )
    )  # fmt: skip
    partition = draw(partitions(elr_enabled=rules.elr_enabled))
    live = frozenset(one for one in ALL if draw(st.booleans()))
    leaving = draw(st.sampled_from([None, *partition.replicas]))
    isr = None if leaving is None else tuple(one for one in partition.isr if one != leaving)
    unclean = (leaving,) if leaving is not None and draw(st.booleans()) else ()
    kinds: list[Election] = ["online", "unclean", "preferred"]
    election = draw(st.sampled_from(kinds))
    target = TargetState(isr=isr, unclean_stops=unclean, election=election)
    return partition, live - {leaving}, rules, target


def changed(
    partition: PartitionRegistration, live: frozenset[BrokerId], rules: ChangeRules, target: TargetState
) -> tuple[PartitionChangeRecord | None, PartitionRegistration]:
    change = partition_change("T", 0, partition, lambda one: one in live, rules, target)
    return change, partition if change is None else partition.merge(change)


Case = tuple[PartitionRegistration, frozenset[BrokerId], ChangeRules, TargetState]


@given(cases())
def test_a_leader_is_live_and_in_the_isr(case: Case) -> None:
    _, after = changed(*case)
    assert after.leader == NO_LEADER or (after.leader in case[1] and after.leader in after.isr)


@given(cases())
def test_a_valid_leader_stays(case: Case) -> None:
    partition, live, _, target = case
    _, after = changed(*case)
    isr = partition.isr if target.isr is None else target.isr
    if target.election != "preferred" and partition.leader in live and partition.leader in isr:
        assert (after.leader, after.isr) == (partition.leader, isr)


@given(cases())
def test_epochs_count_changes(case: Case) -> None:
    partition, _, rules, _ = case
    change, after = changed(*case)
    assert after.partition_epoch == partition.partition_epoch + (change is not None)
    moved = after.leader != partition.leader
    shrunk = not set(partition.isr) <= set(after.isr)
    raised = moved or (shrunk and rules.shrink_raises_epoch)
    assert after.leader_epoch == partition.leader_epoch + raised
    if change is not None:
        assert (change.leader != UNCHANGED) is raised


@given(cases())
def test_the_isr_is_empty_only_with_elr(case: Case) -> None:
    _, after = changed(*case)
    assert after.isr or case[2].elr_enabled
    assert not set(after.isr) & set(after.elr)
    assert {*after.isr, *after.elr} <= set(after.replicas)
    if not case[2].elr_enabled:
        assert (after.elr, after.last_known_elr) == ((), ())


@given(cases())
def test_only_unclean_elections_leave_the_isr_and_the_elr(case: Case) -> None:
    partition, _, _, _ = case
    change, after = changed(*case)
    if after.leader in (NO_LEADER, partition.leader) or after.leader in {*partition.isr, *partition.elr}:
        return
    assert change is not None
    assert (after.recovering, after.isr, after.elr) == (True, (after.leader,), ())


@given(cases())
def test_unclean_stops_are_not_eligible(case: Case) -> None:
    _, after = changed(*case)
    assert not set(case[3].unclean_stops) & set(after.elr)


@given(cases())
def test_a_change_is_made_once(case: Case) -> None:
    partition, live, rules, target = case
    _, after = changed(partition, live, rules, target)
    again, _ = changed(after, live, rules, TargetState(election=target.election))
    assert again is None or after.leader == NO_LEADER or rules.elr_enabled


@pytest.mark.parametrize(("fenced_leads", "leader"), [(True, 1), (False, -1)])
def test_the_last_known_leader_of_4_0_is_elected_though_fenced(leader: int, *, fenced_leads: bool) -> None:
    partition = PartitionRegistration(ALL[:2], (), NO_LEADER, LeaderEpoch(1), 2, last_known_elr=(BrokerId(1),))
    rules = ChangeRules(
        elr_enabled=True, min_isr=2, shrink_raises_epoch=False, reassigned_replicas_all_in_isr=True,
        elects_fenced_last_known_leader=fenced_leads,
    )  # fmt: skip
    _, after = changed(partition, frozenset({BrokerId(0)}), rules, TargetState())
    assert after.leader == leader


def test_the_last_known_leader_is_elected_though_a_reassignment_has_removed_it() -> None:
    partition = PartitionRegistration(ALL[1:3], (), NO_LEADER, LeaderEpoch(1), 2, last_known_elr=(ALL[0],))
    rules = ChangeRules(
        elr_enabled=True, min_isr=2, shrink_raises_epoch=False, reassigned_replicas_all_in_isr=True,
        elects_fenced_last_known_leader=False,
    )  # fmt: skip
    _, after = changed(partition, frozenset(ALL), rules, TargetState())
    assert (after.leader, after.isr, after.replicas) == (ALL[0], (ALL[0],), ALL[1:3])


@pytest.mark.parametrize(("needs_all", "completes"), [(True, False), (False, True)])
def test_before_3_8_a_reassignment_completes_without_replicas_that_stay(*, needs_all: bool, completes: bool) -> None:
    partition = PartitionRegistration(
        ALL, (BrokerId(0), BrokerId(3)), BrokerId(0), LeaderEpoch(1), 2, adding=(BrokerId(3),), removing=(BrokerId(1),)
    )
    rules = ChangeRules(
        elr_enabled=False, min_isr=1, shrink_raises_epoch=False, reassigned_replicas_all_in_isr=needs_all,
        elects_fenced_last_known_leader=False,
    )  # fmt: skip
    change, after = changed(partition, frozenset(ALL), rules, TargetState())
    assert (change is not None, not after.adding) == (completes, completes)
    if completes:
        assert (after.replicas, after.leader_epoch) == ((0, 2, 3), 2)
