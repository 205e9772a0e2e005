"""The truth about a finished run: what every disk holds, what every client was told, who held which office.

Plain data, so that a test can also write it by hand.
"""

import msgspec

from emulator.judging.oracle.beliefs import Belief, Forgotten
from emulator.judging.oracle.committed_state import State
from emulator.judging.oracle.kept_facts import Ahead, CutBelow, IsrChange, Outlived
from emulator.judging.oracle.offices import Office, StepBack
from emulator.judging.oracle.peace import Peace
from emulator.judging.oracle.written import Appended, Reached
from emulator.machines.client.kept_operations import Read
from emulator.storage.checkpoints import LeaderEpochs
from protocol.ids import TopicPartition


class Batch(msgspec.Struct, frozen=True):
    """One batch of a log: offsets [first, last]. `epoch` -1 where the format has none (before 0.11)."""

    first: int
    last: int
    epoch: int
    digest: int


class Write(msgspec.Struct, frozen=True):
    """A produce that has ended, or (`outcome` "") was sent and never did. `offset` -1: none was promised. `broker`:
    asked last; `ended`: how many operations of any kind had ended before."""

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
    """What a consumer's operation was given. `stretch`: how often it had left its position before."""

    topic_partition: TopicPartition
    operation: str
    read: Read
    stretch: int = 0


class PositionLost(msgspec.Struct, frozen=True):
    """An operation that had begun at offset `asked` (-1: where the cluster said) left its position `offset`."""

    topic_partition: TopicPartition
    operation: str
    asked: int
    offset: int
    reason: str


class Waited(msgspec.Struct, frozen=True):
    """One try of an operation: a request of `client`, in its last life, to a broker. `timeout_ms`: when it gives up at
    the latest, 0 unknown; `ended_ms` None: it was not answered, nor given up."""

    operation: str
    attempt: int
    client: str
    broker: int
    timeout_ms: int
    sent_ms: float
    ended_ms: float | None = None


class OfGroup(msgspec.Struct, frozen=True):
    """A commit of a group, or a look at what it has committed (`kind`: commit, committed). `asked`: the offset to
    commit; `offset`: what was committed or found. `begun`: how many operations had begun before; `over`: how many had
    when it ended, -1 if it has not; `ended`: how many had ended before. `in_znodes`: the session service was asked, no
    broker; None: it has not ended."""

    kind: str
    group: str
    topic_partition: TopicPartition
    operation: str
    asked: int
    offset: int
    outcome: str
    begun: int
    over: int
    ended: int
    in_znodes: bool | None = False


class Truth(msgspec.Struct):
    """`logs`: {topic_partition: {node: its batches in order}}; `damaged`: logs that cannot be read. `appended`:
    what any of them ever held. `unended`: produces that never ended; `left_open`: those of them that were sent.
    `reads`: what consumers were given, of each operation in order; `lost_positions`: where they could not go on.
    `of_groups`: what groups committed and found. `reached`: how far replicas came. `caches`: of leader epochs, as
    they are on the disks. `cuts`, `outlived`, `ahead`, `isr_changes`: see `kept`; `logs_found`: at starts.
    `assignments`: of partitions, in the end; `assigned_ms`: since when, by topic; `peace`: see there. `beliefs`: of
    leaders about their ISRs, `forgotten`: what replicas lacked when they came back, in order of time. `states`: of
    partitions, as committed; `states_missing`: why not all are known. `roles_seen`: how many replicas ever had a
    role. `halted`: brokers that do not run in the end. `waited`: what clients asked of brokers.

    A topic that was deleted is `t#1` here, its successor of the same name `t` (`t#2`, once that is deleted too).
    `gone`: those, and topics that are being deleted: nobody is asked what became of their records."""

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
        """Who led in the last leader epoch that anybody led in."""
        return self.final_leaders().get(topic_partition)

    def final_leaders(self) -> dict[TopicPartition, str]:
        """Of every partition that anybody led."""
        last: dict[TopicPartition, tuple[int, str]] = {}
        for office in self.leaders:
            if office.topic_partition is not None:
                held = (office.epoch, office.node)
                last[office.topic_partition] = max(last.get(office.topic_partition, held), held)
        return {topic_partition: node for topic_partition, (_, node) in last.items()}
