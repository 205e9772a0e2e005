"""The truth about a finished run: disks, clients' results, terms of leaders and controllers.

Plain data, so that a test can write it by hand.
"""

import msgspec

from emulator.judging.oracle.checkpoint_facts import Ahead, CutBelow, IsrChange, Outlived
from emulator.judging.oracle.committed_state import State
from emulator.judging.oracle.controller_terms import Office, StepBack
from emulator.judging.oracle.leader_view import Belief, Forgotten
from emulator.judging.oracle.log_extent import Appended, Reached
from emulator.judging.oracle.quiescence import Peace
from emulator.machines.client.kept_operations import Read
from emulator.storage.checkpoints import LeaderEpochs
from protocol.ids import TopicPartition


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


class Given(msgspec.Struct, frozen=True):
    """A batch that a consumer's operation read.

    `stretch`: count of positions that it had left before.
    """

    topic_partition: TopicPartition
    operation: str
    read: Read
    stretch: int = 0


class PositionLost(msgspec.Struct, frozen=True):
    """An operation from offset `requested` (-1: the default) that left its position `offset`."""

    topic_partition: TopicPartition
    operation: str
    requested: int
    offset: int
    reason: str


class Waited(msgspec.Struct, frozen=True):
    """An attempt of an operation: a request of `client`, in its last incarnation, to a broker.

    `timeout_ms`: when it gives up at the latest, 0 unknown. `ended_ms` None: no response, and not given up.
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
    - `caches`: leader epoch caches on the disks; `cuts`, `outlived`, `ahead`, `isr_changes`: see `kept`; `logs_found`:
      count of logs found at starts
    - `assignments`: final replicas of partitions; `assigned_ms`: {topic: since when}; `peace`: the quiescent period
    - `beliefs`: leaders' views of their ISRs; `forgotten`: records that replicas lacked after a restart; in time order
    - `states`: committed states of partitions; `states_missing`: why some are unknown
    - `roles_seen`: count of replicas that ever had a role; `halted`: brokers that do not run at the end

    A deleted topic is `t#1` here, its successor of the same name `t` (`t#2`, once that is deleted too). `gone`: those,
    and topics whose deletion is in progress; the checks of final logs skip them.
    """

    logs: dict[TopicPartition, dict[str, list[Batch]]] = {}
    damaged: dict[TopicPartition, dict[str, str]] = {}
    writes: list[Write] = []
    unended: int = 0
    left_open: list[Write] = []
    reads: list[Given] = []
    lost_positions: list[PositionLost] = []
    of_groups: list[OfGroup] = []
    beliefs: list[Belief] = []
    forgotten: list[Forgotten] = []
    leaders: list[Office] = []
    controllers: list[Office] = []
    watermarks_back: list[StepBack] = []
    epochs_back: list[StepBack] = []
    appended: dict[TopicPartition, set[Appended]] = {}
    reached: list[Reached] = []
    states: list[State] = []
    states_missing: str = ""
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
    peace: Peace | None = None
    waited: list[Waited] = []

    def final_leader(self, topic_partition: TopicPartition) -> str | None:
        """Leader in the last leader epoch that had a leader."""
        return self.final_leaders().get(topic_partition)

    def final_leaders(self) -> dict[TopicPartition, str]:
        """{partition that ever had a leader: the last one}."""
        last: dict[TopicPartition, tuple[int, str]] = {}
        for office in self.leaders:
            if office.topic_partition is not None:
                held = (office.epoch, office.node)
                last[office.topic_partition] = max(last.get(office.topic_partition, held), held)
        return {topic_partition: node for topic_partition, (_, node) in last.items()}
