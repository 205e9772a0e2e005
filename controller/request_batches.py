"""Batches of LeaderAndIsr, UpdateMetadata and StopReplica requests to brokers.

Each state change fills one batch. The controller sends all LeaderAndIsr of a batch first, then UpdateMetadata, then
StopReplica (semantics 4.3). A later entry for the same partition replaces an earlier one. So a broker receives only
the last of several changes in one batch (semantics 11.4). An entry contains the controller's state at the time it
is added.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from controller.state import ControllerState
from protocol.gates import Gates
from protocol.ids import (
    BROKER_EPOCH_UNKNOWN,
    EPOCH_DURING_DELETE,
    EPOCH_UNKNOWN,
    LEADER_DURING_DELETE,
    BrokerId,
    LeaderEpoch,
    TopicPartition,
)
from protocol.messages.leadership_messages import (
    BrokerEndpoint,
    LeaderAndIsrRequest,
    PartitionState,
    StoppedPartition,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from protocol.messages.message_base import Message
from protocol.znodes import BrokerRegistration, Leadership


class Outgoing(NamedTuple):
    """One request on its way to a broker's channel."""

    broker: BrokerId
    request: Message
    version: int


def _endpoint(registration: BrokerRegistration) -> BrokerEndpoint:
    return BrokerEndpoint(registration.broker, registration.host, registration.rack)


class RequestBatch:
    """Batch of requests, filled by `add_...`, emptied by `outgoing`."""

    def __init__(self, controller: BrokerId, gates: Gates, state: ControllerState) -> None:
        self._controller = controller
        self._gates = gates
        self._state = state
        self._leader_and_isr: dict[BrokerId, dict[TopicPartition, PartitionState]] = {}
        self._metadata_brokers: set[BrokerId] = set()
        self._metadata: dict[TopicPartition, PartitionState] = {}
        self._stop_replica: dict[BrokerId, dict[TopicPartition, StoppedPartition]] = {}

    @property
    def empty(self) -> bool:
        """Nothing was added, also not for offline brokers."""
        return not (self._leader_and_isr or self._metadata_brokers or self._metadata or self._stop_replica)

    def add_leader_and_isr(
        self,
        brokers: Iterable[BrokerId],
        partition: TopicPartition,
        leadership: Leadership,
        *,
        is_new: bool = False,
    ) -> None:
        """Add LeaderAndIsr to `brokers`, and UpdateMetadata about the partition to every broker."""
        version = self._gates.leader_and_isr_version
        assignment = self._state.assignments[partition]
        for broker in brokers:
            entries = self._leader_and_isr.setdefault(broker, {})
            earlier = entries.get(partition)
            entry = self._entry(partition, leadership)
            if version >= 1:
                entry.is_new = is_new or (earlier is not None and earlier.is_new)
            if version >= 3:
                entry.adding, entry.removing = list(assignment.adding), list(assignment.removing)
            entries[partition] = entry
        self.add_update_metadata(self._state.brokers, [partition])

    def add_update_metadata(self, brokers: Iterable[BrokerId], partitions: Collection[TopicPartition]) -> None:
        """Add UpdateMetadata about `partitions`, with all live brokers, to `brokers`.

        No partition given: see gate `metadata_updates_brokers_only`.
        A batch has one list of partitions: each receiver of the batch gets all of it.
        """
        if not partitions and not self._gates.metadata_updates_brokers_only:
            partitions = self._state.states.keys()
        if self._gates.metadata_repeats_deletions and (self._state.to_be_deleted or self._state.reported_deleted):
            partitions = [*partitions, *filter(self._is_reported_deleted, self._state.states)]
        for partition in partitions:
            leadership = self._state.states.get(partition)
            if leadership is None:
                continue  # it never had a leader: nothing to send
            if self._is_reported_deleted(partition):
                leadership = Leadership(
                    LEADER_DURING_DELETE, LeaderEpoch(0), leadership.isr, leadership.controller_epoch
                )
            entry = self._entry(partition, leadership)
            if self._gates.update_metadata_version >= 4:
                online = self._state.online(partition)
                entry.offline_replicas = [r for r in self._state.replicas_of(partition) if r not in online]
            self._metadata[partition] = entry
        if self._metadata or not self._gates.metadata_needs_partitions:
            self._metadata_brokers.update(brokers)

    def add_stop_replica(self, broker: BrokerId, partition: TopicPartition, *, delete: bool) -> None:
        entries = self._stop_replica.setdefault(broker, {})
        earlier = entries.get(partition)
        epoch = EPOCH_UNKNOWN
        if self._gates.stop_replica_version >= 3:
            if self._is_being_deleted(partition):
                epoch = EPOCH_DURING_DELETE
            elif partition in self._state.states:
                epoch = self._state.states[partition].leader_epoch
        entries[partition] = StoppedPartition(*partition, delete or (earlier is not None and earlier.delete), epoch)

    def outgoing(self) -> list[Outgoing]:
        """Empty the batch: its requests in the order of sending; offline brokers get none."""
        requests: list[Outgoing] = []
        epoch = self._state.epoch
        version = self._gates.leader_and_isr_version
        for broker in self._online(self._leader_and_isr):
            states = _in_order(self._leader_and_isr[broker])
            leaders = {state.leader for state in states}
            endpoints = [_endpoint(self._state.brokers[leader]) for leader in self._online(leaders)]
            request: Message = LeaderAndIsrRequest(
                self._controller, epoch, states, endpoints, self._broker_epoch(broker, version >= 2)
            )
            requests.append(Outgoing(broker, request, version))
        version = self._gates.update_metadata_version
        live_endpoints = [_endpoint(self._state.brokers[broker]) for broker in sorted(self._state.brokers)]
        states = _in_order(self._metadata)
        for broker in self._online(self._metadata_brokers):
            request = UpdateMetadataRequest(
                self._controller, epoch, states, live_endpoints, self._broker_epoch(broker, version >= 5)
            )
            requests.append(Outgoing(broker, request, version))
        version = self._gates.stop_replica_version
        for broker in self._online(self._stop_replica):
            for partitions in self._stop_requests(broker):
                request = StopReplicaRequest(
                    self._controller, epoch, partitions, self._broker_epoch(broker, version >= 1)
                )
                requests.append(Outgoing(broker, request, version))
        self._leader_and_isr, self._metadata, self._stop_replica = {}, {}, {}
        self._metadata_brokers = set()
        return requests

    def _entry(self, partition: TopicPartition, leadership: Leadership) -> PartitionState:
        return PartitionState(
            topic=partition[0],
            partition=partition[1],
            controller_epoch=leadership.controller_epoch,
            leader=leadership.leader,
            leader_epoch=leadership.leader_epoch,
            isr=list(leadership.isr),
            zk_version=leadership.zk_version,
            replicas=list(self._state.replicas_of(partition)),
            topic_id=self._state.topic_ids.get(partition[0], ""),
        )

    def _is_being_deleted(self, partition: TopicPartition) -> bool:
        return self._state.is_being_deleted(partition[0])

    def _is_reported_deleted(self, partition: TopicPartition) -> bool:
        return self._is_being_deleted(partition) or partition in self._state.reported_deleted

    def _online(self, brokers: Iterable[BrokerId]) -> list[BrokerId]:
        """Those of `brokers` that are registered, shutting down or not."""
        return sorted(broker for broker in brokers if broker in self._state.brokers)

    def _broker_epoch(self, broker: BrokerId, carried: bool) -> int:
        return self._state.brokers[broker].epoch if carried else BROKER_EPOCH_UNKNOWN

    def _stop_requests(self, broker: BrokerId) -> list[list[StoppedPartition]]:
        """Partitions by request: before version 3 a request either deletes or does not."""
        partitions = [entry for _, entry in sorted(self._stop_replica[broker].items())]
        if self._gates.stop_replica_version >= 3:
            return [partitions]
        halves = [[p for p in partitions if p.delete], [p for p in partitions if not p.delete]]
        return [half for half in halves if half]


def _in_order(entries: dict[TopicPartition, PartitionState]) -> list[PartitionState]:
    return [entry for _, entry in sorted(entries.items())]
