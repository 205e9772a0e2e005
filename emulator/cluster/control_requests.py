"""Requests to a live cluster and its answers: one JSON line per request, one per answer.

    {"token": "...", "wait_s": 1.5, "ask": {"ask": "cut", ...}}
    {"code": 0, "error": "", "result": {...}}

The token stands first: the server compares it as bytes, and decodes nothing else of a line before. `code` is the exit
code of the command (emulator.exit_codes). 2: it cannot be done (`error`: one line with the nearest valid name). 3: it
had not ended in `wait_s`; it goes on, and `result` has the results so far. HTTP has the same requests
(`emulator.cluster.http`).
"""

import re
from typing import Annotated, Any, Literal

import msgspec

from emulator.exit_codes import HELD, UNKNOWN, UNUSABLE
from emulator.faults.link_fault_kinds import AnyLinkFault
from emulator.faults.machine_fault_kinds import LIVE_FAULTS
from protocol.ids import FIRST_OFFSET, TOPIC_CHARACTERS_MAX, BrokerId, Offset
from protocol.link_rules import LinkFaultKind
from protocol.undecodable import UNDECODABLE, why

LINE_BYTES_MAX = 64 * 1024
"""Limit of a request."""
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


class Ask(msgspec.Struct, frozen=True, tag_field="ask", forbid_unknown_fields=True):
    """Base of all requests."""


class Ready(Ask, frozen=True, tag="ready"):
    """Wait until the ensemble serves, every broker is registered and there is a controller."""


class Down(Ask, frozen=True, tag="down"):
    """End the cluster. Answered before it ends."""


class Status(Ask, frozen=True, tag="status"):
    """Running nodes, each node's own view, and the faults in force."""


class DescribeSettings(Ask, frozen=True, tag="describe-settings"):
    """Nodes, version, and settings of brokers and topics, at their start and since."""


class LinkFault(Ask, frozen=True, tag="link-fault"):
    """A fault on links, as a scenario's step (`emulator.faults.link_fault_kinds`)."""

    fault: AnyLinkFault


HealedKind = Literal["", LinkFaultKind]
""""": of every kind."""


class Heal(Ask, frozen=True, tag="heal"):
    """Lift the rules that name all of these places (or have one of these ids); none: every rule.

    `kind`: only of that kind.
    """

    words: Words = []
    kind: HealedKind = ""


class Machine(Ask, frozen=True, tag="machine"):
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

    def __post_init__(self) -> None:
        if self.fault not in LIVE_FAULTS:
            raise ValueError(f"no fault {self.fault!r}; there is {', '.join(LIVE_FAULTS)}")


class CreateTopic(Ask, frozen=True, tag="create-topic"):
    """`assignment`: replicas by partition, the preferred leader first.

    Or `partitions` with `replicas` each.
    """

    topic: TopicName
    assignment: Annotated[list[list[Broker]], msgspec.Meta(max_length=1_000)] = []
    partitions: Int = 0
    replicas: Int = 0
    settings: dict[str, SettingValue] = {}


class DescribeTopic(Ask, frozen=True, tag="describe-topic"):
    """A topic in the session service (all if empty), and each broker's own view of it."""

    topic: Word = ""


class TopicOffsets(Ask, frozen=True, tag="topic-offsets"):
    """First and last offsets of its partitions, for consumers and at each replica."""

    topic: Word


class DeleteTopic(Ask, frozen=True, tag="delete-topic"):
    """Delete a topic. Done when the controller has deleted every replica, and the topic is gone."""

    topic: Word


class AlterTopic(Ask, frozen=True, tag="alter-topic"):
    """Set settings of a topic, and reset others to the cluster's."""

    topic: Word
    settings: dict[str, SettingValue] = {}
    removed: Words = []


class AlterBroker(Ask, frozen=True, tag="alter-broker"):
    """Set settings of a running broker, or (no `broker`) of all, and reset others to its file's."""

    broker: Broker | None = None
    settings: dict[str, SettingValue] = {}
    removed: Words = []


class AddPartitions(Ask, frozen=True, tag="add-partitions"):
    """Set the number of partitions. `assignment`: replicas of each new one.

    Else they are placed.
    """

    topic: Word
    partitions: Int
    assignment: Annotated[list[list[Broker]], msgspec.Meta(max_length=1_000)] = []


class Reassign(Ask, frozen=True, tag="reassign"):
    """{partition: its replicas, the preferred leader first}.

    Done when the controller has moved all.
    """

    targets: Annotated[dict[Word, list[Broker]], msgspec.Meta(min_length=1, max_length=1_000)]


class Produce(Ask, frozen=True, tag="produce"):
    """Write records, by a client in `az`, or from outside every AZ.

    A client in an AZ sends to the leader that its AZ's broker knows; from outside to the leader; or to `broker`, leader
    or not. Idempotent, with a `client_version`, or with `keys`, one for each value: by a client's own producer, which
    finds the leader by itself; with keys its partitioner chooses the partition.
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
    az: Word = ""
    keys: Annotated[
        list[Annotated[str, msgspec.Meta(max_length=VALUE_BYTES_MAX)]], msgspec.Meta(max_length=VALUES_MAX)
    ] = []


class Consume(Ask, frozen=True, tag="consume"):
    """Read at most `records_max` records of a partition from `offset` on.

    The broker is chosen as for Produce.
    """

    topic: Word
    partition: Int = 0
    offset: Annotated[Offset, msgspec.Meta(ge=0, le=OFFSET_MAX)] = FIRST_OFFSET
    records_max: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 100
    broker: Broker | None = None
    az: Word = ""


class ElectPreferred(Ask, frozen=True, tag="elect-preferred"):
    """Elect preferred leaders. None named: all."""

    partitions: Words = []


class StartWorkload(Ask, frozen=True, tag="start-workload"):
    """Start a producer of `rate_per_s` in each of `azs` (none: all).

    `consumers`: a consumer in each, too.

    `acks`, `retries`, `idempotent` None: the cluster's producer settings, else the default of a client of
    `client_version` ("": the newest). `keys`: number of keys, in turn; 0: none.
    """

    name: Name
    topic: Word
    rate_per_s: float = 10.0
    acks: Literal[0, 1, -1] | None = None
    retries: Annotated[int, msgspec.Meta(ge=0, le=INT_MAX)] | None = None
    idempotent: bool | None = None
    client_version: Word = ""
    value_bytes: Annotated[int, msgspec.Meta(ge=0, le=VALUE_BYTES_MAX)] = 0
    keys: Annotated[int, msgspec.Meta(ge=0, le=KEYS_MAX)] = 0
    settings: dict[str, SettingValue] = {}
    consumers: bool = True
    azs: Words = []


class StopWorkload(Ask, frozen=True, tag="stop-workload"):
    """Stop a workload; "": every one. `at_once`: unfinished operations end as unknown."""

    name: Word = ""
    at_once: bool = False


class WorkloadStatus(Ask, frozen=True, tag="workload-status"):
    """Counts so far, by client."""


AnyAsk = (
    Ready | Down | Status | DescribeSettings | LinkFault | Heal | Machine | CreateTopic | DescribeTopic
    | TopicOffsets | DeleteTopic | AlterTopic | AlterBroker | AddPartitions | Reassign | Produce | Consume
    | ElectPreferred | StartWorkload | StopWorkload | WorkloadStatus
)  # fmt: skip


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The line of a request. `ask` is decoded once the token is right."""

    token: str
    ask: msgspec.Raw
    wait_s: Annotated[float, msgspec.Meta(ge=0.0, le=WAIT_S_MAX)] = WAIT_S


Why = Literal["", "absent", "ended", "busy", "bug"]
"""Kind of a refusal.

The name does not exist; a node has ended by itself; not now, but again in a moment; our fault.
"""


class Answer(msgspec.Struct, frozen=True):
    """The line of an answer."""

    code: int = HELD
    error: str = ""
    result: dict[str, Any] = {}
    why: Why = ""


class Refused(Exception):
    """A request that cannot be done: one line with the nearest valid name."""


class NotThere(Refused):
    """The name in a request does not exist."""


class Malformed(Refused):
    """The line is no request. The server closes the connection after one."""


class Died(Exception):
    """A node ended by itself: one line with the reason."""


def unusable(error: object, result: dict[str, Any] | None = None) -> Answer:
    """An answer of code 2."""
    return Answer(UNUSABLE, str(error), result or {}, "absent" if isinstance(error, NotThere) else "")


def unknown(error: object, result: dict[str, Any] | None = None, why: Why = "") -> Answer:
    """An answer of code 3."""
    return Answer(UNKNOWN, str(error), result or {}, why)


_TOKEN = re.compile(rb'\{\s{0,8}"token"\s{0,8}:\s{0,8}"([^"\\]{0,256})"')
_requests = msgspec.json.Decoder(Request)
_ask_decoder: msgspec.json.Decoder[AnyAsk] = msgspec.json.Decoder(AnyAsk)
_answers = msgspec.json.Decoder(Answer)
_encode = msgspec.json.Encoder().encode


def encode_request(token: str, ask: Ask, wait_s: float) -> bytes:
    """A request with its line end. Raises Refused if it is too long."""
    line = _encode({"token": token, "wait_s": wait_s, "ask": ask}) + b"\n"
    if len(line) > LINE_BYTES_MAX:
        raise Refused(f"a request of {len(line)} bytes; the cluster takes {LINE_BYTES_MAX}")
    return line


def token_of(line: bytes) -> bytes:
    """The token of the line; nothing is decoded. Raises Malformed."""
    found = _TOKEN.match(line)
    if found is None:
        raise Malformed('not a request: a line begins with {"token": "..."}')
    return found[1]


def decode_request(line: bytes) -> Request:
    """Raises Malformed."""
    try:
        return _requests.decode(line)
    except UNDECODABLE as error:
        raise Malformed(f"not a request: {why(error)}") from error


def decode_ask(request: Request) -> AnyAsk:
    """Raises Malformed."""
    try:
        return _ask_decoder.decode(request.ask)
    except UNDECODABLE as error:
        raise Malformed(f"not a request: {why(error)}") from error


def encode_answer(answer: Answer) -> bytes:
    """An answer with its line end; one that is too long becomes an error."""
    line = _encode(answer) + b"\n"
    if len(line) > ANSWER_BYTES_MAX:
        return encode_answer(unusable(f"an answer of {len(line)} bytes; at most {ANSWER_BYTES_MAX}"))
    return line


def decode_answer(line: bytes) -> Answer:
    """Raises Malformed."""
    try:
        return _answers.decode(line)
    except UNDECODABLE as error:
        raise Malformed(f"not an answer: {why(error)}") from error
