"""The replica from which a consumer shall read: RackAwareReplicaSelector of KIP-392.

The leader chooses for every fetch of a consumer that names its rack. It chooses itself if it is in that rack, else the
follower there that has caught up furthest. A follower without the requested offset, by what the leader knows of it, is
no candidate.
"""

from collections.abc import Mapping

from emulator.machines.broker.partition import Partition
from emulator.machines.broker.remote_replica import RemoteReplica
from protocol.gates import Gates
from protocol.ids import BrokerId, Offset
from protocol.messages.leadership_messages import BrokerEndpoint


def preferred_read_replica(
    partition: Partition, live: Mapping[BrokerId, BrokerEndpoint], rack: str, fetch_offset: Offset, gates: Gates
) -> BrokerId | None:
    """The preferred follower; None: the leader, whose `partition` it is.

    `live`: brokers of the leader's metadata. Source: ReplicaManager.findPreferredReadReplica,
    RackAwareReplicaSelector.select.
    """
    if not rack or rack == _rack_of(partition.context.broker, live):
        return None
    candidates = [
        remote
        for remote in partition.remotes.values()
        if _rack_of(remote.broker, live) == rack
        and remote.log_end >= fetch_offset >= remote.log_start
        and (remote.broker in partition.isr or not gates.preferred_replica_is_in_sync)
    ]
    return max(candidates, key=_caught_up).broker if candidates else None


def _rack_of(broker: BrokerId, live: Mapping[BrokerId, BrokerEndpoint]) -> str:
    """The rack of a live broker; "": unknown."""
    return live[broker].rack if broker in live else ""


def _caught_up(remote: RemoteReplica) -> tuple[Offset, float, BrokerId]:
    """ReplicaView.comparator."""
    return remote.log_end, remote.last_caught_up_ms, remote.broker
