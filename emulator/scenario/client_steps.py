"""Steps of clients: produce, fetch, consume, commit, and administration of the cluster.

`scenario_model` exports them, too.
"""

from typing import Any, ClassVar

from emulator.faults.machine_fault_kinds import Step
from protocol.ids import EPOCH_UNKNOWN, BrokerId, LeaderEpoch, Offset
from protocol.messages.workload_messages import RECORDS_PER_TRANSACTION, TransactionEnd

ANY_BROKER = "any"
ANY_PARTITION = "any"

BrokerOrTarget = BrokerId | str
"""A broker by its number, or a target in canonical form (`emulator.faults.targets`)."""

ALL_ACKS = -1
ACKS_AS_SET = -2
"""Acks from the setting `producer.acks` when the scenario is played."""


class Produce(Step, frozen=True, kw_only=True):
    """One batch per value, with up to 1 + `retries` attempts, each on a fresh connection.

    `acks` may be ACKS_AS_SET. `timeout_ms` goes to the broker; the client gives up after `socket_timeout_s`. `client`
    "" is outside every AZ; `broker` None: the leader by that client's own metadata, through the library's producer,
    with `settings` of its own; then values may follow each other `every_s`, regardless of earlier outcomes. Its
    partitioner chooses among the partitions of `topic` ("": the first) if `partition` is "any", by the value's key
    where `keys` are given. `idempotent` None: the default of `client_version` ("": the newest).

    With a `transactional_id` the library writes `records_per_transaction` (0: all) in each transaction, in turn to
    `partitions` if there are some. It ends the transactions in turn as in `ends`, by default with a commit.
    """

    broker: BrokerOrTarget | None
    values: tuple[str, ...]
    acks: int
    retries: int = 0
    timeout_ms: int = 1500
    socket_timeout_s: float = 10
    idempotent: bool | None = None
    client_version: str = ""
    settings: dict[str, Any] = {}
    every_s: float = 0
    client: str = ""
    keys: tuple[str, ...] = ()
    partition: str | None = None
    topic: str = ""
    transactional_id: str = ""
    records_per_transaction: int = 0
    partitions: tuple[str, ...] = ()
    ends: tuple[TransactionEnd, ...] = ()


class ProduceMessageSet(Step, frozen=True, kw_only=True):
    """All values as one message set, `compression` none or gzip, one attempt."""

    broker: BrokerOrTarget
    values: tuple[str, ...]
    compression: str
    acks: int
    timeout_ms: int
    partition: str | None = None


class LibraryProduce(Step, frozen=True, kw_only=True):
    """A client library's own producer with these settings; `broker` "any": it finds the leader."""

    library: str
    broker: BrokerId | str
    values: tuple[str, ...]
    settings: dict[str, Any]
    partition: str | None = None


class Workload(Step, frozen=True, kw_only=True):
    """Background clients in each of `azs` (none named: all that have a client).

    With `producers`, a producer of `rate_per_s`; with `consumers`, a consumer of everything. They run beside later
    steps. `topic` "": the scenario's first. `acks` ACKS_AS_SET: the scenario's producer setting, else the default of
    `client_version` ("": the newest); likewise `idempotent` None. `keys`: number of distinct keys, in turn; 0: none,
    and the partitions take turns. `settings`, `consumer_settings`: of these clients. `group`: its consumers are members
    and read their assignments; "": each consumer reads everything.

    `transactional_id` (each client appends its name): producers write `records_per_transaction` in each transaction,
    and abort the share `abort_ratio` of them. With `output`, a topic, consumers transform what they read into it, with
    their offsets in the same transaction; with `group_metadata` these carry generation and member.
    """

    name: str
    topic: str = ""
    rate_per_s: float = 10
    acks: int = ACKS_AS_SET
    retries: int | None = None
    idempotent: bool | None = None
    client_version: str = ""
    keys: int = 0
    value_bytes: int = 0
    settings: dict[str, Any] = {}
    consumer_settings: dict[str, Any] = {}
    producers: bool = True
    consumers: bool = True
    group: str = ""
    azs: tuple[str, ...] = ()
    transactional_id: str = ""
    records_per_transaction: int = RECORDS_PER_TRANSACTION
    abort_ratio: float = 0.0
    output: str = ""
    group_metadata: bool = True


class StopWorkload(Step, frozen=True, kw_only=True):
    """Stop workloads: ends when all operations in flight have ended, or after `limit_s`.

    Operations then in flight end as unknown. `name` "": every workload. Verb `stop-workload`; a scenario's end stops
    the remaining ones.
    """

    name: str = ""
    limit_s: float = 30


class Fetch(Step, frozen=True, kw_only=True):
    """A consumer's fetch from `offset` at `broker`, on a fresh connection.

    `committed`: at read_committed.
    """

    broker: BrokerOrTarget
    offset: Offset
    client: str = ""
    partition: str | None = None
    committed: bool = False


class Consume(Step, frozen=True, kw_only=True):
    """A consumer in `group` reads `partitions` from the group's offsets, then leaves.

    No partitions: the scenario's first. It reads until their end and for `at_least_s`, or until `limit_s`. It commits
    at the end if commits are automatic.

    `old`: the old consumer, with offsets in the session service. `client` "" is outside every AZ.
    """

    group: str
    partitions: tuple[str, ...] = ()
    old: bool = False
    settings: dict[str, Any] = {}
    at_least_s: float = 0
    limit_s: float = 30
    client: str = ""


class Commit(Step, frozen=True, kw_only=True):
    """`group` commits `offset`; retriable errors are retried for `limit_s`."""

    group: str
    offset: Offset
    leader_epoch: LeaderEpoch = EPOCH_UNKNOWN
    old: bool = False
    settings: dict[str, Any] = {}
    limit_s: float = 60
    client: str = ""
    partition: str | None = None


class LookCommitted(Step, frozen=True, kw_only=True):
    """Read the committed offset of `group`. Verb `committed`."""

    group: str
    old: bool = False
    settings: dict[str, Any] = {}
    limit_s: float = 60
    client: str = ""
    partition: str | None = None


class AskMetadata(Step, frozen=True, kw_only=True):
    """Read that broker's own metadata. Verb `metadata`."""

    broker: BrokerOrTarget
    partition: str | None = None


class ListOffsets(Step, frozen=True, kw_only=True):
    """Offset range of a partition for a consumer, from that broker. Verb `list-offsets`."""

    broker: BrokerOrTarget
    partition: str | None = None


class AdminStep(Step, frozen=True, kw_only=True):
    """Base of the steps of an admin tool.

    VERB: of scenarios. `may_fail`: a failure is an outcome, which is noted; otherwise it ends the scenario."""

    VERB: ClassVar[str]

    may_fail: bool = False


class CreateTopic(AdminStep, frozen=True, kw_only=True):
    """Create a topic. Ends when every partition has a state.

    `assignment`: replicas of each partition, the preferred leader first. Empty: Kafka's placement by the admin tool
    (semantics 4.4) of `partitions` with `replicas` each, on the brokers registered by then. A count of 0 takes
    `num.partitions` and `default.replication.factor`.
    """

    VERB = "create-topic"

    topic: str
    assignment: tuple[tuple[BrokerId, ...], ...] = ()
    partitions: int = 0
    replicas: int = 0
    configs: dict[str, Any] = {}

    @property
    def count(self) -> int:
        """Of partitions."""
        return len(self.assignment) or self.partitions


class AlterTopic(AdminStep, frozen=True, kw_only=True):
    """Alter settings of an existing topic.

    `configs`: overrides to set; `remove`: overrides to remove. Ends when the change is written and brokers are
    notified, which is before they act on it.
    """

    VERB = "alter-topic"

    topic: str
    configs: dict[str, Any] = {}
    remove: tuple[str, ...] = ()


class AlterBroker(AdminStep, frozen=True, kw_only=True):
    """Alter settings of a running broker (KIP-226), or of all (`broker` None).

    `configs`: settings to set; `remove`: settings to return to the values of the broker's file. Ends when the change is
    written and brokers are notified, which is before they act on it. `handlers`: num.io.threads in the file of the
    broker that receives the request, which refuses to more than double or halve it; 0: unknown and unchecked.
    """

    VERB = "alter-broker"

    broker: BrokerOrTarget | None = None
    configs: dict[str, Any] = {}
    remove: tuple[str, ...] = ()
    handlers: int = 0


class AddPartitions(AdminStep, frozen=True, kw_only=True):
    """Add partitions to a topic, up to `partitions`. Ends when each has a leader.

    `assignment`: replicas of each new partition. Empty: Kafka's placement by the admin tool, beside the first
    partition's.
    """

    VERB = "add-partitions"

    topic: str
    partitions: int
    assignment: tuple[tuple[BrokerId, ...], ...] = ()


class DeleteTopic(AdminStep, frozen=True, kw_only=True):
    """Mark a topic for deletion, as Kafka's admin tool does; the controller deletes it later.

    Does not wait (`deleted`, a condition, does).
    """

    VERB = "delete-topic"

    topic: str


class Reassign(AdminStep, frozen=True, kw_only=True):
    """Request a reassignment of partitions from the controller; does not wait.

    `targets`: (partition, replicas) each.
    """

    VERB = "reassign"

    targets: tuple[tuple[str, tuple[BrokerId, ...]], ...]


class ElectPreferred(AdminStep, frozen=True, kw_only=True):
    """Request preferred leader elections, of all partitions if none is named; does not wait."""

    VERB = "elect-preferred"

    partitions: tuple[str, ...] = ()


class ElectController(AdminStep, frozen=True, kw_only=True):
    """Delete `/controller` to force an election, as operators do. Does not wait.

    Brokers elect a controller at once, while the old one's session lives on.
    """

    VERB = "elect-controller"


OF_BROKER = (Produce, ProduceMessageSet, Fetch, AskMetadata, ListOffsets, AlterBroker)
"""Steps whose `broker` may be a target."""


def numbered(broker: BrokerOrTarget) -> BrokerId:
    """The number of a broker whose target is resolved."""
    assert not isinstance(broker, str), f"{broker} is not resolved"
    return broker
