"""Recovery points written when a log is cut (semantics 2.1), and the next start."""

from collections.abc import Callable

import pytest

from emulator.storage.files import DiskFailed, Files
from emulator.storage.inspect import read_partition
from emulator.storage.log_directory import RECOVERY_POINTS
from emulator.storage.memory_files import MemoryFiles
from protocol.events import LogDirFailed, LogLoaded, LogTruncated
from protocol.ids import LeaderEpoch, Offset
from protocol.kinds import CutReason
from verification.broker_bench import T0, Bench, batch, state

LADDER = ["0.8.2", "0.10.2", "0.11", "1.0", "1.1", "2.0.1", "2.1", "2.2", "2.6", "2.8"]
OTHER = ("t", 1)
BOTH = {"d0": "0\n1\nt 0 1\n", "d1": "0\n1\nt 1 2\n"}


def two_directories(version: str) -> Bench:
    """It leads t-0 in d0 and t-1 in d1, with two synced records each.
    No recovery point is written.
    """
    bench = Bench(version, log_dirs="d0,d1")
    bench.leader_and_isr(state(0, isr=(0,)), state(0, isr=(0,), topic_partition=OTHER))
    for topic_partition in (T0, OTHER):
        log = bench.broker.replicas.logs[topic_partition]
        for text in "ab":
            log.append_as_leader(batch(text, magic=bench.magic), LeaderEpoch(0))
        log.flush()
    assert not written(bench)
    return bench


def written(bench: Bench) -> dict[str, str]:
    """{directory: content}"""
    paths = {name: f"{name}/{RECOVERY_POINTS}" for name in ("d0", "d1")}
    return {name: bench.files.read(path, 0, 999).decode() for name, path in paths.items() if bench.files.exists(path)}


def cut(bench: Bench, offset: int) -> None:
    replicas = bench.broker.replicas
    bench.do(lambda: replicas.truncate([(replicas.partitions[T0], Offset(offset))], CutReason.EPOCH))


@pytest.mark.parametrize("version", LADDER)
def test_a_cut_writes_recovery_points(version: str) -> None:
    """LogManager.truncateTo.
    Up to 2.1 it writes those of all directories, from 2.2 of the one that holds the log.
    """
    bench = two_directories(version)
    cut(bench, 1)
    everywhere = LADDER.index(version) < LADDER.index("2.2")
    assert written(bench) == (BOTH if everywhere else {"d0": BOTH["d0"]})


@pytest.mark.parametrize("version", LADDER)
def test_a_cut_that_cuts_nothing_writes_them_up_to_0_11(version: str) -> None:
    bench = two_directories(version)
    cut(bench, 2)
    assert [(e.to, e.effective) for e in bench.events(LogTruncated)] == [(2, False)]
    always = LADDER.index(version) < LADDER.index("1.0")
    assert written(bench) == ({"d0": "0\n1\nt 0 2\n", "d1": BOTH["d1"]} if always else {})


@pytest.mark.parametrize("version", LADDER)
def test_a_log_that_is_thrown_away_writes_them(version: str) -> None:
    """LogManager.truncateFullyAndStartAt: up to 1.0 of all directories."""
    bench = two_directories(version)
    replicas = bench.broker.replicas
    bench.do(lambda: replicas.truncate_fully(replicas.partitions[T0], Offset(7)))
    own = {"d0": "0\n1\nt 0 2\n"}
    everywhere = LADDER.index(version) < LADDER.index("1.1")
    assert written(bench) == (own | {"d1": BOTH["d1"]} if everywhere else own)


@pytest.mark.parametrize("version", ["0.8.2", "0.10.2"])
def test_an_order_to_follow_writes_them_once(version: str) -> None:
    """E0: a LeaderAndIsr cuts all its partitions, then writes once.
    Source: ReplicaManager.makeFollowers.
    """
    files = Counting()
    bench = Bench(version, files=files)
    bench.leader_and_isr(state(0, isr=(0,)), state(0, isr=(0,), topic_partition=OTHER))
    bench.update_metadata()
    files.writes.clear()
    bench.leader_and_isr(state(1, epoch=1), state(1, epoch=1, topic_partition=OTHER))
    assert len(bench.events(LogTruncated)) == 2
    assert files.writes.count(RECOVERY_POINTS) == 1


class Counting(MemoryFiles):
    def __init__(self) -> None:
        super().__init__()
        self.writes: list[str] = []

    def write_atomically(self, path: str, data: bytes) -> None:
        self.writes.append(path)
        super().write_atomically(path, data)


@pytest.mark.parametrize("version", ["0.8.2", "0.11", "1.0", "2.2", "2.8"])
def test_what_is_written_after_a_cut_is_looked_at_by_the_next_start(version: str) -> None:
    """A recovery point of 3 is on disk; the log is cut to 1 and goes on in new segments.
    A start after a crash begins where the cut was, and finds what was damaged there; by the old recovery point it
    would begin after it.
    """
    segment_bytes = 40 if version == "0.8.2" else 100
    bench = Bench(version, log_segment_bytes=segment_bytes)
    bench.lead(isr=(0,))
    for text in "abcd":
        bench.produce(text)
    bench.advance(30_000.0)
    assert bench.files.read(RECOVERY_POINTS, 0, 99) == b"0\n1\nt 0 3\n"
    cut(bench, 1)
    for text in "xyz":
        bench.produce(text)
    damage(bench.files, "t-0/00000000000000000001.log")
    again = Bench(version, files=bench.files, log_segment_bytes=segment_bytes)
    loaded = again.events(LogLoaded)
    assert [(e.log_end, e.corrupted) for e in loaded] == [(1, 1)], loaded
    assert [entry[2] for entry in read_partition(again.files, "t-0")["log"]] == ["a"]


def damage(files: Files, path: str) -> None:
    data = files.read(path, 0, files.size(path))
    files.truncate(path, 0)
    files.append(path, data[:-1] + bytes([data[-1] ^ 1]))


class FullAtCheckpoints(MemoryFiles):
    """Cuts work, writing a file anew does not."""

    armed = False

    def write_atomically(self, path: str, data: bytes) -> None:
        if self.armed:
            raise DiskFailed(path, "no space left")
        super().write_atomically(path, data)


@pytest.mark.parametrize("how", ["cut", "start over"])
@pytest.mark.parametrize("version", ["0.8.2", "2.8"])
def test_a_disk_that_cannot_take_them_fails(version: str, how: str) -> None:
    files = FullAtCheckpoints()
    bench = Bench(version, files=files)
    bench.lead(isr=(0,))
    replicas = bench.broker.replicas
    partition = replicas.partitions[T0]
    bench.do(lambda: partition.the_log.append_as_leader(batch("a", magic=bench.magic), LeaderEpoch(0)))
    files.armed = True
    does: Callable[[], None] = lambda: replicas.truncate_fully(partition, Offset(5))  # noqa: E731
    if how == "cut":
        does = lambda: replicas.truncate([(partition, Offset(0))], CutReason.EPOCH)  # noqa: E731
    bench.do(does)
    assert [e.code for e in bench.exits] == [1]
    assert len(bench.events(LogDirFailed)) == 1 and partition.offline


@pytest.mark.parametrize("version", LADDER)
def test_a_log_that_is_deleted_writes_them_in_its_directory(version: str) -> None:
    """LogManager.asyncDelete, from 1.1.
    Up to 2.6 where it holds another log (LogManager.logsByDir).
    """
    bench = two_directories(version)
    third = ("t", 2)
    bench.leader_and_isr(state(0, isr=(0,), topic_partition=third))
    bench.do(lambda: bench.broker.replicas.delete(T0))
    known = LADDER.index(version) >= LADDER.index("1.1")
    assert written(bench) == ({"d0": "0\n1\nt 2 0\n"} if known else {})
    bench.do(lambda: bench.broker.replicas.delete(third))
    assert written(bench) == ({"d0": "0\n0\n" if version == "2.8" else "0\n1\nt 2 0\n"} if known else {})
