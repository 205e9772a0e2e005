"""Steps of single requests about transactions, as the recordings have them.

Each is one request to one broker on a connection of its own. `scenario_model` exports them, too. A producer is named by
its number: the n-th producer id that any answer of the run has had, from 0. A recording has the ids themselves, which
differ from run to run.

With `repeat` the request is sent again until its answer is not retriable. Each distinct answer is an entry.
"""

from typing import Any, ClassVar, Final

import msgspec

from emulator.faults.machine_fault_kinds import Step
from protocol.ids import BrokerId, Offset, topic_partition_of

SOCKET_TIMEOUT_S: Final = 30.0
"""Default limit of a request; a recording has only the limits that passed."""
PRODUCE_TIMEOUT_MS: Final = 10_000
NO_PRODUCER: Final = -1

Entry = dict[str, Any]
_NAMES: Final = {"transactional_id": "txn", "producer": "pid", "sequence": "seq", "commits": "commit"}
"""{field: key of a recording}, where they differ."""


class TransactionStep(Step, frozen=True, kw_only=True):
    """Base of these steps. `DO`: the recordings' word, `VERB`: a scenario file's."""

    VERB: ClassVar[str]
    DO: ClassVar[str]

    broker: BrokerId
    socket_timeout_s: float = SOCKET_TIMEOUT_S

    def entry(self) -> Entry:
        """The entry of a timeline, without its time."""
        entry: Entry = {"do": self.DO}
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if name in ("at_s", "socket_timeout_s", "version") or (name == "repeat" and not value):
                continue
            if name == "partition":
                topic, number = topic_partition_of(value) or ("", 0)
                entry |= {"topic": topic, "part": number}
            elif name == "partitions":
                entry["tps"] = [list(topic_partition_of(one) or ("", 0)) for one in value]
            else:
                entry[_NAMES.get(name, name)] = list(value) if isinstance(value, tuple) else value
        return entry

    def keys(self) -> Entry:
        """The keys of a scenario file, without default values."""
        fields = (field for field in msgspec.structs.fields(self) if field.name != "at_s")
        given = ((field, getattr(self, field.name)) for field in fields)
        return {
            field.name: list(value) if isinstance(value, tuple) else value
            for field, value in given
            if value is not None and (field.required or field.default != value)
        }


class InternalTopics(Step, frozen=True, kw_only=True):
    """Create the internal topics and another topic, each with one partition and these replicas.

    `assignments`: (topic, replicas) each. The transactions topic gets the broker's settings for it.
    """

    VERB: ClassVar[str] = "internal-topics"

    assignments: tuple[tuple[str, tuple[BrokerId, ...]], ...]


class InitProducerId(TransactionStep, frozen=True, kw_only=True):
    """Request the producer id of a transactional id. `timeout_ms`: of its transactions."""

    VERB = DO = "init-producer-id"

    transactional_id: str
    timeout_ms: int = 60_000
    repeat: bool = False


class FindCoordinator(TransactionStep, frozen=True, kw_only=True):
    """Request the coordinator of the transactional id `key`."""

    VERB = DO = "find-coordinator"

    key: str


class AddPartitionsToTxn(TransactionStep, frozen=True, kw_only=True):
    """Add partitions to a transaction."""

    VERB = DO = "add-partitions-to-txn"

    transactional_id: str
    producer: int
    epoch: int
    partitions: tuple[str, ...]
    repeat: bool = False


class AddOffsetsToTxn(TransactionStep, frozen=True, kw_only=True):
    """Add the offsets of a group to a transaction."""

    VERB = DO = "add-offsets-to-txn"

    transactional_id: str
    producer: int
    epoch: int
    group: str


class TxnOffsetCommit(TransactionStep, frozen=True, kw_only=True):
    """Commit an offset of a group as part of a transaction. `version`: of the request."""

    VERB = DO = "txn-offset-commit"

    transactional_id: str
    group: str
    producer: int
    epoch: int
    partition: str
    offset: Offset
    version: int = 3


class EndTxn(TransactionStep, frozen=True, kw_only=True):
    """Commit or abort a transaction. `v5`: with transaction version 2."""

    VERB = DO = "end-txn"

    transactional_id: str
    producer: int
    epoch: int
    commits: bool
    v5: bool = False
    repeat: bool = False

    def entry(self) -> Entry:
        entry = super().entry()
        if self.repeat:
            del entry["v5"]
        return entry


class ProduceBatch(TransactionStep, frozen=True, kw_only=True):
    """Write one batch with these numbers. `txn_batch` false: a plain batch.

    `v12`: with transaction version 2.
    """

    VERB = "produce-batch"
    DO = "produce"

    partition: str
    transactional_id: str | None
    values: tuple[str, ...]
    producer: int
    epoch: int
    sequence: int
    v12: bool = False
    txn_batch: bool = True
    timeout_ms: int = PRODUCE_TIMEOUT_MS

    def entry(self) -> Entry:
        entry = super().entry()
        if self.txn_batch:
            del entry["txn_batch"]
        if self.timeout_ms == PRODUCE_TIMEOUT_MS:
            del entry["timeout_ms"]
        return entry


class FetchBatches(TransactionStep, frozen=True, kw_only=True):
    """A consumer's fetch, with its batches. `committed`: read_committed."""

    VERB = "fetch-batches"
    DO = "fetch"

    partition: str
    offset: Offset
    committed: bool


class OffsetFetch(TransactionStep, frozen=True, kw_only=True):
    """Request the committed offset of a group.

    `stable`: not while it is part of an open transaction.
    """

    VERB = DO = "offset-fetch"

    group: str
    partition: str
    stable: bool
    repeat: bool = False


class DescribeProducers(TransactionStep, frozen=True, kw_only=True):
    """Request the producers of a partition, with their open transactions."""

    VERB = DO = "describe-producers"

    partition: str


class DescribeTransaction(TransactionStep, frozen=True, kw_only=True):
    """Request the state of a transactional id from its coordinator."""

    VERB = DO = "describe-transaction"

    transactional_id: str


TRANSACTION_STEPS: Final[tuple[type[TransactionStep], ...]] = (
    InitProducerId, FindCoordinator, AddPartitionsToTxn, AddOffsetsToTxn, TxnOffsetCommit, EndTxn, ProduceBatch,
    FetchBatches, OffsetFetch, DescribeProducers, DescribeTransaction,
)  # fmt: skip
BY_DO: Final = {step.DO: step for step in TRANSACTION_STEPS}
"""{a recording's word: step}.

Produce and fetch have other steps of the same name (`of_transactions`).
"""


def internal_topics_entry(step: InternalTopics) -> Entry:
    return {"do": step.VERB, "assignments": {topic: list(replicas) for topic, replicas in step.assignments}}


def of_transactions(entry: Entry) -> bool:
    """Whether a recording's `do` is one of these steps."""
    match entry.get("do"):
        case "produce":
            return "txn" in entry
        case "fetch":
            return "committed" in entry
        case verb:
            return verb in BY_DO
