"""Election strategies (semantics 4.2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller import elections
from protocol.ids import BrokerId, ControllerEpoch, LeaderEpoch
from protocol.znodes import Leadership
from tests.ids import brokers


def state(leader: int, isr: tuple[int, ...], leader_epoch: int = 4) -> Leadership:
    return Leadership(
        BrokerId(leader), LeaderEpoch(leader_epoch), brokers(*isr), controller_epoch=ControllerEpoch(7), zk_version=9
    )


def test_initial_election_takes_the_first_live_replica_and_all_live_ones_into_the_isr() -> None:
    assert elections.initial(brokers(1, 2, 0), brokers(0, 2), ControllerEpoch(3)) == Leadership(
        BrokerId(2), LeaderEpoch(0), brokers(2, 0), ControllerEpoch(3)
    )
    assert elections.initial(brokers(1, 2), {BrokerId(0)}, ControllerEpoch(3)) is None


def test_offline_election_takes_the_first_live_member_of_the_isr_in_assignment_order() -> None:
    assert elections.offline(brokers(0, 1, 2), state(0, (2, 1, 0)), brokers(1, 2), unclean=False) == state(1, (2, 1), 5)


def test_offline_election_waits_for_the_isr_unless_unclean() -> None:
    assert elections.offline(brokers(0, 1), state(-1, (0,)), {BrokerId(1)}, unclean=False) is None
    assert elections.offline(brokers(0, 1), state(-1, (0,)), {BrokerId(1)}, unclean=True) == state(1, (1,), 5)
    assert elections.offline(brokers(0, 1), state(-1, (0,)), set(), unclean=True) is None


def test_preferred_election_keeps_the_isr_and_its_order() -> None:
    """Semantics 11.3: the leader is not moved first."""
    assert elections.preferred(brokers(0, 1, 2), state(1, (1, 2, 0)), brokers(0, 1, 2)) == state(0, (1, 2, 0), 5)
    assert elections.preferred(brokers(0, 1), state(1, (1,)), brokers(0, 1)) is None
    assert elections.preferred(brokers(0, 1), state(1, (1, 0)), {BrokerId(1)}) is None


def test_controlled_shutdown_election_passes_over_brokers_shutting_down_and_drops_them_from_the_isr() -> None:
    chosen = elections.controlled_shutdown(brokers(0, 1, 2), state(0, (0, 1, 2)), brokers(0, 1, 2), brokers(0, 1))
    assert chosen == state(2, (2,), 5)
    assert elections.controlled_shutdown(brokers(0, 1), state(0, (0,)), brokers(0, 1), {BrokerId(0)}) is None


def test_reassign_election_takes_the_first_of_the_target_that_is_live_and_in_sync() -> None:
    assert elections.reassign(brokers(3, 4), state(0, (0, 4, 3)), brokers(0, 4)) == state(4, (0, 4, 3), 5)
    assert elections.reassign([BrokerId(3)], state(0, (0,)), {BrokerId(3)}) is None


def test_an_offline_replica_leaves_the_isr_and_leads_no_more() -> None:
    assert elections.without_replica(state(0, (0, 1)), BrokerId(0), keep_last=True) == state(-1, (1,), 5)
    assert elections.without_replica(state(1, (0, 1)), BrokerId(0), keep_last=True) == state(1, (1,), 5)
    assert elections.without_replica(state(1, (1,)), BrokerId(0), keep_last=True) is None


@pytest.mark.parametrize(("keep_last", "isr"), [(True, (0,)), (False, ())])
def test_the_last_member_stays_or_leaves(keep_last: bool, isr: tuple[int, ...]) -> None:
    assert elections.without_replica(state(0, (0,)), BrokerId(0), keep_last) == state(-1, isr, 5)


BROKERS = st.integers(0, 5)
ASSIGNMENTS = st.lists(BROKERS, min_size=1, max_size=5, unique=True)
SETS = st.sets(BROKERS)


@st.composite
def situations(draw: st.DrawFn) -> tuple[list[int], Leadership, set[int], set[int]]:
    """Assignment, state, live brokers, brokers shutting down (live too)."""
    assignment = draw(ASSIGNMENTS)
    isr = tuple(draw(st.lists(st.sampled_from(assignment), unique=True)))
    leader = draw(st.sampled_from([-1, *isr]))
    live = draw(SETS)
    shutting_down = draw(st.sets(st.sampled_from(sorted(live)))) if live else set()
    return assignment, state(leader, isr, draw(st.integers(0, 100))), live, shutting_down


@given(situations(), st.booleans())
def test_every_elected_leader_is_assigned_live_and_in_its_isr(
    situation: tuple[list[int], Leadership, set[int], set[int]], unclean: bool
) -> None:
    assignment, before, live, shutting_down = situation
    able = live - shutting_down
    outcomes = [
        (elections.offline(brokers(*assignment), before, brokers(*able), unclean), unclean),
        (elections.preferred(brokers(*assignment), before, brokers(*able)), False),
        (elections.controlled_shutdown(brokers(*assignment), before, brokers(*live), brokers(*shutting_down)), False),
        (elections.reassign(brokers(*assignment), before, brokers(*able)), False),
    ]
    for after, may_be_unclean in outcomes:
        if after is None:
            continue
        assert after.leader in able
        assert after.leader in assignment
        assert after.leader in after.isr
        assert after.leader_epoch == before.leader_epoch + 1
        assert (after.controller_epoch, after.zk_version) == (before.controller_epoch, before.zk_version)
        if after.leader in before.isr:
            assert [member for member in before.isr if member in after.isr] == list(after.isr)
        else:
            assert may_be_unclean
            assert not set(before.isr) & able
            assert after.isr == (after.leader,)


@given(situations())
def test_a_clean_offline_election_fails_only_when_no_member_of_the_isr_is_live(
    situation: tuple[list[int], Leadership, set[int], set[int]],
) -> None:
    assignment, before, live, _ = situation
    assert (elections.offline(brokers(*assignment), before, brokers(*live), unclean=False) is None) == (
        not set(before.isr) & live
    )
