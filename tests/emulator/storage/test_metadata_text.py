"""The metadata log as `faultline log` shows it: decoded records, snapshots."""

from controller.quorum.quorum_log import SnapshotId
from emulator.machines.node.metadata_log import MetadataLog
from emulator.storage.inspect import read_partition
from emulator.storage.log_directory import METADATA_LOG
from emulator.storage.memory_files import MemoryFiles
from emulator.storage.metadata_text import snapshots_on
from protocol.ids import BrokerId, LeaderEpoch, Offset
from protocol.records.metadata_codec import encode_metadata_record
from protocol.records.metadata_records import FeatureLevelRecord, NoOpRecord
from protocol.records.quorum_control_records import KRaftVersion, SnapshotHeader, Voter, Voters
from protocol.records.quorum_records import LeaderChange

ONE = LeaderEpoch(1)


def test_records_and_snapshots_as_text() -> None:
    files = MemoryFiles()
    log = MetadataLog.open(files)
    voters = Voters((Voter(BrokerId(1000)), Voter(BrokerId(1001))))
    log.append_control(ONE, [LeaderChange(BrokerId(1000), (), ()), KRaftVersion(1), voters], 1.0)
    records = [encode_metadata_record(one) for one in (FeatureLevelRecord("metadata.version", 25), NoOpRecord())]
    log.append(ONE, [*records, b"junk"], 1.0)
    log.store_snapshot(SnapshotId(Offset(5), ONE), [SnapshotHeader(0)], records, 1.0)
    assert [str(entry[2]) for entry in read_partition(files, METADATA_LOG)["log"]] == [
        "LeaderChange leader=1000 voters= granting=", "KRaftVersion level=1", "Voters 1000,1001",
        "FeatureLevel name=metadata.version level=25", "NoOp",
        "unreadable: metadata record: frame version 106, known is 1",
    ]  # fmt: skip
    assert snapshots_on(files) == ["00000000000000000005-0000000001"]
