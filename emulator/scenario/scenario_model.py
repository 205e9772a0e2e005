"""A scenario: steps on a cluster, and the expected outcome.

Steps are data; the player executes them in turn. Each verb of docs/scenarios.md is one class. Steps of clients are in
`client_steps`, faults in `emulator.faults.machine_fault_kinds` and `link_fault_kinds`; this module exports all of them.
A step begins when the previous one has ended, or at `at_s` if that is later (scenario time, seconds since the cluster's
launch). Nodes and AZs have their full names (`broker-2`, `az-0`); a broker to which a step sends requests has a number,
as in the recordings. `partition` None is the scenario's first.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from emulator.faults.link_fault_kinds import (
    LINK_FAULTS,
    AzLinks,
    Bandwidth,
    Cut,
    Delay,
    Heal,
    Hold,
    LinkFault,
    Links,
    Loss,
    OneWayLinks,
    OpenedLinks,
    PairLinks,
    Reset,
)
from emulator.faults.machine_fault_kinds import (
    MACHINE_STEPS,
    DiskError,
    DiskFull,
    Kill,
    LoseDisk,
    LoseUnsynced,
    MachineStep,
    PauseNode,
    PowerLoss,
    ResumeNode,
    Start,
    Step,
    Stop,
    Together,
)
from emulator.scenario.client_steps import (
    ACKS_AS_SET,
    ALL_ACKS,
    ANY_BROKER,
    ANY_PARTITION,
    AddPartitions,
    AdminStep,
    AlterBroker,
    AlterTopic,
    AskMetadata,
    Commit,
    Consume,
    CreateTopic,
    DeleteTopic,
    ElectController,
    ElectPreferred,
    Fetch,
    LibraryProduce,
    ListOffsets,
    LookCommitted,
    Produce,
    ProduceMessageSet,
    Reassign,
    StopWorkload,
    Workload,
)
from emulator.scenario.conditions import Condition
from emulator.scenario.observations.races import Race
from emulator.scenario.quorum_steps import (
    AddController,
    CutControllers,
    DescribeQuorum,
    QuorumStep,
    RemoveController,
    RequireController,
)
from emulator.scenario.transaction_steps import (
    TRANSACTION_STEPS,
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    DescribeProducers,
    DescribeTransaction,
    EndTxn,
    FetchBatches,
    FindCoordinator,
    InitProducerId,
    InternalTopics,
    OffsetFetch,
    ProduceBatch,
    TransactionStep,
    TxnOffsetCommit,
)
from emulator.topology import Topology, three_azs

__all__ = [
    "ACKS_AS_SET",
    "ALL_ACKS",
    "ANY_BROKER",
    "ANY_PARTITION",
    "FAULTS",
    "LINK_FAULTS",
    "MACHINE_STEPS",
    "TRANSACTION_STEPS",
    "AddController",
    "AddOffsetsToTxn",
    "AddPartitions",
    "AddPartitionsToTxn",
    "AdminStep",
    "AlterBroker",
    "AlterTopic",
    "AnyStep",
    "AskMetadata",
    "Await",
    "AzLinks",
    "Background",
    "Bandwidth",
    "Commit",
    "Consume",
    "CreateTopic",
    "Cut",
    "CutControllers",
    "Delay",
    "DeleteTopic",
    "DescribeProducers",
    "DescribeQuorum",
    "DescribeTransaction",
    "DiskError",
    "DiskFull",
    "ElectController",
    "ElectPreferred",
    "EndTxn",
    "Expectation",
    "ExpectedExit",
    "ExpectedViolation",
    "Fetch",
    "FetchBatches",
    "FindCoordinator",
    "Heal",
    "Hold",
    "InitProducerId",
    "InternalTopics",
    "Kill",
    "LibraryProduce",
    "LinkFault",
    "Links",
    "ListOffsets",
    "LookCommitted",
    "LoseDisk",
    "LoseUnsynced",
    "Loss",
    "MachineStep",
    "Network",
    "OffsetFetch",
    "OneWayLinks",
    "OpenedLinks",
    "PairLinks",
    "PauseNode",
    "PowerLoss",
    "Produce",
    "ProduceBatch",
    "ProduceMessageSet",
    "QuorumStep",
    "Reassign",
    "Record",
    "RemoveController",
    "Repeat",
    "RequireController",
    "Reset",
    "ResumeNode",
    "Scenario",
    "Settle",
    "Sleep",
    "Start",
    "Step",
    "Stop",
    "StopWorkload",
    "TakeSnapshot",
    "Together",
    "TransactionStep",
    "TxnOffsetCommit",
    "Wait",
    "Workload",
    "begins_fault",
    "plain_steps",
]  # fmt: skip


# --- observing and waiting ---


class TakeSnapshot(Step, frozen=True, kw_only=True):
    """Every replica's log and checkpoint files. Verb `snapshot`."""

    label: str


class Record(Step, frozen=True, kw_only=True):
    """Record data of ZooKeeper, or logs.

    `what`: `partition-state`, `controller`, `partitions` (the count of all), or `logs` (with their wrappers, of the
    assignment's first two replicas). A recording has only the result, not the step.
    """

    what: str
    partition: str | None = None


class Wait(Step, frozen=True, kw_only=True):
    """Wait until the condition holds or `limit_s` has passed; the timeline notes which.

    `called`: the entry's name. A wait that times out makes the run unknown, unless it `may_time_out`.
    """

    until: Condition
    called: str
    limit_s: float = 90
    may_time_out: bool = False


class Sleep(Step, frozen=True, kw_only=True):
    """Wait for so many seconds."""

    seconds: float


class Settle(Step, frozen=True, kw_only=True):
    """Wait until ZooKeeper's data has not changed for `quiet_s`, at most `limit_s`."""

    quiet_s: float
    limit_s: float


# --- around steps ---


class Background(Step, frozen=True, kw_only=True):
    """Start `step` in the background; its results are noted when they come."""

    name: str
    step: "AnyStep"


class Await(Step, frozen=True, kw_only=True):
    """Wait for the background step of that name. A recording has no such step."""

    name: str


class Repeat(Step, frozen=True, kw_only=True):
    """Repeat `steps`."""

    times: int
    steps: tuple["AnyStep", ...]


AnyStep = (
    MachineStep | Together
    | LinkFault | Heal
    | Produce | ProduceMessageSet | LibraryProduce | Fetch | Consume | Commit | LookCommitted | AskMetadata
    | ListOffsets
    | Workload | StopWorkload | CreateTopic | DeleteTopic | AlterTopic | AlterBroker | AddPartitions | Reassign
    | ElectPreferred | ElectController
    | CutControllers | DescribeQuorum | RequireController | AddController | RemoveController
    | InternalTopics | TransactionStep
    | TakeSnapshot | Record | Wait | Sleep | Settle
    | Background | Await | Repeat
)  # fmt: skip

PARTITIONS_MAX = 1_000
"""Maximum of one topic."""

FAULTS: frozenset[type[Step]] = frozenset(
    (*(step for step in MACHINE_STEPS if step.BREAKS), *LINK_FAULTS.values(), CutControllers)
)
"""Steps after which "new" and "changed" are counted (`conditions.View.before`)."""


def begins_fault(step: AnyStep) -> bool:
    """Whether the step is one of FAULTS, or contains one."""
    if type(step) is Background:
        return begins_fault(step.step)
    if type(step) is Together:
        return any(map(begins_fault, step.steps))
    return type(step) in FAULTS


def plain_steps(steps: Iterable[AnyStep]) -> Iterator[AnyStep]:
    """Steps with an effect of their own, in order, however deep.

    Steps in the background, repeated (once) or together are unfolded.
    """
    for step in steps:
        match step:
            case Background(step=inner):
                yield from plain_steps([inner])
            case Repeat(steps=several) | Together(steps=several):
                yield from plain_steps(several)
            case _:
                yield step


# --- expectations ---


class Expectation(msgspec.Struct, frozen=True, kw_only=True):
    """An expectation of a scenario. `text`: its description for people.

    `of`: attempts, fetch, consume, commit, committed, metadata, list_offsets, wait, admin, snapshot, state, controller,
    partitions, isr_changes, check or measure. `what`: the required values (`expect` has the keys of each). `kafka`:
    only in these versions; all if empty.
    """

    text: str
    of: str
    what: dict[str, Any]
    kafka: tuple[str, ...] = ()


class ExpectedViolation(msgspec.Struct, frozen=True, kw_only=True):
    """A check that this scenario is meant to violate.

    `count`: number of violations; None: at least one. `sometimes`: by a race; a run in which the check holds is also
    valid.
    """

    check: str
    because: str
    count: int | None = None
    sometimes: bool = False
    kafka: tuple[str, ...] = ()


class ExpectedExit(msgspec.Struct, frozen=True, kw_only=True):
    """A node whose process is expected to end by itself.

    `kafka` as above.
    """

    node: str
    because: str
    kafka: tuple[str, ...] = ()


class Network(msgspec.Struct, frozen=True, kw_only=True):
    """Latency and recovery of links.

    `latency_ms`: one way. `recovery` after a heal: `rto` (TCP's back-off) or `instant`.
    """

    latency_ms: float | None = None
    recovery: str = "rto"


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario.

    `kafka`: its versions, the default first. `article`: the claim of the article that inspired it, where that differs
    from Kafka. `settings_files`: arguments of `--settings`, which `settings` overrides; `settings_by_version` overrides
    both. `controller_settings`: of KRaft's controllers, beside `settings`. `as_recorded`: the script of a recording;
    all of the recording is expected. `first_controller`: number of the controller of KRaft that wins the first election
    in the simulated world; None: a race. `speed`: factor of the clock with real processes; None: the runner's default.
    """

    id: str
    title: str
    kafka: tuple[str, ...]
    steps: tuple[AnyStep, ...]
    topology: Topology = msgspec.field(default_factory=three_azs)
    article: str = ""
    settings: dict[str, Any] = {}
    settings_by_broker: dict[int, dict[str, Any]] = {}
    settings_by_version: dict[str, dict[str, Any]] = {}
    controller_settings: dict[str, Any] = {}
    settings_files: tuple[str, ...] = ()
    expectations: tuple[Expectation, ...] = ()
    expects_violations: tuple[ExpectedViolation, ...] = ()
    expects_exits: tuple[ExpectedExit, ...] = ()
    races: tuple[Race, ...] = ()
    as_recorded: bool = False
    first_controller: int | None = None
    speed: float | None = None
    network: Network = Network()

    @property
    def default_version(self) -> str:
        return self.kafka[0]

    def expectations_for(self, version: str) -> tuple[Expectation, ...]:
        """Expectations for a version on the ladder, such as `2.6`."""
        return tuple(e for e in self.expectations if not e.kafka or version in e.kafka)

    def violations_expected(self, version: str) -> dict[str, ExpectedViolation]:
        """By the check's name."""
        return {e.check: e for e in self.expects_violations if not e.kafka or version in e.kafka}

    def exits_expected(self, version: str) -> dict[str, ExpectedExit]:
        """By the node's name."""
        return {e.node: e for e in self.expects_exits if not e.kafka or version in e.kafka}
