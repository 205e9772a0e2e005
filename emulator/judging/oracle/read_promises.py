"""Checks of consumers' reads: whether a batch existed, was committed, was whole, and stayed."""

from collections.abc import Iterator

from emulator.judging.oracle.batch_index import BatchIndex, Span
from emulator.judging.oracle.final_logs import FinalLogs
from emulator.judging.oracle.hidden_records import HiddenRecords
from emulator.judging.oracle.oracle_check import batches_read, oracle_check
from emulator.judging.oracle.partition_incarnations import plain_topic
from emulator.judging.oracle.truth import Given, Truth, Violation
from emulator.machines.client.client_state import Read
from protocol.ids import TopicPartition

Batches = dict[tuple[TopicPartition, int, int], list[Given]]
"""{(topic_partition, base offset, digest): its reads}"""


@oracle_check("read-then-lost", "batches read", batches_read, reads="final leaders' logs")
def read_then_lost(truth: Truth) -> Iterator[Violation]:
    """One batch that was read and that the final leader does not hold where it was read."""
    final = FinalLogs(truth)
    for (topic_partition, offset, digest), times in sorted(_distinct(truth).items()):
        if topic_partition[0] in truth.gone:
            continue
        if final.holds(topic_partition, digest, offset) is False:
            yield _violation(topic_partition, offset, times, "is not on the final leader")


@oracle_check("phantom-read", "batches read", batches_read)
def phantom_read(truth: Truth) -> Iterator[Violation]:
    """One batch that was read and that no replica ever held."""
    spans: dict[TopicPartition, list[Span]] = {}
    for (topic, partition), batches in truth.appended.items():
        of_partition = spans.setdefault((plain_topic(topic), partition), [])
        of_partition += [(digest, first, last) for _, first, last, digest in batches]
    ever = {topic_partition: BatchIndex(some) for topic_partition, some in spans.items()}
    for (topic_partition, offset, digest), times in sorted(_distinct(truth, lives_apart=False).items()):
        held = ever.get(topic_partition)
        if held is None or not held.covers(digest, offset):
            yield _violation(topic_partition, offset, times, "was on no replica")


@oracle_check("read-above-high-watermark", "batches read", batches_read)
def read_above_high_watermark(truth: Truth) -> Iterator[Violation]:
    """One batch of a response that ends at or above the response's high watermark."""
    for given in truth.reads:
        read = given.read
        if read.last_offset >= read.high_watermark:
            text = (
                f"{given.operation} was given offsets {read.base_offset} to {read.last_offset} "
                f"with a high watermark of {read.high_watermark}"
            )
            details = {"operation": given.operation, "high_watermark": read.high_watermark}
            yield Violation(given.topic_partition, read.base_offset, text, details)


@oracle_check("read-gap", "batches read", batches_read)
def read_gap(truth: Truth) -> Iterator[Violation]:
    """One batch that does not begin right behind the batch that its reader got before."""
    hidden = HiddenRecords(truth)
    for given, last in _leaps(truth):
        if _alike(given.read, last) and not _passes_hidden(hidden, given, last):
            text = f"{given.operation} was given offset {given.read.base_offset} right behind {last.last_offset}"
            yield _leap(given, last, text)


@oracle_check("non-monotonic-read", "batches read", batches_read)
def non_monotonic_read(truth: Truth) -> Iterator[Violation]:
    """One batch that begins at or before the last offset that another leader returned."""
    for given, last in _leaps(truth):
        if not _alike(given.read, last) and given.read.base_offset <= last.last_offset:
            yield _leap(given, last, f"{_by_whom(given)}, after {last.last_offset} {_of_whom(last)}")


@oracle_check("skipped-read", "batches read", batches_read)
def skipped_read(truth: Truth) -> Iterator[Violation]:
    """One batch that begins behind the next offset of the batch that another leader returned."""
    hidden = HiddenRecords(truth)
    for given, last in _leaps(truth):
        further = given.read.base_offset > last.last_offset + 1
        if not _alike(given.read, last) and further and not _passes_hidden(hidden, given, last):
            yield _leap(given, last, f"{_by_whom(given)}, right behind {last.last_offset} {_of_whom(last)}")


@oracle_check("inconsistent-offsets", "batches read", batches_read)
def inconsistent_offsets(truth: Truth) -> Iterator[Violation]:
    """One batch that begins within another that was read."""
    for topic_partition, contents in sorted(_contents(truth).items()):
        furthest: tuple[int, int, int] | None = None
        for (base, digest), (last, epoch) in sorted(contents.items()):
            if furthest is not None and furthest[0] >= base and furthest[1] != digest:
                text = (
                    f"the batch read at offset {base} in leader epoch {epoch} differs from the one "
                    f"read in leader epoch {furthest[2]}"
                )
                yield Violation(topic_partition, base, text, {"digest": digest, "epochs": [furthest[2], epoch]})
            furthest = max(furthest or (-1, -1, -1), (last, digest, epoch))


def _contents(truth: Truth) -> dict[TopicPartition, dict[tuple[int, int], tuple[int, int]]]:
    """{topic_partition: {(base offset, digest): (last offset of its reads, first leader epoch)}}"""
    found: dict[TopicPartition, dict[tuple[int, int], tuple[int, int]]] = {}
    for given in truth.reads:
        read, contents = given.read, found.setdefault(given.topic_partition, {})
        last, epoch = contents.get((read.base_offset, read.digest), (read.last_offset, read.leader_epoch))
        contents[read.base_offset, read.digest] = max(last, read.last_offset), min(epoch, read.leader_epoch)
    return found


def _leaps(truth: Truth) -> Iterator[tuple[Given, Read]]:
    """Reads that do not begin right behind the operation's read before, in the same stretch."""
    before: dict[tuple[str, TopicPartition], Given] = {}
    for given in truth.reads:
        last = before.get((given.operation, given.topic_partition))
        before[given.operation, given.topic_partition] = given
        if last is None or last.stretch != given.stretch:
            continue
        if given.read.base_offset != last.read.last_offset + 1:
            yield given, last.read


def _passes_hidden(hidden: HiddenRecords, given: Given, last: Read) -> bool:
    """Whether all records between both reads are hidden from the operation."""
    first, behind = last.last_offset + 1, given.read.base_offset - 1
    return first <= behind and hidden.hides_all(given.topic_partition, first, behind, given.isolation)


def _alike(read: Read, last: Read) -> bool:
    """Whether the same leader in the same epoch returned both."""
    return (last.broker, last.leader_epoch) == (read.broker, read.leader_epoch)


def _by_whom(given: Given) -> str:
    return f"{given.operation} was given offset {given.read.base_offset} {_of_whom(given.read)}"


def _of_whom(read: Read) -> str:
    return f"by broker {read.broker} in leader epoch {read.leader_epoch}"


def _leap(given: Given, last: Read, text: str) -> Violation:
    details = {"operation": given.operation, "before": last.last_offset, "leader_epoch": given.read.leader_epoch}
    return Violation(given.topic_partition, given.read.base_offset, text, details)


def _distinct(truth: Truth, *, lives_apart: bool = True) -> Batches:
    found: Batches = {}
    for given in truth.reads:
        topic, partition = given.topic_partition
        topic_partition = (topic if lives_apart else plain_topic(topic), partition)
        found.setdefault((topic_partition, given.read.base_offset, given.read.digest), []).append(given)
    return found


def _violation(topic_partition: TopicPartition, offset: int, times: list[Given], missing: str) -> Violation:
    epoch = min(given.read.leader_epoch for given in times)
    text = f"the batch read at offset {offset} (leader epoch {epoch}; times read: {len(times)}) {missing}"
    details = {"digest": times[0].read.digest, "leader_epoch": epoch, "times": len(times)}
    return Violation(topic_partition, offset, text, details)
