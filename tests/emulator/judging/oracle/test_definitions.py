"""Each quick rule of the oracle finds what its definition finds, on any history."""

from typing import TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.judging.oracle import controller_terms, promise_registry, read_promises
from emulator.judging.oracle import unseen_records as quick
from emulator.judging.oracle.batch_index import BatchIndex
from emulator.judging.oracle.committed_records import Committed
from emulator.judging.oracle.final_logs import FinalLogs
from emulator.judging.oracle.group_promises import committed_offset_regression as quick_regression
from emulator.judging.oracle.promise_registry import Allowances
from emulator.judging.oracle.truth import (
    Batch,
    Forgotten,
    Given,
    LeaderView,
    OfGroup,
    QuiescentPeriod,
    State,
    Term,
    Truth,
    Write,
)
from emulator.machines.client.client_state import Read
from protocol.ids import TopicPartition
from tests.emulator.judging.oracle.definitions import (
    Found,
    acknowledged_below_min_insync,
    allowed,
    committed_offset_regression,
    elected_uncleanly,
    holds,
    overlapping,
    phantom_read,
    too_few_copies,
    unseen,
)

EXAMPLES = 150
Item = TypeVar("Item")

places = st.sampled_from([("t", 0), ("t", 1), ("t#1", 0)])
digests = st.integers(0, 3)
offsets = st.integers(0, 8)
spans = st.tuples(offsets, st.integers(0, 3)).map(lambda one: (one[0], one[0] + one[1]))
numbers = st.integers(0, 12)
nodes = st.sampled_from(["broker-0", "broker-1", "broker-2"])
times_ms = st.integers(0, 12).map(float)
ends_ms = st.one_of(st.none(), times_ms)


def some(item: st.SearchStrategy[Item], most: int = 10) -> st.SearchStrategy[list[Item]]:
    return st.lists(item, max_size=most)


batches = st.builds(
    lambda span, epoch, digest: Batch(span[0], span[1], epoch, digest), spans, st.integers(0, 3), digests
)  # fmt: skip
logs = st.dictionaries(places, st.dictionaries(nodes, some(batches), max_size=3), max_size=3)
writes = st.builds(
    lambda number, place, acks, outcome, offset, digest, broker, ended: Write(
        f"client.1:{number}", "v", place, acks, outcome, offset, digest, broker=broker, ended=ended
    ),
    numbers, places, st.sampled_from([-1, -1, 1]), st.sampled_from(["ok", "ok", "unknown"]), st.integers(-1, 8),
    digests, st.integers(0, 2), numbers,
)  # fmt: skip
given_reads = st.builds(
    lambda place, reader, span, digest, ended, stretch: Given(
        place, f"reader.1:{reader}", Read(span[0], span[1], 0, digest, 9, 0, ended), stretch
    ),
    places, st.integers(0, 3), spans, digests, numbers, st.integers(0, 1),
)  # fmt: skip
held_batches = st.frozensets(st.tuples(digests, spans).map(lambda one: (one[0], *one[1])), max_size=4)
led = st.builds(
    lambda place, node, epoch, from_ms, to_ms, found: Term(place, node, epoch, from_ms, to_ms, found=found),
    places, nodes, st.integers(0, 5), times_ms, ends_ms, st.one_of(st.none(), held_batches),
)  # fmt: skip
appended = st.dictionaries(
    places,
    st.sets(st.tuples(st.integers(0, 4), spans, digests).map(lambda one: (one[0], *one[1], one[2])), max_size=8),
    max_size=3,
)
leader_views = some(
    st.builds(
        LeaderView, places, nodes, st.integers(-1, 3), st.integers(1, 3), offsets, numbers,
    ),
    14,
).map(lambda reported: sorted(reported, key=lambda one: one.ended))  # fmt: skip
forgotten = some(st.builds(Forgotten, places, nodes, offsets, offsets))
of_groups = st.lists(  # the count of operations that have ended grows with each end: no two are equal
    st.builds(
        lambda kind, group, place, number, requested, offset, outcome, begun, over, ended, znodes: OfGroup(
            kind, group, place, f"client.1:{number}", requested, offset, outcome, begun, over, ended, znodes
        ),
        st.sampled_from(["commit", "commit", "committed"]), st.sampled_from("gh"), st.just(("t", 0)), numbers,
        st.integers(0, 4), st.integers(0, 4), st.sampled_from(["ok", "ok", "ok", "unknown", "", "failed"]), numbers,
        st.integers(-1, 14), numbers, st.sampled_from([False, False, True, None]),
    ),
    max_size=13, unique_by=lambda one: one.ended,
)  # fmt: skip
states = some(
    st.builds(
        lambda place, leader, epoch, isr, created: State(place, 0, leader, epoch, tuple(isr), 1, created),
        places, st.integers(-1, 2), st.integers(0, 4), st.sets(st.integers(0, 2)), st.booleans(),
    )
)  # fmt: skip
gone = st.sets(st.sampled_from(["t#1", "t"]), max_size=1)


@settings(max_examples=EXAMPLES, deadline=None)
@given(some(st.tuples(digests, spans).map(lambda one: (one[0], *one[1]))), digests, st.integers(-1, 12))
def test_an_index_of_batches_covers_what_one_of_them_covers(
    held: list[tuple[int, int, int]], digest: int, offset: int
) -> None:
    of_content = [(first, last) for of, first, last in held if of == digest]
    covering = [(first, last) for first, last in of_content if first <= offset <= last]
    index = BatchIndex(held)
    assert index.covers(digest, offset) == bool(of_content if offset < 0 else covering)
    assert sorted(index.covering(digest, offset)) == sorted(covering)


@settings(max_examples=EXAMPLES, deadline=None)
@given(logs, some(led), places, digests, st.integers(-1, 9))
def test_final_logs_hold_what_lies_in_them(
    of_logs: dict[TopicPartition, dict[str, list[Batch]]],
    leaders: list[Term],
    place: TopicPartition,
    digest: int,
    offset: int,
) -> None:
    truth = Truth(logs=of_logs, leaders=leaders)
    assert FinalLogs(truth).holds(place, digest, offset) == holds(truth, place, digest, offset)


@settings(max_examples=2 * EXAMPLES, deadline=None)
@given(logs, some(led, 3), some(writes), some(given_reads, 16), gone)
def test_unseen(
    of_logs: dict[TopicPartition, dict[str, list[Batch]]],
    leaders: list[Term],
    written: list[Write],
    read: list[Given],
    gone: set[str],
) -> None:
    truth = Truth(logs=of_logs, leaders=leaders, writes=written, reads=read, gone=gone)
    found = [
        (one.topic_partition, one.offset, " ".join(str(one.details[key]) for key in ("operation", "reader", "times")))
        for one in quick.unseen(truth)
    ]
    assert found == list(unseen(truth))


def test_unseen_takes_two_stretches_of_one_operation_that_end_together() -> None:
    place = ("t", 0)
    read = [Given(place, "reader.1:0", Read(at, at, 0, at, 9, 0, 1), stretch=at) for at in (0, 2)]
    written = [Write("client.1:0", "v", place, -1, "ok", 1, 1, broker=0, ended=0)]
    truth = Truth(
        logs={place: {"broker-0": [Batch(1, 1, 0, 1)]}}, leaders=[Term(place, "broker-0", 0, 0.0)],
        writes=written, reads=read,
    )  # fmt: skip
    assert list(quick.unseen(truth)) == []


@settings(max_examples=EXAMPLES, deadline=None)
@given(appended, some(given_reads, 16))
def test_phantom_read(ever: dict[TopicPartition, set[tuple[int, int, int, int]]], read: list[Given]) -> None:
    truth = Truth(appended=ever, reads=read)
    found = {(one.topic_partition, one.offset, str(one.details["digest"])) for one in read_promises.phantom_read(truth)}
    assert found == phantom_read(truth)


@settings(max_examples=EXAMPLES, deadline=None)
@given(appended, some(led, 6), forgotten, writes)
def test_allowances(
    ever: dict[TopicPartition, set[tuple[int, int, int, int]]],
    leaders: list[Term],
    lacking: list[Forgotten],
    write: Write,
) -> None:
    truth = Truth(appended=ever, leaders=leaders, forgotten=lacking)
    assert Allowances(truth).of(write) == allowed(truth, write)


@settings(max_examples=2 * EXAMPLES, deadline=None)
@given(some(writes, 14), leader_views)
def test_acknowledged_below_min_insync(written: list[Write], reported: list[LeaderView]) -> None:
    truth = Truth(writes=written, leader_views=reported)
    found: list[Found] = []
    for one in promise_registry.acknowledged_below_min_insync(truth):
        operation, node, in_sync = (one.details[key] for key in ("operation", "node", "in_sync"))
        least = one.text.rpartition(" ")[2]
        found.append((one.topic_partition, one.offset, f"{operation} {node} {in_sync} {least}"))
    assert found == list(acknowledged_below_min_insync(truth))


@settings(max_examples=EXAMPLES, deadline=None)
@given(logs, some(led, 3), some(writes), leader_views, states)
def test_too_few_copies(
    of_logs: dict[TopicPartition, dict[str, list[Batch]]],
    leaders: list[Term],
    written: list[Write],
    reported: list[LeaderView],
    committed: list[State],
) -> None:
    truth = Truth(
        logs=of_logs, leaders=leaders, writes=written, leader_views=reported, states=committed,
        assignments={("t", 0): (0, 1, 2), ("t", 1): (2, 0)}, quiescent=QuiescentPeriod(0.0, 90_000.0, 6_000, 10_000),
    )  # fmt: skip
    found = [
        (
            one.topic_partition,
            one.offset,
            f"{one.details['operation']} {one.details['copies']} {one.details['min_insync_replicas']}",
        )
        for one in promise_registry.too_few_copies(truth)
    ]
    assert found == list(too_few_copies(truth))


@settings(max_examples=2 * EXAMPLES, deadline=None)
@given(of_groups)
def test_committed_offset_regression(looks: list[OfGroup]) -> None:
    truth = Truth(of_groups=looks)
    found = [
        (one.topic_partition, one.offset, f"{one.details['operation']} {one.text.split()[9]}")
        for one in quick_regression(truth)
    ]
    assert found == list(committed_offset_regression(truth))


@settings(max_examples=EXAMPLES, deadline=None)
@given(some(led, 12))
def test_terms_held_at_once(held: list[Term]) -> None:
    assert list(controller_terms.overlapping(held)) == overlapping(held)


@settings(max_examples=EXAMPLES, deadline=None)
@given(states, places, st.integers(0, 4))
def test_unclean_elections(committed: list[State], place: TopicPartition, epoch: int) -> None:
    known = Committed()
    for state in committed:
        known.note(state)
    assert known.elected_uncleanly(place, epoch) == elected_uncleanly(committed, place, epoch)
