"""All fetchers of a broker, one per source broker. Semantics 1.7, 2."""

from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.fetch_state import FetchState
from emulator.machines.broker.fetcher import ReplicaFetcher
from emulator.machines.broker.partition import Partition
from emulator.machines.broker.replica_manager import Replicas
from protocol.ids import EPOCH_UNKNOWN, BrokerId, TopicPartition
from protocol.work import Until, Work


class Fetchers:
    """All fetchers of a broker, one per source (num.replica.fetchers is 1)."""

    def __init__(self, context: BrokerContext, replicas: Replicas) -> None:
        self._context = context
        self._replicas = replicas
        self._by_source: dict[BrokerId, ReplicaFetcher] = {}

    def add(self, partition: Partition, source: BrokerId, node: str) -> None:
        """Start fetching a partition, in its era's initial state (semantics 1.7)."""
        fetcher = self._by_source.get(source)
        if fetcher is None:
            fetcher = self._by_source[source] = ReplicaFetcher(self._context, self._replicas, source, node)
        gates, log = self._context.gates, partition.the_log
        latest = log.epochs.latest
        if gates.truncates_to_high_watermark:
            state = FetchState(log.log_end, partition.leader_epoch, EPOCH_UNKNOWN, truncating=False)
        elif gates.truncates_on_fetch and latest >= 0:
            state = FetchState(log.log_end, partition.leader_epoch, latest, truncating=False)
        else:
            start = log.log_end if gates.fetch_start_at_log_end else log.high_watermark
            state = FetchState(start, partition.leader_epoch, latest, truncating=True)
        fetcher.add((partition.topic, partition.partition), state)

    def remove(self, topic_partitions: list[TopicPartition]) -> Work[None]:
        """Stop fetching partitions.

        A fetcher that requests its leader's offsets locks all its partitions meanwhile (Kafka's partitionMapLock).
        """
        for fetcher in list(self._by_source.values()):
            if fetcher.awaits_offsets:
                yield Until(f"the fetcher from broker-{fetcher.source}", fetcher.when_it_has_offsets)
            for topic_partition in topic_partitions:
                fetcher.remove(topic_partition)

    def drop(self, topic_partition: TopicPartition) -> None:
        """Stop fetching a partition whose log directory failed."""
        for fetcher in self._by_source.values():
            fetcher.remove(topic_partition)

    def close_idle(self) -> Work[None]:
        """End fetchers without partitions; up to 1.0 this waits for their requests (KAFKA-6051)."""
        idle = [fetcher for fetcher in self._by_source.values() if not fetcher.states]
        if self._context.gates.fetcher_shutdown_waits:
            for fetcher in idle:
                if fetcher.waits:
                    yield Until(f"the end of the fetcher from broker-{fetcher.source}", fetcher.end)
        for fetcher in idle:
            del self._by_source[fetcher.source]
            fetcher.close()

    def close_all(self) -> None:
        for fetcher in self._by_source.values():
            fetcher.close()
        self._by_source.clear()

    def activity(self, topic_partition: TopicPartition, now_ms: float) -> str:
        """See ReplicaFetcher.activity; stopped, too, where no fetcher has the partition."""
        for fetcher in self._by_source.values():
            if topic_partition in fetcher.states:
                return fetcher.activity(fetcher.states[topic_partition], now_ms)
        return "stopped"

    @property
    def lag_max(self) -> int:
        """Largest lag of all partitions, as of their last fetch (Kafka's MaxLag)."""
        lags = (state.lag for fetcher in self._by_source.values() for state in fetcher.states.values())
        return max((0, *lags))
