"""A replica's memory of its log: a sparse index and the newest batches.
The index has an entry every few kilobytes; the file has the rest.

The log must not show which of its batches are in memory. So memory is made tiny here, and the log is compared with a
plain list of batches."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.machines.broker import segment
from emulator.machines.broker.broker_state import LogSettings
from emulator.machines.broker.producer_state import ProducerState
from emulator.machines.broker.replica_log import Log
from emulator.storage.memory_files import MemoryFiles
from protocol.gates import gates_for
from protocol.ids import LeaderEpoch, Offset
from protocol.records.format import read_header
from protocol.records.types import BatchHeader
from tests.emulator.machines.broker.test_log import values
from verification.broker_bench import batch, created_log

GATES = gates_for("2.6")
SIZES = st.integers(1, 60)
STEPS = st.lists(st.one_of(SIZES.map(lambda size: ("append", size)), st.integers(0, 60).map(lambda to: ("cut", to)),
                           st.booleans().map(lambda clean: ("load", clean))), max_size=40)  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def small_memory() -> Iterator[None]:
    """Two to three recent batches, an index entry every 200 bytes.
    Windows of less than a batch.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segment, "RECENT_MIN", 2)
        patch.setattr(segment, "RECENT_MAX", 4)
        patch.setattr(segment, "INDEX_INTERVAL_BYTES", 200)
        patch.setattr(segment, "WINDOW_BYTES", 64)
        yield


class Model:
    """The log, and the batches that it should have."""

    def __init__(self, segment_bytes: int = 1 << 30) -> None:
        self.files = MemoryFiles()
        self.settings = LogSettings(segment_bytes)
        self.log = created_log(self.files, GATES, self.settings)
        self.batches: list[tuple[BatchHeader, bytes]] = []
        self._sequences: dict[int, int] = {}

    def do(self, what: str, number: int) -> None:
        """Append records of that size, cut to so many batches, or load it again.
        It was cleanly stopped or not.
        """
        if what == "append":
            producer = number % 3
            sequence = self._sequences.get(producer, 0)
            texts = [f"{number}" * number] * (1 + number % 4)
            data = batch(*texts, producer_id=producer, producer_epoch=0, base_sequence=sequence)
            header = self.log.append_as_leader(data, LeaderEpoch(len(self.batches) // 5))
            self._sequences[producer] = sequence + len(texts)
            self.batches.append((header, self.log.read(header.base_offset, header.next_offset, 1 << 20)))
        elif what == "cut":
            ends = [0, *(header.next_offset for header in self.headers)]
            kept = number % len(ends)
            self.log.truncate_to(Offset(ends[kept]))
            del self.batches[kept:]
        else:
            self.log = Log.load(self.files, "t-0", GATES, self.settings, clean=bool(number), recovery_point=Offset(0))

    @property
    def headers(self) -> list[BatchHeader]:
        return [header for header, _ in self.batches]

    @property
    def producers(self) -> ProducerState:
        state = ProducerState(GATES)
        for header in self.headers:
            state.appended(header)
        return state


def remembered(state: ProducerState) -> dict[int, list[object]]:
    return {producer: [known.epoch, *known.batches] for producer, known in state._producers.items()}


@given(STEPS, st.integers(1, 600), st.booleans())
def test_a_log_reads_as_the_list_of_its_batches(steps: list[tuple[str, int]], max_bytes: int, least: bool) -> None:
    model = Model()
    for what, number in steps:
        model.do(what, number)
    log, end = model.log, model.headers[-1].next_offset if model.headers else 0
    assert log.log_end == end
    assert [header for part in log.segments for header in part.batches()] == model.headers
    assert remembered(log.producers) == remembered(model.producers)
    for offset in range(end):
        for stop in (offset, offset + 1, offset + 3, end, end + 5):
            fitting: list[bytes] = []
            for header, data in model.batches:
                if header.last_offset < offset:
                    continue
                too_big = sum(map(len, fitting)) + len(data) > max_bytes and not (least and not fitting)
                if header.last_offset >= stop or too_big:
                    break
                fitting.append(data)
            assert log.read(Offset(offset), Offset(stop), max_bytes, at_least_one=least) == b"".join(fitting)
            between = [h.size_bytes for h in model.headers if h.last_offset >= offset and h.last_offset < stop]
            assert log.bytes_between(Offset(offset), Offset(stop)) == sum(between)


@given(STEPS, st.integers(600, 2_000))
def test_segments_do_not_show_either(steps: list[tuple[str, int]], segment_bytes: int) -> None:
    model = Model(segment_bytes)
    for what, number in steps:
        model.do(what, number)
    log = model.log
    assert [header for part in log.segments for header in part.batches()] == model.headers
    assert remembered(log.producers) == remembered(model.producers)
    wanted = [header.base_offset + index for header in model.headers for index in range(header.record_count)]
    assert [offset for offset, _ in values(log)] == wanted


def test_memory_holds_a_few_batches_and_an_index() -> None:
    """However long the log and whatever the number of its segments."""
    model = Model(segment_bytes=20_000)
    for _ in range(500):
        model.do("append", 7)
    log = model.log
    assert len(log.segments) > 2
    assert sum(len(part.headers) for part in log.segments) < segment.RECENT_MAX
    entries = sum(len(part._index_positions) for part in log.segments)
    size_bytes = sum(part.size_bytes for part in log.segments)
    assert 0 < entries <= size_bytes / segment.INDEX_INTERVAL_BYTES + len(log.segments)


def test_a_reader_far_behind_reads_no_more_of_the_file_than_it_gets() -> None:
    """But for the way from the index to its offset, and windows too small for a batch.
    Never the whole of it.
    """
    model = Model()
    for _ in range(200):
        model.do("append", 7)
    sizes: list[int] = []
    files = model.files
    read = files.read

    def counting(path: str, position: int, size_bytes: int) -> bytes:
        data = read(path, position, size_bytes)
        sizes.append(len(data))
        return data

    files.read = counting  # type: ignore[method-assign]
    got = model.log.read(Offset(150), model.log.log_end, 1_000)
    first = read_header(got)
    assert first.base_offset <= 150 <= first.last_offset
    assert sum(sizes) <= 4 * len(got) + 3 * (segment.INDEX_INTERVAL_BYTES + first.size_bytes)
