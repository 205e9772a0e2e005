"""Lasting connections and metadata: when they are made, given up and tried again."""

import msgspec
import pytest

from emulator.machines.client.client_metadata import TOPICS_MAX, MetadataCache
from emulator.machines.client.client_settings import ClientSettings, consumer_settings
from emulator.machines.client.client_state import Failure, Leader
from emulator.machines.client.connections import BrokerConnections
from emulator.machines.client.deadlines import NEVER
from protocol.chance import Chance
from protocol.ids import BrokerId, LeaderEpoch
from protocol.machine import Close, ConnectionLost, ConnectionOpened, Input, MessageReceived, Now, Open, Send
from protocol.messages.leadership_messages import BrokerEndpoint, MetadataRequest, MetadataResponse, PartitionMetadata
from protocol.messages.message_base import Message
from protocol.outbox import Outbox

SETTINGS = ClientSettings(
    request_timeout_ms=1000,
    socket_connection_setup_timeout_ms=5000,
    socket_connection_setup_timeout_max_ms=5000,
    rejects_older_epochs=True,
)


def at(ms: float) -> Now:
    return Now(ms, 0.0)


class Bench:
    def __init__(self, settings: ClientSettings = SETTINGS) -> None:
        self.out = Outbox()
        self.lost = 0
        self.answers: list[Message | Failure] = []
        self.connections = BrokerConnections(settings, Chance(5), 2, self.on_lost, lambda now, out: None)

    def on_lost(self, now: Now, out: Outbox) -> None:
        self.lost += 1

    def connect(self, ms: float = 0) -> int:
        """Open a connection to broker-0; its id."""
        assert not self.connections.ready(at(ms), self.out, "broker-0")
        (effect,) = self.out.take()
        assert isinstance(effect, Open)
        self.give(ms, ConnectionOpened(effect.connection))
        return effect.connection

    def give(self, ms: float, event: Input) -> None:
        assert self.out.route(at(ms), event)

    def ask(self, ms: float, wait_ms: float = 1000) -> None:
        assert self.connections.ready(at(ms), self.out, "broker-0")
        self.connections.send(
            at(ms),
            self.out,
            "broker-0",
            MetadataRequest([]),
            wait_ms=wait_ms,
            answered=lambda now, out, answer: self.answers.append(answer),
        )


def test_one_connection_carries_several_requests_up_to_the_bound() -> None:
    bench = Bench()
    connection = bench.connect()
    bench.ask(0)
    bench.ask(0)
    assert bench.out.take() == [Send(connection, n, 9, MetadataRequest([])) for n in (1, 2)]
    assert not bench.connections.ready(at(0), bench.out, "broker-0"), "two are under way"
    answer = MetadataResponse(BrokerId(0), [], [])
    bench.give(5, MessageReceived(connection, 1, 9, answer))
    assert bench.answers == [answer]
    assert bench.connections.ready(at(5), bench.out, "broker-0")


def test_a_connection_being_opened_is_not_opened_twice() -> None:
    bench = Bench()
    assert not bench.connections.ready(at(0), bench.out, "broker-0")
    assert not bench.connections.ready(at(1), bench.out, "broker-0")
    assert len(bench.out.take()) == 1


def test_an_answer_overdue_costs_the_connection_and_all_under_way() -> None:
    bench = Bench()
    connection = bench.connect()
    bench.ask(0, wait_ms=3000)
    bench.ask(10, wait_ms=1000)
    bench.out.take()
    assert bench.connections.next_at_ms() == 1010
    bench.connections.poll(at(1009), bench.out)
    assert bench.out.take() == []
    bench.connections.poll(at(1010), bench.out)
    assert bench.out.take() == [Close(connection)]
    assert [each.error for each in bench.answers if isinstance(each, Failure)] == ["NetworkException"] * 2
    assert bench.lost == 1


def test_a_connection_that_does_not_come_about_is_given_up() -> None:
    bench = Bench()
    bench.connections.ready(at(0), bench.out, "broker-0")
    bench.out.take()
    assert bench.connections.next_at_ms() == 5000
    bench.connections.poll(at(5000), bench.out)
    assert bench.out.take() == [Close(1)]


def setup_timeouts(bench: Bench, start_ms: float, count: int) -> list[float]:
    """Time-out of each of so many unanswered connection attempts, in ms."""
    now, reported = start_ms, []
    for _ in range(count):
        assert not bench.connections.ready(at(now), bench.out, "broker-0")
        assert [type(effect) for effect in bench.out.take()] == [Open]
        reported.append(bench.connections.next_at_ms() - now)
        bench.connections.poll(at(now + reported[-1]), bench.out)
        assert [type(effect) for effect in bench.out.take()] == [Close]
        now += reported[-1] + 10_000
    return reported


@pytest.mark.parametrize(
    ("version", "nominal"),
    [
        ("2.6", [136_000] * 6),
        ("2.7", [10_000, 20_000, 40_000, 80_000, 127_000, 127_000]),
        ("2.8", [10_000, 20_000, 30_000, 30_000, 30_000, 30_000]),
    ],
)
def test_the_time_for_a_connection_doubles_with_each_that_does_not_come_about(version: str, nominal: list[int]) -> None:
    """Semantics 6, KIP-601; ClusterConnectionStates.updateConnectionSetupTimeout."""
    bench = Bench(consumer_settings(version))
    reported = setup_timeouts(bench, 0, 6)
    assert all(one * 0.8 <= timeout <= one * 1.2 for timeout, one in zip(reported, nominal, strict=True)), reported
    assert (reported == nominal) == (version == "2.6"), "where it grows it varies"
    bench.give(1e7, ConnectionLost(bench.connect(1e7), "closed"))
    assert setup_timeouts(bench, 2e7, 1)[0] <= nominal[0] * 1.2, "one that stood, and was lost, is none of them"


def test_pauses_between_attempts_grow_to_a_bound_and_shrink_after_success() -> None:
    bench = Bench(ClientSettings(reconnect_backoff_ms=50, reconnect_backoff_max_ms=400))
    now, pauses = 0.0, []
    for _ in range(6):
        assert not bench.connections.ready(at(now), bench.out, "broker-0")
        (effect,) = bench.out.take()
        assert isinstance(effect, Open)
        bench.give(now, ConnectionLost(effect.connection, "refused"))
        assert not bench.connections.ready(at(now), bench.out, "broker-0")
        assert bench.out.take() == [], "not before the pause is over"
        pauses.append(bench.connections.next_at_ms() - now)
        now += pauses[-1]
    for pause, nominal in zip(pauses, [50, 100, 200, 400, 400, 400], strict=True):
        assert nominal * 0.8 <= pause <= nominal * 1.2
    connection = bench.connect(now)
    bench.give(now, ConnectionLost(connection, "closed"))
    assert not bench.connections.ready(at(now), bench.out, "broker-0")
    assert bench.connections.next_at_ms() - now <= 60


def pauses_of(version: str, given: dict[str, object] | None = None) -> list[float]:
    """After each of three attempts that end 4 ms after they began."""
    bench = Bench(consumer_settings(version, given))
    now, pauses = 0.0, []
    for _ in range(3):
        assert not bench.connections.ready(at(now), bench.out, "broker-0")
        (effect,) = bench.out.take()
        assert isinstance(effect, Open)
        now += 4
        bench.give(now, ConnectionLost(effect.connection, "refused"))
        assert not bench.connections.ready(at(now), bench.out, "broker-0")
        assert bench.out.take() == [], "not before the pause is over"
        pauses.append(bench.connections.next_at_ms() - now)
        now += pauses[-1]
    return pauses


def test_a_pause_that_cannot_grow_does_not_vary_either() -> None:
    """Semantics 6: set alone it is the longest too; before 0.11 it is all there is.
    In 0.8.2 it counts from the attempt (`client_pause_counts_from_attempt`).
    """
    assert pauses_of("2.8", {"reconnect.backoff.ms": 80}) == [80, 80, 80]
    assert pauses_of("2.8", {"reconnect.backoff.ms": 80, "reconnect.backoff.max.ms": 20}) == [80, 80, 80]
    assert pauses_of("0.10.2") == [50, 50, 50]
    assert pauses_of("0.8.2") == [6, 6, 6]


def test_pauses_grow_from_1_0_on() -> None:
    """`client_pauses_grow`.
    In 0.11 every attempt begins with a state of its own, so that none is second.
    """
    for version, nominal in (("0.11", [50, 50, 50]), ("1.0", [50, 100, 200])):
        reported = pauses_of(version)
        assert all(one * 0.8 <= pause <= one * 1.2 for pause, one in zip(reported, nominal, strict=True)), (
            version,
            reported,
        )
        assert reported != nominal, "they vary"


def test_an_unrequested_answer_ends_the_connection() -> None:
    bench = Bench()
    connection = bench.connect()
    bench.ask(0)
    bench.out.take()
    bench.give(1, MessageReceived(connection, 9, 9, MetadataResponse(BrokerId(0), [], [])))
    assert bench.out.take() == [Close(connection)]
    assert len(bench.answers) == 1


def test_what_any_broker_can_answer_goes_to_the_least_busy() -> None:
    bench = Bench()
    nodes = ["broker-0", "broker-1", "broker-2"]
    bench.connect()
    assert {bench.connections.least_loaded(at(0), nodes) for _ in range(20)} == {"broker-0"}, "it is connected"
    for node in nodes[1:]:
        bench.connections.ready(at(0), bench.out, node)
    for connection in (2, 3):
        bench.give(0, ConnectionLost(connection, "refused"))
    bench.give(0, ConnectionLost(1, "closed"))
    assert bench.connections.least_loaded(at(0), nodes) is None, "all are pausing"
    assert bench.connections.next_at_ms() < 100


@pytest.mark.parametrize(("version", "expected"), [("2.2", "broker-1"), ("2.3", "broker-0")])
def test_up_to_2_2_an_unconnected_broker_is_preferred_to_a_busy_one(version: str, expected: str) -> None:
    """Semantics 6, `client_prefers_connected_brokers`: NetworkClient.leastLoadedNode."""
    bench = Bench(consumer_settings(version))
    nodes = ["broker-0", "broker-1"]
    bench.connect()
    assert {bench.connections.least_loaded(at(0), nodes) for _ in range(20)} == {"broker-0"}, "it is idle"
    bench.ask(0)
    assert {bench.connections.least_loaded(at(0), nodes) for _ in range(20)} == {expected}
    bench.ask(0)
    assert {bench.connections.least_loaded(at(0), nodes) for _ in range(20)} == {"broker-1"}, "0 can take no more"


@pytest.mark.parametrize(("version", "first"), [("2.6", {"broker-0", "broker-1"}), ("2.7", {"broker-1"})])
def test_from_2_7_it_connects_to_the_broker_tried_longest_ago(version: str, first: set[str]) -> None:
    """`client_connects_to_least_recent`."""
    bench = Bench(consumer_settings(version))
    bench.connections.ready(at(10), bench.out, "broker-0")
    bench.give(11, ConnectionLost(1, "refused"))
    nodes = ["broker-0", "broker-1"]
    assert {bench.connections.least_loaded(at(5000), nodes) for _ in range(40)} == first


def test_closing_forgets_everything() -> None:
    bench = Bench()
    connection = bench.connect()
    bench.ask(0)
    bench.out.take()
    bench.connections.close(bench.out)
    assert bench.out.take() == [Close(connection)]
    assert bench.answers == []
    assert bench.connections.next_at_ms() == NEVER


# --- metadata -------------------------------------------------------------------------------------------------------


class MetadataBench(Bench):
    def __init__(self, settings: ClientSettings = SETTINGS) -> None:
        super().__init__(settings)
        self.metadata = MetadataCache(["broker-0"], self.connections, settings)
        self.connection = self.connect()

    def poll(self, ms: float) -> bool:
        """Whether it asks."""
        self.metadata.poll(at(ms), self.out)
        return [type(effect) for effect in self.out.take()] == [Send]

    def answer(self, ms: float, *partitions: PartitionMetadata, brokers: int = 2) -> None:
        live = [BrokerEndpoint(BrokerId(number), f"broker-{number}") for number in range(brokers)]
        correlation = self.connections._correlation
        self.give(
            ms, MessageReceived(self.connection, correlation, 9, MetadataResponse(BrokerId(0), live, list(partitions)))
        )


def test_for_metadata_no_connection_is_begun_while_another_is_being_made() -> None:
    """NetworkClient.DefaultMetadataUpdater.maybeUpdate, isAnyNodeConnecting."""
    bench = Bench()
    metadata = MetadataCache(["broker-0"], bench.connections, SETTINGS)
    metadata.want_topic("t")
    assert not bench.connections.ready(at(0), bench.out, "broker-9")
    bench.out.take()
    metadata.poll(at(0), bench.out)
    assert bench.out.take() == []
    bench.give(1, ConnectionOpened(1))
    metadata.poll(at(1), bench.out)
    assert bench.out.take() == [Open(2, "broker-0", "client")]


def test_it_requests_metadata_for_a_new_topic_and_on_demand_but_not_too_often() -> None:
    bench = MetadataBench()
    assert not bench.poll(0), "there is no topic to ask about"
    bench.metadata.want_topic("t")
    assert bench.poll(0)
    assert not bench.poll(1), "an answer is under way"
    bench.answer(2, PartitionMetadata("t", 0, 0, BrokerId(1), LeaderEpoch(3)))
    assert bench.metadata.leader("t", 0) == Leader(BrokerId(1), "broker-1", LeaderEpoch(3))
    assert not bench.poll(500)
    bench.metadata.request_update()
    assert bench.poll(500)
    bench.answer(510)
    bench.metadata.request_update()
    assert not bench.poll(550), "retry.backoff.ms is 100"
    assert bench.metadata.next_at_ms() == 610
    assert bench.poll(610)
    bench.answer(611)
    assert bench.metadata.next_at_ms() == 611 + 300_000, "metadata.max.age.ms"


def test_an_older_epoch_is_ignored_and_an_equal_one_is_accepted() -> None:
    bench = MetadataBench()
    bench.metadata.want_topic("t")
    for ms, leader, epoch, believed in ((0, 1, 5, 1), (200, 0, 4, 1), (400, -1, 5, None), (600, 0, 6, 0)):
        bench.metadata.request_update()
        assert bench.poll(ms)
        bench.answer(ms, PartitionMetadata("t", 0, 0, BrokerId(leader), LeaderEpoch(epoch)))
        known = bench.metadata.leader("t", 0)
        assert (known.broker if known else None) == believed
    assert bench.metadata.epoch("t", 0) == 6


UNKNOWN = PartitionMetadata("t", -1, 3)


def test_a_topic_that_has_become_unknown_has_no_partitions() -> None:
    """Semantics 6: a waiting caller waits on.
    That it was unknown before it was made changes nothing.
    """
    bench = MetadataBench()
    bench.metadata.want_topic("t")
    reported = (
        (0, [UNKNOWN]),
        (200, [PartitionMetadata("t", n, 0, BrokerId(1), LeaderEpoch(5)) for n in (0, 1)]),
        (400, [UNKNOWN]),
    )
    known = []
    for ms, partitions in reported:
        bench.metadata.request_update()
        assert bench.poll(ms)
        bench.answer(ms, *partitions)
        known.append((bench.metadata.choices("t"), bench.metadata.knows("t", 0), bench.metadata.leader("t", 0)))
    assert known == [
        (None, False, None),
        ((2, (0, 1)), True, Leader(BrokerId(1), "broker-1", LeaderEpoch(5))),
        (None, False, None),
    ]


@pytest.mark.parametrize("ids", [False, True])
def test_a_topic_of_the_same_name_is_accepted_once_topics_have_ids(ids: bool) -> None:
    """Semantics 6, KAFKA-12257."""
    bench = MetadataBench(msgspec.structs.replace(SETTINGS, knows_topic_ids=ids, rejects_older_epochs=True))
    bench.metadata.want_topic("t")
    old, new = (
        PartitionMetadata("t", 0, 0, BrokerId(1), LeaderEpoch(5)),
        PartitionMetadata("t", 0, 0, BrokerId(0), LeaderEpoch(0)),
    )
    for ms, partition in ((0, old), (200, UNKNOWN), (400, new)):
        bench.metadata.request_update()
        assert bench.poll(ms)
        bench.answer(ms, partition)
    assert bench.metadata.leader("t", 0) == (Leader(BrokerId(0), "broker-0", LeaderEpoch(0)) if ids else None)


def test_a_leader_without_an_address_is_none() -> None:
    bench = MetadataBench()
    bench.metadata.want_topic("t")
    bench.poll(0)
    bench.answer(1, PartitionMetadata("t", 0, 0, BrokerId(7), LeaderEpoch(0)))
    assert bench.metadata.leader("t", 0) is None
    assert bench.metadata.knows("t", 0)
    assert bench.metadata.nodes == ("broker-0", "broker-1")


def test_an_answer_without_brokers_is_requested_again() -> None:
    bench = MetadataBench()
    bench.metadata.want_topic("t")
    bench.poll(0)
    bench.answer(1, PartitionMetadata("t", 0, 0, BrokerId(7), LeaderEpoch(0)), brokers=0)
    assert not bench.metadata.knows("t", 0)
    assert bench.poll(101)


def test_topics_are_bounded() -> None:
    bench = MetadataBench()
    for number in range(TOPICS_MAX):
        bench.metadata.want_topic(f"t{number}")
    bench.metadata.want_topic("t0")
    with pytest.raises(ValueError, match="at most 10000 topics"):
        bench.metadata.want_topic("one more")
