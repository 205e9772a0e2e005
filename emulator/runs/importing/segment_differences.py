"""Differences between the segments of two replicas, by offset.

Replicas hold the same batches where their logs agree. A batch's checksum covers its records, not its leader epoch, so
both are compared.
"""

from pathlib import Path
from typing import Final

import msgspec

from emulator.runs.importing.append_places import BatchAt
from emulator.runs.importing.replica_contents import DataFolder, ReplicaContents, contents_of, is_segment
from protocol.ids import topic_partition_of

DIFFERS: Final = "differs"
LEFT_ONLY: Final = "left-only"
RIGHT_ONLY: Final = "right-only"


class OffsetRange(msgspec.Struct, frozen=True):
    """Offsets [`first`, `last`] with one kind of difference.

    Epochs: of the batches there, -1 none.
    """

    kind: str
    first: int
    last: int
    left_epoch: int
    right_epoch: int


class SegmentDifferences(msgspec.Struct, frozen=True):
    """`left_log`, `right_log`: [log start, log end). `problems`: damage of either."""

    left_log: tuple[int, int]
    right_log: tuple[int, int]
    ranges: list[OffsetRange]
    problems: list[str]


def is_replica_folder(path: Path) -> bool:
    """Whether a path is the folder of one replica: `t-0`, with segments."""
    try:
        return topic_partition_of(path.resolve().name) is not None and any(
            is_segment(entry.name) for entry in path.iterdir()
        )
    except OSError:
        return False


def segment_differences(left: Path, right: Path) -> SegmentDifferences:
    """Compare two replicas' folders by offset."""
    ours, theirs = _contents(left), _contents(right)
    return SegmentDifferences(
        (ours.log_start, ours.log_end), (theirs.log_start, theirs.log_end), ranges_of(ours.batches, theirs.batches),
        [*ours.problems, *theirs.problems],
    )  # fmt: skip


def _contents(path: Path) -> ReplicaContents:
    path = path.resolve()
    return contents_of(DataFolder(path.parent, {}, (path.name,)), path.name)


def ranges_of(left: tuple[BatchAt, ...], right: tuple[BatchAt, ...]) -> list[OffsetRange]:
    """Ranges of offsets that differ, ascending; neighbours of one kind and epoch are one range."""
    ours = {(one.base_offset, one.last_offset): one for one in left}
    theirs = {(one.base_offset, one.last_offset): one for one in right}
    found: list[OffsetRange] = []
    for span in sorted(ours.keys() | theirs.keys()):
        one, other = ours.get(span), theirs.get(span)
        if one is not None and other is not None and (one.epoch, one.digest) == (other.epoch, other.digest):
            continue
        kind = DIFFERS if one is not None and other is not None else LEFT_ONLY if one is not None else RIGHT_ONLY
        epochs = (one.epoch if one is not None else -1, other.epoch if other is not None else -1)
        before = found[-1] if found else None
        if before is not None and (before.kind, before.left_epoch, before.right_epoch, before.last + 1) == (
            kind, *epochs, span[0],
        ):  # fmt: skip
            found[-1] = msgspec.structs.replace(before, last=span[1])
        else:
            found.append(OffsetRange(kind, *span, *epochs))
    return found
