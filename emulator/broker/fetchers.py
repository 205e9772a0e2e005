"""All fetchers of a broker, one per source broker (num.replica.fetchers is 1). Semantics 1.7, 2."""

from collections.abc import Callable

from emulator.broker.context import BrokerContext
from emulator.broker.fetch_state import FetchState
from emulator.broker.fetcher import ReplicaFetcher
from emulator.broker.partition import Partition
from emulator.broker.replicas import Replicas
from protocol.ids import TopicPartition
from protocol.machine import TimerFired


class Fetchers:
    """All fetchers of a broker, one per source (num.replica.fetchers is 1)."""

    def __init__(self, context: BrokerContext, replicas: Replicas) -> None:
        self._context = context
        self._replicas = replicas
        self._by_source: dict[int, ReplicaFetcher] = {}

    def add(self, partition: Partition, source: int, node: str) -> None:
        """Start fetching a partition, where its era starts (semantics 1.7)."""
        fetcher = self._by_source.get(source)
        if fetcher is None:
            fetcher = self._by_source[source] = ReplicaFetcher(self._context, self._replicas, source, node)
        gates, log = self._context.gates, partition.the_log
        latest = log.epochs.latest
        if gates.truncates_to_high_watermark:
            state = FetchState(log.log_end, partition.leader_epoch, -1, truncating=False)
        elif gates.truncates_on_fetch and latest >= 0:
            state = FetchState(log.log_end, partition.leader_epoch, latest, truncating=False)
        else:
            start = log.log_end if gates.fetch_start_at_log_end else log.high_watermark
            state = FetchState(start, partition.leader_epoch, latest, truncating=True)
        fetcher.add((partition.topic, partition.partition), state)

    def remove(self, place: TopicPartition) -> None:
        for fetcher in self._by_source.values():
            fetcher.remove(place)

    def close_idle(self, then: Callable[[], None]) -> None:
        """Fetchers without partitions end; `then` goes on when they have, up to 1.0 perhaps much later (KAFKA-6051)."""
        idle = [fetcher for fetcher in self._by_source.values() if not fetcher.states]
        ending = len(idle)

        def ended() -> None:
            nonlocal ending
            ending -= 1
            if not ending:
                for fetcher in idle:
                    del self._by_source[fetcher.source]
                    fetcher.close()
                then()

        if not idle:
            then()
        waits = self._context.gates.fetcher_shutdown_waits
        for fetcher in idle:
            if not (waits and fetcher.end(ended)):
                ended()

    def close_all(self) -> None:
        for fetcher in self._by_source.values():
            fetcher.close()
        self._by_source.clear()

    def owner(self, connection: int) -> ReplicaFetcher | None:
        for fetcher in self._by_source.values():
            if fetcher.owns(connection):
                return fetcher
        return None

    def timer(self, event: TimerFired) -> None:
        source = event.key[1]
        fetcher = self._by_source.get(source) if isinstance(source, int) else None
        if fetcher is not None:
            fetcher.timer(event)

    def activity(self, place: TopicPartition, now_ms: float) -> str:
        """See ReplicaFetcher.activity; stopped, too, where no fetcher has the partition."""
        for fetcher in self._by_source.values():
            if place in fetcher.states:
                return fetcher.activity(fetcher.states[place], now_ms)
        return "stopped"

    @property
    def lag_max(self) -> int:
        """Of all partitions, as of their last fetch (Kafka's MaxLag)."""
        lags = (state.lag for fetcher in self._by_source.values() for state in fetcher.states.values())
        return max((0, *lags))
