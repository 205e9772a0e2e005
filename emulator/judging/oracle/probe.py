"""The probe: looks at a broker's state after each of its inputs and keeps who held which office when.

Whatever is called as a topic that was deleted is another topic (semantics 4.5): when one vanishes from the session
service, what was seen of it until then is put under a name of its own, `t#1`.

Picture: a bystander with a notebook at every broker's door. Nothing is asked of anybody; whoever leads a partition or
controls the cluster in the broker's own memory is in office, until that memory says otherwise or the process is gone.

The look must cost next to nothing when nothing changed: three comparisons per partition.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from emulator.machines.broker.partition import Partition
from emulator.machines.client.operations import Operation
from emulator.machines.node.broker_node import BrokerNode
from emulator.machines.node.controller_node import ControllerNode
from emulator.machines.session.server import SessionServer
from emulator.worlds.simulated.node import SimulatedNode
from protocol.ids import TopicPartition
from protocol.znodes import TOPICS

PLACES = 3
"""Times are kept to the microsecond, as events are."""


class Office(msgspec.Struct):
    """`node` leads `topic_partition` (None: is the active controller) in `epoch`, [from_ms, to_ms). `to_ms` None: to
    the end. `appended_ms`: when its log grew meanwhile."""

    topic_partition: TopicPartition | None
    node: str
    epoch: int
    from_ms: float
    to_ms: float | None = None
    appended_ms: list[float] = []


class StepBack(msgspec.Struct, frozen=True):
    """A number that only rises has fallen: a leader's high watermark in `epoch`, or a replica's leader epoch (-1)."""

    topic_partition: TopicPartition
    node: str
    epoch: int
    was: int
    now: int
    at_ms: float


class _Seen:
    """A partition as it was at the last look."""

    __slots__ = ("epoch", "high_watermark", "leader", "leads", "log", "log_end", "office", "partition")

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.epoch = -1
        self.leader = -1
        self.log: Any = None
        self.leads = False
        self.high_watermark = -1
        self.log_end = 0
        self.office: Office | None = None


class _Watch:
    """One life of one broker or dedicated controller."""

    __slots__ = ("control", "controller", "machine", "name", "partitions", "seen")

    def __init__(self, name: str, machine: BrokerNode | ControllerNode) -> None:
        self.name = name
        self.machine = machine
        self.controller = machine.controller
        self.partitions: dict[TopicPartition, Partition] = {}
        if isinstance(machine, BrokerNode):
            self.partitions = machine.broker.replicas.partitions
        self.seen: dict[TopicPartition, _Seen] = {}
        self.control: Office | None = None


class Probe:
    """Give `look` to the world as `after_step`; everything it keeps is in order of time. `operations`: of all clients,
    a list that grows as they begin.

    `removed`: {topic: for each of its lives that has ended, how many operations had begun by then}. `going`: topics
    whose deletion has begun, and is not over."""

    def __init__(self, operations: Sequence[Operation] = ()) -> None:
        self._operations = operations
        self._topics: dict[str, int] = {}
        self._gone: set[int] = set()
        self._zxids: dict[str, int] = {}
        self.removed: dict[str, list[int]] = {}
        self.going: set[str] = set()
        self.leaders: list[Office] = []
        self.controllers: list[Office] = []
        self.watermarks_back: list[StepBack] = []
        self.epochs_back: list[StepBack] = []
        self._watches: dict[str, _Watch] = {}
        self._highest_epoch: dict[tuple[str, TopicPartition], int] = {}
        self._highest_watermark: dict[tuple[str, TopicPartition, int], int] = {}

    @property
    def roles_seen(self) -> int:
        """Replicas that were ever told a leader epoch."""
        return len(self._highest_epoch)

    def look(self, node: SimulatedNode, now_ms: float) -> None:
        """`node` has handled an input, or has died."""
        machine: Any = node.machine
        watch = self._watches.get(node.node.name)
        if watch is None or watch.machine is not machine:
            if watch is not None:
                self._life_ended(watch, round(now_ms, PLACES))
            if not isinstance(machine, BrokerNode | ControllerNode):
                if isinstance(machine, SessionServer):
                    self._session_service(node.node.name, machine)
                return
            watch = self._watches[node.node.name] = _Watch(node.node.name, machine)
        seen = watch.seen
        partitions = watch.partitions
        if len(partitions) != len(seen):
            self._partitions_changed(watch, round(now_ms, PLACES))
        for topic_partition, partition in partitions.items():
            last = seen.get(topic_partition)
            if (
                last is None
                or partition is not last.partition
                or partition.leader_epoch != last.epoch
                or partition.leader != last.leader
                or (last.leads and last.log.high_watermark != last.high_watermark)
                or (last.leads and last.log.log_end != last.log_end)
                or partition.log is not last.log
            ):
                self._partition_changed(watch, topic_partition, partition, round(now_ms, PLACES))
        controller = watch.controller
        if controller.active or watch.control is not None:
            self._control(watch, controller.controller_epoch if controller.active else 0, round(now_ms, PLACES))

    # --- topics that come and go ---

    def _session_service(self, name: str, server: SessionServer) -> None:
        """Its copy tells by the transaction that made it whether a topic is the one that was known."""
        tree = server.tree
        if self._zxids.get(name) == tree.zxid:
            return
        self._zxids[name] = tree.zxid
        znode = tree.znodes.get(TOPICS)
        there = {topic: tree.znodes[f"{TOPICS}/{topic}"].czxid for topic in (znode.children if znode else ())}
        for topic, made in list(self._topics.items()):
            if there.get(topic) != made and tree.zxid >= made:
                del self._topics[topic]
                self._gone.add(made)
                self._removed(topic)
        self._topics.update({topic: made for topic, made in there.items() if made not in self._gone})

    def _removed(self, topic: str) -> None:
        """What was seen of it is seen of it no more."""
        self.going.discard(topic)
        lives = self.removed.setdefault(topic, [])
        lives.append(len(self._operations))
        name = former_life(topic, len(lives))

        def of(topic_partition: TopicPartition | None) -> bool:
            return topic_partition is not None and topic_partition[0] == topic

        for office in self.leaders:
            if of(office.topic_partition):
                office.topic_partition = (name, office.topic_partition[1] if office.topic_partition else -1)
        for steps in (self.watermarks_back, self.epochs_back):
            steps[:] = [
                msgspec.structs.replace(back, topic_partition=(name, back.topic_partition[1]))
                if of(back.topic_partition)
                else back
                for back in steps
            ]
        for epochs in [key for key in self._highest_epoch if of(key[1])]:
            self._highest_epoch[epochs[0], (name, epochs[1][1])] = self._highest_epoch.pop(epochs)
        for watermarks in [key for key in self._highest_watermark if of(key[1])]:
            del self._highest_watermark[watermarks]

    # --- what changed ---

    def _life_ended(self, watch: _Watch, at_ms: float) -> None:
        del self._watches[watch.name]
        for seen in watch.seen.values():
            _end(seen.office, at_ms)
        _end(watch.control, at_ms)

    def _partitions_changed(self, watch: _Watch, at_ms: float) -> None:
        """Some came, which the look itself will notice; some are gone."""
        for topic_partition in [seen for seen in watch.seen if seen not in watch.partitions]:
            _end(watch.seen.pop(topic_partition).office, at_ms)
            machine = watch.machine
            if isinstance(machine, BrokerNode) and topic_partition not in machine.broker.metadata.partitions:
                self.going.add(topic_partition[0])  # deleted where it is known that the topic goes

    def _partition_changed(
        self, watch: _Watch, topic_partition: TopicPartition, partition: Partition, at_ms: float
    ) -> None:
        seen = watch.seen.get(topic_partition)
        if seen is None or seen.partition is not partition:
            if seen is not None:
                _end(seen.office, at_ms)
            seen = watch.seen[topic_partition] = _Seen(partition)
        if partition.leader_epoch != seen.epoch:
            seen.epoch = partition.leader_epoch
            self._epoch(watch.name, topic_partition, seen.epoch, at_ms)
        seen.leader, seen.log, seen.leads = partition.leader, partition.log, partition.leads
        office = seen.office
        if office is not None and not (seen.leads and office.epoch == seen.epoch):
            _end(office, at_ms)
            office = seen.office = None
        if not seen.leads:
            return
        log = partition.the_log
        if office is None:
            office = seen.office = Office(topic_partition, watch.name, seen.epoch, at_ms)
            self.leaders.append(office)
        elif log.log_end > seen.log_end:
            office.appended_ms.append(at_ms)
        seen.log_end = log.log_end
        seen.high_watermark = log.high_watermark
        self._watermark(watch.name, topic_partition, seen.epoch, seen.high_watermark, at_ms)

    def _epoch(self, node: str, topic_partition: TopicPartition, epoch: int, at_ms: float) -> None:
        if epoch < 0:
            return
        highest = self._highest_epoch.get((node, topic_partition), -1)
        if epoch < highest:
            self.epochs_back.append(StepBack(topic_partition, node, -1, highest, epoch, at_ms))
        self._highest_epoch[node, topic_partition] = max(highest, epoch)

    def _watermark(
        self, node: str, topic_partition: TopicPartition, epoch: int, high_watermark: int, at_ms: float
    ) -> None:
        highest = self._highest_watermark.get((node, topic_partition, epoch), -1)
        if high_watermark < highest:
            self.watermarks_back.append(StepBack(topic_partition, node, epoch, highest, high_watermark, at_ms))
        self._highest_watermark[node, topic_partition, epoch] = max(highest, high_watermark)

    def _control(self, watch: _Watch, epoch: int, at_ms: float) -> None:
        """`epoch` 0: not in office, or elected and yet without an epoch of its own (up to 2.0)."""
        office = watch.control
        if office is not None and office.epoch != epoch:
            _end(office, at_ms)
            office = watch.control = None
        if office is None and epoch > 0:
            office = watch.control = Office(None, watch.name, epoch, at_ms)
            self.controllers.append(office)


def former_life(topic: str, number: int) -> str:
    """What a topic is called here that was deleted; `number` from 1. No topic can be called so."""
    return f"{topic}#{number}"


def _end(office: Office | None, at_ms: float) -> None:
    if office is not None:
        office.to_ms = at_ms
