"""Leader election by votes alone (semantics 5.3)."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from emulator.machines.session.election import Ballot, Election


def test_a_newer_epoch_beats_a_newer_zxid_beats_a_higher_server() -> None:
    ordered = [Ballot(0, 0, 0), Ballot(0, 0, 2), Ballot(0, 5, 1), Ballot(1, 3, 0)]
    for worse, better in itertools.pairwise(ordered):
        election = Election(worse.leader, 3, 1, worse)
        assert election.receive_looking(better.leader, 1, better)
        assert election.choice == better
        other = Election(better.leader, 3, 1, better)
        assert not other.receive_looking(worse.leader, 1, worse)
        assert other.choice == better


def test_votes_of_an_older_round_do_not_count_and_a_newer_round_starts_afresh() -> None:
    own = Ballot(0, 0, 0)
    election = Election(0, 3, 5, own)
    assert not election.receive_looking(1, 4, Ballot(9, 9, 1))
    assert election.choice == own and not election.majority_agrees()
    assert election.receive_looking(2, 6, Ballot(0, 0, 2))
    assert (election.election_round, election.choice) == (6, Ballot(0, 0, 2))
    assert election.majority_agrees()


@given(st.permutations(range(5)), st.lists(st.integers(0, 3), min_size=5, max_size=5))
def test_all_servers_choose_the_best_whatever_the_order_of_votes(order: list[int], zxids: list[int]) -> None:
    elections = [Election(i, 5, 1, Ballot(0, zxids[i], i)) for i in range(5)]
    best = max(Ballot(0, zxids[i], i) for i in range(5))
    ballots = [(i, elections[i].choice) for i in order]
    while ballots:
        sender, ballot = ballots.pop(0)
        for receiver in order:
            if receiver != sender and elections[receiver].receive_looking(sender, 1, ballot):
                ballots.append((receiver, elections[receiver].choice))
    assert all(election.choice == best and election.majority_agrees() for election in elections)


def test_a_server_joins_a_leader_with_a_majority_that_claims_to_lead() -> None:
    ballot = Ballot(4, 17, 2)
    election = Election(0, 3, 9, Ballot(3, 40, 0))
    assert election.receive_settled(1, 2, ballot, False) is None, "the leader itself was not heard"
    assert election.receive_settled(2, 2, ballot, True) == ballot


def test_a_dead_leader_is_not_joined_on_the_word_of_a_follower() -> None:
    election = Election(0, 5, 9, Ballot(3, 40, 0))
    for sender in (1, 3, 4):
        assert election.receive_settled(sender, 9, Ballot(3, 17, 2), False) is None


def test_a_server_that_decided_first_in_our_round_still_votes_for_us() -> None:
    """The other server saw the majority first and follows us already, while we still wait."""
    election = Election(2, 3, 1, Ballot(0, 0, 2))
    assert election.receive_settled(1, 1, Ballot(0, 0, 2), False) is None
    assert election.majority_agrees()
