"""Checks of transactions: their results, what consumers read of them, and who ends them."""

import re
from collections.abc import Iterator
from typing import Final

from emulator.judging.oracle.hidden_records import READ_COMMITTED, HiddenRecords, transactional_logs
from emulator.judging.oracle.oracle_check import batches_read, oracle_check
from emulator.judging.oracle.transaction_facts import TransactionalBatch, TransactionRecord
from emulator.judging.oracle.truth import Given, Truth, Violation, Write
from protocol.ids import TopicPartition, topic_partition_text
from protocol.records.transaction_states import TRANSACTIONS_TOPIC

OPEN: Final = ("Ongoing", "PrepareCommit", "PrepareAbort")
"""States in which a coordinator will end the transaction."""
_INPUT: Final = re.compile(r"(?P<topic>[^ ]*)-(?P<partition>[0-9]+)@(?P<offset>[0-9]+)$")
"""An output's value, which names its input."""

Ended = tuple[Write, TransactionalBatch]


def transactional_batches(truth: Truth) -> int:
    """Count of transactional batches and markers in all logs."""
    return sum(len(log) for replicas in truth.producers.values() for log in replicas.values())


def client_transactions(truth: Truth) -> int:
    """Count of changes of clients' transactions."""
    return sum(len(one.changes) for one in truth.transactions.values())


def _data(log: list[TransactionalBatch], digest: int, offset: int) -> TransactionalBatch | None:
    """The data batch with that content that covers `offset`."""
    for one in log:
        batch = one.batch
        if batch.kind == "data" and batch.digest == digest and batch.first <= offset <= batch.last:
            return one
    return None


def _written(truth: Truth) -> Iterator[Ended]:
    """Acknowledged records of clients' transactions that the final leader has."""
    logs = transactional_logs(truth)
    for write in truth.writes:
        if write.transaction and write.outcome == "ok":
            found = _data(logs.get(write.topic_partition, []), write.digest, write.offset)
            if found is not None:
                yield write, found


def _committed(truth: Truth) -> set[str]:
    """Transactions whose commit was acknowledged."""
    return {name for name, one in truth.transactions.items() if any(it.change == "committed" for it in one.changes)}


def _kind_of_end(one: TransactionalBatch) -> str:
    return "" if one.end is None else one.end.kind


@oracle_check("lost-commit", "changes of clients' transactions", client_transactions, reads="transactions")
def lost_commit(truth: Truth) -> Iterator[Violation]:
    """One acknowledged record of a committed transaction with an ABORT marker behind it."""
    committed = _committed(truth)
    for write, one in _written(truth):
        if one.end is not None and one.end.kind == "abort" and write.transaction in committed:
            text = (
                f"{write.operation} was committed in {write.transaction}, and the marker at offset {one.end.first} "
                "aborts it"
            )
            details = {"operation": write.operation, "transaction": write.transaction}
            yield Violation(write.topic_partition, write.offset, text, details)


@oracle_check("unrequested-commit", "changes of clients' transactions", client_transactions, reads="transactions")
def unrequested_commit(truth: Truth) -> Iterator[Violation]:
    """One acknowledged record under a COMMIT marker that its client did not request."""
    commits = ("committing", "committed")
    called = {name for name, one in truth.transactions.items() if any(it.change in commits for it in one.changes)}
    for write, one in _written(truth):
        if one.end is not None and one.end.kind == "commit" and write.transaction not in called:
            text = (
                f"{write.operation} is committed by the marker at offset {one.end.first}, and its client did not "
                f"commit {write.transaction}"
            )
            details = {"operation": write.operation, "transaction": write.transaction}
            yield Violation(write.topic_partition, write.offset, text, details)


@oracle_check("torn-commit", "changes of clients' transactions", client_transactions, reads="transactions")
def torn_commit(truth: Truth) -> Iterator[Violation]:
    """One transaction of a client with records under COMMIT and under ABORT markers."""
    results: dict[str, dict[str, list[tuple[TopicPartition, int]]]] = {}
    for write, one in _written(truth):
        if one.end is not None:
            of = results.setdefault(write.transaction, {})
            of.setdefault(one.end.kind, []).append((write.topic_partition, write.offset))
    for transaction, of in sorted(results.items()):
        if len(of) > 1:
            words = {kind: ",".join(sorted({topic_partition_text(*place) for place, _ in of[kind]})) for kind in of}
            text = f"{transaction} is committed in {words['commit']} and aborted in {words['abort']}"
            place, offset = min(of["abort"])
            details = {"transaction": transaction, "committed": words["commit"], "aborted": words["abort"]}
            yield Violation(place, offset, text, details)


def _read(truth: Truth) -> Iterator[tuple[Given, TransactionalBatch]]:
    """Batches of transactions that operations read, each once per operation and high watermark."""
    logs, seen = transactional_logs(truth), set()
    for given in truth.reads:
        read = given.read
        key = (given.operation, given.topic_partition, read.base_offset, read.digest, read.high_watermark)
        if key not in seen:
            seen.add(key)
            found = _data(logs.get(given.topic_partition, []), read.digest, read.base_offset)
            if found is not None:
                yield given, found


@oracle_check("aborted-read", "batches read", batches_read, reads="transactions")
def aborted_read(truth: Truth) -> Iterator[Violation]:
    """One batch that an operation at read_committed read, with an ABORT marker behind it."""
    found: set[tuple[str, TopicPartition, int, int]] = set()
    for given, one in _read(truth):
        key = (given.operation, given.topic_partition, given.read.base_offset, given.read.digest)
        if given.isolation == READ_COMMITTED and one.end is not None and one.is_aborted and key not in found:
            found.add(key)
            text = (
                f"{given.operation} received offset {given.read.base_offset} at read_committed, which the marker at "
                f"offset {one.end.first} aborts"
            )
            details = {"operation": given.operation, "producer_id": one.batch.producer_id}
            yield Violation(given.topic_partition, given.read.base_offset, text, details)


@oracle_check("dirty-read", "batches read", batches_read, reads="transactions")
def dirty_read(truth: Truth) -> Iterator[Violation]:
    """One batch read at read_committed before a marker was below the high watermark."""
    hidden = HiddenRecords(truth)
    for given, one in _read(truth):
        read = given.read
        isolated = given.isolation == READ_COMMITTED or read.last_stable_offset >= 0
        if isolated and not hidden.ends_below(given.topic_partition, one.batch, read.high_watermark):
            ends = "does not end" if one.end is None else f"ends at offset {one.end.first}"
            text = (
                f"{given.operation} received offset {read.base_offset} at read_committed below high watermark "
                f"{read.high_watermark}; its transaction {ends}"
            )
            details = {"operation": given.operation, "producer_id": one.batch.producer_id}
            yield Violation(given.topic_partition, read.base_offset, text, details)


# --- consume, transform, produce ---


def _outputs(truth: Truth, kinds: tuple[str, ...] = ("commit",)) -> Iterator[tuple[Write, str, int]]:
    """(output, `.TOPIC-PARTITION` of its input behind any prefix, the input's offset)"""
    for write, one in _written(truth):
        named = _INPUT.search(write.value)
        if named is not None and _kind_of_end(one) in kinds:
            yield write, f".{named['topic']}-{named['partition']}", int(named["offset"])


def committed_outputs(truth: Truth) -> Iterator[tuple[Write, str, int]]:
    """As `_outputs`, of committed transactions alone."""
    yield from _outputs(truth)


def committed_writes(truth: Truth) -> Iterator[Write]:
    """Acknowledged records with a COMMIT marker behind them."""
    yield from (write for write, one in _written(truth) if _kind_of_end(one) == "commit")


@oracle_check("duplicate-commit", "changes of clients' transactions", client_transactions, reads="transactions")
def duplicate_commit(truth: Truth) -> Iterator[Violation]:
    """One input with several committed outputs in one topic."""
    places: dict[tuple[str, str], set[tuple[TopicPartition, int]]] = {}
    for write, place, offset in _outputs(truth):
        named = f"{place.rpartition('.')[2]}@{offset}"
        places.setdefault((write.topic_partition[0], named), set()).add((write.topic_partition, write.offset))
    for (_, named), found in sorted(places.items()):
        if len(found) > 1:
            text = f"{len(found)} committed records are the output for {named}"
            yield Violation(*min(found), text, {"input": named, "outputs": len(found)})


@oracle_check(
    "output-without-offsets", "changes of clients' transactions", client_transactions, reads="transactions"
)
def output_without_offsets(truth: Truth) -> Iterator[Violation]:
    """One committed output whose transaction has sent no offset behind its input."""
    sent: dict[str, list[tuple[str, int]]] = {}
    for one in truth.sent_offsets:
        place = f".{topic_partition_text(*one.topic_partition)}"
        sent.setdefault(one.transaction, []).append((place, one.offset))
    for write, place, offset in _outputs(truth):
        if not any(place.endswith(known) and offset < reached for known, reached in sent.get(write.transaction, ())):
            text = f"{write.transaction} committed {write.value} without its offset"
            details = {"operation": write.operation, "transaction": write.transaction}
            yield Violation(write.topic_partition, write.offset, text, details)


@oracle_check(
    "offsets-without-output", "changes of clients' transactions", client_transactions, reads="transactions"
)
def offsets_without_output(truth: Truth) -> Iterator[Violation]:
    """One input record below a group's committed offset without a committed output."""
    committed, final, logs = _committed(truth), truth.final_leaders(), transactional_logs(truth)
    reached: dict[tuple[TopicPartition, str], int] = {}
    for one in truth.sent_offsets:
        if one.transaction in committed:
            key = (one.topic_partition, one.group)
            reached[key] = max(one.offset, reached.get(key, one.offset))
    outputs = list(_outputs(truth, ("commit", "abort", "")))
    done = {(place, offset) for _, place, offset in _outputs(truth)}
    for (place, group), end in sorted(reached.items()):
        name = topic_partition_text(*place)
        begins = min((offset for _, known, offset in outputs if known.endswith(f".{name}")), default=None)
        if begins is None:
            continue
        hidden = [
            one.batch for one in logs.get(place, []) if one.batch.kind != "data" or _kind_of_end(one) in ("abort", "")
        ]
        for batch in truth.logs.get(place, {}).get(final.get(place, ""), []):
            for offset in range(max(begins, batch.first), min(end - 1, batch.last) + 1):
                if any(one.first <= offset <= one.last for one in hidden):
                    continue
                if not any(known.endswith(f".{name}") and offset == other for known, other in done):
                    text = (
                        f"group {group} has committed offset {end} of {name}, and no output for offset {offset} is "
                        "committed"
                    )
                    yield Violation(place, offset, text, {"group": group})


# --- fencing, ends ---


@oracle_check(
    "zombie-write", "transactional batches and markers appended", transactional_batches, reads="transactions"
)
def zombie_write(truth: Truth) -> Iterator[Violation]:
    """One batch of a producer behind a batch or marker of a higher epoch of it."""
    for place, log in transactional_logs(truth).items():
        for one in log:
            batch = one.batch
            if batch.kind == "data" and batch.producer_epoch < one.epoch_before:
                text = (
                    f"a batch of producer {batch.producer_id} in epoch {batch.producer_epoch} lies behind its epoch "
                    f"{one.epoch_before}"
                )
                yield Violation(place, batch.first, text, {"producer_id": batch.producer_id})


@oracle_check(
    "hanging-transaction", "transactional batches and markers appended", transactional_batches, reads="transactions"
)
def hanging_transaction(truth: Truth) -> Iterator[Violation]:
    """One producer with an open transaction in a partition that no coordinator will end."""
    owners = _owners(truth)
    for place, log in transactional_logs(truth).items():
        opened: set[int] = set()
        for one in log:
            producer_id = one.batch.producer_id
            if one.batch.kind != "data" or one.end is not None or producer_id in opened:
                continue
            opened.add(producer_id)
            owner = owners.get(producer_id)
            if owner is None or owner.state not in OPEN or place not in owner.partitions:
                state = "none of it" if owner is None else owner.state
                text = (
                    f"the transaction of producer {producer_id} is open from offset {one.batch.first} on, and its "
                    f"coordinator has {state}"
                )
                yield Violation(place, one.batch.first, text, {"producer_id": producer_id})


def _owners(truth: Truth) -> dict[int, TransactionRecord]:
    """{producer id: the last record of its transactional id}, of the final leaders' logs."""
    final = truth.final_leaders()
    owners: dict[int, TransactionRecord] = {}
    for place, replicas in truth.transaction_records.items():
        assert place[0] == TRANSACTIONS_TOPIC
        producers: dict[str, int] = {}
        for record in replicas.get(final.get(place, ""), []):
            known = record.producer_id if record.producer_id >= 0 else producers.get(record.transactional_id, -1)
            producers[record.transactional_id] = known
            owners[known] = record
    return owners
