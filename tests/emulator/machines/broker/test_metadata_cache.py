"""A broker's metadata answers to clients (semantics 1.7, 11.12)."""

import pytest

from protocol.errors import ErrorCode
from protocol.events import MetadataChanged
from protocol.ids import NO_BROKER, BrokerId, ControllerEpoch
from protocol.messages.leadership_messages import (
    BrokerEndpoint,
    LeaderAndIsrRequest,
    MetadataObserved,
    MetadataRequest,
    MetadataResponse,
    ObserveMetadataRequest,
    UpdateMetadataRequest,
)
from verification.broker_bench import Bench, state


def metadata(bench: Bench, *topics: str) -> MetadataResponse:
    return bench.answer(bench.ask(MetadataRequest(list(topics))), MetadataResponse)


def test_metadata_has_the_controllers_last_update() -> None:
    bench = Bench("2.6")
    assert metadata(bench) == MetadataResponse(NO_BROKER, [], [])
    reported = state(1, 4, (1, 0))
    reported.offline_replicas = [BrokerId(2)]
    bench.update_metadata(reported, live=(0, 1))
    answer = metadata(bench)
    (p,) = answer.partitions
    assert (answer.controller, [b.node for b in answer.brokers]) == (2, ["broker-0", "broker-1"])
    assert (p.error, p.leader, p.leader_epoch, p.isr, p.replicas, p.offline_replicas) == (
        0,
        1,
        4,
        [1, 0],
        [0, 1, 2],
        [2],
    )


def test_a_replica_in_a_failed_log_directory_is_offline_though_its_broker_lives() -> None:
    """MetadataCache.getPartitionMetadata: the controller's list."""
    bench = Bench("2.6")
    reported = state(0, 1, (0, 2))
    reported.offline_replicas = [BrokerId(1)]
    bench.update_metadata(reported)
    assert metadata(bench).partitions[0].offline_replicas == [1]
    bench.update_metadata(state(0, 1, (0, 2)), live=(0, 2))
    assert metadata(bench).partitions[0].offline_replicas == []


def test_a_broker_may_advertise_one_leader_and_act_as_another() -> None:
    """Semantics 1.7."""
    bench = Bench()
    bench.lead(0)
    bench.update_metadata(state(1, 1, (1,)))
    assert metadata(bench).partitions[0].leader == 1
    assert bench.produced(bench.produce("a")).error == 0


@pytest.mark.parametrize(
    ("version", "isr", "error"),
    [("0.10.2", [], 5), ("1.1", [], 5), ("2.3", [], 72), ("2.4", [0], 72), ("2.7", [0], 5), ("2.8", [0], 5)],
)
def test_without_leader(version: str, isr: list[int], error: int) -> None:
    """Semantics 11.12: error 5, from 2.0 to 2.6 error 72; the ISR is shown from 2.4."""
    bench = Bench(version)
    bench.update_metadata(state(-1, 2, (0,)))
    (p,) = metadata(bench).partitions
    assert (p.error, p.leader, p.isr) == (error, -1, isr)


@pytest.mark.parametrize(
    ("version", "live", "error"),
    [
        ("1.1", (0, 2), ErrorCode.LEADER_NOT_AVAILABLE),
        ("2.0.0", (0, 2), ErrorCode.LISTENER_NOT_FOUND),
        ("2.6", (0, 2), ErrorCode.LISTENER_NOT_FOUND),
        ("2.6", (2,), ErrorCode.LEADER_NOT_AVAILABLE),
        ("2.7", (0, 2), ErrorCode.LEADER_NOT_AVAILABLE),
    ],
)
def test_up_to_2_6_a_broker_looks_for_itself_where_a_leader_is_dead(
    version: str, live: tuple[int, ...], error: ErrorCode
) -> None:
    """KAFKA-10312: MetadataCache.getPartitionMetadata. Broker 0 is asked, and broker 1 leads."""
    bench = Bench(version)
    bench.update_metadata(state(1), live=live)
    assert [one.error for one in metadata(bench).partitions] == [error]


@pytest.mark.parametrize(("version", "isr"), [("0.10.2", []), ("2.8", [0, 1])])
def test_a_leader_that_is_not_alive_is_not_available(version: str, isr: list[int]) -> None:
    """It is not named either, whatever the controller called it.
    Recorded while an order delayed the next.
    """
    bench = Bench(version)
    bench.update_metadata(state(1), live=(0, 2))
    (p,) = metadata(bench).partitions
    assert (p.error, p.leader, p.isr) == (ErrorCode.LEADER_NOT_AVAILABLE, -1, isr)


@pytest.mark.parametrize(("version", "epoch"), [("2.0.1", -1), ("2.1", 4)])
def test_leader_epochs_in_metadata(version: str, epoch: int) -> None:
    bench = Bench(version)
    bench.update_metadata(state(1, 4))
    assert metadata(bench).partitions[0].leader_epoch == epoch


@pytest.mark.parametrize("version", ["2.1", "2.3", "2.4", "2.5", "2.8"])
def test_without_leader_the_epoch_is_reported_from_2_5(version: str) -> None:
    """MetadataCache.getPartitionMetadata.
    And from 2.4 clients may go by what is told (Metadata v9).
    """
    bench = Bench(version)
    bench.update_metadata(state(-1, 2, (0,)), state(1, 3, topic_partition=("t", 1)))
    answer = metadata(bench)
    assert [p.leader_epoch for p in answer.partitions] == [2 if version in ("2.5", "2.8") else -1, 3]
    assert answer.reliable_epochs == (version not in ("2.1", "2.3"))


def test_topics_requested_by_name() -> None:
    bench = Bench()
    bench.update_metadata(state(1), state(0, topic_partition=("u", 0)))
    assert [(p.topic, p.error) for p in metadata(bench, "u", "w").partitions] == [("u", 0), ("w", 3)]


def test_a_topic_being_deleted_is_forgotten() -> None:
    bench = Bench()
    bench.update_metadata(state(1))
    bench.update_metadata(state(-2))
    assert metadata(bench).partitions == []


def test_observers_receive_a_topics_removal_once() -> None:
    """Semantics 4.5."""
    bench = Bench()
    watcher = bench.connect("observer", "observe")
    bench.send(watcher, ObserveMetadataRequest())
    bench.update_metadata(state(1))
    bench.update_metadata(state(-2))
    bench.update_metadata(state(-2))
    seen = [m.metadata for m in bench.answers(watcher) if isinstance(m, MetadataObserved)]
    assert [[p.leader for p in reported.partitions] for reported in seen] == [[], [1], []]
    assert [event.leader for event in bench.events(MetadataChanged)] == [1, -2]


def test_observers_are_notified_now_and_at_every_change() -> None:
    bench = Bench()
    watcher = bench.connect("observer", "observe")
    bench.send(watcher, ObserveMetadataRequest())
    bench.update_metadata(state(1))
    bench.update_metadata(state(1))
    bench.update_metadata(state(0, 1))
    seen = [m.metadata for m in bench.answers(watcher) if isinstance(m, MetadataObserved)]
    assert [[p.leader for p in reported.partitions] for reported in seen] == [[], [1], [0]]
    bench.lose(watcher)
    bench.update_metadata(state(2, 2))
    assert len(bench.answers(watcher)) == 3


def test_live_leaders_of_the_order_name_the_node_to_fetch_from() -> None:
    bench = Bench()
    bench.update_metadata()
    request = LeaderAndIsrRequest(
        BrokerId(2), ControllerEpoch(1), [state(1)], [BrokerEndpoint(BrokerId(1), "broker-1b")]
    )
    bench.ask(request)
    bench.advance(0.0)
    assert [bench.opens[c].to for c in bench.opened("fetcher")] == ["broker-1b"]


def test_brokers_alone_may_be_updated() -> None:
    bench = Bench()
    bench.update_metadata(state(1))
    bench.ask(UpdateMetadataRequest(BrokerId(1), ControllerEpoch(2), [], [BrokerEndpoint(BrokerId(0), "broker-0")]))
    answer = metadata(bench)
    assert (answer.controller, len(answer.brokers), len(answer.partitions)) == (1, 1, 1)


@pytest.mark.parametrize(("version", "error"), [("2.7", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), ("2.8", 17)])
def test_a_name_that_no_topic_can_have_is_refused_once_however_often_it_is_named(version: str, error: int) -> None:
    """KafkaApis.getTopicMetadata: a set of names; from 2.8 on Topic.validate."""
    bench = Bench(version)
    partitions = metadata(bench, "no/topic", "no/topic").partitions
    assert [(one.topic, one.partition, one.error) for one in partitions] == [("no/topic", -1, error)]
