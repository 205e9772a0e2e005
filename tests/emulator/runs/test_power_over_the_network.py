"""A power loss of a network run takes any suffix of the unsynced data.

The run's seed decides.
"""

from pathlib import Path
from typing import cast

import trio

from emulator.faults import actions as act
from emulator.machines.node.restarts import Roster
from emulator.run_layout import DATA_FOLDER
from emulator.runs.network_run import FaultExecutor
from emulator.storage.disk import DiskFiles
from emulator.storage.log_directory import segment_name
from emulator.worlds.network.node_supervisor import Cluster
from protocol.ids import LeaderEpoch, Offset
from protocol.records.batch import encode_batch

PARTITION = "t-0"
SYNCED, WRITTEN = 2, 12
"""Batches."""


class DeadCluster:
    """Its nodes have died already."""

    def __init__(self) -> None:
        self.noted: list[tuple[str, str]] = []

    def running(self) -> tuple[str, ...]:
        return ()

    def paused(self) -> tuple[str, ...]:
        return ()

    def note(self, what: str, node: str) -> None:
        self.noted.append((what, node))


def written(run: Path) -> tuple[int, int]:
    """broker-0's disk, as it died; (bytes that were synced, bytes that were written)."""
    files = DiskFiles(run / DATA_FOLDER / "broker-0", syncs=False)
    files.make_directory(PARTITION)
    path = f"{PARTITION}/{segment_name(0)}"
    for offset in range(WRITTEN):
        files.append(
            path, encode_batch([b"value"], timestamp_ms=0, base_offset=Offset(offset), leader_epoch=LeaderEpoch(0))
        )
        if offset == SYNCED - 1:
            files.fsync(path)
    sizes = files.synced_bytes(path), files.size(path)
    files.close()
    return sizes


def left(run: Path, seed: int, batches_kept: int = -1) -> int:
    """Bytes of the log after its power loss."""
    cluster = DeadCluster()
    actions = FaultExecutor(cast(Cluster, cluster), run, seed, cast(Roster, None))
    done = trio.run(actions.do, act.Act(1, act.PowerLoss("broker-0", batches_kept)))
    assert (done.error, cluster.noted) == ("", [("power-loss", "broker-0")])
    return (run / DATA_FOLDER / "broker-0" / PARTITION / segment_name(0)).stat().st_size


def test_the_seed_decides_unset_values_and_never_less_than_was_synced(tmp_path: Path) -> None:
    synced, size = written(tmp_path / "again")
    kept = {}
    for seed in range(1, 31):
        assert written(tmp_path / str(seed)) == (synced, size)
        kept[seed] = left(tmp_path / str(seed), seed)
        assert synced <= kept[seed] <= size
    assert synced == SYNCED * size // WRITTEN
    assert len(set(kept.values())) > 10, "another seed, another suffix"
    assert min(kept.values()) < (synced + size) / 2 < max(kept.values())
    assert left(tmp_path / "again", 7) == kept[7], "the same seed, the same suffix"


def test_no_seed_changes_a_set_value(tmp_path: Path) -> None:
    for seed in (1, 2):
        _, size = written(tmp_path / str(seed))
        assert left(tmp_path / str(seed), seed, batches_kept=5) == 5 * size // WRITTEN
