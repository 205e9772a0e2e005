"""Broken promises of transactions, and the rules of docs/semantics.md 12 that allow them.

A transaction's result is decided by a record of its coordinator. Up to transaction version 1 a producer keeps its epoch
over its transactions, so a late request of one of them acts on the next one. `Interference` finds that in the events.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from emulator.judging.explain.broken_promises import Broken
from emulator.judging.explain.history_builder import TimedEvent
from emulator.judging.explain.run_history import LostTail
from emulator.judging.oracle.anomalies import ANOMALIES
from emulator.judging.oracle.hidden_records import transactional_logs
from emulator.judging.oracle.truth import Truth, Violation
from protocol.events import ProducerTransactionChanged, TransactionStateChanged
from protocol.gates import Gates
from protocol.ids import TopicPartition
from protocol.records.offset_commits import OFFSETS_TOPIC
from protocol.records.transaction_states import TRANSACTIONS_TOPIC

HANGING: Final = "hanging-transaction"
ZOMBIE: Final = "zombie-write"
DUPLICATE: Final = "duplicate-commit"
TRANSACTIONS: Final[dict[str, Callable[[Truth], Iterator[Violation]]]] = {
    name: ANOMALIES[name]
    for name in (
        "lost-commit", "unrequested-commit", "torn-commit", "aborted-read", "dirty-read", "circular-dependency",
        DUPLICATE, "output-without-offsets", "offsets-without-output", ZOMBIE, HANGING,
    )
}  # fmt: skip
"""Checks of the oracle that transactions keep whatever is cut or killed."""
LATE_BATCH: Final = "12.6 (KAFKA-14402): a batch that comes behind its marker opens a transaction without an end"
LATE_END: Final = "12.2 (KAFKA-17754): a late EndTxn ends the next transaction, which has the same epoch"
ZOMBIE_OFFSETS: Final = "12.5 (KIP-447): offsets of a replaced member are accepted, and its records are processed twice"
LOST_RECORDS: Final = "12.4: a log has lost records that it had; markers, offsets or states can be among them"


def broken_transactions(truth: Truth) -> Iterator[Broken]:
    """Broken promises of a run. `producer_id` and `transaction`, where the check names them."""
    if not truth.producers:
        return
    for name, anomaly in TRANSACTIONS.items():
        for found in anomaly(truth):
            producer_id = int(found.details.get("producer_id", -1))
            transaction = str(found.details.get("transaction", ""))
            yield Broken(
                name, found.text, found.topic_partition, found.offset, producer_id=producer_id, transaction=transaction
            )


class Interference:
    """Transactions that a request of an earlier one has ended.

    `ended`: their names. `producer_ids`: of their producers. The sign is a Prepare record in the epoch of the open
    transaction, with another result than its producer has called for by then, or while it has called for none.
    A fence or a time-out raises the epoch.
    """

    def __init__(self, events: Iterable[TimedEvent]) -> None:
        self.ended: set[str] = set()
        self.producer_ids: set[int] = set()
        present: dict[tuple[str, int, int], tuple[str, str]] = {}
        epochs: dict[tuple[str, int], int] = {}
        for *_, event in events:
            if type(event) is ProducerTransactionChanged:
                key = (event.transactional_id, event.producer_id, event.producer_epoch)
                if event.change == "begun":
                    present[key] = event.transaction, ""
                elif event.change in ("committing", "aborting") and key in present:
                    present[key] = event.transaction, _PREPARED[event.change]
            elif type(event) is TransactionStateChanged:
                producer = event.transactional_id, event.producer_id
                if event.transaction_state == "Ongoing":
                    epochs[producer] = event.producer_epoch
                elif event.transaction_state in _PREPARED.values() and epochs.get(producer) == event.producer_epoch:
                    transaction, called = present.get((*producer, event.producer_epoch), ("", ""))
                    if transaction and called != event.transaction_state:
                        self.ended.add(transaction)
                        self.producer_ids.add(event.producer_id)


_PREPARED: Final = {"committing": "PrepareCommit", "aborting": "PrepareAbort"}
"""{call of the application: the coordinator's state that it asks for}"""


def transaction_rule(
    gates: Gates, truth: Truth, events: Iterable[TimedEvent], tails: Iterable[LostTail], broken: Broken
) -> str:
    """The rule that allows a broken promise of a transaction; "": none does."""
    if lost_records(truth, tails, broken.topic_partition):
        return LOST_RECORDS
    others = Interference(events)
    if broken.transaction in others.ended or broken.producer_id in others.producer_ids:
        return LATE_END
    if broken.what == HANGING and not _verified(gates, broken.topic_partition) and _behind_marker(truth, broken):
        return LATE_BATCH
    if broken.what == DUPLICATE and not gates.client_names_group_in_transactions:
        return ZOMBIE_OFFSETS
    by_input = broken.what in (DUPLICATE, "offsets-without-output", "output-without-offsets")
    return LATE_END if by_input and others.ended else ""


def lost_records(truth: Truth, tails: Iterable[LostTail], topic_partition: TopicPartition) -> bool:
    """Whether this partition, or one of an internal topic, has lost records that were committed."""
    topics = (TRANSACTIONS_TOPIC, OFFSETS_TOPIC)
    places = [tail.topic_partition for tail in tails] + [cut.topic_partition for cut in truth.cuts]
    return any(place == topic_partition or place[0] in topics for place in places)


def _verified(gates: Gates, topic_partition: TopicPartition) -> bool:
    if topic_partition[0] == OFFSETS_TOPIC:
        return gates.offset_commits_verified
    return gates.transactions_verified


def _behind_marker(truth: Truth, broken: Broken) -> bool:
    """Whether a marker of that producer lies before its open transaction."""
    return any(
        one.batch.producer_id == broken.producer_id and one.batch.kind != "data" and one.batch.first < broken.offset
        for one in transactional_logs(truth).get(broken.topic_partition, ())
    )
