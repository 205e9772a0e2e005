"""Checkpoint files, the clean-shutdown marker, and disks that fail (semantics 1.9, 3)."""

import pytest

from emulator.storage.files import DiskFailed
from emulator.storage.log_directory import (
    CLEAN_SHUTDOWN,
    HIGH_WATERMARKS,
    LOG_STARTS,
    META_PROPERTIES,
    RECOVERY_POINTS,
)
from emulator.storage.memory_files import MemoryFiles
from protocol.errors import ErrorCode
from protocol.events import LogDirFailed, LogLoaded
from protocol.ids import EPOCH_UNKNOWN, BrokerId, ControllerEpoch
from protocol.messages.leadership_messages import StoppedPartition, StopReplicaRequest
from verification.broker_bench import T0, Bench, state


def content(bench: Bench, path: str) -> str:
    return bench.files.read(path, 0, 10_000).decode()


def leader(version: str = "2.6", files: MemoryFiles | None = None) -> Bench:
    bench = Bench(version, files=files)
    bench.lead(isr=(0,))
    bench.produce("a")
    bench.produce("b")
    return bench


def test_high_watermarks_are_written_from_the_first_order_on_every_five_seconds() -> None:
    bench = Bench()
    bench.advance(60_000.0)
    assert not bench.files.exists(HIGH_WATERMARKS)
    bench.lead(isr=(0,))
    assert content(bench, HIGH_WATERMARKS) == "0\n1\nt 0 0\n"
    bench.produce("a")
    bench.advance(4_999.0)
    assert content(bench, HIGH_WATERMARKS) == "0\n1\nt 0 0\n"
    bench.advance(1.0)
    assert content(bench, HIGH_WATERMARKS) == "0\n1\nt 0 1\n"


def test_only_partitions_that_are_hosted_now_are_in_the_file() -> None:
    """KAFKA-7235: a first LeaderAndIsr with few partitions makes the file forget the others."""
    bench = leader()
    bench.leader_and_isr(state(0, isr=(0,), topic_partition=("u", 3)))
    bench.advance(5_000.0)
    assert content(bench, HIGH_WATERMARKS) == "0\n2\nt 0 2\nu 3 0\n"
    again = Bench(files=bench.files)
    assert [(e.topic, e.high_watermark) for e in again.events(LogLoaded)] == [("t", 2), ("u", 0)]
    again.leader_and_isr(state(0, isr=(0,), topic_partition=("u", 3)))
    assert content(again, HIGH_WATERMARKS) == "0\n1\nu 3 0\n"
    again.lead(1, isr=(0, 1))
    assert again.log.high_watermark == 0, "its checkpoint was forgotten before it was heard of"


@pytest.mark.parametrize("version", ["0.8.2", "0.10.2", "2.6", "2.8"])
def test_a_broker_without_partition_orders_leaves_the_file_as_it_was(version: str) -> None:
    """ReplicaManager.checkpointHighWatermarks groups replicas by directory.
    It writes the file of each group.
    """
    bench = leader(version)
    bench.do(bench.broker.stop)
    again = Bench(version, files=bench.files)
    again.do(again.broker.stop)
    assert content(again, HIGH_WATERMARKS) == "0\n1\nt 0 2\n"
    (loaded,) = Bench(version, files=again.files).events(LogLoaded)
    assert (loaded.clean, loaded.high_watermark, loaded.checkpointed) == (True, 2, 2)


def test_recovery_points_are_written_after_half_a_minute_and_then_every_minute() -> None:
    """LogManager.InitialTaskDelayMs; log.flush.offset.checkpoint.interval.ms."""
    bench = leader()
    bench.log.flush()
    bench.advance(29_999.0)
    assert not bench.files.exists(RECOVERY_POINTS)
    bench.advance(1.0)
    assert content(bench, RECOVERY_POINTS) == "0\n1\nt 0 2\n"
    bench.produce("c")
    bench.log.flush()
    bench.advance(59_999.0)
    assert content(bench, RECOVERY_POINTS) == "0\n1\nt 0 2\n"
    bench.advance(1.0)
    assert content(bench, RECOVERY_POINTS) == "0\n1\nt 0 3\n"


@pytest.mark.parametrize("version", ["0.8.2", "0.10.2", "2.6", "2.8"])
def test_an_orderly_stop_leaves_everything_synced_and_a_marker(version: str) -> None:
    bench = leader(version)
    bench.do(bench.broker.stop)
    for path in (HIGH_WATERMARKS, RECOVERY_POINTS):
        assert content(bench, path) == "0\n1\nt 0 2\n"
    if bench.gates.delete_records:  # a log that begins where its first segment does is not in it
        assert content(bench, LOG_STARTS) == "0\n0\n"
    else:
        assert not bench.files.exists(LOG_STARTS), "it came with 0.11 (KIP-107)"
    assert bench.files.exists(CLEAN_SHUTDOWN)
    bench.files.power_loss({})
    again = Bench(version, files=bench.files)
    (loaded,) = again.events(LogLoaded)
    assert (loaded.log_end, loaded.high_watermark) == (2, 2)


def test_the_marker_counts_once() -> None:
    bench = leader()
    bench.do(bench.broker.stop)
    assert [event.clean for event in Bench(files=bench.files).events(LogLoaded)] == [True]
    assert [event.clean for event in Bench(files=bench.files).events(LogLoaded)] == [False]


def test_the_last_checkpoint_holds_replicas_that_were_stopped_by_the_controller() -> None:
    """Controlled shutdown stops followers first (StopReplica without deletion)."""
    bench = Bench("0.10.2")
    bench.lead(isr=(0,))
    bench.produce("a")
    bench.follow(leader=1, epoch=1)
    bench.ask(StopReplicaRequest(BrokerId(2), ControllerEpoch(1), [StoppedPartition(*T0, False, EPOCH_UNKNOWN)]))
    bench.do(bench.broker.stop)
    assert content(bench, HIGH_WATERMARKS) == "0\n1\nt 0 1\n"


def test_meta_properties_have_the_owner_of_the_log_directory() -> None:
    bench = Bench(number=7)
    assert content(bench, META_PROPERTIES) == "version=0\nbroker.id=7\n"


def test_a_full_disk_takes_the_log_directory_offline_and_the_broker_with_it() -> None:
    bench = leader(files=MemoryFiles(capacity_bytes=400))
    results = [bench.produced(bench.produce("x" * 60)) for _ in range(3)]
    assert results[-1].error == ErrorCode.KAFKA_STORAGE_ERROR
    assert len(bench.events(LogDirFailed)) == 1
    assert [(e.code, e.reason.startswith("log directory failed: t-0/0")) for e in bench.exits] == [(1, True)]


def failing(*operations: str) -> MemoryFiles:
    files = MemoryFiles()

    def hook(operation: str, path: str) -> None:
        if operation in operations and armed:
            raise DiskFailed(path, "input/output error")

    files.operation_hook = hook
    armed: list[bool] = []
    files.arm = lambda: armed.append(True)  # type: ignore[attr-defined]
    return files


@pytest.mark.parametrize("when", ["checkpoint", "recovery", "leader-and-isr", "stop", "produce"])
def test_a_failed_disk_ends_the_broker_once_whatever_it_was_doing(when: str) -> None:
    files = failing("append", "write", "fsync", "make_directory")
    bench = leader(files=files)
    files.arm()  # type: ignore[attr-defined]
    match when:
        case "checkpoint":
            bench.advance(5_000.0)
        case "recovery":
            bench.timers.pop(("high-watermark-checkpoint",))
            bench.advance(60_000.0)
        case "leader-and-isr":
            bench.leader_and_isr(state(0, topic_partition=("u", 0)))
        case "stop":
            bench.do(bench.broker.stop)
        case _:
            bench.produce("c")
    assert [e.code for e in bench.exits] == [1]
    bench.advance(120_000.0)
    bench.do(bench.broker.stop)
    assert len(bench.exits) == 1
    assert not bench.files.exists(CLEAN_SHUTDOWN)


def test_an_offline_partition_answers_with_a_storage_error() -> None:
    bench = leader()
    bench.do(lambda: bench.broker.replicas.storage_failed(DiskFailed("t-0", "gone")))
    assert bench.produced(bench.produce("c")).error == ErrorCode.KAFKA_STORAGE_ERROR
    assert bench.fetched(bench.fetch(0)).error == ErrorCode.KAFKA_STORAGE_ERROR
