"""Durability: what a message relies on is on disk before it leaves.

Kraft-semantics 1.1 and 1.4.
"""

from collections.abc import Callable

import pytest

from controller.quorum.election_file import Election
from controller.quorum.quorum_inputs import AppendRequested, QuorumEffect, Respond, SendRequest, WokenUp
from emulator.machines.node.metadata_log import MetadataLog
from emulator.storage.files import NodeKilled
from protocol.ids import NO_BROKER, BrokerId, LeaderEpoch, Offset
from protocol.messages.quorum_messages import QuorumFetchRequest, VoteResponse
from tests.controller.quorum.quorum_case import ME, QuorumCase, fetched, granted, vote

FOLLOWED = Election(LeaderEpoch(5), BrokerId(1))


def operations_of(case: QuorumCase, action: Callable[[], list[QuorumEffect]]) -> list[str]:
    """The storage operations of a step."""
    operations: list[str] = []
    case.files.operation_hook = lambda operation, path: operations.append(f"{operation} {path.rpartition('/')[2]}")
    action()
    case.files.operation_hook = None
    return operations


def test_a_vote_is_on_disk_before_its_response() -> None:
    case = QuorumCase("3.8")
    case.start()
    writes = operations_of(case, lambda: case.request(vote(3, 1)))
    whole = [
        "write quorum-state.tmp",
        "fsync quorum-state.tmp",
        "rename quorum-state.tmp",
        "sync_directory __cluster_metadata-0",
    ]
    assert writes == whole + whole, "the new epoch, then the vote"


@pytest.mark.parametrize("dies_at", range(8))
def test_a_voter_that_dies_while_it_votes_has_sent_nothing(dies_at: int) -> None:
    case = QuorumCase("3.8")
    case.start()
    left = [dies_at]

    def hook(operation: str, path: str) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise NodeKilled(operation)

    case.files.operation_hook = hook
    with pytest.raises(NodeKilled):
        case.request(vote(3, 1))
    case.files.operation_hook = None
    case.files.power_loss({})
    again = restarted(case)
    again.start()
    (response,) = [one.response for one in again.request(vote(3, 2), 2) if isinstance(one, Respond)]
    assert isinstance(response, VoteResponse)
    assert response.granted is (again.election[2] == 2)


def restarted(case: QuorumCase, version: str = "3.8") -> QuorumCase:
    """A new incarnation over the same files."""
    return QuorumCase(version, files=case.files)


def test_a_follower_syncs_before_its_next_fetch() -> None:
    case = QuorumCase(election=FOLLOWED, epochs=(5,))
    request = case.start()[0]
    other = QuorumCase(epochs=(5,))
    other.log.append(LeaderEpoch(5), [b"a"], 0.0)
    records = other.log.read(Offset(1))
    operations = operations_of(case, lambda: case.answer(request, fetched(5, 1, records=records)))
    assert operations[-1] == "fsync 00000000000000000000.log"
    case.files.power_loss({})
    assert MetadataLog.open(case.files).end == 2


def test_a_leader_appends_counts_and_syncs() -> None:
    case = QuorumCase()
    case.lead()
    case.step(AppendRequested(LeaderEpoch(1), [b"a"]))
    case.at(case.now_ms + 25)
    operations = operations_of(case, lambda: case.step(WokenUp()))
    assert operations == ["append 00000000000000000000.log", "fsync 00000000000000000000.log"]
    case.files.power_loss({})
    assert MetadataLog.open(case.files).end == 2


def test_a_candidate_that_wins_writes_its_leadership_first() -> None:
    case = QuorumCase("3.8")
    case.start()
    requests = [one for one in case.wake() if isinstance(one, SendRequest)]
    operations = operations_of(case, lambda: case.answer(requests[0], granted(1)))
    names = [operation for operation in operations if operation.startswith("rename")]
    assert names == ["rename quorum-state.tmp", "rename leader-epoch-checkpoint.tmp"]
    assert case.election == (1, ME, NO_BROKER)


def test_a_restarted_node_fetches_from_the_end_of_its_log() -> None:
    case = QuorumCase(election=FOLLOWED, epochs=(4, 5))
    case.start()
    again = restarted(case, "4.1")
    request = again.start()[0]
    assert isinstance(request, SendRequest)
    assert request.request == QuorumFetchRequest(LeaderEpoch(5), ME, Offset(2), LeaderEpoch(5), 500)
