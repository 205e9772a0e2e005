"""Snapshots between nodes of a quorum: FETCH_SNAPSHOT, own snapshots, retention (KIP-630)."""

import pytest

from controller.quorum.epoch_states import Follower
from controller.quorum.leader_state import Leader
from controller.quorum.quorum_inputs import (
    Committed,
    QuorumEffect,
    QuorumFailed,
    SendRequest,
    SnapshotCommitted,
    SnapshotRequested,
    SnapshotStored,
)
from controller.quorum.quorum_log import SnapshotId
from controller.quorum.settings import QuorumSettings
from emulator.machines.node.metadata_log import MetadataLog
from emulator.storage.memory_files import MemoryFiles
from protocol.errors import ErrorCode as E
from protocol.ids import BrokerId, LeaderEpoch, Offset
from protocol.messages.quorum_messages import (
    BeginQuorumEpochRequest,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    QuorumFetchResponse,
)
from protocol.records.quorum_control_records import KRaftVersion, SnapshotHeader, Voters
from tests.controller.quorum.quorum_case import ME, QuorumCase, answered, fetch, fetched, sent, voter_of

AT_4 = SnapshotId(Offset(4), LeaderEpoch(1))
NEEDS = QuorumFetchResponse(E.NONE, LeaderEpoch(1), BrokerId(1), snapshot_end=AT_4.end, snapshot_epoch=AT_4.epoch)
SMALL = QuorumSettings(metadata_max_retention_bytes=1)


def leading(settings: QuorumSettings | None = None) -> QuorumCase:
    """A leader of epoch 1 with offsets 0 to 3 committed, and a snapshot of them."""
    case = QuorumCase("4.1", settings=settings)
    case.lead()
    case.append(b"a", b"b", b"c")
    case.request(fetch(1, 1, 4, 1, wait_ms=0))
    assert case.step(SnapshotRequested(Offset(4), LeaderEpoch(1), 1000, [b"state"])) == [
        SnapshotStored(Offset(4), LeaderEpoch(1), downloaded=False)
    ]
    return case


def snapshot_fetch(
    position: int = 0, *, at: SnapshotId = AT_4, epoch: int = 1, most: int = 1000
) -> FetchSnapshotRequest:
    return FetchSnapshotRequest(LeaderEpoch(epoch), BrokerId(1), at.end, at.epoch, position, most)


def test_a_snapshot_is_of_committed_records_and_written_once() -> None:
    case = leading()
    assert case.log.snapshots == [AT_4] and case.log.snapshot_values(AT_4) == [b"state"]
    assert case.step(SnapshotRequested(Offset(4), LeaderEpoch(1), 1000, [b"state"])) == []
    with pytest.raises(AssertionError):
        case.step(SnapshotRequested(Offset(9), LeaderEpoch(1), 1000, [b"state"]))


def test_a_snapshot_has_the_voters_of_its_offset() -> None:
    case = QuorumCase("4.1", (0,), in_log=True)
    case.lead()
    case.append(b"a")
    end = Offset(case.log.end)
    case.step(SnapshotRequested(end, LeaderEpoch(1), 7, [b"state"]))
    control = case.log.snapshot_control_records(SnapshotId(end, LeaderEpoch(1)))
    assert control[:3] == [SnapshotHeader(7), KRaftVersion(1), Voters((voter_of(0),))]


def test_a_leader_serves_a_snapshot_in_parts_and_counts_its_replica() -> None:
    case = leading()
    size_bytes = case.log.snapshot_size_bytes(AT_4)
    data, state = b"", case.node.state
    assert isinstance(state, Leader)
    case.at(1000)
    while len(data) < size_bytes:
        (response,) = answered(case.request(snapshot_fetch(len(data), most=50)))
        assert isinstance(response, FetchSnapshotResponse)
        assert (response.error, response.size_bytes, response.position) == (E.NONE, size_bytes, len(data))
        data += response.data
    assert data == case.log.read_snapshot(AT_4, 0, size_bytes)
    assert state.quorum_ends_ms == 1000 + 3000


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (snapshot_fetch(at=SnapshotId(Offset(3), LeaderEpoch(1))), E.SNAPSHOT_NOT_FOUND),
        (snapshot_fetch(100_000), E.POSITION_OUT_OF_RANGE),
        (snapshot_fetch(epoch=0), E.FENCED_LEADER_EPOCH),
        (snapshot_fetch(epoch=2), E.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_a_snapshot_that_cannot_be_served(request_: FetchSnapshotRequest, error: E) -> None:
    (response,) = answered(leading().request(request_))
    assert isinstance(response, FetchSnapshotResponse) and response.error == error


@pytest.mark.parametrize(("version", "gets"), [("3.5", False), ("3.6", True)])
def test_an_empty_replica_gets_a_snapshot_from_3_6_on(version: str, gets: bool) -> None:
    case = QuorumCase(version)
    case.lead()
    case.append(b"a")
    case.request(fetch(1, 1, 2, 1, wait_ms=0))
    case.step(SnapshotRequested(Offset(2), LeaderEpoch(1), 1, [b"state"]))
    (response,) = answered(case.request(fetch(1, 2, 0, 0), 2))
    assert isinstance(response, QuorumFetchResponse)
    assert (response.snapshot_end, bool(response.records)) == ((2, False) if gets else (-1, True))


def test_a_minute_later_the_log_below_the_latest_snapshot_is_deleted() -> None:
    case = leading(SMALL)
    case.append(b"d")
    case.request(fetch(1, 1, 5, 1, wait_ms=0))
    case.step(SnapshotRequested(Offset(5), LeaderEpoch(1), 2000, [b"later"]))
    while case.now_ms < 61_000:
        case.at(case.now_ms + 500).request(fetch(1, 1, 5, 1, wait_ms=0))
    assert (case.log.start, case.log.snapshots) == (5, [SnapshotId(Offset(5), LeaderEpoch(1))])
    (response,) = answered(case.request(fetch(1, 2, 4, 1), 2))
    assert isinstance(response, QuorumFetchResponse) and response.snapshot_end == 5


# --- a follower ---


def following(files: MemoryFiles | None = None) -> tuple[QuorumCase, list[QuorumEffect]]:
    case = QuorumCase("4.1", files=files)
    case.start()
    return case, case.request(BeginQuorumEpochRequest(LeaderEpoch(1), BrokerId(1)))


def in_flight(effects: list[QuorumEffect]) -> SendRequest:
    (request,) = [one for one in effects if isinstance(one, SendRequest)]
    return request


def test_a_follower_downloads_a_snapshot_and_goes_on_at_its_end() -> None:
    source = leading().log
    data = source.read_snapshot(AT_4, 0, source.snapshot_size_bytes(AT_4))
    case, effects = following()
    effects = case.answer(in_flight(effects), NEEDS)
    for part in (data[:60], data[60:]):
        (request,) = sent(effects)
        assert isinstance(request, FetchSnapshotRequest) and request.position == case.log.download_bytes
        response = FetchSnapshotResponse(
            E.NONE, LeaderEpoch(1), BrokerId(1), *AT_4, len(data), request.position, part
        )
        effects = case.answer(in_flight(effects), response)
    assert SnapshotStored(*AT_4, downloaded=True) in effects and SnapshotCommitted(*AT_4) in effects
    assert not [one for one in effects if isinstance(one, Committed)]
    assert (case.log.start, case.log.end, case.node.state.high_watermark) == (4, 4, 4)
    assert sent(effects) == [fetch(1, ME, 4, 1, known=4)]


def test_a_deleted_snapshot_is_fetched_anew() -> None:
    case, effects = following()
    effects = case.answer(in_flight(effects), NEEDS)
    gone = FetchSnapshotResponse(E.SNAPSHOT_NOT_FOUND, LeaderEpoch(1), BrokerId(1))
    assert sent(case.answer(in_flight(effects), gone)) == [fetch(1, ME, 0, 0)]


def test_a_new_leader_ends_a_download() -> None:
    case, effects = following()
    case.answer(in_flight(effects), NEEDS)
    case.log.append_download(b"part")
    case.request(BeginQuorumEpochRequest(LeaderEpoch(2), BrokerId(2)), 2)
    assert isinstance(case.node.state, Follower) and case.node.state.download is None
    assert MetadataLog.open(case.files).snapshots == []


def test_a_damaged_snapshot_ends_the_node() -> None:
    case, effects = following()
    effects = case.answer(in_flight(effects), NEEDS)
    wrong = FetchSnapshotResponse(E.NONE, LeaderEpoch(1), BrokerId(1), *AT_4, 4, 0, b"junk")
    (failure,) = [one for one in case.answer(in_flight(effects), wrong) if isinstance(one, QuorumFailed)]
    assert "metadata log" in failure.reason


def test_a_start_loads_the_latest_snapshot_then_the_log_behind_it() -> None:
    case = leading()
    case.append(b"d")
    case.request(fetch(1, 1, 5, 1, wait_ms=0))
    again = QuorumCase("4.1", files=case.files)
    again.start()
    effects = again.request(BeginQuorumEpochRequest(LeaderEpoch(2), BrokerId(1)))
    effects = again.answer(in_flight(effects), fetched(2, 1, high_watermark=5))
    notices = [one for one in effects if isinstance(one, SnapshotCommitted | Committed)]
    assert notices == [SnapshotCommitted(*AT_4), Committed(Offset(4), Offset(5))]
