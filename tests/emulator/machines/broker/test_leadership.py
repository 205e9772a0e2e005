"""LeaderAndIsr and StopReplica (semantics 1.7, 11.5).
What a broker tells of them is in test_metadata_cache.
"""

import pytest

from emulator.storage.log_directory import deleted_log_directory
from protocol.errors import ErrorCode
from protocol.events import (
    FetcherChanged,
    LeaderAndIsrIgnored,
    LogDeleted,
    LogDirFailed,
    LogLoaded,
    LogTruncated,
    RoleChanged,
)
from protocol.ids import EPOCH_DURING_DELETE, EPOCH_UNKNOWN, BrokerId, ControllerEpoch, LeaderEpoch
from protocol.kinds import IgnoredReason
from protocol.messages.leadership_messages import (
    LeaderAndIsrResponse,
    StoppedPartition,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from verification.broker_bench import T0, Bench, state

LADDER = ("0.8.2", "0.10.2", "0.11", "1.0", "1.1", "2.0.0", "2.0.1", "2.1", "2.4", "2.6", "2.7", "2.8")


def roles(bench: Bench) -> list[tuple[str, int, int]]:
    return [(event.role, event.leader, event.leader_epoch) for event in bench.events(RoleChanged)]


# --- the checks, in order ---


def test_an_order_for_an_earlier_life_is_refused_first() -> None:
    """KIP-380: request broker epoch < own; before 2.2 not looked at. Equal or unknown is fine."""
    for version, error in (("2.1", 0), ("2.2", ErrorCode.STALE_BROKER_EPOCH)):
        bench = Bench(version)
        bench.leader_and_isr(state(0), controller_epoch=5, broker_epoch=100)
        stale = bench.leader_and_isr(state(0, 1), controller_epoch=4, broker_epoch=99)
        assert bench.answer(stale, LeaderAndIsrResponse).error == (error or ErrorCode.STALE_CONTROLLER_EPOCH)
        stale = bench.leader_and_isr(state(0, 1), controller_epoch=5, broker_epoch=99)
        assert bench.answer(stale, LeaderAndIsrResponse).error == error
        assert bench.partition.leader_epoch == (0 if error else 1)


@pytest.mark.parametrize(
    ("version", "error"), [("2.1", 0), ("2.2", -1), ("2.3", -1), ("2.4", -1), ("2.5", 0), ("2.8", 0)]
)
def test_an_order_for_a_registration_that_is_not_known_yet(version: str, error: int) -> None:
    """KAFKA-9839: all three orders fail alike.
    What they say is not taken over, the controller's epoch neither.
    """
    bench = Bench(version)
    order = bench.leader_and_isr(state(0), controller_epoch=5, broker_epoch=101)
    assert bench.answer(order, LeaderAndIsrResponse).error == error
    assert [event.reason for event in bench.events(LeaderAndIsrIgnored)] == (
        [IgnoredReason.NEWER_REGISTRATION] if error else []
    )
    update = bench.ask(UpdateMetadataRequest(BrokerId(2), ControllerEpoch(5), [], [], 101))
    assert bench.answer(update, UpdateMetadataResponse).error == error
    stop = bench.ask(StopReplicaRequest(BrokerId(2), ControllerEpoch(5), [StoppedPartition(*T0)], 101))
    assert bench.answer(stop, StopReplicaResponse).error == error
    again = bench.leader_and_isr(state(0), controller_epoch=4, broker_epoch=100)
    assert bench.answer(again, LeaderAndIsrResponse).error == (0 if error else ErrorCode.STALE_CONTROLLER_EPOCH)


def test_before_the_first_registration_every_order_is_for_this_life() -> None:
    """Kafka handles no request before it is registered.
    So there is no epoch that could be newer.
    """
    bench = Bench("2.3")
    bench.context.broker_epoch = -1
    order = bench.leader_and_isr(state(0), broker_epoch=100)
    assert bench.answer(order, LeaderAndIsrResponse).error == ErrorCode.NONE


def test_an_order_of_a_past_controller_is_refused_whole() -> None:
    bench = Bench()
    bench.leader_and_isr(state(0), controller_epoch=5)
    stale = bench.leader_and_isr(state(0, 7), controller_epoch=4)
    assert bench.answer(stale, LeaderAndIsrResponse) == LeaderAndIsrResponse(ErrorCode.STALE_CONTROLLER_EPOCH)
    stale = bench.ask(StopReplicaRequest(BrokerId(2), ControllerEpoch(4), [StoppedPartition(*T0)]))
    assert bench.answer(stale, StopReplicaResponse).error == ErrorCode.STALE_CONTROLLER_EPOCH
    stale = bench.update_metadata(controller_epoch=4, controller=1)
    assert bench.answer(stale, UpdateMetadataResponse).error == ErrorCode.STALE_CONTROLLER_EPOCH
    assert (bench.partition.leader_epoch, bench.broker.metadata.controller) == (0, -1)


@pytest.mark.parametrize("order", ["update-metadata", "stop-replica", "leader-and-isr"])
def test_every_order_makes_the_controllers_epoch_known(order: str) -> None:
    bench = Bench()
    if order == "update-metadata":
        bench.update_metadata(controller_epoch=9)
    elif order == "stop-replica":
        bench.ask(StopReplicaRequest(BrokerId(2), ControllerEpoch(9), []))
    else:
        bench.leader_and_isr(controller_epoch=9)
    stale = bench.leader_and_isr(state(0), controller_epoch=8)
    assert bench.answer(stale, LeaderAndIsrResponse).error == ErrorCode.STALE_CONTROLLER_EPOCH


@pytest.mark.parametrize("epoch", [2, 3])
def test_a_leader_epoch_that_is_not_newer_is_ignored(epoch: int) -> None:
    """Equal is ignored too: code 11 for the partition."""
    bench = Bench()
    bench.lead(3, isr=(0, 1))
    answer = bench.lead(epoch, isr=(0,))
    assert [p.error for p in answer.partitions] == [ErrorCode.STALE_CONTROLLER_EPOCH]
    assert bench.partition.isr == [0, 1]
    assert bench.events(LeaderAndIsrIgnored)[0].reason == "leader epoch not newer"


def test_a_broker_that_is_no_replica_takes_nothing_on() -> None:
    bench = Bench()
    answer = bench.become(1, 0, (1,), 0, (1, 2))
    assert [p.error for p in answer.partitions] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert bench.broker.replicas.partitions == {}


# --- becoming leader ---


@pytest.mark.parametrize("version", LADDER)
def test_a_new_leader_never_truncates(version: str) -> None:
    """Semantics 1.7, in any era: log end stays, the high watermark may be behind it."""
    bench = Bench(version)
    bench.lead(0, isr=(0, 1))
    for text in "abc":
        bench.produce(text)
    again = Bench(version, files=bench.files)
    again.lead(2, isr=(0, 1))
    assert (again.log.log_end, again.log.high_watermark) == (3, 0)
    assert again.events(LogTruncated) == []


@pytest.mark.parametrize(
    ("version", "entries"),
    [("0.11", [(1, 0)]), ("2.0.0", [(1, 0)]), ("2.0.1", [(1, 0), (4, 1)]), ("2.8", [(1, 0), (4, 1)])],
)
def test_the_epoch_is_written_on_election_or_with_the_first_batch(version: str, entries: list[tuple[int, int]]) -> None:
    """KAFKA-7415."""
    bench = Bench(version)
    bench.lead(1)
    bench.produce("a")
    bench.lead(4)
    assert bench.log.epochs.entries == entries
    bench.produce("b")
    assert bench.log.epochs.entries == [(1, 0), (4, 1)]


def test_a_new_leader_takes_over_isr_and_version() -> None:
    bench = Bench()
    bench.lead(5, isr=(2, 0), zk_version=17, replicas=(0, 2))
    p = bench.partition
    assert (p.leader, p.leader_epoch, p.isr, p.partition_epoch, p.assignment) == (0, 5, [2, 0], 17, [0, 2])
    assert sorted(p.remotes) == [2]
    assert roles(bench) == [("leader", 0, 5)]


def test_a_log_found_on_disk_keeps_its_high_watermark() -> None:
    """HW = min(checkpoint, log end)."""
    bench = Bench()
    bench.lead(0, isr=(0,))
    bench.produce("a")
    bench.produce("b")
    bench.advance(5_000.0)
    bench.produce("c")
    again = Bench(files=bench.files)
    again.lead(1, isr=(0, 1))
    assert (again.log.log_end, again.log.high_watermark) == (3, 2)


def test_a_former_follower_stops_fetching() -> None:
    bench = Bench()
    bench.follow(leader=1)
    bench.lead(1)
    assert [(e.change, e.source) for e in bench.events(FetcherChanged)] == [("added", 1), ("removed", 1)]
    assert bench.fetching() == "stopped"


# --- becoming follower ---


def test_a_leader_that_is_not_alive_changes_nothing_but_the_log() -> None:
    """Not even the epoch (semantics 1.7)."""
    bench = Bench()
    bench.update_metadata(live=(0, 2))
    answer = bench.become(1, 3, (1,))
    assert [p.error for p in answer.partitions] == [0]
    assert (bench.partition.leader, bench.partition.leader_epoch, bench.log.log_end) == (-1, -1, 0)
    assert bench.events(LeaderAndIsrIgnored)[0].reason == "leader not alive"
    assert bench.fetching() == "stopped"
    bench.follow(1, 3)
    assert bench.partition.leader_epoch == 3


def test_a_partition_without_leader_leaves_a_leader_as_it_was() -> None:
    """Leader -1 counts as not alive: a leader that is told so goes on leading."""
    bench = Bench()
    bench.lead(0)
    bench.become(-1, 1, (0,))
    assert (bench.partition.leads, bench.partition.leader_epoch) == (True, 0)


def test_a_follower_keeps_an_empty_isr() -> None:
    bench = Bench()
    bench.lead(0, isr=(0, 1))
    bench.follow(leader=1, epoch=1, isr=(1, 0))
    assert (bench.partition.isr, bench.partition.epoch_start, bench.partition.leads) == ([], None, False)


@pytest.mark.parametrize(
    ("version", "same_epoch_plus_1", "same_epoch_plus_2"),
    [
        ("0.10.2", False, False), ("0.11", False, False), ("2.0.0", False, False),
        ("2.0.1", False, True), ("2.1", True, True), ("2.6", True, True), ("2.8", True, True),
    ],
)  # fmt: skip
def test_when_the_same_leader_restarts_the_fetcher(
    version: str, same_epoch_plus_1: bool, same_epoch_plus_2: bool
) -> None:
    """KAFKA-7164 and after: leader id alone, then epoch jumps, then any new epoch.
    Another leader always does.
    """
    for jump, restarts in ((1, same_epoch_plus_1), (2, same_epoch_plus_2)):
        bench = Bench(version)
        bench.follow(leader=1, epoch=0)
        bench.follow(leader=1, epoch=jump)
        added = [e for e in bench.events(FetcherChanged) if e.change == "added"]
        assert len(added) == (2 if restarts else 1), jump
        bench.follow(leader=2, epoch=jump + 1)
        assert [e.source for e in bench.events(FetcherChanged) if e.change == "added"][len(added) :] == [2]


def deposed(version: str) -> tuple[Bench, int]:
    """It led, a produce waits, and it follows broker-1 now."""
    bench = Bench(version)
    bench.lead(0, isr=(0, 1))
    waiting = bench.produce("a", acks=-1, timeout_ms=9_000)
    bench.follow(leader=1, epoch=1)
    return bench, waiting


@pytest.mark.parametrize("version", ["0.10.2", "2.8"])
def test_what_is_parked_is_answered_when_its_leader_is_deposed(version: str) -> None:
    bench, waiting = deposed(version)
    assert bench.produced(waiting).error == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_what_is_parked_at_a_deposed_leader_of_0_8_2_waits_for_its_time_out() -> None:
    """Semantics 1.7."""
    bench, waiting = deposed("0.8.2")
    bench.advance(8_999.0)
    assert bench.answers(waiting) == []
    bench.advance(1.0)
    assert bench.produced(waiting).error == ErrorCode.REQUEST_TIMED_OUT


def test_what_is_parked_at_a_deposed_leader_of_0_8_2_is_looked_at_when_a_follower_fetches() -> None:
    bench, waiting = deposed("0.8.2")
    assert bench.fetched(bench.fetch(0, replica=2)).error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert bench.produced(waiting).error == ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize(("version", "leader"), [("0.8.2", 1), ("0.10.2", -1)])
def test_in_0_8_2_the_order_itself_names_the_leader(version: str, leader: int) -> None:
    """Semantics 1.7: later versions follow only leaders that UpdateMetadata has named."""
    bench = Bench(version)
    bench.become(1, 0, (0, 1))
    assert bench.partition.leader == leader


@pytest.mark.parametrize(("version", "cuts"), [("0.8.2", [1]), ("0.10.2", [1]), ("0.11", []), ("2.6", []), ("2.8", [])])
def test_only_before_0_11_a_new_follower_cuts_to_its_high_watermark(version: str, cuts: list[int]) -> None:
    """E0 (semantics 1.7)."""
    bench = Bench(version)
    bench.lead(0, isr=(0, 1))
    for text in "abc":
        bench.produce(text)
    bench.fetch(1, replica=1)
    assert bench.log.high_watermark == 1
    bench.follow(leader=1, epoch=1)
    assert [event.to for event in bench.events(LogTruncated)] == cuts
    assert bench.log.log_end == (1 if cuts else 3)


# --- one order at a time ---


def test_orders_wait_in_line_for_a_topics_configuration() -> None:
    """replicaStateChangeLock: UpdateMetadata of another connection waits behind LeaderAndIsr."""
    bench = Bench()
    bench.sessions.reachable = False
    first = bench.leader_and_isr(state(0))
    second = bench.update_metadata(state(0))
    third = bench.ask(StopReplicaRequest(BrokerId(2), ControllerEpoch(1), [StoppedPartition("other", 0)]))
    assert bench.answers(first) == bench.answers(second) == bench.answers(third) == []
    assert bench.broker.metadata.partitions == {}
    bench.session_back()
    assert bench.answer(first, LeaderAndIsrResponse).error == 0
    assert bench.answer(second, UpdateMetadataResponse).error == 0
    assert bench.answer(third, StopReplicaResponse).error == 0


def test_topic_configuration_is_read_for_a_new_log() -> None:
    bench = Bench()
    bench.sessions.znodes["/config/topics/t"] = (b'{"version":1,"config":{"min.insync.replicas":"2"}}', 0)
    bench.lead(isr=(0,))
    assert bench.partition.settings.min_insync_replicas == 2
    assert bench.produced(bench.produce("a", acks=-1)).error == ErrorCode.NOT_ENOUGH_REPLICAS


# --- StopReplica ---


@pytest.mark.parametrize(
    ("version", "epoch", "error"),
    [
        ("2.5", 2, 0), ("2.6", 2, ErrorCode.FENCED_LEADER_EPOCH), ("2.6", 3, ErrorCode.FENCED_LEADER_EPOCH),
        ("2.6", 4, 0), ("2.6", -1, 0), ("2.6", -2, 0),
    ],
)  # fmt: skip
def test_stopping_is_fenced_by_the_leader_epoch(version: str, epoch: int, error: int) -> None:
    bench = Bench(version)
    bench.follow(leader=1, epoch=3)
    connection = bench.ask(
        StopReplicaRequest(BrokerId(2), ControllerEpoch(1), [StoppedPartition(*T0, False, LeaderEpoch(epoch))])
    )
    answer = bench.answer(connection, StopReplicaResponse)
    assert (answer.error, answer.partitions[0].error) == (0, error)
    assert (bench.fetching() == "stopped") is (error == 0)


def test_a_replica_that_is_only_stopped_keeps_what_it_is() -> None:
    """Kafka's stopReplica(deletePartition=false) stops the fetcher and nothing else."""
    bench = Bench()
    bench.follow(leader=1, epoch=3)
    bench.ask(StopReplicaRequest(BrokerId(2), ControllerEpoch(1), [StoppedPartition(*T0, False, EPOCH_UNKNOWN)]))
    assert (bench.partition.leader_epoch, bench.fetching()) == (3, "stopped")
    assert [p.error for p in bench.become(1, 3, (0, 1)).partitions] == [ErrorCode.STALE_CONTROLLER_EPOCH]


def test_a_deleted_replica_leaves_nothing_behind() -> None:
    bench = Bench()
    bench.lead(3)
    bench.produce("a")
    bench.ask(StopReplicaRequest(BrokerId(2), ControllerEpoch(1), [StoppedPartition(*T0, True, EPOCH_DURING_DELETE)]))
    assert (bench.broker.replicas.partitions, bench.broker.replicas.logs) == ({}, {})
    assert not bench.files.exists("t-0")
    bench.lead(0)
    assert (bench.log.log_end, bench.partition.leader_epoch) == (0, 0)


@pytest.mark.parametrize(("version", "operations"), [
    ("0.8.2", ["delete", "delete"]), ("0.10.2", ["rename", "delete", "delete"]),
])  # fmt: skip
def test_the_folder_of_a_deleted_log_is_renamed_first(version: str, operations: list[str]) -> None:
    """Semantics 4.5, `renames_deleted_logs`."""
    bench = Bench(version)
    bench.lead(0)
    bench.produce("a")
    done: list[str] = []
    bench.files.operation_hook = lambda operation, path: done.append(operation)
    bench.ask(StopReplicaRequest(BrokerId(2), ControllerEpoch(1), [StoppedPartition(*T0, True, EPOCH_DURING_DELETE)]))
    assert done == operations


def test_a_log_that_was_renamed_to_be_deleted_is_gone_at_the_next_start() -> None:
    bench = Bench()
    bench.lead(0)
    bench.produce("a")
    bench.files.rename("t-0", deleted_log_directory("t-0", 1, 1))
    again = Bench(files=bench.files)
    assert (again.broker.replicas.logs, [name for name in bench.files.list("") if "t-0" in name]) == ({}, [])


@pytest.mark.parametrize(("reported", "reason"), [(-2, "topic-deleted"), (1, "replica-moved")])
def test_the_event_of_a_deleted_log_has_the_reason(reported: int, reason: str) -> None:
    """Semantics 4.5: this broker's metadata of the topic tell a move from a deletion."""
    bench = Bench()
    bench.lead(0)
    bench.produce("a", "b")
    bench.update_metadata(state(reported))
    bench.ask(StopReplicaRequest(BrokerId(2), ControllerEpoch(1), [StoppedPartition(*T0, True, EPOCH_DURING_DELETE)]))
    assert [(event.log_end, event.reason) for event in bench.events(LogDeleted)] == [(2, reason)]


def test_an_unknown_replica_is_deleted_from_disk() -> None:
    bench = Bench()
    bench.lead(0)
    again = Bench(files=bench.files)
    again.ask(StopReplicaRequest(BrokerId(2), ControllerEpoch(1), [StoppedPartition(*T0, True, EPOCH_DURING_DELETE)]))
    assert (again.broker.replicas.logs, again.files.exists("t-0")) == ({}, False)


# --- a session that ends in the middle (semantics 1.7, KAFKA-9307) ---


@pytest.mark.parametrize("version", ["1.1", "2.0.1", "2.2", "2.4", "2.6"])
def test_an_order_that_a_lost_session_ends_half_way_is_not_repaired_by_the_same_order(version: str) -> None:
    """Earlier partitions of the order have their new leader and epoch, and no fetcher.
    They come before the partition whose configuration is missing.
    """
    bench = Bench(version)
    bench.lead(0, isr=(0, 1))
    bench.update_metadata()
    new = state(1, topic_partition=("u", 0))
    bench.sessions.reachable = False
    order = bench.leader_and_isr(state(1, 1), new)
    assert bench.answers(order) == []
    bench.session_expires()
    assert bench.answer(order, LeaderAndIsrResponse) == LeaderAndIsrResponse(ErrorCode.UNKNOWN_SERVER_ERROR)
    assert (bench.partition.leads, bench.partition.leader, bench.partition.leader_epoch) == (False, 1, 1)
    assert bench.events(FetcherChanged) == []
    assert ("u", 0) not in bench.broker.replicas.logs

    bench.session_back()
    again = bench.answer(bench.leader_and_isr(state(1, 1), new), LeaderAndIsrResponse)
    assert [p.error for p in again.partitions] == [ErrorCode.STALE_CONTROLLER_EPOCH, 0]
    assert [(e.topic, e.change) for e in bench.events(FetcherChanged)] == [("u", "added")]
    newer = bench.answer(bench.leader_and_isr(state(1, 2)), LeaderAndIsrResponse)
    assert [p.error for p in newer.partitions] == [0]
    # A newer epoch of the same leader mends it where that restarts the fetcher (`fetcher_restart`).
    restarted = version not in ("1.1", "2.0.1")
    assert [e.topic for e in bench.events(FetcherChanged)] == (["u", "t"] if restarted else ["u"])


@pytest.mark.parametrize("version", ["2.7", "2.8"])
@pytest.mark.parametrize("leader", [0, 1])
def test_from_2_7_a_lost_session_takes_one_partition_offline_and_the_order_goes_on(version: str, leader: int) -> None:
    """Partition.makeLeader, makeFollower (KAFKA-9769); the controller is told of nothing."""
    bench = Bench(version)
    bench.lead(0, isr=(0, 1))
    bench.update_metadata()
    bench.sessions.reachable = False
    new = state(leader, topic_partition=("u", 0))
    order = bench.leader_and_isr(new, state(1, 1))
    bench.session_expires()
    answered = bench.answer(order, LeaderAndIsrResponse)
    assert (answered.error, [p.error for p in answered.partitions]) == (0, [0, 0])
    assert (bench.partition.leads, bench.partition.leader_epoch, bench.fetching()) == (False, 1, "fetching")
    assert bench.broker.replicas.offline == {("u", 0)}
    assert [(e.topic, e.reason) for e in bench.events(LeaderAndIsrIgnored)] == [("u", "session expired")]

    bench.session_back()
    again = bench.answer(bench.leader_and_isr(state(leader, 1, topic_partition=("u", 0))), LeaderAndIsrResponse)
    assert [p.error for p in again.partitions] == [ErrorCode.KAFKA_STORAGE_ERROR], "until its next life"
    next_life = Bench(version, files=bench.files)
    assert next_life.answer(next_life.leader_and_isr(new), LeaderAndIsrResponse).partitions[0].error == 0


def test_whose_leader_is_not_alive_a_lost_session_ends_the_order_in_2_8_too() -> None:
    """ReplicaManager.makeFollowers makes sure of its log itself, and catches nothing."""
    bench = Bench("2.8")
    bench.lead(0, isr=(0, 1))
    bench.update_metadata(live=(0,))
    bench.sessions.reachable = False
    orders = [state(0, topic_partition=("v", 0)), state(1, topic_partition=("u", 0))]
    order = bench.leader_and_isr(*orders)
    for _ in range(2):  # one for each of them
        bench.session_expires()
    assert bench.answer(order, LeaderAndIsrResponse).error == ErrorCode.UNKNOWN_SERVER_ERROR
    assert bench.broker.replicas.offline == set()
    bench.session_back()
    again = bench.answer(bench.leader_and_isr(*orders), LeaderAndIsrResponse)
    assert [p.error for p in again.partitions] == [0, 0]


def test_a_partition_that_is_to_lead_and_has_no_configuration_is_not_begun() -> None:
    bench = Bench("2.4")
    bench.update_metadata()
    bench.sessions.reachable = False
    order = bench.leader_and_isr(state(0))
    bench.session_expires()
    assert bench.answer(order, LeaderAndIsrResponse).error == ErrorCode.UNKNOWN_SERVER_ERROR
    assert (bench.partition.leads, bench.partition.leader_epoch) == (False, -1)
    bench.session_back()
    assert bench.lead().error == 0
    assert bench.partition.leads


# --- topics with long names (KAFKA-4893) ---

LONG = "n" * 214
"""One character more than what a deleted log's name has room for."""


def deleted(version: str, topic: str, log_dirs: str = "") -> tuple[Bench, list[int]]:
    """(a broker that was ordered to delete partition 0 of a topic, and u-0; the errors)"""
    bench = Bench(version, log_dirs=log_dirs)
    placed = [(topic, 0), ("u", 0)]
    bench.leader_and_isr(*(state(0, topic_partition=one) for one in placed))
    stops = [StoppedPartition(*one, True, EPOCH_DURING_DELETE) for one in placed]
    requested = bench.ask(StopReplicaRequest(BrokerId(2), ControllerEpoch(1), stops))
    answers = [answer for answer in bench.answers(requested) if isinstance(answer, StopReplicaResponse)]
    return bench, [one.error for answer in answers for one in answer.partitions]


@pytest.mark.parametrize("version", LADDER)
def test_a_name_that_leaves_room_for_the_rest_can_be_deleted(version: str) -> None:
    bench, errors = deleted(version, LONG[1:])
    assert (errors, bench.broker.replicas.logs) == ([0, 0], {})


@pytest.mark.parametrize("version", ["0.8.2", "2.2", "2.4", "2.8"])
def test_a_long_name_can_be_deleted_where_it_is_cut_off_or_not_changed(version: str) -> None:
    bench, errors = deleted(version, "n" * 249)
    assert (errors, bench.broker.replicas.logs) == ([0, 0], {})
    assert not [name for name in bench.files.list("") if name.startswith("n")]


@pytest.mark.parametrize("version", ["0.10.2", "0.11"])
def test_a_long_name_fails_the_whole_order(version: str) -> None:
    """Later partitions of the order are not deleted.
    Repeated, the order finds nothing that it knows of. The log lies there, and is that of the next topic of this name.
    """
    bench, errors = deleted(version, LONG)
    assert errors == [-1, -1]
    assert list(bench.broker.replicas.logs) == [("u", 0)]
    again = bench.ask(
        StopReplicaRequest(BrokerId(2), ControllerEpoch(1), [StoppedPartition(LONG, 0, True, EPOCH_DURING_DELETE)])
    )
    assert [one.error for one in bench.answer(again, StopReplicaResponse).partitions] == [0]
    assert bench.files.list(f"{LONG}-0")
    bench.leader_and_isr(state(0, topic_partition=(LONG, 0)))
    assert [event.topic for event in bench.events(LogLoaded)] == [LONG]


@pytest.mark.parametrize("version", ["1.0", "1.1", "2.0.0", "2.0.1", "2.1"])
def test_a_long_name_takes_the_log_directory_offline(version: str) -> None:
    bench, errors = deleted(version, LONG)
    assert ([one.last for one in bench.events(LogDirFailed)], len(bench.exits)) == ([True], 1)
    bench, errors = deleted(version, LONG, log_dirs="d0,d1")
    assert errors == [ErrorCode.KAFKA_STORAGE_ERROR, 0]
    assert [(one.directory, one.last) for one in bench.events(LogDirFailed)] == [("d0", False)]


@pytest.mark.parametrize("characters", [1, 213, 214, 229, 230, 249])
def test_the_folder_of_a_deleted_log_always_has_a_name_that_file_systems_take(characters: int) -> None:
    names = {deleted_log_directory(f"{'n' * characters}-{partition}", 1, partition) for partition in (0, 1, 99_999)}
    assert len(names) == 3 and all(len(name) <= 255 for name in names)
