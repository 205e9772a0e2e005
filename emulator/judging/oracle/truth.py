"""The truth about a finished run: disks, clients' results, terms of leaders and controllers.

Plain data, so that a test can write it by hand.
"""

from typing import Any

import msgspec

from emulator.judging.oracle.log_extent import Appended, Reached
from emulator.judging.oracle.transaction_facts import ProducerBatch, SentOffset, TransactionRecord
from emulator.machines.client.client_state import KeptTransaction, Read
from emulator.storage.checkpoints import LeaderEpochs
from protocol.ids import TopicPartition

NO_PARTITION: TopicPartition = ("", -1)


class Violation(msgspec.Struct, frozen=True):
    """One violation. `offset` -1: no offset. `details`: plain values."""

    topic_partition: TopicPartition
    offset: int
    text: str
    details: dict[str, Any] = {}


class CutBelow(msgspec.Struct):
    """A truncation of a replica's log from `log_end` to `to`, below its former `high_watermark`."""

    topic_partition: TopicPartition
    node: str
    to: int
    log_end: int
    high_watermark: int


class Outlived(msgspec.Struct):
    """An entry of a replica's leader epoch cache that begins at or above the end of its log."""

    topic_partition: TopicPartition
    node: str
    incarnation: int
    epoch: int
    begins: int
    log_end: int


class Ahead(msgspec.Struct):
    """A checkpointed high watermark above the end of the log that an incarnation's start found."""

    topic_partition: TopicPartition
    node: str
    incarnation: int
    checkpointed: int
    log_end: int


class IsrChange(msgspec.Struct):
    """A leader's acceptance of an ISR as committed, as `version` of the partition's state."""

    topic_partition: TopicPartition
    node: str
    incarnation: int
    epoch: int
    version: int


class State(msgspec.Struct):
    """A committed state of a partition.

    `created`: it has no predecessor. `version`: of its znode. `reached`: the newest controller epoch committed by then;
    an older controller may have written this state. `from_ms`, `until_ms`: while it was the newest; None: to the end.
    In KRaft `zxid` is the record's offset, and `version` the partition epoch. `elr`: eligible leader replicas.
    """

    topic_partition: TopicPartition
    zxid: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int
    created: bool = False
    version: int = 0
    reached: int = 0
    from_ms: float = 0.0
    until_ms: float | None = None
    elr: tuple[int, ...] = ()


class Term(msgspec.Struct):
    """A term [from_ms, to_ms) of a leader, or of the controller (`topic_partition` None).

    `to_ms` None: to the end. `appended_ms`: times at which its log grew. `found`: of an uncleanly elected leader the
    batches of its log at the term's beginning, as (digest, first offset, last offset); None: another leader, or
    unknown.
    """

    topic_partition: TopicPartition | None
    node: str
    epoch: int
    from_ms: float
    to_ms: float | None = None
    appended_ms: list[float] = []
    found: frozenset[tuple[int, int, int]] | None = None


class StepBack(msgspec.Struct, frozen=True):
    """A decrease of a leader's high watermark in `epoch`, or of a replica's leader epoch (-1)."""

    topic_partition: TopicPartition
    node: str
    epoch: int
    was: int
    now: int
    at_ms: float


class LeaderView(msgspec.Struct, frozen=True):
    """A leader's view of its partition from now on.

    `in_sync`: count of replicas in its maximal ISR; -1: it does not lead. `least`: replicas needed for acks=all.
    `high_watermark`: its value until now. `ended`: count of operations that had ended by then.
    """

    topic_partition: TopicPartition
    node: str
    in_sync: int
    least: int
    high_watermark: int
    ended: int


class Forgotten(msgspec.Struct, frozen=True):
    """A replica's log end `to` after a restart, below the former incarnation's `log_end`."""

    topic_partition: TopicPartition
    node: str
    log_end: int
    to: int


class MetadataLife(msgspec.Struct):
    """A node of a KRaft quorum in one incarnation, voter or observer, as its own memory has it.

    - `committed`: batches that it has read below its high watermark, as (base offset, end, epoch, digest); without
      those of no-op and control records alone
    - `loaded`: end of the last snapshot that it has loaded; it does not read the batches below
    - `leaders`: {epoch of the quorum: the leaders that it has known in it}
    - `highest`: its highest high watermark; `fell`: the highest one and the first smaller value, of it or of the end of
      its log
    """

    node: str
    incarnation: int
    committed: list[tuple[int, int, int, int]] = []
    leaders: dict[int, set[int]] = {}
    highest: int = -1
    fell: tuple[int, int] | None = None
    loaded: int = 0


class QuiescentPeriod(msgspec.Struct, frozen=True):
    """A quiescent period [since_ms, end_ms], and the longest timeouts of any broker.

    `stalled_ms`: longest wait for a response that never comes. A leader's request to change its ISR may wait so long.
    If links were broken, every request on a dead connection may.
    """

    since_ms: float
    end_ms: float
    session_ms: int
    lag_ms: int
    stalled_ms: int = 0
    links_broken: bool = False


class Batch(msgspec.Struct, frozen=True):
    """One batch of a log: offsets [first, last].

    `epoch` -1 where the format has none (before 0.11).
    """

    first: int
    last: int
    epoch: int
    digest: int


class Write(msgspec.Struct, frozen=True):
    """A produce that has ended, or (`outcome` "") was sent and did not end.

    `offset` -1: no offset was promised. `broker`: receiver of the last request. `ended`: count of operations of any
    kind that had ended before.
    """

    operation: str
    value: str
    topic_partition: TopicPartition
    acks: int
    outcome: str
    offset: int
    digest: int
    broker: int = -1
    attempts: int = 1
    idempotent: bool = False
    ended: int = 0
    transaction: str = ""


class Given(msgspec.Struct, frozen=True):
    """A batch that a consumer's operation read.

    `stretch`: count of positions that it had left before. `isolation`: see `OperationInvoked`.
    """

    topic_partition: TopicPartition
    operation: str
    read: Read
    stretch: int = 0
    isolation: str = ""


class PositionLost(msgspec.Struct, frozen=True):
    """An operation from offset `requested` (-1: the default) that left its position `offset`."""

    topic_partition: TopicPartition
    operation: str
    requested: int
    offset: int
    reason: str


class Waited(msgspec.Struct, frozen=True):
    """An attempt of an operation: a request of `client`, in its last incarnation, to a broker.

    `timeout_ms`: the client's time limit; 0: unknown. `ended_ms` None: no response, and not given up.
    """

    operation: str
    attempt: int
    client: str
    broker: int
    timeout_ms: int
    sent_ms: float
    ended_ms: float | None = None


class OfGroup(msgspec.Struct, frozen=True):
    """A group's commit, or a read of its committed offset (`kind`: commit, committed).

    `requested`: the offset to commit. `offset`: the committed offset, or the one that was read. `begun`: count of
    operations that had begun before. `over`: count of those that had begun by its end, -1 without an end. `ended`:
    count of operations that had ended before. `in_znodes`: ZooKeeper stores it, not a broker; None: it has not ended.
    """

    kind: str
    group: str
    topic_partition: TopicPartition
    operation: str
    requested: int
    offset: int
    outcome: str
    begun: int
    over: int
    ended: int
    in_znodes: bool | None = False


class Truth(msgspec.Struct):
    """All facts about a finished run.

    - `logs`: {topic_partition: {node: its batches in order}}; `damaged`: {topic_partition: {node: why unreadable}}
    - `appended`: batches that any log ever held; `reached`: furthest log ends and high watermarks of replicas
    - `unended`: count of produces without an end; `left_open`: those of them that were sent
    - `reads`: batches that consumers read, by operation in order; `lost_positions`: positions that they had to leave
    - `of_groups`: groups' commits and reads of them; `waited`: clients' requests to brokers
    - `caches`: leader epoch caches on the disks; `cuts`, `outlived`, `ahead`, `isr_changes`: see
      `checkpoint_state`; `logs_found`: count of logs found at starts
    - `assignments`: final replicas of partitions; `assigned_ms`: {topic: since when}; `quiescent`: the quiescent period
    - `leader_views`: leaders' views of their ISRs; `forgotten`: records that replicas lacked after a restart; both in
      order of time
    - `states`: committed states of partitions; `states_missing`: why some are unknown
    - `metadata_lives`: nodes of a KRaft quorum
    - `producers`, `transaction_records`: transactional batches of logs, and coordinators' records, as `logs`;
      `ever_transactional`: transactional batches that any log ever held
    - `transactions`: of clients, by name; `sent_offsets`: offsets that they have sent
    - `roles_seen`: count of replicas that ever had a role; `halted`: brokers that do not run at the end

    A deleted topic is `t#1` here, its successor of the same name `t` (`t#2`, once that is deleted too). `gone`: deleted
    topics, and topics whose deletion is in progress; the checks of final logs skip them.
    """

    logs: dict[TopicPartition, dict[str, list[Batch]]] = {}
    damaged: dict[TopicPartition, dict[str, str]] = {}
    writes: list[Write] = []
    unended: int = 0
    left_open: list[Write] = []
    reads: list[Given] = []
    lost_positions: list[PositionLost] = []
    of_groups: list[OfGroup] = []
    leader_views: list[LeaderView] = []
    forgotten: list[Forgotten] = []
    leaders: list[Term] = []
    controllers: list[Term] = []
    watermarks_back: list[StepBack] = []
    epochs_back: list[StepBack] = []
    appended: dict[TopicPartition, set[Appended]] = {}
    reached: list[Reached] = []
    states: list[State] = []
    states_missing: str = ""
    metadata_lives: list[MetadataLife] = []
    roles_seen: int = 0
    gone: set[str] = set()
    halted: set[str] = set()
    caches: dict[TopicPartition, dict[str, LeaderEpochs]] = {}
    cuts: list[CutBelow] = []
    outlived: list[Outlived] = []
    ahead: list[Ahead] = []
    isr_changes: list[IsrChange] = []
    logs_found: int = 0
    assignments: dict[TopicPartition, tuple[int, ...]] = {}
    assigned_ms: dict[str, float] = {}
    quiescent: QuiescentPeriod | None = None
    waited: list[Waited] = []
    producers: dict[TopicPartition, dict[str, list[ProducerBatch]]] = {}
    ever_transactional: dict[TopicPartition, set[ProducerBatch]] = {}
    transaction_records: dict[TopicPartition, dict[str, list[TransactionRecord]]] = {}
    transactions: dict[str, KeptTransaction] = {}
    sent_offsets: list[SentOffset] = []

    def final_leader(self, topic_partition: TopicPartition) -> str | None:
        """Leader in the last leader epoch that had a leader."""
        return self.final_leaders().get(topic_partition)

    def final_leaders(self) -> dict[TopicPartition, str]:
        """{partition that ever had a leader: the last one}."""
        last: dict[TopicPartition, tuple[int, str]] = {}
        for term in self.leaders:
            if term.topic_partition is not None:
                held = (term.epoch, term.node)
                last[term.topic_partition] = max(last.get(term.topic_partition, held), held)
        return {topic_partition: node for topic_partition, (_, node) in last.items()}
