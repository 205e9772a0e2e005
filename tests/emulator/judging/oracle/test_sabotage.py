"""Machines that break a rule are found, by what was really written, committed and read."""

from typing import Any

import pytest
from google_crc32c import value as crc32c
from msgspec.structs import replace

from controller import elections, state_writes
from emulator.judging.judged import play_and_judge
from emulator.judging.oracle.committed_records import Committed
from emulator.machines.broker.fetch_reads import Reads
from emulator.machines.broker.partition import Partition
from emulator.machines.broker.replica_log import Log
from emulator.machines.client import direct
from emulator.machines.client.fetched import read_entries
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from protocol.ids import FIRST_OFFSET, BrokerId, Offset
from protocol.messages.replication_messages import FetchRequest
from protocol.records.format import iter_headers
from protocol.znodes import encode_state
from tests.emulator.judging.oracle.runs import RECREATED, small, verdict_of, watched


def texts(check: str, *steps: str, version: str = "2.8") -> list[str]:
    return [one["text"] for one in verdict_of(small(*steps, version=version)).checks[check].evidence]


def altered(data: bytes) -> bytes:
    """The same batches with another time, and a checksum that is right."""
    other = bytearray(data)
    for position, header in iter_headers(data):
        other[position + 34] ^= 1
        checksum = crc32c(bytes(other[position + 21 : position + header.size_bytes]))
        other[position + 17 : position + 21] = checksum.to_bytes(4, "big")
    return bytes(other)


def of_offsets(log_matching: list[str]) -> list[int]:
    return [int(text.split()[1]) for text in log_matching]


# --- logs ---


def test_a_follower_that_stores_something_else_than_it_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    append = Log.append_as_follower
    monkeypatch.setattr(Log, "append_as_follower", lambda log, data: append(log, altered(data)))
    assert of_offsets(texts("log-matching", "sleep: 1")) == [0, 1, 2]


def test_what_is_cut_and_written_anew_in_one_step_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log's end only rises: nothing else tells of it."""
    append = Log.append_as_follower

    def broken(log: Log, data: bytes) -> Any:
        before = log.log_end
        if before == 3:
            first = log.read(FIRST_OFFSET, before, 10_000)
            log.truncate_to(FIRST_OFFSET)
            append(log, altered(first))
        return append(log, data)

    monkeypatch.setattr(Log, "append_as_follower", broken)
    assert of_offsets(texts("log-matching", "produce: {broker: 0, values: [d], acks: all}", "sleep: 1")) == [0, 1, 2]


def test_what_was_cut_is_not_forgotten() -> None:
    """Records that the isolated leader has to cut."""
    run = play_and_judge(resolve(find_scenario("az-isolated-leader"), "2.8"), 1, run="cut")
    cut = {one["digest"] for one in run.verdict.checks["lost-acknowledged"].evidence}
    _, probe = watched(resolve(find_scenario("az-isolated-leader"), "2.8"))
    assert cut and cut <= {digest for held in probe.written.held.values() for *_, digest in held.batches}
    assert run.verdict.checks["log-matching"].verdict == "held"


def test_a_follower_that_takes_more_for_committed_than_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(partition: Partition, leaders: int) -> None:
        if leaders > partition.the_log.high_watermark:
            partition._moved(Offset(leaders + 1))

    monkeypatch.setattr(Partition, "follow_high_watermark", broken)
    assert sorted(texts("high-watermark-above-log-end", "sleep: 1")) == [
        f"broker-{node}, in incarnation 1, had a high watermark of 4, and its log never reached beyond 3"
        for node in (1, 2)
    ]


# --- reads ---


def test_a_leader_that_gives_consumers_what_is_not_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Reads._one

    def broken(reads: Reads, fetch: FetchRequest, *requested: Any, **more: Any) -> Any:
        return one(reads, replace(fetch, replica_id=BrokerId(1)), *requested, **more)

    monkeypatch.setattr(Reads, "_one", broken)
    alone = ("pause: broker-1", "pause: broker-2", "produce: {broker: 0, values: [x], acks: 1, timeout_ms: 500}")
    found = texts("read-above-high-watermark", *alone, "fetch: {broker: 0, offset: 3}")
    assert [text.partition(" ")[2] for text in found] == ["was given offsets 3 to 3 with a high watermark of 3"]


def test_a_consumer_that_is_given_a_record_no_broker_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct, "read_entries", lambda data, offset: read_entries(altered(data), offset))
    assert texts("phantom-read") == [
        f"the batch read at offset {offset} (leader epoch 0; times read: 1) was on no replica" for offset in range(3)
    ]


def test_a_consumer_that_is_given_a_piece_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct, "read_entries", lambda data, offset: read_entries(data, offset) * 2)
    assert [text.partition(" ")[2] for text in texts("read-gap")] == ["was given offset 0 right behind 2"]


def test_consumers_of_a_library_are_looked_at_too() -> None:
    consume = "consume: {group: readers, old: true, partitions: [t-0], settings: {auto.offset.reset: smallest}}"
    played, _ = watched(small(consume, version="1.1"))
    reader = [one for one in played.operations if one.kind == "fetch"][-1]
    assert [(read.base_offset, read.last_offset, read.high_watermark) for read in reader.reads] == [
        (offset, offset, 3) for offset in range(3)
    ]


@pytest.mark.parametrize("version", ["2.8", "1.1", "0.10.2"])
def test_a_reader_may_begin_in_the_middle_of_a_batch(version: str) -> None:
    produce = "produce: {broker: 0, values: [d, e, f], acks: all, batch: one message set, compression: gzip}"
    run = play_and_judge(small(produce, "fetch: {broker: 0, offset: 4}", version=version), 1, run="middle")
    [read] = run.played.operations[-1].reads
    assert (read.base_offset, read.last_offset) == (4, 5)
    assert [name for name, check in run.verdict.checks.items() if check.verdict not in ("held", "skipped")] == []


# --- what is committed ---


def test_an_isr_that_is_written_without_its_leader(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(state: Any) -> bytes:
        return encode_state(replace(state, isr=tuple(one for one in state.isr if one != state.leader)))

    monkeypatch.setattr(state_writes, "encode_state", broken)
    [text] = texts("partition-state")
    assert text.startswith("leader 0 is not in its in-sync replicas 1,2 (zxid ")


def test_a_controller_that_elects_without_a_new_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    elected = elections._elected

    def broken(state: Any, *new: Any) -> Any:
        return replace(elected(state, *new), leader_epoch=state.leader_epoch)

    monkeypatch.setattr(elections, "_elected", broken)
    found = texts("partition-state", "kill: 0", "sleep: 6")
    assert found and found[0].startswith("leader 1 after 0 in the same leader epoch 0 (zxid ")


@pytest.mark.parametrize("version", ["2.8", "1.1"])
def test_the_states_of_a_topics_lives_are_distinguished(version: str) -> None:
    """And every state that a server shows was seen when it was committed."""
    played, probe = watched(small(*RECREATED, "kill: 2", "wait: isr shrunk", version=version))
    states = probe.committed.states
    names = [state.topic_partition[0] for state in states if state.created]
    assert [probe.incarnations.shown(name) for name in names] == ["t#1", "t"]
    assert [state.zxid for state in states] == sorted(state.zxid for state in states)
    assert (states[-1].leader, states[-1].isr) == (1, (1,))
    assert not probe.committed.missing and played.player.finished


def test_a_history_that_does_not_follow_on_what_was_seen_leaves_states_unknown() -> None:
    """Ensembles that lose a majority of their disks begin anew.
    Here one that was never seen before has.
    """
    played, _ = watched(small("delete-topic: t", "wait: {until: {deleted: t}}"))
    server: Any = played.world.nodes["session-2"].machine
    committed = Committed()
    committed._tree.zxid = server.committed_zxid - (1 << 31)
    assert list(committed.catch_up(server, 0.0)) == []
    assert committed.missing.startswith("what session-2 has committed does not follow on transaction 0x")
    assert committed.zxid == server.committed_zxid


def test_what_is_read_in_a_life_of_a_topic_is_of_that_life() -> None:
    run = play_and_judge(small(*RECREATED), 1, run="recreated")
    assert run.verdict.checks["read-gap"].verdict == "held"
    assert run.verdict.checks["read-then-lost"].verdict == "held"
