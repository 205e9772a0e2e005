"""Broker metrics under Kafka's names.

kafka.server: ReplicaManager, ReplicaFetcherManager; kafka.log: LogManager. A meter's figure is its Count: since
this life began.
The names are 2.8's, in every version. IsrShrinksPerSec and IsrExpandsPerSec count confirmed changes, as from 2.4
on; before, Kafka counted attempts.
"""

from emulator.machines.broker.broker import Broker


def broker_metrics(broker: Broker) -> dict[str, int]:
    """Metrics: {name: number}."""
    partitions = broker.replicas.partitions.values()
    led = [partition for partition in partitions if partition.leads]
    changes = broker.isr_changes.counts
    return {
        "PartitionCount": len(partitions) + len(broker.replicas.offline),
        "LeaderCount": len(led),
        "UnderReplicatedPartitions": sum(len(p.isr) < len(p.assignment) for p in led),
        "UnderMinIsrPartitionCount": sum(len(p.isr) < p.min_isr for p in led),
        "AtMinIsrPartitionCount": sum(len(p.isr) == p.min_isr for p in led),
        "OfflineReplicaCount": len(broker.replicas.offline),
        "OfflineLogDirectoryCount": len(broker.replicas.directories.offline),
        "IsrShrinksPerSec.Count": changes.shrinks,
        "IsrExpandsPerSec.Count": changes.expands,
        "FailedIsrUpdatesPerSec.Count": changes.failed,
        "MaxLag": broker.fetchers.lag_max,
    }
