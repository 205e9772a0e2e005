"""Requests to a live cluster and its answers, which HTTP carries (`emulator.cluster.http`).

`code` of an answer is the exit code of the command (emulator.exit_codes). 2: it cannot be done (`error`: one line with
the nearest valid name). 3: it had not ended in `wait_s`; it goes on, and `result` has the results so far.
"""

from typing import Annotated, Any, Literal

import msgspec

from emulator.exit_codes import HELD, UNKNOWN, UNUSABLE
from emulator.faults.link_fault_kinds import AnyLinkFault, HealedKind
from protocol.ids import FIRST_OFFSET, TOPIC_CHARACTERS_MAX, BrokerId, Offset
from protocol.messages.workload_messages import RECORDS_PER_TRANSACTION, UNFINISHED_MAX, IsolationLevel
from protocol.protocol_faults import ProtocolFaultAction

HEAD_BYTES_MAX = 16 * 1024
"""Limit of a head, with the bytes that arrive together with it."""
BODY_BYTES_MAX = 64 * 1024
"""Limit of a request's body."""
ANSWER_BYTES_MAX = 8 * 1024 * 1024
WAIT_S = 1.5
"""Default time limit of a command, in seconds."""
WAIT_S_MAX = 600.0
WORDS_MAX = 64
VALUES_MAX = 1_000
VALUE_BYTES_MAX = 32 * 1024

KEYS_MAX = 1_000_000

OFFSET_MAX = 2**63 - 1
INT_MAX = 2**31 - 1
"""Maximum of Kafka's int32 fields."""
BATCHES_KEPT_MAX = 1_000_000
SYNCED = -1
"""Batches kept in a power loss: none past the synced ones."""

Int = Annotated[int, msgspec.Meta(ge=0, le=INT_MAX)]
"""An int whose exact range the handler checks."""
Broker = Annotated[BrokerId, msgspec.Meta(ge=0, le=INT_MAX)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=256)]
TopicName = Annotated[str, msgspec.Meta(max_length=TOPIC_CHARACTERS_MAX)]
Word = Annotated[str, msgspec.Meta(max_length=300)]
"""As long as `leader of TOPIC-N` with the longest name of a topic."""
Words = Annotated[list[Word], msgspec.Meta(max_length=WORDS_MAX)]
Values = Annotated[
    list[Annotated[str, msgspec.Meta(max_length=VALUE_BYTES_MAX)]], msgspec.Meta(min_length=1, max_length=VALUES_MAX)
]
SettingValue = str | int | float | bool
MachineFault = Annotated[str, msgspec.Meta(max_length=32)]
"""One of LIVE_FAULTS."""


class ControlRequest(msgspec.Struct, frozen=True):
    """Base of all requests."""


class Ready(ControlRequest, frozen=True):
    """Wait until the ensemble serves, every broker is registered and there is a controller."""


class Down(ControlRequest, frozen=True):
    """End the cluster. Answered before it ends."""


class Status(ControlRequest, frozen=True):
    """Running nodes, each node's own view, and the faults in force."""


class DescribeSettings(ControlRequest, frozen=True):
    """Nodes, version, and settings of brokers and topics, at their start and since."""


class LinkFault(ControlRequest, frozen=True):
    """A fault on links, as a scenario's step (`emulator.faults.link_fault_kinds`)."""

    fault: AnyLinkFault


class Heal(ControlRequest, frozen=True):
    """Lift the rules that name all of these places (or have one of these ids); none: every rule.

    `kind`: only of that kind.
    """

    place: Words = []
    kind: HealedKind = ""


class AddProtocolFault(ControlRequest, frozen=True):
    """A fault of the brokers' Kafka listeners (`protocol.protocol_faults`).

    `client_ids`, `nodes`: only of these clients, only at these brokers. `error`: a name or number, of action error.
    `times`: requests that are hit, 0 for all; `skip`: requests that pass before. Each broker counts its own.
    """

    action: ProtocolFaultAction
    apis: Annotated[list[Word], msgspec.Meta(min_length=1, max_length=WORDS_MAX)]
    client_ids: Words = []
    nodes: Words = []
    error: Word = ""
    delay_ms: Annotated[float, msgspec.Meta(ge=0.0, le=WAIT_S_MAX * 1000)] = 0.0
    times: Int = 1
    skip: Int = 0


class ProtocolFaultStatus(ControlRequest, frozen=True):
    """The protocol faults and their hits, or one.

    `wait_hits`: answered once so many requests were hit, and at the time limit in any case.
    """

    fault: Word = ""
    wait_hits: Int = 0


class RemoveProtocolFault(ControlRequest, frozen=True):
    """Remove a protocol fault; "": all."""

    fault: Word = ""


class Machine(ControlRequest, frozen=True):
    """Break or repair one or several machines at once.

    `node`: a name, `az-0`, `broker-*`, `leader:t-0`, `active-controller`, or a list of such.
    `batches_kept`: of each log, in a power loss (SYNCED: none past what was synced). `directory`: the one log directory
    that is full, fails, or is lost ("": the whole disk). Of a start, and kept for later ones: `version` of a broker's
    binary ("": as before) and `settings` besides those it had (null: removed); `from_files`: the same from
    files, which may have settings that the version does not have. `given`: further fields of the fault by name
    (`emulator.faults.machine_fault_kinds`)."""

    fault: MachineFault
    node: Word | Annotated[list[Word], msgspec.Meta(min_length=1, max_length=WORDS_MAX)]
    batches_kept: Annotated[int, msgspec.Meta(ge=-1, le=BATCHES_KEPT_MAX)] = SYNCED
    directory: Word = ""
    version: Word = ""
    settings: dict[Word, SettingValue | None] = {}
    from_files: dict[Word, str] = {}
    given: Annotated[dict[Word, float], msgspec.Meta(max_length=WORDS_MAX)] = {}


class CreateTopic(ControlRequest, frozen=True):
    """`assignment`: replicas by partition, the preferred leader first.

    Or `partitions` with `replicas` each.
    """

    topic: TopicName
    assignment: Annotated[list[list[Broker]], msgspec.Meta(max_length=1_000)] = []
    partitions: Int = 0
    replicas: Int = 0
    settings: dict[str, SettingValue] = {}


class DescribeTopic(ControlRequest, frozen=True):
    """A topic in the session service (all if empty), and each broker's own view of it."""

    topic: Word = ""


class TopicOffsets(ControlRequest, frozen=True):
    """First and last offsets of its partitions, for consumers and at each replica."""

    topic: Word


class DeleteTopic(ControlRequest, frozen=True):
    """Delete a topic. Done when the controller has deleted every replica, and the topic is gone."""

    topic: Word


class AlterTopic(ControlRequest, frozen=True):
    """Set settings of a topic, and reset others to the cluster's."""

    topic: Word
    settings: dict[str, SettingValue] = {}
    remove: Words = []


class AlterBroker(ControlRequest, frozen=True):
    """Set settings of a running broker, or (no `broker`) of all, and reset others to its file's.

    `broker`: a number, a name, or a role such as `leader:t-0`.
    """

    broker: Broker | Word | None = None
    settings: dict[str, SettingValue] = {}
    remove: Words = []


class AddPartitions(ControlRequest, frozen=True):
    """Set the number of partitions. `assignment`: replicas of each new one.

    Else they are placed.
    """

    topic: Word
    partitions: Int
    assignment: Annotated[list[list[Broker]], msgspec.Meta(max_length=1_000)] = []


class Reassign(ControlRequest, frozen=True):
    """{partition: its replicas, the preferred leader first}.

    Done when the controller has moved all.
    """

    targets: Annotated[dict[Word, list[Broker]], msgspec.Meta(min_length=1, max_length=1_000)] = msgspec.field(
        name="partitions"
    )


class Produce(ControlRequest, frozen=True):
    """Write records, by a client in `az`, or from outside every AZ.

    A client in an AZ sends to the leader that its AZ's broker knows; from outside to the leader; or to `broker`, leader
    or not. Idempotent, with a `client_version`, or with `keys`, one for each value: by a client's own producer, which
    finds the leader by itself; with keys its partitioner chooses the partition.

    With a `transactional_id` all values are one transaction, which is committed, or with `abort` aborted. The result's
    `transactions` has its outcome.
    """

    topic: Word
    values: Values
    partition: Int = 0
    acks: Literal[0, 1, -1] = 1
    broker: Broker | None = None
    retries: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 0
    timeout_ms: Annotated[int, msgspec.Meta(ge=1, le=600_000)] = 1_000
    idempotent: bool = False
    client_version: Word = ""
    transactional_id: Word = ""
    abort: bool = False
    az: Word = ""
    keys: Annotated[
        list[Annotated[str, msgspec.Meta(max_length=VALUE_BYTES_MAX)]], msgspec.Meta(max_length=VALUES_MAX)
    ] = []


class Consume(ControlRequest, frozen=True):
    """Read at most `records_max` records of a partition from `offset` on.

    The broker is chosen as for Produce. At `isolation` read_committed records of open and aborted transactions are left
    out.
    """

    topic: Word
    partition: Int = 0
    offset: Annotated[Offset, msgspec.Meta(ge=0, le=OFFSET_MAX)] = FIRST_OFFSET
    records_max: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 100
    broker: Broker | None = None
    az: Word = ""
    isolation: IsolationLevel = "read_uncommitted"


class ElectPreferred(ControlRequest, frozen=True):
    """Elect preferred leaders. None named: all."""

    partitions: Words = []


class AddController(ControlRequest, frozen=True):
    """Make a running controller of KRaft a voter (KIP-853)."""

    controller: Name


class RemoveController(ControlRequest, frozen=True):
    """Take a controller of KRaft from the voters (KIP-853)."""

    controller: Name


class StartWorkload(ControlRequest, frozen=True):
    """Start a producer of `rate` records per second in each of `azs` (none: all).

    `consumers`: a consumer in each, too.

    `acks`, `retries`, `idempotent` None: the cluster's producer settings, else the default of a client of
    `client_version` ("": the newest). `keys`: number of keys, in turn; 0: none.

    With a `transactional_id`, to which each client appends its name, `records_per_transaction` are one transaction. The
    share `abort_ratio` of them is aborted. `isolation`: of the consumers.
    """

    name: Name
    topic: Word
    rate_per_s: float = msgspec.field(default=10.0, name="rate")
    acks: Literal[0, 1, -1] | None = None
    retries: Annotated[int, msgspec.Meta(ge=0, le=INT_MAX)] | None = None
    idempotent: bool | None = None
    client_version: Word = ""
    value_bytes: Annotated[int, msgspec.Meta(ge=0, le=VALUE_BYTES_MAX)] = 0
    keys: Annotated[int, msgspec.Meta(ge=0, le=KEYS_MAX)] = 0
    settings: dict[str, SettingValue] = {}
    consumers: bool = True
    azs: Words = []
    transactional_id: Word = ""
    records_per_transaction: Annotated[int, msgspec.Meta(ge=1, le=UNFINISHED_MAX)] = RECORDS_PER_TRANSACTION
    abort_ratio: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] = 0.0
    isolation: IsolationLevel = "read_uncommitted"


class StopWorkload(ControlRequest, frozen=True):
    """Stop a workload; "": every one. `at_once`: unfinished operations end as unknown."""

    name: Word = ""
    at_once: bool = False


class WorkloadStatus(ControlRequest, frozen=True):
    """Counts so far, by client."""


AnyAsk = (
    Ready | Down | Status | DescribeSettings | LinkFault | Heal | AddProtocolFault | ProtocolFaultStatus
    | RemoveProtocolFault | Machine | CreateTopic | DescribeTopic | TopicOffsets | DeleteTopic | AlterTopic
    | AlterBroker | AddPartitions | Reassign | Produce | Consume | ElectPreferred | AddController | RemoveController
    | StartWorkload | StopWorkload | WorkloadStatus
)  # fmt: skip


Why = Literal["", "absent", "ended", "busy", "bug"]
"""Kind of a refusal.

The name does not exist; a node has ended by itself; not now, but again in a moment; our fault.
"""


class Answer(msgspec.Struct, frozen=True):
    """An answer. `error` "": there is none."""

    code: int = HELD
    error: str = ""
    result: dict[str, Any] = {}
    why: Why = ""


class Refused(Exception):
    """A request that cannot be done: one line with the nearest valid name."""


class NotThere(Refused):
    """The name in a request does not exist."""


class Died(Exception):
    """A node ended by itself: one line with the reason."""


def unusable(error: object, result: dict[str, Any] | None = None) -> Answer:
    """An answer of code 2."""
    return Answer(UNUSABLE, str(error), result or {}, "absent" if isinstance(error, NotThere) else "")


def unknown(error: object, result: dict[str, Any] | None = None, why: Why = "") -> Answer:
    """An answer of code 3."""
    return Answer(UNKNOWN, str(error), result or {}, why)
