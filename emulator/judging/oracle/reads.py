"""What consumers were given: whether it was there, was committed, was whole, and has stayed."""

from collections.abc import Iterator

from emulator.judging.oracle.truth import Given, Truth
from emulator.judging.oracle.violations import FinalLogs, Violation
from emulator.judging.oracle.written import plain_topic
from emulator.machines.client.operations import Read
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
    before: dict[tuple[str, TopicPartition], Read] = {}
    for given in truth.reads:
        key = (given.operation, given.topic_partition)
        read, last = given.read, before.get(key)
        # Of another broker, or another epoch: the position may have been reset in between.
        alike = last is not None and (last.broker, last.leader_epoch) == (read.broker, read.leader_epoch)
        if last is not None and alike and read.base_offset != last.last_offset + 1:
            text = f"{given.operation} was given offset {read.base_offset} right behind {last.last_offset}"
            details = {"operation": given.operation, "before": last.last_offset}
            yield Violation(given.topic_partition, read.base_offset, text, details)
        before[key] = read


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
