"""The replicas of a partition as a run left them, for a comparison by offset.

They come from its `data/`, or without one (`faultline sim --out`) from the last snapshot of its observations.
"""

from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from emulator.run_layout import DATA_FOLDER, OBSERVATIONS_FILE
from emulator.runs.finished import NoRun, NoSuchPart, brokers_of, check_part
from emulator.scenario.observations.recording_files import load
from emulator.storage import inspect
from emulator.storage.checkpoints import CheckpointDamaged
from emulator.storage.disk import DiskFiles
from emulator.storage.log_directory import METADATA_LOG
from emulator.storage.metadata_text import snapshots_on
from protocol.ids import topic_partition_text

Entry = list[int | str | None]
"""[offset, leader epoch (None before batches had one), value (None: tombstone)]."""

METADATA_TOPIC = METADATA_LOG.rpartition("-")[0]
"""Name of the metadata log without its partition, as Kafka's tools show it."""
SAME, DIFFERS, MISSING = "", "differs", "missing"


class DamagedReplica(ValueError):
    """A file that no broker could have left; the message begins with its path."""


class Replica(msgspec.Struct, frozen=True, omit_defaults=True):
    """A replica. `leader_epochs`: [[epoch, start offset], ...]. None: not recorded.

    `snapshots`: of the metadata log, `end offset-epoch`.
    """

    log_start: int | None
    log_end: int
    high_watermark_checkpoint: int | None
    leader_epochs: list[list[int]]
    log: list[Entry]
    snapshots: list[str] = []


class SideBySide(msgspec.Struct, frozen=True):
    """`replicas`: the requested node's first. `source`: files or snapshot that they come from."""

    run: str
    partition: str
    node: str
    source: str
    replicas: dict[str, Replica]


class Row(msgspec.Struct, frozen=True):
    """One offset. `cells`: entries of each replica there; overlapping old wrappers have several."""

    offset: int
    cells: list[list[Entry]]
    mark: str


def side_by_side(run: Path, node: str, partition: str) -> SideBySide:
    """Raises NoRun, NoSuchPart, Malformed, DamagedReplica, StorageError."""
    if partition == METADATA_TOPIC:
        partition = METADATA_LOG
    source, found = _of_files(run, node, partition) if _has_data(run) else _of_snapshot(run, node, partition)
    if node not in found:
        raise NoSuchPart(f"{node} has no replica of {partition}; those that have: {', '.join(found)}")
    order = [node, *(other for other in found if other != node)]
    return SideBySide(str(run), partition, node, source, {name: found[name] for name in order})


def rows_of(beside: SideBySide) -> list[Row]:
    """Every offset that some replica has, ascending."""
    by_replica: list[dict[int, list[Entry]]] = []
    for replica in beside.replicas.values():
        entries: dict[int, list[Entry]] = {}
        for entry in replica.log:
            assert isinstance(entry[0], int), entry
            entries.setdefault(entry[0], []).append(entry)
        by_replica.append(entries)
    offsets = sorted({offset for entries in by_replica for offset in entries})
    return [_row(offset, [entries.get(offset, []) for entries in by_replica]) for offset in offsets]


def _row(offset: int, cells: list[list[Entry]]) -> Row:
    held = [cell for cell in cells if cell]
    if any(cell != held[0] for cell in held):
        return Row(offset, cells, DIFFERS)
    return Row(offset, cells, SAME if len(held) == len(cells) else MISSING)


def _has_data(run: Path) -> bool:
    return (run / DATA_FOLDER).is_dir()


def _of_files(run: Path, node: str, partition: str) -> tuple[str, dict[str, Replica]]:
    """(source, {node: replica})."""
    brokers = list(brokers_of(run))
    check_part("broker", node, brokers, run)
    folders = {broker: run / DATA_FOLDER / broker for broker in brokers}
    held = {broker: _partitions(folder) if folder.is_dir() else [] for broker, folder in folders.items()}
    check_part("partition", partition, sorted({name for names in held.values() for name in names}), run)
    replicas = {broker: _read(folder, partition) for broker, folder in folders.items() if partition in held[broker]}
    return f"{DATA_FOLDER}/", replicas


def _partitions(folder: Path) -> list[str]:
    with closing(DiskFiles(folder)) as files:
        return inspect.partitions_on(files)


def _read(folder: Path, partition: str) -> Replica:
    with closing(DiskFiles(folder)) as files:
        try:
            found = inspect.read_partition(files, partition)
            log_start, log_end = inspect.log_bounds(files, partition)
            snapshots = snapshots_on(files) if partition == METADATA_LOG else []
        except (inspect.LogDamaged, CheckpointDamaged) as error:
            raise DamagedReplica(f"{folder}/{error}") from error
    checkpoint, epochs = found["high_watermark_checkpoint"], found["leader_epochs"]
    return Replica(log_start, log_end, checkpoint, epochs, found["log"], snapshots)


def _of_snapshot(run: Path, node: str, partition: str) -> tuple[str, dict[str, Replica]]:
    """(source, {node: replica}) of the partition's last snapshot."""
    path = run / OBSERVATIONS_FILE
    if not path.is_file():
        raise NoRun(f"{run}: holds neither {DATA_FOLDER}/ nor {OBSERVATIONS_FILE}, so no records")
    snapshots: dict[str, dict[str, Any]] = {}
    first = ""
    for entry in load(path).timeline:
        if entry.get("do") == "create-topic":
            first = first or topic_partition_text(entry["topic"], 0)
        if entry.get("saw") == "snapshot":
            snapshots[entry.get("partition") or first] = entry
    check_part("partition", partition, sorted(snapshots), path)
    snapshot = snapshots[partition]
    check_part("broker", node, sorted(snapshot["replicas"]), path)
    return f"the snapshot {snapshot['label']!r} of {OBSERVATIONS_FILE}, for there is no {DATA_FOLDER}/", {
        broker: _observed(replica) for broker, replica in snapshot["replicas"].items()
    }


def _observed(replica: dict[str, Any]) -> Replica:
    log = replica["log"]
    log_end = max((entry[0] + 1 for entry in log), default=0)
    return Replica(None, log_end, replica["high_watermark_checkpoint"], replica["leader_epochs"] or [], log)
