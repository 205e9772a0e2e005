"""Where a follower's copying of one partition stands, and what the parts of a fetcher do with it."""

from abc import abstractmethod
from collections.abc import Callable

from emulator.machines.broker.context import BrokerContext
from emulator.machines.broker.replicas import Replicas
from protocol.ids import TopicPartition
from protocol.messages.base import Message


class FetchState:
    """Of one partition: next `offset`, the leader epoch it follows, and whether it may fetch. `lag`: how far it was
    behind the leader's high watermark after its last fetch, -1 before."""

    __slots__ = ("delayed_until_ms", "lag", "last_fetched_epoch", "leader_epoch", "offset", "truncating")

    def __init__(self, offset: int, leader_epoch: int, last_fetched_epoch: int, *, truncating: bool) -> None:
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.last_fetched_epoch = last_fetched_epoch
        self.truncating = truncating
        self.delayed_until_ms = -1.0
        self.lag = -1


class FetcherCore:
    """What the parts of a fetcher share: `truncating`, `out_of_range` and the loop in `fetcher`."""

    _context: BrokerContext
    _replicas: Replicas
    states: dict[TopicPartition, FetchState]
    _asked: dict[TopicPartition, tuple[int, int]]
    source: int

    @abstractmethod
    def _send(self, message: Message, version: int, handle: Callable[[Message], None]) -> None:
        """Send when connected; otherwise connect first."""

    @abstractmethod
    def _work(self) -> None:
        """Do the next thing, if nothing is in flight."""

    @abstractmethod
    def _delay(self, topic_partitions: list[TopicPartition], reason: str) -> None:
        """These wait for the back-off."""

    @abstractmethod
    def _say(
        self, topic_partition: TopicPartition, change: str, offset: int, reason: str = "", epoch: int = -1
    ) -> None:
        """Write an event about a partition."""
