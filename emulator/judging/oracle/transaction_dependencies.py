"""Dependencies between transactions, and circles of them.

The offsets of a partition are the order of its writes; the outputs of a consume-transform-produce loop name what its
transactions read. So a log is a list-append history, as Elle's.
"""

from collections.abc import Iterator
from typing import Final

from emulator.judging.oracle.hidden_records import READ_COMMITTED
from emulator.judging.oracle.oracle_check import oracle_check
from emulator.judging.oracle.transaction_promises import client_transactions, committed_outputs, committed_writes
from emulator.judging.oracle.truth import Truth, Violation
from protocol.ids import TopicPartition, topic_partition_text

LENGTH_MAX: Final = 4
"""Transactions in a chain of reads."""

Place = tuple[TopicPartition, int]
Reads = dict[str, dict[str, Place]]
"""{writing transaction: {reading transaction: the first record that it has read}}"""


@oracle_check("circular-dependency", "changes of clients' transactions", client_transactions, reads="transactions")
def circular_dependency(truth: Truth) -> Iterator[Violation]:
    """One chain of transactions, each read by the next, that closes to a circle."""
    reads, spans = _reads(truth), _spans(truth)
    found: dict[frozenset[str], tuple[str, Place]] = {}
    for writer in reads:
        for chain in _chains(reads, (writer,)):
            for back in _back(reads, spans, chain[-1], writer):
                circle = f"{' -wr-> '.join(chain)} -{back}-> {writer}", reads[writer][chain[1]]
                members = frozenset(chain)
                found[members] = min(circle, found.get(members, circle))
    for text, (place, offset) in sorted(found.values()):
        yield Violation(place, offset, text, {"cycle": text})


def _reads(truth: Truth) -> Reads:
    writers = {
        (topic_partition_text(*write.topic_partition), write.offset): (write.transaction, write.topic_partition)
        for write in committed_writes(truth)
    }
    names = {name for name, _ in writers}
    isolated = _isolated(truth)
    reads: Reads = {}
    for write, place, offset in committed_outputs(truth):
        for name in (name for name in names if place.endswith(f".{name}")):
            writer, topic_partition = writers.get((name, offset), ("", write.topic_partition))
            if writer and writer != write.transaction and (_client(write.operation), topic_partition[0]) in isolated:
                read = topic_partition, offset
                of = reads.setdefault(writer, {})
                of[write.transaction] = min(read, of.get(write.transaction, read))
    return reads


def _isolated(truth: Truth) -> set[tuple[str, str]]:
    """(client in one incarnation, topic that it has read at read_committed alone)"""
    levels: dict[tuple[str, str], set[str]] = {}
    for given in truth.reads:
        levels.setdefault((_client(given.operation), given.topic_partition[0]), set()).add(given.isolation)
    return {of for of, known in levels.items() if known == {READ_COMMITTED}}


def _client(operation: str) -> str:
    """NODE.INCARNATION of an operation."""
    return operation.partition(":")[0]


def _spans(truth: Truth) -> dict[str, dict[TopicPartition, tuple[int, int]]]:
    """{transaction: {partition: its first and last offset there}}"""
    spans: dict[str, dict[TopicPartition, tuple[int, int]]] = {}
    for write in committed_writes(truth):
        of = spans.setdefault(write.transaction, {})
        first, last = of.get(write.topic_partition, (write.offset, write.offset))
        of[write.topic_partition] = min(first, write.offset), max(last, write.offset)
    return spans


def _chains(reads: Reads, chain: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Chains that begin so, of two transactions or more."""
    if len(chain) > 1:
        yield chain
    if len(chain) < LENGTH_MAX:
        for reader in reads.get(chain[-1], ()):
            if reader not in chain:
                yield from _chains(reads, (*chain, reader))


def _back(
    reads: Reads, spans: dict[str, dict[TopicPartition, tuple[int, int]]], last: str, first: str
) -> Iterator[str]:
    """Dependencies of the first transaction on the last one: wr, ww."""
    if first in reads.get(last, ()):
        yield "wr"
    later = spans[first]
    if any(place in later and begins < later[place][1] for place, (begins, _) in spans[last].items()):
        yield "ww"
