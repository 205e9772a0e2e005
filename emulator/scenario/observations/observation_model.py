"""The shape of `observations.json`: one class per kind of entry.

Format 2 is of clusters with ZooKeeper, format 3 of KRaft's (tests/golden/README-kraft.md).

A run writes these classes; a recording is read into the same shape. The timeline holds two kinds of
entries: `do` (the script; written by `emulator.scenario.recording`) and `saw` (results; the classes
below). Times are seconds since the session ensemble was launched, on the scenario's clock. In every
entry `partition` is "t-0"; absent means the scenario's first partition.
"""

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

FORMAT = 2
KRAFT_FORMAT = 3
FORMATS = (FORMAT, KRAFT_FORMAT)
ZOOKEEPER_MODE = "zookeeper"
"""`mode` of format 3 for clusters with ZooKeeper: recordings of transactions."""
SEPARATE, COMBINED = "separate", "combined"
"""`nodes` of format 3: whether controllers are nodes of their own."""

LogRecord = tuple[int, int | None, str]
"""(offset, leader epoch, value); the epoch is null below 0.11."""

EpochEntry = tuple[int, int]
"""(leader epoch, start offset)."""

Entry = dict[str, Any]
"""One entry as it stands in the file."""


class Saw(msgspec.Struct, kw_only=True, tag_field="saw", omit_defaults=True):
    """Something that came back."""

    t: float
    partition: str | None = None


class Attempt(Saw, tag="attempt"):
    """One attempt to write one value.

    `error`: Kafka's code, or an exception's name where the socket timed out or refused.
    """

    broker: int
    value: str
    acks: int
    attempt: int
    error: int | str
    offset: int | None


class ClientTransactionEnded(Saw, tag="transaction"):
    """End of a client's transaction: `end` is what it called, open for nothing.

    `error`: the name of its exception, or 0.
    """

    transactional_id: str
    number: int
    end: str
    error: int | str


class MessageSetAttempt(Saw, tag="produce-compressed"):
    """One attempt to write several values as one message set."""

    broker: int
    acks: int
    error: int | str
    offset: int | None


class LibraryResult(Saw, tag="idempotent-producer-result"):
    """Report of a client library's own producer.

    (error or null, offset) of each value.
    """

    result: list[tuple[int | str | None, int | None]]


class Fetched(Saw, tag="fetch"):
    """Records that a consumer read.

    `high_watermark` and `records` are null where the socket timed out. A script about transactions has `batches` in
    their place (`emulator.storage.batch_entries`), and the aborted transactions: producer id, first offset.
    `next_offset`: only at read_committed, after the last entry, delivered or not.
    """

    broker: int
    error: int | str
    high_watermark: int | None = None
    records: list[LogRecord] | None = None
    last_stable_offset: int | None = None
    next_offset: int | None = None
    aborted: list[tuple[int, int]] | None = None
    batches: list[Any] | None = None


class Consumed(Saw, tag="consume"):
    """One partition as a group's consumer read it.

    `committed`: the group's offset at the start, null none; `resets`: exceptions that changed the position; `position`:
    the next offset to read, -1 none; `error`: the one that ended reading, "" none; `commit`: result of the last commit.
    """

    group: str
    committed: int | None
    resets: list[str]
    records: list[LogRecord]
    position: int
    error: str
    commit: int | str


class CommitEnded(Saw, tag="commit"):
    """`error`: 0, Kafka's code, or an exception's name."""

    group: str
    offset: int
    error: int | str


class CommittedSeen(Saw, tag="committed"):
    """A committed offset; `offset` null: none, or (with an error) unknown."""

    group: str
    offset: int | None
    leader_epoch: int | None
    error: int | str


class Metadata(Saw, tag="metadata"):
    """One broker's own metadata.

    Without a response `error` is an exception's name and everything else null.
    """

    broker: int
    leader: int | None = None
    leader_epoch: int | None = None
    isr: list[int] | None = None
    controller: int | None = None
    live_brokers: list[int] | None = None
    error: int | str = 0


class QuorumSeen(Saw, tag="quorum"):
    """A controller's answer to DescribeQuorum. `error`: Kafka's code, or an exception's name."""

    controller: int
    leader: int | None = None
    epoch: int | None = None
    hw: int | None = None
    error: int | str = 0


class ActiveControllerSeen(Saw, tag="active-controller"):
    """The active controller, which the script required."""

    controller: int | None


class PreferredElected(Saw, tag="elect-preferred"):
    """KRaft's answer to a preferred leader election, as a client library shows it."""

    answer: str


class OffsetsListed(Saw, tag="list-offsets"):
    """First and last offset of a partition for consumers, from a broker.

    Null with an error, Kafka's code or an exception's name.
    """

    broker: int
    earliest: int | None
    latest: int | None
    leader_epoch: int | None
    error: int | str = 0


class PartitionStateSeen(Saw, tag="partition-state"):
    """The partition's state, when the script requested it.

    ZooKeeper's has `controller_epoch` and `zk_version`.
    """

    leader: int
    leader_epoch: int
    isr: list[int]
    controller_epoch: int | None = None
    zk_version: int | None = None


class ControllerSeen(Saw, tag="controller"):
    """The session service's controller, when the script requested it; null while there is none."""

    controller: int | None
    epoch: int


class PartitionsSeen(Saw, tag="partitions"):
    """All partitions in the session service, counted, when the script requested them.

    `led`: with a leader; `preferred`: led by the first of their replicas; `in_sync`: with every replica in the ISR.
    `azs`: the number of AZs with replicas of a partition, the fewest. `leaders`, `replicas`: counts by node name.
    """

    partitions: int
    led: int
    preferred: int
    in_sync: int
    azs: int
    leaders: dict[str, int]
    replicas: dict[str, int]


class Replica(msgspec.Struct, kw_only=True):
    """One replica on disk."""

    log: list[LogRecord]
    leader_epochs: list[EpochEntry] | None
    high_watermark_checkpoint: int | None


class Snapshot(Saw, tag="snapshot"):
    """Every replica on disk at one moment, by node name."""

    label: str
    replicas: dict[str, Replica] | None = None
    batches: dict[str, dict[str, list[Any]]] | None = None
    """Of a script about transactions: {topic: {node: entries}} in the place of `replicas`."""


class Logs(Saw, tag="logs"):
    """Logs of the assignment's first two replicas (`a`, `b`) with their wrappers.

    (offset of the last record, inner values)
    """

    a: list[tuple[int, list[str]]]
    b: list[tuple[int, list[str]]]


class ProducerIdSeen(Saw, tag="init-producer-id"):
    """A transactional id's producer id and epoch. `error`: Kafka's code, or an exception's name."""

    broker: int
    error: int | str
    pid: int | None = None
    epoch: int | None = None


class CoordinatorSeen(Saw, tag="find-coordinator"):
    """Coordinator of a transactional id."""

    broker: int
    error: int | str
    coordinator: int | None = None


class PartitionsAdded(Saw, tag="add-partitions-to-txn"):
    """Error of each partition: {"t-0": code}; `error`: an exception's name."""

    broker: int
    errors: dict[str, int] | None = None
    error: int | str | None = None


class OffsetsAdded(Saw, tag="add-offsets-to-txn"):
    broker: int
    error: int | str


class TxnOffsetCommitted(Saw, tag="txn-offset-commit"):
    broker: int
    error: int | str


class TransactionEnded(Saw, tag="end-txn"):
    """Answer to EndTxn; with transaction version 2 also the next producer id and epoch."""

    broker: int
    error: int | str
    pid: int | None = None
    epoch: int | None = None


class BatchProduced(Saw, tag="produce"):
    """Answer to a produce of one batch. `base`: its first offset."""

    broker: int
    error: int | str
    base: int | None = None


class OffsetSeen(Saw, tag="offset-fetch"):
    """A group's offset; null with an error of the group."""

    broker: int
    error: int | str
    offset: int | None = None


class ProducersSeen(Saw, tag="describe-producers"):
    """Producers of a partition: pid, epoch, last_sequence, coordinator_epoch, txn_start."""

    broker: int
    error: int | str
    producers: list[dict[str, int]] | None = None


class TransactionSeen(Saw, tag="describe-transaction"):
    """State of a transactional id."""

    broker: int
    error: int | str
    state: str | None = None
    pid: int | None = None
    epoch: int | None = None
    partitions: list[str] | None = None


class Reached(Saw, tag="reached"):
    """A wait's condition came true."""

    until: str


class NotReached(Saw, tag="not-reached"):
    """A wait's time limit passed first."""

    until: str


class WorkloadEnded(Saw, tag="workload"):
    """Totals of a workload's producer, or consumer, in one client.

    `error`: reason for missing totals, or ""; `left`: whether it was ended with writes in flight, which are `unknown`.
    Of a member of a group: `rebalances` that assigned it partitions, maybe none, partitions `lost` before it knew, and
    `refused` commits. Of a producer with transactions: those `committed` and `aborted`.
    """

    name: str
    client: str
    kind: str
    sent: int = 0
    ok: int = 0
    failed: int = 0
    unknown: int = 0
    skipped: int = 0
    read: int = 0
    rebalances: int = 0
    lost: int = 0
    refused: int = 0
    committed: int = 0
    aborted: int = 0
    error: str = ""
    left: bool = False


SAW: dict[str, type[Saw]] = {
    str(kind.__struct_config__.tag): kind
    for kind in (
        *(Attempt, MessageSetAttempt, LibraryResult, Fetched, Metadata, OffsetsListed),
        *(PartitionStateSeen, ControllerSeen, QuorumSeen, ActiveControllerSeen, PreferredElected),
        *(PartitionsSeen, Snapshot, Logs, Reached, NotReached),
        *(Consumed, CommitEnded, CommittedSeen, WorkloadEnded),
        *(ProducerIdSeen, CoordinatorSeen, PartitionsAdded, OffsetsAdded, TxnOffsetCommitted, TransactionEnded),
        *(BatchProduced, OffsetSeen, ProducersSeen, TransactionSeen),
    )
}
"""Value of `saw` -> class."""


class PartitionState(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A state that the session service held from `t` on."""

    t: float
    leader: int
    leader_epoch: int
    isr: list[int]
    controller_epoch: int
    zk_version: int
    partition: str | None = None


class CommittedState(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A state of a partition in the metadata log, at `offset` in quorum epoch `epoch`."""

    t: float = 0.0
    leader: int
    leader_epoch: int
    isr: list[int]
    partition_epoch: int
    elr: list[int]
    last_known_elr: list[int]
    recovering: bool
    offset: int
    epoch: int
    partition: str | None = None


class BrokerRegistered(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A change of a broker's registration in the metadata log.

    `what`: registered (maybe `fenced`), fenced, unfenced, in-controlled-shutdown, unregistered.
    """

    t: float = 0.0
    broker: int
    broker_epoch: int
    what: str
    fenced: bool | None = None
    offset: int
    epoch: int


class ControllerState(msgspec.Struct, kw_only=True):
    """The controller that the session service named from `t` on."""

    t: float
    controller: int | None
    epoch: int


class LiveBrokers(msgspec.Struct, kw_only=True):
    """The registered brokers from `t` on."""

    t: float
    live: list[int]


class BrokerView(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A broker's own metadata from `t` on."""

    t: float
    broker: int
    controller: int
    leader: int
    epoch: int | None
    isr: list[int]
    live: list[int]
    partition: str | None = None


class Unreachable(msgspec.Struct, kw_only=True):
    """Placeholder of a view: from `t` on the broker did not respond."""

    t: float
    broker: int
    reachable: bool = False


class RoleChange(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A replica became leader or follower. `clock`: time of day."""

    clock: str
    broker: int
    role: str
    leader_epoch: int | None
    log_end: int | None
    high_watermark: int | None
    previous_epoch: int | None
    partition: str | None = None


class Truncation(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A replica was ordered to truncate its log to `to`.

    `effective`: whether records were removed; null in 0.10.2, which does not report it.
    """

    clock: str
    broker: int
    to: int
    effective: bool | None
    partition: str | None = None


class IsrChange(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A leader meant to change the in-sync set; members joined by commas."""

    clock: str
    broker: int
    was: str
    now: str
    partition: str | None = None


class Observations(msgspec.Struct, kw_only=True):
    """A whole file.

    Lists hold either the classes above (while a run writes) or plain entries (as read). `mode` and the keys after it
    are of format 3.
    """

    format: int
    scenario: str
    kafka: str
    settings: dict[str, Any] = {}
    settings_by_broker: dict[str, dict[str, Any]] = {}
    timeline: list[Any]
    partition_states: list[Any]
    controllers: list[Any] = []
    truncations: list[Any]
    live_brokers: list[Any] = []
    views_by_broker: list[Any] = []
    role_changes: list[Any] = []
    isr_changes: list[Any] = []
    seconds: float = 0.0
    mode: str | UnsetType = UNSET
    nodes: str | UnsetType = UNSET
    controller_settings: dict[str, Any] | UnsetType = UNSET
    broker_registrations: list[Any] | UnsetType = UNSET
    controller_epochs: list[Any] | UnsetType = UNSET
    quorum_views: list[Any] | UnsetType = UNSET


def of_kraft(observed_format: int, mode: object) -> bool:
    """Whether observations of this format and mode are of a KRaft cluster."""
    return observed_format == KRAFT_FORMAT and mode != ZOOKEEPER_MODE


LISTS: dict[str, type[msgspec.Struct]] = {
    "partition_states": PartitionState,
    "controllers": ControllerState,
    "truncations": Truncation,
}
"""The lists whose entries must match, with the class of an entry."""
KRAFT_LISTS: dict[str, type[msgspec.Struct]] = {
    "partition_states": CommittedState,
    "broker_registrations": BrokerRegistered,
    "truncations": Truncation,
}
"""The same in format 3."""

TIMES = frozenset({"t", "clock"})
