"""Options of the commands on a running cluster: common ones, and groups of one command."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from cyclopts import Parameter

from emulator.cli.play_options import Files, Listed, Setting, options
from protocol.messages.workload_messages import RECORDS_PER_TRANSACTION, IsolationLevel

Cluster = Annotated[str | None, Parameter(name="--cluster", help="A cluster's name, or its run's directory.")]
Az = Annotated[
    str,
    Parameter(
        help="Use the client in this AZ, which learns the leader from that AZ's broker; by default a client outside "
        "every AZ."
    ),
]
Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print the result as JSON.")]
Nodes = Annotated[
    str,
    Parameter(help="Such as broker-0; several, all of an AZ (az-0), 'broker-*', leader:TOPIC-N, or active-controller."),
]
Words = Annotated[str, Parameter(allow_leading_hyphen=True)]
Topic = Annotated[str, Parameter(help="The topic's name.")]


def _no_option(_: object, values: Sequence[str]) -> None:
    """Reject a value that looks like a misspelt option.

    A value may begin with a hyphen, and - is standard input.
    """
    for value in values:
        if value.startswith("--"):
            raise ValueError(f"there is no option {value}; a value that begins with -- comes from standard input (-)")


Values = Annotated[list[str], Parameter(negative=(), allow_leading_hyphen=True, validator=_no_option)]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """The cluster that a command addresses, and the format of its output."""

    cluster: Cluster = None
    json: Json = False

    @property
    def wait_s(self) -> float | None:
        """Time limit; None: one that ends within 2 s."""
        return None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class WaitOptions(ClusterOptions):
    """Options of a command that waits for an outcome."""

    wait: Annotated[float | None, Parameter(name="--wait", help="Time limit in seconds; by default about 1.5.")] = None

    @property
    def wait_s(self) -> float | None:
        return self.wait


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class LinkPart:
    """The connections and frames that a link fault affects; by default all."""

    only: Annotated[
        tuple[str, ...],
        Parameter(
            negative=(),
            show_default=False,
            help="Only frames of these APIs, such as Fetch,Produce, or connections of these purposes, such as fetcher.",
        ),
    ] = ()
    client_id: Annotated[str | None, Parameter(help="Only connections of Kafka clients with this client.id.")] = None


@options
class TopicOptions:
    """A new topic's partitions and settings."""

    assignment: Listed = ()
    """Brokers of one partition, the preferred leader first: 0,1,2; repeat it for each partition."""
    partitions: int = 0
    """Number of partitions, placed as Kafka's admin tool places them (instead of --assignment)."""
    replicas: int = 0
    """With --partitions: number of replicas of each partition."""
    overrides: Setting = ()
    """A topic-level setting, `key=value`; repeatable."""
    files: Files = ()
    """A .properties file with topic-level settings; repeatable."""


@options
class StartOptions:
    """Binary and settings of a stopped node from its next start on."""

    kafka_version: str | None = None
    """Version of the broker's binary from now on, such as 2.8."""
    overrides: Setting = ()
    """A broker setting from now on, `key=value`; repeatable."""
    remove: Listed = ()
    """A broker setting to remove; repeatable."""
    files: Files = ()
    """A server.properties with settings from now on; repeatable."""


@options
class ProduceOptions:
    """A producer and its records. Fields as those of `control_requests.Produce`."""

    partition: int = 0
    """Number of the topic's partition."""
    acks: str = "1"
    """Acknowledgements that the leader waits for: 0, 1 or all."""
    broker: int | None = None
    """Send to this broker, even if it is not the leader."""
    retries: int = 0
    """Number of retries of each value."""
    timeout_ms: int = 1000
    """Time limit of a request at the broker, in milliseconds."""
    idempotent: bool = False
    """Use an idempotent producer, which looks up the leader."""
    client_version: str = ""
    """Use a producer of this version of Kafka's Java client, e.g. 2.8 or 3.9. It is idempotent
    by default since 3.0, where acks and retries allow it."""
    transactional_id: str = ""
    """Write all values in one transaction of this transactional.id, and commit it."""
    abort: bool = False
    """Abort the transaction instead."""
    az: Az = ""
    key_separator: str | None = None
    """Separator of key and value in each of the values; the producer's partitioner then chooses
    by the key."""


@options
class ConsumeOptions:
    """The records to read. Fields as those of `control_requests.Consume`."""

    partition: int = 0
    """Number of the topic's partition."""
    offset: int = 0
    """First offset to read."""
    records_max: int = 100
    """Maximum number of records."""
    broker: int | None = None
    """Fetch from this broker, even if it is not the leader."""
    az: Az = ""
    isolation: IsolationLevel = "read_uncommitted"
    """Isolation level: at read_committed without records of open and aborted transactions."""


@options
class WorkloadOptions:
    """Producers and consumers. Fields as those of `control_requests.StartWorkload`."""

    name: str = "load"
    """The workload's name."""
    rate_per_s: Annotated[float, Parameter(name="--rate")] = 10.0
    """Records per second in each AZ."""
    acks: str | None = None
    """Acknowledgements: 0, 1 or all; by default the cluster's producer setting, else the client
    version's default."""
    retries: int | None = None
    """Number of retries; by default the cluster's producer setting, else the client version's
    default."""
    idempotent: bool | None = None
    """Whether producers are idempotent; by default as in the client's version, where acks and
    retries allow it."""
    client_version: str = ""
    """Version of Kafka's Java client, e.g. 2.8 or 3.9; by default the newest: idempotent, acks
    all."""
    value_bytes: int = 0
    """Minimum size of each value, in bytes."""
    keys: int = 0
    """Number of distinct keys, by which the partitioner chooses; 0: no keys, the partitions take
    turns."""
    overrides: Setting = ()
    """A producer setting, `key=value`; repeatable."""
    files: Files = ()
    """A .properties file with producer settings; repeatable."""
    consumers: bool = True
    """Also start consumers, which read every record."""
    azs: Annotated[Listed, Parameter(name="--az")] = ()
    """Only in this AZ; repeatable."""
    transactional_id: str = ""
    """Write in transactions; each client appends its name to this transactional.id."""
    records_per_transaction: int = RECORDS_PER_TRANSACTION
    """Number of records in each transaction."""
    abort_ratio: float = 0.0
    """Share of the transactions that are aborted, from 0 to 1."""
    isolation: IsolationLevel = "read_uncommitted"
    """Isolation level of the consumers."""


CLUSTER: Final = ClusterOptions()
WAIT: Final = WaitOptions()
ALL: Final = LinkPart()
NEW_TOPIC: Final = TopicOptions()
START: Final = StartOptions()
PRODUCE: Final = ProduceOptions()
CONSUME: Final = ConsumeOptions()
WORKLOAD: Final = WorkloadOptions()
