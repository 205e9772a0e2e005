"""Reading at read_committed: filter of aborted transactions, positions. Semantics 12.7."""

import struct

from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.machines.client.client_settings import UnusableSetting, consumer_settings
from emulator.machines.client.fetched import passed_offset, read_entries, read_undamaged
from protocol.ids import LeaderEpoch, Offset
from protocol.messages.replication_messages import AbortedTransaction
from protocol.records.batch import encode_batch, place_batch
from protocol.records.transaction_markers import Marker, encode_marker

COMMIT, ABORT, PLAIN = "commit", "abort", "plain"


def written(steps: list[tuple[int, str]]) -> tuple[bytes, list[AbortedTransaction], list[bytes], list[bytes]]:
    """A log of steps, (producer, what): data, or the end of its transaction.

    Returns its bytes, the aborted transactions as a leader lists them, committed values, and all values. A transaction
    that is not ended is beyond the last stable offset: steps end all of them.
    """
    data, offset, number = b"", 0, 0
    aborted: list[AbortedTransaction] = []
    committed: list[tuple[int, bytes]] = []
    everything: list[bytes] = []
    open_at: dict[int, tuple[int, list[tuple[int, bytes]]]] = {}
    for producer, what in steps:
        if what in (COMMIT, ABORT):
            if producer not in open_at:
                continue
            first, values = open_at.pop(producer)
            marker = Marker(what == COMMIT, 0)
            batch = encode_marker(marker, producer_id=producer, producer_epoch=0, timestamp_ms=0)
            if what == COMMIT:
                committed += values
            else:
                aborted.append(AbortedTransaction(producer, Offset(first)))
        else:
            value = b"%d" % number
            number += 1
            everything.append(value)
            transactional = what != PLAIN
            batch = encode_batch(
                [value], timestamp_ms=0, producer_id=producer, producer_epoch=0, base_sequence=0,
                is_transactional=transactional,
            )  # fmt: skip
            if transactional:
                open_at.setdefault(producer, (offset, []))[1].append((offset, value))
            else:
                committed.append((offset, value))
        data += place_batch(batch, Offset(offset), LeaderEpoch(3))
        offset += 1
    return data, aborted, [value for _, value in sorted(committed)], everything


KINDS = st.sampled_from(("data", "data", COMMIT, ABORT, PLAIN))
STEPS = st.lists(st.tuples(st.integers(1, 3), KINDS), max_size=30).map(
    lambda steps: [(producer + 10 * (what == PLAIN), what) for producer, what in steps]
    + [(producer, COMMIT) for producer in (1, 2, 3)]
)


@settings(max_examples=150)
@given(STEPS, st.integers(0, 30))
def test_a_reader_gets_what_is_committed_and_passes_everything(steps: list[tuple[int, str]], begin: int) -> None:
    data, aborted, committed, everything = written(steps)
    fetched = read_undamaged(data, Offset(0), aborted)
    assert [record.value for entry in fetched.entries for record in entry.records] == committed
    assert [record.value for entry in read_undamaged(data, Offset(0)).entries for record in entry.records] == everything
    end = passed_offset(data, Offset(0))
    assert fetched.next_offset == (end if data else -1)
    assert not fetched.damaged
    # A later position gets the same, without what is before it: a leader lists the transactions with records behind it.
    begin = min(begin, end)
    rest = read_entries(data, Offset(begin), aborted)
    got = [record.value for entry in rest for record in entry.records]
    assert got == committed[len(committed) - len(got) :]
    assert all(record.offset >= begin for entry in rest for record in entry.records)


def test_what_precedes_damage_is_passed_and_no_more() -> None:
    data, _, _, _ = written([(1, "data"), (1, COMMIT), (11, PLAIN)])
    broken = data[:-1] + struct.pack("B", data[-1] ^ 1)
    fetched = read_undamaged(broken, Offset(0))
    assert (fetched.damaged, fetched.next_offset, len(fetched.entries)) == (True, 2, 1)


def test_a_control_record_alone_moves_the_position_and_its_epoch() -> None:
    data, aborted, _, _ = written([(1, "data"), (1, ABORT)])
    fetched = read_undamaged(data, Offset(0), aborted)
    assert (fetched.entries, fetched.next_offset, fetched.leader_epoch) == ([], 2, 3)


def test_versions_of_isolation() -> None:
    """`client_requests_stable_offsets`."""
    assert consumer_settings("0.11", {"isolation.level": "read_committed"}).isolation_level == "read_committed"
    try:
        consumer_settings("0.10.2", {"isolation.level": "read_committed"})
    except UnusableSetting as problem:
        assert "0.11" in str(problem)
    else:
        raise AssertionError("0.10.2 has no isolation levels")
    assert [consumer_settings(version).requests_stable_offsets for version in ("2.4", "2.5")] == [False, True]
