"""What consumers were given: whether it was there, was committed, was whole, and has stayed."""

from collections.abc import Iterator

from emulator.judging.oracle.truth import Given, Truth
from emulator.judging.oracle.violations import FinalLogs, Violation
from emulator.judging.oracle.written import plain_topic
from protocol.ids import TopicPartition

Batches = dict[tuple[TopicPartition, int, int], list[Given]]
"""{(topic_partition, base offset, digest): whenever it was read}"""


def read_then_lost(truth: Truth) -> Iterator[Violation]:
    final = FinalLogs(truth)
    for (topic_partition, offset, digest), times in sorted(_distinct(truth).items()):
        if topic_partition[0] in truth.gone:
            continue
        if final.holds(topic_partition, digest, offset) is False:
            yield _violation(topic_partition, offset, times, "the final leader does not have")


def phantom_read(truth: Truth) -> Iterator[Violation]:
    ever: dict[tuple[TopicPartition, int], set[tuple[int, int]]] = {}
    for (topic, partition), batches in truth.appended.items():
        for _, first, last, digest in batches:
            ever.setdefault(((plain_topic(topic), partition), digest), set()).add((first, last))
    for (topic_partition, offset, digest), times in sorted(_distinct(truth, lives_apart=False).items()):
        held = ever.get((topic_partition, digest), ())
        if not any(first <= offset <= last for first, last in held):
            yield _violation(topic_partition, offset, times, "no replica ever had")


def read_above_high_watermark(truth: Truth) -> Iterator[Violation]:
    for given in truth.reads:
        read = given.read
        if read.last_offset >= read.high_watermark:
            text = (
                f"{given.operation} was given offsets {read.base_offset} to {read.last_offset} "
                f"with a high watermark of {read.high_watermark}"
            )
            details = {"operation": given.operation, "high_watermark": read.high_watermark}
            yield Violation(given.topic_partition, read.base_offset, text, details)


def read_gap(truth: Truth) -> Iterator[Violation]:
    before: dict[tuple[str, TopicPartition], int] = {}
    for given in truth.reads:
        key = (given.operation, given.topic_partition)
        first, last = given.read.base_offset, before.get(key)
        if last is not None and first != last + 1:
            text = f"{given.operation} was given offset {first} right behind {last}"
            yield Violation(given.topic_partition, first, text, {"operation": given.operation, "before": last})
        before[key] = given.read.last_offset


def _distinct(truth: Truth, *, lives_apart: bool = True) -> Batches:
    found: Batches = {}
    for given in truth.reads:
        topic, partition = given.topic_partition
        topic_partition = (topic if lives_apart else plain_topic(topic), partition)
        found.setdefault((topic_partition, given.read.base_offset, given.read.digest), []).append(given)
    return found


def _violation(topic_partition: TopicPartition, offset: int, times: list[Given], missing: str) -> Violation:
    epoch = min(given.read.leader_epoch for given in times)
    text = f"what was read at offset {offset} (leader epoch {epoch}; times read: {len(times)}) {missing}"
    details = {"digest": times[0].read.digest, "leader_epoch": epoch, "times": len(times)}
    return Violation(topic_partition, offset, text, details)
