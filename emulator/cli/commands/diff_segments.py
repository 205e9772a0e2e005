"""`faultline diff FOLDER FOLDER`: differences between two replicas' segments, by offset."""

from pathlib import Path

import msgspec

from emulator.exit_codes import BROKEN, HELD
from emulator.runs.importing.segment_differences import (
    DIFFERS,
    LEFT_ONLY,
    OffsetRange,
    SegmentDifferences,
    segment_differences,
)

RANGES_MAX = 40


def diff_segments(left: Path, right: Path, *, json: bool) -> int:
    """Exit code 0: the same batches; 1: they differ, or a segment is damaged."""
    found = segment_differences(left, right)
    if json:
        print(msgspec.json.encode(found).decode())
    else:
        for line in lines_of(left, right, found):
            print(line.encode(errors="backslashreplace").decode())
    return BROKEN if found.ranges or found.problems else HELD


def lines_of(left: Path, right: Path, found: SegmentDifferences) -> list[str]:
    """Text of the differences."""
    lines = [f"{path}: offsets {log[0]} to {log[1] - 1}" if log[1] > log[0] else f"{path}: empty"
             for path, log in ((left, found.left_log), (right, found.right_log))]  # fmt: skip
    lines += [_text(one) for one in found.ranges[:RANGES_MAX]]
    if len(found.ranges) > RANGES_MAX:
        lines.append(f"{len(found.ranges) - RANGES_MAX} more ranges differ; --json has all")
    if not found.ranges:
        lines.append("the replicas hold the same batches")
    return [*lines, *(f"damaged: {one}" for one in found.problems)]


def _text(one: OffsetRange) -> str:
    offsets = f"offset {one.first}" if one.first == one.last else f"offsets {one.first} to {one.last}"
    if one.kind == DIFFERS:
        return f"{offsets}: differ, leader epoch {one.left_epoch} and {one.right_epoch}"
    if one.kind == LEFT_ONLY:
        return f"{offsets}: only in the first, leader epoch {one.left_epoch}"
    return f"{offsets}: only in the second, leader epoch {one.right_epoch}"
