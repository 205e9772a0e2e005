"""Several log directories (`log.dirs`).
Where logs go, what each keeps, and what is left when one fails (semantics 3, KIP-112).
"""

import pytest

from emulator.storage.files import DiskFailed
from emulator.storage.inspect import log_sizes, partitions_on, read_partition
from emulator.storage.log_directory import (
    CLEAN_SHUTDOWN,
    HIGH_WATERMARKS,
    LEADER_EPOCHS,
    META_PROPERTIES,
    RECOVERY_POINTS,
)
from emulator.storage.memory_files import MemoryFiles
from protocol.errors import ErrorCode
from protocol.events import LeaderAndIsrIgnored, LogDirFailed, LogLoaded
from protocol.ids import EPOCH_DURING_DELETE, BrokerId, ControllerEpoch, LeaderEpoch, Offset, TopicPartition
from protocol.messages.leadership_messages import (
    LeaderAndIsrResponse,
    PartitionState,
    StoppedPartition,
    StopReplicaRequest,
    StopReplicaResponse,
)
from protocol.messages.replication_messages import (
    CONSUMER_REPLICA_ID,
    EpochRequest,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    ProducePartition,
    ProduceRequest,
    ProduceResponse,
)
from protocol.purposes import FETCHER
from protocol.znodes import LOG_DIR_EVENT_NOTIFICATION, decode_log_dir_event
from verification.broker_bench import Bench, batch, state

T: list[TopicPartition] = [("t", number) for number in range(4)]
TWO = "d0,d1"


def new(topic_partition: TopicPartition, leader: int = 0, epoch: int = 0, *, is_new: bool = True) -> PartitionState:
    made = state(leader, epoch, (0,) if leader == 0 else (0, 1), topic_partition=topic_partition)
    made.is_new = is_new
    return made


def ordered(bench: Bench, *states: PartitionState) -> dict[TopicPartition, int]:
    """{partition: error} of a LeaderAndIsr."""
    answer = bench.answer(bench.leader_and_isr(*states), LeaderAndIsrResponse)
    return {(one.topic, one.partition): one.error for one in answer.partitions}


def produced(bench: Bench, topic_partition: TopicPartition, value: str = "a", acks: int = 1) -> int:
    """A connection."""
    records = batch(value, magic=bench.magic)
    return bench.ask(ProduceRequest(acks, 1_500, [ProducePartition(*topic_partition, records)]))


def error_of(bench: Bench, connection: int) -> int:
    return bench.answer(connection, ProduceResponse).partitions[0].error


def leader_of(
    version: str = "2.6", directories: str = TWO, files: MemoryFiles | None = None, ibp: str | None = None
) -> Bench:
    """It leads t-0 to t-3, alone in sync, with a record each."""
    bench = Bench(version, ibp=ibp, files=files, log_dirs=directories)
    assert set(ordered(bench, *map(new, T)).values()) == {0}
    for topic_partition in T:
        assert error_of(bench, produced(bench, topic_partition)) == 0
    return bench


def broken(bench: Bench, directory: str) -> Bench:
    """Its next operation there will find it failed."""
    bench.files.faults.failing.add(directory)
    return bench


@pytest.mark.parametrize(
    ("directories", "where"),
    [
        ("d0,d1", {"d0": ["t-0", "t-2"], "d1": ["t-1", "t-3"]}),
        (" d1 , d0,", {"d1": ["t-0", "t-2"], "d0": ["t-1", "t-3"]}),
        ("a,b,c", {"a": ["t-0", "t-3"], "b": ["t-1"], "c": ["t-2"]}),
        ("data-7", {"data-7": ["t-0", "t-1", "t-2", "t-3"]}),
    ],
)
def test_a_new_log_goes_where_the_fewest_are(directories: str, where: dict[str, list[str]]) -> None:
    bench = leader_of(directories=directories)
    found = {name: [log for log in bench.files.list(name) if log.startswith("t-")] for name in bench.files.list("")}
    assert found == where
    assert all(bench.files.exists(f"{name}/{META_PROPERTIES}") for name in where)
    assert partitions_on(bench.files) == ["t-0", "t-1", "t-2", "t-3"]
    assert [value for _, _, value in read_partition(bench.files, "t-3")["log"]] == ["a"]
    assert len(set(log_sizes(bench.files).values())) == 1


def test_each_directory_has_the_checkpoints_of_what_is_in_it() -> None:
    bench = leader_of()
    bench.advance(65_000.0)
    for name, numbers in (("d0", (0, 2)), ("d1", (1, 3))):
        held = "\n".join(f"t {number} 1" for number in numbers)
        assert bench.files.read(f"{name}/{HIGH_WATERMARKS}", 0, 99) == f"0\n2\n{held}\n".encode()
        assert bench.files.exists(f"{name}/{RECOVERY_POINTS}")
        assert bench.files.exists(f"{name}/t-{numbers[0]}/{LEADER_EPOCHS}")


def test_the_checkpoint_of_a_directory_in_which_this_life_has_no_partition_stays() -> None:
    """ReplicaManager.checkpointHighWatermarks, of every version.
    Replicas are grouped by directory.
    """
    bench = leader_of()
    bench.do(bench.broker.stop)
    again = Bench(files=bench.files, log_dirs=TWO)
    ordered(again, new(T[0], epoch=1, is_new=False))
    again.do(again.broker.stop)
    assert again.files.read(f"d0/{HIGH_WATERMARKS}", 0, 99) == b"0\n1\nt 0 1\n"
    assert again.files.read(f"d1/{HIGH_WATERMARKS}", 0, 99) == b"0\n2\nt 1 1\nt 3 1\n"


def test_each_directory_has_a_marker_of_its_own() -> None:
    """A cleanly closed directory is not recovered because another one was not."""
    bench = leader_of()
    bench.do(bench.broker.stop)
    assert bench.files.exists(f"d0/{CLEAN_SHUTDOWN}")
    bench.files.delete(f"d1/{CLEAN_SHUTDOWN}")
    again = Bench(files=bench.files, log_dirs=TWO)
    loaded = {(one.topic, one.partition): (one.clean, one.high_watermark) for one in again.events(LogLoaded)}
    assert loaded == {topic_partition: (topic_partition[1] in (0, 2), 1) for topic_partition in T}
    assert not again.files.exists(f"d0/{CLEAN_SHUTDOWN}")


@pytest.mark.parametrize("version", ["1.0", "1.1", "2.0.1", "2.6", "2.8"])
def test_from_1_0_on_a_broker_lives_on_with_what_is_left(version: str) -> None:
    bench = broken(leader_of(version), "d0")
    assert error_of(bench, produced(bench, T[0])) == ErrorCode.KAFKA_STORAGE_ERROR
    assert [(one.directory, one.reason[:13]) for one in bench.events(LogDirFailed)] == [("d0", "d0/t-0/000000")]
    assert error_of(bench, produced(bench, T[2])) == ErrorCode.KAFKA_STORAGE_ERROR, "in the same directory"
    assert [error_of(bench, produced(bench, T[number])) for number in (1, 3)] == [0, 0]
    assert [(path, decode_log_dir_event(path, data)) for path, data in bench.sessions.created] == [
        (f"{LOG_DIR_EVENT_NOTIFICATION}/log_dir_event_", 0)
    ]
    assert not bench.exits
    bench.advance(130_000.0)
    bench.do(bench.broker.stop)
    assert not bench.exits
    assert len(bench.events(LogDirFailed)) == 1, "that directory is not used any more"


@pytest.mark.parametrize(("version", "ibp"), [("0.8.2", None), ("0.10.2", None), ("0.11", None), ("2.6", "0.11")])
def test_before_1_0_the_first_that_fails_ends_the_broker(version: str, ibp: str | None) -> None:
    """By the protocol version: other brokers might not understand (ReplicaManager.startup)."""
    bench = broken(leader_of(version, ibp=ibp), "d0")
    produced(bench, T[0])
    assert [(one.code, one.reason.startswith("log directory failed: d0/t-0")) for one in bench.exits] == [(1, True)]
    assert not bench.sessions.created


def test_the_last_one_ends_it_in_every_version() -> None:
    bench = broken(broken(leader_of("2.8"), "d0"), "d1")
    for topic_partition in T:
        produced(bench, topic_partition)
    assert [one.directory for one in bench.events(LogDirFailed)] == ["d0", "d1"]
    assert [one.code for one in bench.exits] == [1]
    assert len(bench.sessions.created) == 1, "a broker about to die reports to none"


def test_a_full_directory_is_a_failed_one() -> None:
    bench = leader_of()
    bench.files.faults.full.add("d1")
    assert error_of(bench, produced(bench, T[0])) == 0
    assert error_of(bench, produced(bench, T[1])) == ErrorCode.KAFKA_STORAGE_ERROR
    assert [one.reason for one in bench.events(LogDirFailed)] == [
        "d1/t-1/00000000000000000000.log: no space left on device"
    ]


def test_every_question_about_an_offline_partition_gets_a_storage_error() -> None:
    bench = broken(leader_of(), "d0")
    produced(bench, T[0])
    fetch = FetchRequest(
        CONSUMER_REPLICA_ID, 0, 1, 1_000, [FetchPartition(*T[2], Offset(0)), FetchPartition(*T[3], Offset(0))]
    )
    first, second = bench.answer(bench.ask(fetch), FetchResponse).partitions
    assert (first.error, second.error, bool(second.records)) == (ErrorCode.KAFKA_STORAGE_ERROR, 0, True)
    listed = bench.ask(ListOffsetsRequest(CONSUMER_REPLICA_ID, [ListOffsetsPartition(*T[2], -1)]))
    assert bench.answer(listed, ListOffsetsResponse).partitions[0].error == ErrorCode.KAFKA_STORAGE_ERROR
    requested = bench.ask(OffsetForLeaderEpochRequest([EpochRequest(*T[2], LeaderEpoch(0))]))
    assert bench.answer(requested, OffsetForLeaderEpochResponse).partitions[0].error == ErrorCode.KAFKA_STORAGE_ERROR


def test_a_read_finds_the_directory_failed_too() -> None:
    bench = broken(leader_of(), "d1")
    fetch = FetchRequest(
        CONSUMER_REPLICA_ID, 0, 1, 1_000, [FetchPartition(*topic_partition, Offset(0)) for topic_partition in T]
    )
    errors = [one.error for one in bench.answer(bench.ask(fetch), FetchResponse).partitions]
    assert errors == [0, ErrorCode.KAFKA_STORAGE_ERROR, 0, ErrorCode.KAFKA_STORAGE_ERROR]


@pytest.mark.parametrize("timer_ms", [5_000.0, 60_000.0])
def test_a_checkpoint_finds_it_failed_and_those_of_the_others_are_written(timer_ms: float) -> None:
    bench = broken(leader_of(), "d0")
    bench.advance(timer_ms)
    assert [one.directory for one in bench.events(LogDirFailed)] == ["d0"]
    bench.files.faults.failing.clear()
    assert b"t 1 1\nt 3 1" in bench.files.read(f"d1/{HIGH_WATERMARKS}", 0, 99)


def test_the_answer_to_the_controllers_next_order_names_lost_replicas() -> None:
    bench = broken(leader_of(), "d0")
    produced(bench, T[0])
    same = ordered(bench, *(new(topic_partition, is_new=False) for topic_partition in T))
    stale = ErrorCode.STALE_CONTROLLER_EPOCH
    assert same == {T[0]: 56, T[1]: stale, T[2]: 56, T[3]: stale}
    later = ordered(bench, *(new(topic_partition, epoch=5, is_new=False) for topic_partition in T))
    assert later == {T[0]: 56, T[1]: 0, T[2]: 56, T[3]: 0}
    ignored = {one.reason for one in bench.events(LeaderAndIsrIgnored) if one.partition in (0, 2)}
    assert ignored == {"in an offline log directory"}


def test_no_log_is_made_of_what_may_lie_in_the_failed_directory_but_of_a_new_partition() -> None:
    """LogManager.getOrCreateLog: unless the controller says that the replica is new."""
    bench = broken(leader_of(), "d0")
    produced(bench, T[0])
    old, young = ("u", 0), ("u", 1)
    assert ordered(bench, new(old, is_new=False), new(young)) == {old: 56, young: 0}
    assert partitions_on_live(bench) == ["t-1", "t-3", "u-1"]
    assert ordered(bench, new(old, epoch=1, is_new=False)) == {old: 56}


def partitions_on_live(bench: Bench) -> list[str]:
    return [name for name in bench.files.list("d1") if "-" in name and name[-1].isdigit()]


@pytest.mark.parametrize("leader", [0, 1])
@pytest.mark.parametrize(("version", "first"), [("1.0", 56), ("2.3", 56), ("2.4", 0), ("2.6", 0), ("2.8", 0)])
def test_an_order_that_finds_a_directory_failed_is_carried_out_for_the_others(
    version: str, first: int, leader: int
) -> None:
    """From 2.4 also for the partition that found it.
    Its log is made in the next directory (KAFKA-8526).
    """
    bench = Bench(version, log_dirs=TWO)
    bench.update_metadata()
    assert set(ordered(bench, *map(new, T)).values()) == {0}
    broken(bench, "d0")
    more = [("u", number) for number in range(2)]
    answers = ordered(bench, *(new(topic_partition, leader) for topic_partition in more))
    assert answers == {more[0]: first, more[1]: 0}, "u-1 goes where there is one directory left"
    held = {topic_partition for topic_partition in more if topic_partition in bench.broker.replicas.partitions}
    assert held == ({more[1]} if first else set(more))
    assert [log for log in partitions_on_live(bench) if log.startswith("u-")] == (["u-1"] if first else ["u-0", "u-1"])
    assert [one.directory for one in bench.events(LogDirFailed)] == ["d0"]


@pytest.mark.parametrize("version", ["2.4", "2.8"])
def test_a_new_log_tries_every_directory_once(version: str) -> None:
    bench = Bench(version, log_dirs="d0,d1,d2")
    bench.update_metadata()
    broken(broken(bench, "d0"), "d1")
    assert ordered(bench, new(T[0])) == {T[0]: 0}
    assert [one.directory for one in bench.events(LogDirFailed)] == ["d0", "d1"]
    assert "t-0" in bench.files.list("d2")


def test_a_new_log_for_which_no_directory_is_left_ends_the_broker() -> None:
    bench = Bench("2.8", log_dirs=TWO)
    bench.update_metadata()
    broken(broken(bench, "d0"), "d1")
    bench.leader_and_isr(new(T[0]))
    assert [(one.directory, one.last) for one in bench.events(LogDirFailed)] == [("d0", False), ("d1", True)]


@pytest.mark.parametrize("version", ["2.3", "2.4", "2.8"])
def test_a_folder_that_can_be_made_is_kept_though_nothing_can_be_written_there(version: str) -> None:
    """Only the folder is tried elsewhere (LogManager.createLogDirectory).
    a full disk takes that and no segment.
    """
    bench = Bench(version, log_dirs=TWO)
    bench.update_metadata()
    bench.files.faults.full.add("d0")
    assert ordered(bench, new(T[0])) == {T[0]: 56}


def test_a_follower_goes_on_fetching_what_is_left() -> None:
    bench = Bench(log_dirs=TWO)
    bench.update_metadata()
    ordered(bench, *(new(topic_partition, leader=1) for topic_partition in T))
    bench.advance(1.0)
    (connection,) = bench.opened(FETCHER)
    bench.establish(connection)
    broken(bench, "d0")
    records = [
        FetchedPartition(*topic_partition, 0, Offset(1), Offset(0), None, batch("a", base_offset=0, epoch=0))
        for topic_partition in T
    ]
    bench.respond(connection, FetchResponse(records))
    after = bench.last_sent(connection).message
    assert isinstance(after, FetchRequest)
    assert [((one.topic, one.partition), one.fetch_offset) for one in after.partitions] == [(T[1], 1), (T[3], 1)]
    assert [one.directory for one in bench.events(LogDirFailed)] == ["d0"]


def test_a_produce_that_waits_is_not_looked_at_again() -> None:
    bench = Bench(log_dirs=TWO)
    ordered(bench, *(state(0, 0, (0, 1), topic_partition=topic_partition) for topic_partition in T))
    waiting = produced(bench, T[0], acks=-1)
    broken(bench, "d0")
    produced(bench, T[2])
    assert bench.answers(waiting) == []
    bench.advance(1_600.0)
    assert error_of(bench, waiting) == ErrorCode.REQUEST_TIMED_OUT


def to_be_deleted(bench: Bench, *topic_partitions: TopicPartition) -> list[int]:
    """The errors of the order."""
    stops = [StoppedPartition(*topic_partition, True, EPOCH_DURING_DELETE) for topic_partition in topic_partitions]
    requested = bench.ask(StopReplicaRequest(BrokerId(2), ControllerEpoch(1), stops))
    return [one.error for one in bench.answer(requested, StopReplicaResponse).partitions]


@pytest.mark.parametrize(
    ("version", "second"),
    [("1.0", 56), ("1.1", 0), ("2.0.0", 0), ("2.0.1", 0), ("2.1", 56), ("2.4", 56), ("2.6", 56), ("2.8", 56)],
)
def test_a_replica_that_is_offline_cannot_be_deleted(version: str, second: int) -> None:
    """In 1.1 and 2.0 not at the first order (KAFKA-7313).
    One that this life was not told of is nowhere, whatever may lie in the directory that failed
    (ReplicaManager.stopReplica).
    """
    bench = broken(leader_of(version), "d0")
    produced(bench, T[0])
    assert to_be_deleted(bench, T[0], T[1], ("unheard", 0)) == [ErrorCode.KAFKA_STORAGE_ERROR, 0, 0]
    assert partitions_on_live(bench) == ["t-3"]
    assert to_be_deleted(bench, T[0]) == [second]
    assert to_be_deleted(bench, T[2]) == [ErrorCode.KAFKA_STORAGE_ERROR]


def test_a_replica_that_was_forgotten_is_offline_again_when_it_is_ordered() -> None:
    """It has no log that can be searched, unless it is new (LogManager.getOrCreateLog)."""
    bench = broken(leader_of("2.0.1"), "d0")
    produced(bench, T[0])
    assert to_be_deleted(bench, T[0]) == [56]
    assert ordered(bench, new(T[0], epoch=1, is_new=False)) == {T[0]: 56}
    assert to_be_deleted(bench, T[0]) == [56]
    assert ordered(bench, new(T[0])) == {T[0]: 0}


def test_a_broker_starts_without_the_directory_that_fails_and_gets_it_back_empty_when_it_is_replaced() -> None:
    bench = leader_of()
    bench.do(bench.broker.stop)
    again = Bench(files=broken(bench, "d0").files, log_dirs=TWO)
    assert [(one.topic, one.partition) for one in again.events(LogLoaded)] == [T[1], T[3]]
    errors = ordered(again, *(new(topic_partition, epoch=1, is_new=False) for topic_partition in T))
    assert errors == {T[0]: 56, T[1]: 0, T[2]: 56, T[3]: 0}
    assert not again.sessions.created, "the controller asks every registered broker"
    again.files.faults.replaced("d0")
    for name in ("t-0", "t-2"):
        for inside in again.files.list(f"d0/{name}"):
            again.files.delete(f"d0/{name}/{inside}")
        again.files.delete(f"d0/{name}")
    third = Bench(files=again.files, log_dirs=TWO)
    assert set(ordered(third, *(new(topic_partition, epoch=2, is_new=False) for topic_partition in T)).values()) == {0}
    assert partitions_on(third.files) == ["t-0", "t-1", "t-2", "t-3"]


def test_an_error_that_names_no_log_directory_is_a_bug_of_ours() -> None:
    bench = leader_of()
    with pytest.raises(AssertionError, match="no log directory"):
        bench.do(lambda: bench.broker.replicas.storage_failed(DiskFailed("elsewhere", "gone")))


@pytest.mark.parametrize(
    ("version", "ends"), [("0.11", True), ("1.0", True), ("1.1", True), ("2.0.0", False), ("2.8", False)],
)
def test_a_start_on_a_disk_that_fails(version: str, ends: bool) -> None:
    """KAFKA-6697: 1.0 and 1.1 need the canonical path of every log directory.
    It fails with the disk. 0.11 knows no broker that lives on without one of its own.
    """
    bench = leader_of(version)
    bench.do(bench.broker.stop)
    again = Bench(version, files=broken(bench, "d0").files, log_dirs=TWO)
    assert bool(again.exits) is ends
    assert [(one.directory, one.last) for one in again.events(LogDirFailed)] == [("d0", ends)]


@pytest.mark.parametrize("version", ["1.0", "1.1", "2.0.0", "2.8"])
def test_a_full_disk_ends_no_start(version: str) -> None:
    bench = leader_of(version)
    bench.do(bench.broker.stop)
    bench.files.faults.full.add("d0")
    assert not Bench(version, files=bench.files, log_dirs=TWO).exits
