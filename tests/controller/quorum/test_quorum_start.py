"""First state of a node, by its file and its log (kraft-semantics 1.1), and the file itself."""

import pytest

from controller.quorum.election_file import (
    QUORUM_STATE,
    Election,
    ElectionFileDamaged,
    decode_election,
    encode_election,
)
from controller.quorum.quorum_inputs import LeaderChanged, QuorumStarted
from emulator.machines.node.metadata_log import DIRECTORY
from protocol.ids import NO_BROKER, BrokerId, LeaderEpoch
from tests.controller.quorum.quorum_case import BEFORE_PRE_VOTE, ME, VOTERS, WITH_PRE_VOTE, QuorumCase

NONE = NO_BROKER
VERSIONS = (BEFORE_PRE_VOTE, WITH_PRE_VOTE)


def election(epoch: int, leader: int = NONE, voted: int = NONE) -> Election:
    return Election(LeaderEpoch(epoch), BrokerId(leader), BrokerId(voted))


STARTS: dict[str, tuple[Election | None, tuple[int, ...], tuple[str, int, int], tuple[int, int, int]]] = {
    "no file": (None, (), ("unattached", 0, NONE), (0, NONE, NONE)),
    "a log without a file": (None, (3, 5), ("unattached", 5, NONE), (5, NONE, NONE)),
    "the log is newer": (election(4, 0, 0), (5,), ("unattached", 5, NONE), (5, NONE, NONE)),
    "it led": (election(5, ME), (5,), ("resigned", 5, ME), (5, ME, NONE)),
    "it voted for itself": (election(5, NONE, ME), (4,), ("candidate", 5, NONE), (5, NONE, ME)),
    "it followed": (election(5, 2), (5,), ("follower", 5, 2), (5, 2, NONE)),
    "the leader is no voter": (election(5, 9), (5,), ("unattached", 5, 9), (5, 9, NONE)),
    "no vote": (election(5), (4,), ("unattached", 5, NONE), (5, NONE, NONE)),
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", STARTS)
def test_a_node_starts_in_the_state_of_its_file(name: str, version: str) -> None:
    stored, epochs, state, on_disk = STARTS[name]
    case = QuorumCase(version, election=stored, epochs=epochs)
    case.start()
    assert (case.state, case.election) == (state, on_disk)


@pytest.mark.parametrize(("version", "name"), [(BEFORE_PRE_VOTE, "voted"), (WITH_PRE_VOTE, "unattached")])
def test_a_vote_survives_the_restart(version: str, name: str) -> None:
    case = QuorumCase(version, election=election(5, NONE, 2))
    case.start()
    assert case.state == (name, 5, NONE)
    assert case.node.state.voted == 2
    assert case.election == (5, NONE, 2)


def test_a_vote_in_the_leaders_epoch_survives_from_4_0_on() -> None:
    stored = election(5, 2, 1)
    cases = {version: QuorumCase(version, election=stored, epochs=(5,)) for version in VERSIONS}
    for case in cases.values():
        case.start()
        assert case.state == ("follower", 5, 2)
    assert cases[WITH_PRE_VOTE].election == (5, 2, 1)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_sole_voter_elects_itself_at_once(version: str) -> None:
    case = QuorumCase(version, voters=[ME])
    effects = case.start()
    assert case.state == ("leader", 1, ME)
    assert case.node.state.high_watermark == 1, "its leader change is committed"
    assert LeaderChanged(ME, LeaderEpoch(1)) in effects


def test_a_sole_candidate_wins_its_own_epoch() -> None:
    case = QuorumCase(voters=[ME], election=election(3, NONE, ME))
    case.start()
    assert case.state == ("leader", 3, ME)


def test_the_file_has_kafkas_fields_in_kafkas_order() -> None:
    data = encode_election(election(7, 2, 1), VOTERS)
    assert data == (
        b'{"clusterId":"","leaderId":2,"leaderEpoch":7,"votedId":1,"appliedOffset":0,'
        b'"currentVoters":[{"voterId":0},{"voterId":1},{"voterId":2}],"data_version":0}'
    )
    assert decode_election(data) == election(7, 2, 1)


@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff", b'{"data_version":0}'])
def test_a_damaged_file_stops_the_start(damage: bytes) -> None:
    case = QuorumCase()
    case.store.write(damage)
    with pytest.raises(ElectionFileDamaged, match=QUORUM_STATE):
        case.step(QuorumStarted())


def test_another_version_of_the_file_is_refused() -> None:
    data = encode_election(election(7), VOTERS).replace(b'"data_version":0', b'"data_version":2')
    with pytest.raises(ElectionFileDamaged, match="version 2"):
        decode_election(data)


def test_the_file_lies_beside_the_log() -> None:
    case = QuorumCase()
    case.start()
    assert QUORUM_STATE in case.files.list(DIRECTORY)
