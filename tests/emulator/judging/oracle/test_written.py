"""Extent of a log over time, also if much comes at once."""

import pytest

from emulator.judging.oracle.log_extent import Written
from emulator.machines.broker.broker_state import LogSettings
from emulator.machines.broker.replica_log import Log
from emulator.machines.broker.segment import RECENT_MAX
from emulator.storage.memory_files import MemoryFiles
from protocol.gates import gates_for
from verification.broker_bench import batch, created_log

MANY = 3 * RECENT_MAX
PLACE = ("t", 0)


def filled(files: MemoryFiles, *, segment_bytes: int = 1 << 30, at_once: int = MANY) -> Log:
    log = created_log(files, gates_for("2.8"), LogSettings(segment_bytes))
    for first in range(0, MANY, at_once):
        offsets = range(first, first + at_once)
        log.append_as_follower(b"".join(batch(f"v{at}", base_offset=at, epoch=0) for at in offsets))
    return log


@pytest.mark.parametrize("was_end", [0, 1, MANY // 2, MANY - 1])
@pytest.mark.parametrize("segment_bytes", [1 << 30, 30_000])
def test_all_that_has_come_is_seen_though_most_of_it_is_not_recent(was_end: int, segment_bytes: int) -> None:
    files = MemoryFiles()
    log = filled(files, segment_bytes=segment_bytes, at_once=MANY // 8)
    assert (len(log.segments) > 1) == (segment_bytes == 30_000)
    written = Written()
    written.appended(written.held_of(PLACE), log, was_end, files)
    assert {first for _, first, _, _ in written.held_of(PLACE).batches} == set(range(was_end, MANY))


def test_looking_is_no_storage_operation_of_the_brokers() -> None:
    files = MemoryFiles()
    log = filled(files)
    seen: list[str] = []
    files.operation_hook = lambda operation, path: seen.append(operation)
    written = Written()
    written.appended(written.held_of(PLACE), log, 0, files)
    assert len(written.held_of(PLACE).batches) == MANY and not seen
