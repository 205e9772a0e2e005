"""Leader epochs in metadata: believed, ignored and forgotten, by client version.
Semantics 6; Metadata.java.
"""

import pytest

from emulator.machines.client.client_metadata import MetadataCache
from emulator.machines.client.client_settings import consumer_settings, producer_settings
from emulator.machines.client.connections import BrokerConnections
from protocol.chance import Chance
from protocol.ids import BrokerId, LeaderEpoch
from protocol.machine import ConnectionOpened, MessageReceived, Now, Open, Send
from protocol.messages.leadership_messages import BrokerEndpoint, MetadataResponse, PartitionMetadata
from protocol.outbox import Outbox

VERSIONS = ["0.8.2", "1.1", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.8"]
IGNORING = VERSIONS[3:]

LeaderAndEpoch = tuple[int, int] | None
"""(leader, epoch) of a partition; None: it is not in the answer."""


class Client:
    """A consumer's metadata, or a producer's, told what brokers say."""

    def __init__(self, version: str, kind: str = "consumer") -> None:
        make = consumer_settings if kind == "consumer" else producer_settings
        self._now_ms = 0.0
        self._out = Outbox()
        self._connections = BrokerConnections(make(version), Chance(5), 2, lambda now, out: None, lambda now, out: None)
        self.metadata = MetadataCache(["broker-0"], self._connections, make(version))
        assert not self._connections.ready(self._now, self._out, "broker-0")
        (effect,) = self._out.take()
        assert isinstance(effect, Open)
        self._connection = effect.connection
        assert self._out.route(self._now, ConnectionOpened(self._connection))
        self.metadata.want_topic("t")

    @property
    def _now(self) -> Now:
        return Now(self._now_ms, 0.0)

    def wants_metadata(self) -> bool:
        """Whether it wants metadata now, a second after it last asked."""
        self._now_ms += 1_000.0
        self.metadata.poll(self._now, self._out)
        return any(isinstance(effect, Send) for effect in self._out.take())

    def receive(self, *partitions: LeaderAndEpoch, reliable: bool = True) -> None:
        """t-0, t-1, ... as some broker believes; it asked, or does so now."""
        self.metadata.request_update()
        assert self.wants_metadata()
        live = [BrokerEndpoint(BrokerId(number), f"broker-{number}") for number in range(3)]
        partitions_sent = [
            PartitionMetadata("t", n, 0, BrokerId(one[0]), LeaderEpoch(one[1]))
            for n, one in enumerate(partitions)
            if one is not None
        ]
        answer = MetadataResponse(BrokerId(0), live, partitions_sent, reliable)
        correlation = self._connections._correlation
        assert self._out.route(self._now, MessageReceived(self._connection, correlation, 9, answer))

    def leader(self, partition: int = 0) -> tuple[int, int] | None:
        """As a producer sees it."""
        known = self.metadata.leader("t", partition)
        return (known.broker, known.epoch) if known else None

    def current(self, partition: int = 0) -> tuple[int, int] | None:
        """As a consumer does."""
        known = self.metadata.current_leader("t", partition)
        return (known.broker, known.epoch) if known else None


@pytest.mark.parametrize("kind", ["producer", "consumer"])
@pytest.mark.parametrize("version", VERSIONS)
def test_an_older_epoch_is_ignored_from_2_2_on(version: str, kind: str) -> None:
    client = Client(version, kind)
    client.receive((1, 5))
    client.receive((0, 4))
    assert client.leader() is not None
    assert client.leader()[0] == (1 if version in IGNORING else 0)  # type: ignore[index]


@pytest.mark.parametrize("version", IGNORING)
def test_an_equal_epoch_is_accepted(version: str) -> None:
    client = Client(version)
    client.receive((1, 5))
    client.receive((2, 5))
    assert client.leader() == client.current() == (2, 5)


@pytest.mark.parametrize("version", IGNORING)
def test_a_client_that_ignored_a_response_may_have_no_leader_to_read_from(version: str) -> None:
    """Up to 2.3 kept metadata count as of the older epoch.
    A consumer has no leader to read from (Metadata.updatePartitionInfo, partitionInfoIfCurrent). A producer does not
    look.
    """
    client = Client(version)
    client.receive((1, 5))
    client.receive((0, 4))
    assert client.current() == (None if version in ("2.2", "2.3") else (1, 5))
    assert client.leader() is not None
    client.receive((1, 5))
    assert client.current() == (1, 5)


@pytest.mark.parametrize("version", IGNORING)
def test_a_partition_without_an_epoch_is_accepted_and_forgets(version: str) -> None:
    """An answer of a broker before 2.1, or up to 2.4 one about a partition without a leader.
    After it any epoch is.
    """
    client = Client(version)
    client.receive((1, 5))
    client.receive((2, -1))
    assert client.leader() == client.current() == (2, -1)
    client.receive((0, 4))
    assert client.leader() == client.current() == (0, 4)


@pytest.mark.parametrize("version", IGNORING)
def test_in_2_2_it_forgets_those_of_all(version: str) -> None:
    client = Client(version)
    client.receive((1, 5), (1, 5))
    client.receive((1, 5), (-1, -1))
    client.receive((0, 4), (0, 4))
    assert client.leader(0) == ((0, 4) if version == "2.2" else (1, 4) if version == "2.3" else (1, 5))
    assert client.leader(1) == (0, 4)


@pytest.mark.parametrize("version", IGNORING)
def test_epochs_of_brokers_before_2_4_are_unreliable_for_clients_from_2_4_on(version: str) -> None:
    """MetadataResponse.hasReliableLeaderEpochs"""
    client = Client(version)
    client.receive((1, 5), reliable=False)
    client.receive((0, 4), reliable=False)
    trusting = version in ("2.2", "2.3")
    assert client.leader() == ((1, 4) if trusting else (0, -1))
    assert client.metadata.epoch("t", 0) == (5 if trusting else -1)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_offset_may_bring_a_newer_epoch(version: str) -> None:
    """Committed or listed: then the known leader is of the past.
    The client requests fresh metadata.
    """
    client = Client(version)
    client.receive((1, 5))
    for epoch in (-1, 4, 5):
        client.metadata.note_epoch("t", 0, LeaderEpoch(epoch))
        assert client.current() is not None and not client.wants_metadata()
    client.metadata.note_epoch("t", 0, LeaderEpoch(6))
    ignoring = version in IGNORING
    assert (client.current() is None) == ignoring and client.leader() is not None
    if ignoring:
        assert client.wants_metadata()
        return
    assert not client.wants_metadata()


@pytest.mark.parametrize("version", IGNORING)
def test_the_first_epoch_may_come_with_an_offset_up_to_2_4(version: str) -> None:
    """Metadata.updateLastSeenEpochIfNewer: from 2.5 not replacing none."""
    client = Client(version)
    client.receive((1, -1))
    client.metadata.note_epoch("t", 0, LeaderEpoch(3))
    counts = version in ("2.2", "2.3", "2.4")
    assert client.metadata.epoch("t", 0) == (3 if counts else -1)
    assert client.current() == (None if counts else (1, -1))
    client.receive((2, 2))
    assert client.current() == (None if counts else (2, 2))
