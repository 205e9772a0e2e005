"""Changes of the metadata log at a broker: leaders, followers, deletions.

Kraft-semantics 4.

A delta is the difference between two images. Within it only the first and the last state of a partition count. A
change with an older partition epoch than the broker's own is skipped; one with the same leader epoch changes the ISR
and the assignment alone.

Source: TopicDelta.localChanges, ReplicaManager.applyDelta, Partition.makeLeader, Partition.makeFollower.
"""

from collections.abc import Mapping, Sequence

import msgspec

from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.controller_requests import HighWatermarkCheckpoints
from emulator.machines.broker.fetchers import Fetchers
from emulator.machines.broker.replica_manager import Replicas
from emulator.machines.broker.replica_transitions import Change, Orderer, ReplicaTransitions
from protocol.ids import EPOCH_DURING_DELETE, EPOCH_UNKNOWN, BrokerId, TopicPartition
from protocol.kinds import IgnoredReason
from protocol.messages.leadership_messages import PartitionState, StoppedPartition
from protocol.work import Work


class LocalChanges(msgspec.Struct):
    """A delta's changes of one broker's replicas, in the order of their execution.

    `nodes`: of the registered brokers. `orderer`: the quorum's leader, its epoch, -1.
    """

    deletes: list[TopicPartition]
    leaders: list[PartitionState]
    followers: list[PartitionState]
    nodes: Mapping[BrokerId, str]
    orderer: Orderer


class MetadataDeltas:
    """Executes the changes of the metadata log on a broker's replicas, one delta at a time."""

    def __init__(
        self,
        context: BrokerContext,
        replicas: Replicas,
        fetchers: Fetchers,
        transitions: ReplicaTransitions,
        checkpoints: HighWatermarkCheckpoints,
    ) -> None:
        self._context = context
        self._replicas = replicas
        self._fetchers = fetchers
        self._transitions = transitions
        self._checkpoints = checkpoints

    def apply(self, changes: LocalChanges) -> Work[None]:
        """Execute a delta: deletions, then leaders, then followers."""
        if changes.deletes:
            orders = [StoppedPartition(*one, True, EPOCH_DURING_DELETE) for one in changes.deletes]
            yield from self._transitions.stop(orders)
        lead = self._accepted(changes.leaders, changes.orderer)
        yield from self._transitions.make_leaders(lead, changes.orderer)
        follow = self._accepted(changes.followers, changes.orderer)
        yield from self._transitions.follow(follow, changes.nodes, changes.orderer)
        if not self._replicas.failed:
            self._checkpoints.start()
            yield from self._fetchers.close_idle()

    def forget(self, deleted: list[TopicPartition]) -> Work[None]:
        """Drop the committed offsets of deleted partitions."""
        yield from self._transitions.forget(deleted)

    def _accepted(self, states: Sequence[PartitionState], orderer: Orderer) -> list[Change]:
        """The changes that have an effect; an event for each other one."""
        accepted: list[Change] = []
        for state in states:
            topic_partition = (state.topic, state.partition)
            known = self._replicas.partitions.get(topic_partition)
            current = known.leader_epoch if known is not None else EPOCH_UNKNOWN
            if topic_partition in self._replicas.offline:
                self._transitions.ignored(state, current, IgnoredReason.OFFLINE, orderer)
            elif known is not None and state.zk_version < known.partition_epoch:
                self._transitions.ignored(state, current, IgnoredReason.OLD_EPOCH, orderer)
            else:
                self._context.topic_ids[topic_partition] = state.topic_id
                accepted.append((self._replicas.partition(topic_partition), state))
        return accepted
