"""Two logs find their common beginning, in few fetches and without a loss of it."""

from hypothesis import given, settings
from hypothesis import strategies as st

from controller.quorum.quorum_log import divergence, truncation_offset
from emulator.machines.node.metadata_log import MetadataLog
from protocol.ids import LeaderEpoch, Offset
from tests.controller.quorum.quorum_case import QuorumCase

LENGTHS = st.lists(st.integers(0, 3), max_size=6)
"""Records by epoch, from epoch 1 on."""
OWNERS = st.lists(st.booleans(), min_size=12, max_size=12)
"""For each later epoch: whether the leader has its records, else the follower."""


def epochs_of(lengths: list[int], first: int) -> list[int]:
    return [first + place for place, count in enumerate(lengths) for _ in range(count)]


def log_of(epochs: list[int]) -> MetadataLog:
    return QuorumCase(epochs=epochs).log


@settings(max_examples=60, deadline=None)
@given(shared=LENGTHS, tails=LENGTHS, owners=OWNERS)
def test_a_follower_becomes_a_beginning_of_its_leader(shared: list[int], tails: list[int], owners: list[bool]) -> None:
    common = epochs_of(shared, 1)
    after = epochs_of(tails, len(shared) + 1)
    leader = log_of(common + [epoch for epoch in after if owners[epoch % 12]])
    follower = log_of(common + [epoch for epoch in after if not owners[epoch % 12]])
    rounds = 0
    while (end := divergence(leader, follower.end, follower.last_epoch)) is not None:
        before = follower.end
        follower.truncate(truncation_offset(follower, end))
        rounds += 1
        assert len(common) <= follower.end < before
        assert rounds <= len(tails) + 1
    assert [header.leader_epoch for header in follower.batches(Offset(0), follower.end)] == [
        header.leader_epoch for header in leader.batches(Offset(0), follower.end)
    ]
    assert follower.end >= len(common)
    if follower.end < leader.end:
        follower.append_from_leader(leader.read(follower.end))
    assert (follower.end, follower.last_epoch) == (leader.end, leader.last_epoch)
    assert follower.end_of_epoch(LeaderEpoch(1)) == leader.end_of_epoch(LeaderEpoch(1))
