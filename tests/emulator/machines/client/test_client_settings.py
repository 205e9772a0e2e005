"""Settings of clients: Kafka's names, each era's defaults, and what Kafka refuses."""

import pytest

from emulator.machines.client.client_settings import (
    RETRIES_MAX,
    UnusableSetting,
    consumer_settings,
    librdkafka_settings,
    producer_settings,
)


@pytest.mark.parametrize(
    ("version", "retries", "delivery_ms", "magic"),
    [("0.8.2", 0, None, 0), ("0.10.2", 0, None, 1), ("2.0", 0, None, 2), ("2.1", RETRIES_MAX, 120_000, 2)],
)
def test_a_producers_defaults_follow_its_version(
    version: str, retries: int, delivery_ms: float | None, magic: int
) -> None:
    """Semantics 7."""
    made = producer_settings(version)
    assert (made.acks, made.retries, made.delivery_timeout_ms, made.magic) == (1, retries, delivery_ms, magic)


@pytest.mark.parametrize(
    ("version", "in_flight", "recovery"),
    [("0.11", 1, "reset"), ("1.1", 5, "retry"), ("2.4", 5, "retry"), ("2.5", 5, "bump")],
)
def test_idempotence_forces_what_it_needs(version: str, in_flight: int, recovery: str) -> None:
    made = producer_settings(version, {"enable.idempotence": "true"})
    assert made.max_in_flight_requests_per_connection == in_flight
    assert (made.acks, made.retries, made.sequence_recovery) == (-1, RETRIES_MAX, recovery)


@pytest.mark.parametrize(
    ("version", "given", "pauses"),
    [
        ("0.8.2", {}, (10, 10)),
        ("0.10.2", {}, (50, 50)),
        ("0.10.2", {"reconnect.backoff.ms": 80}, (80, 80)),
        ("0.11", {}, (50, 1000)),
        ("0.11", {"reconnect.backoff.ms": 80}, (80, 80)),
        ("2.8", {"reconnect.backoff.ms": 2000}, (2000, 2000)),
        ("2.8", {"reconnect.backoff.max.ms": 500}, (50, 500)),
        ("2.8", {"reconnect.backoff.ms": 80, "reconnect.backoff.max.ms": 500}, (80, 500)),
    ],
)
def test_the_pause_before_connecting_again_is_the_longest_too_unless_that_is_set(
    version: str, given: dict[str, object], pauses: tuple[float, float]
) -> None:
    """CommonClientConfigs.postProcessReconnectBackoffConfigs, from 0.11 on; semantics 6."""
    for made in (producer_settings(version, given), consumer_settings(version, given)):
        assert (made.reconnect_backoff_ms, made.reconnect_backoff_max_ms) == pauses


def test_kafkas_names_and_values_are_understood() -> None:
    made = producer_settings("2.8", {"acks": "all", "linger.ms": "5", "compression.type": "gzip"})
    assert (made.acks, made.linger_ms, made.compression_type) == (-1, 5.0, "gzip")
    assert producer_settings("2.8", {"acks": "0"}).acks == 0


@pytest.mark.parametrize(
    ("version", "given", "message"),
    [
        (
            "2.8",
            {"request.timout.ms": 1},
            r"unknown setting 'request.timout.ms'; the nearest known one is request.timeout.ms",
        ),
        ("0.10.2", {"enable.idempotence": True}, "enable.idempotence needs Kafka 0.11 or later, not 0.10.2"),
        ("2.8", {"enable.idempotence": True, "acks": "1"}, "needs acks=all"),
        ("2.8", {"enable.idempotence": True, "retries": 0}, "needs retries above 0"),
        (
            "2.8",
            {"enable.idempotence": True, "max.in.flight.requests.per.connection": 6},
            "connection of at most 5 on 2.8",
        ),
        (
            "2.8",
            {"delivery.timeout.ms": 1000},
            r"delivery.timeout.ms 1000 is less than linger.ms \+ request.timeout.ms, 30000",
        ),
        ("2.8", {"retries": "many"}, r"setting retries"),
    ],
)
def test_the_impossible_is_reported(version: str, given: dict[str, object], message: str) -> None:
    with pytest.raises(UnusableSetting, match=message):
        producer_settings(version, given)


def test_the_default_delivery_timeout_makes_room_for_a_longer_request() -> None:
    assert producer_settings("2.8", {"request.timeout.ms": 200_000}).delivery_timeout_ms == 200_000


def test_librdkafka_keeps_the_brokers_time_out_and_its_own_apart() -> None:
    made = librdkafka_settings({"request.timeout.ms": 1500, "message.timeout.ms": 60_000, "acks": "all"})
    assert (made.request_timeout_ms, made.wait_ms, made.delivery_timeout_ms) == (1500, 60_000, 60_000)
    assert producer_settings("2.8", {"request.timeout.ms": 1500}).wait_ms == 1500


def test_a_consumers_defaults_follow_its_version() -> None:
    old, new = consumer_settings("0.10.2"), consumer_settings("2.3")
    assert (old.request_timeout_ms, old.validates_epochs, old.rejects_older_epochs) == (305_000, False, False)
    assert (new.request_timeout_ms, new.validates_epochs, new.rejects_older_epochs) == (30_000, True, True)
    assert new.auto_offset_reset == "latest"
    with pytest.raises(UnusableSetting, match=r"auto.offset.reset"):
        consumer_settings("2.8", {"auto.offset.reset": "never"})
