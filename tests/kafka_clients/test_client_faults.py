"""Faults on the links of Kafka clients: by AZ, by API of a frame, by client id."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Producer

import faultline
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.network, pytest.mark.parametrize("cluster", ["0.10.2", "2.6"], indirect=True)]

NOT_YET_S = 1.0
DELAY_S = 0.7
TRIES = 20
"""A busy machine may delay some of these deliveries as long; not all of them."""
"""Time for a client whose requests must not get through."""


@pytest.fixture
def led_by_0(cluster: faultline.Cluster, topic: str) -> Iterator[str]:
    name = f"{topic}-led"
    cluster.create_topic(name, assignment=[[0, 1, 2]])
    yield name
    cluster.heal()


class Application:
    """One client in az-1, whose leader is in az-0."""

    def __init__(self, cluster: faultline.Cluster, client_id: str, topic: str) -> None:
        about: dict[str, Any] = {
            "bootstrap.servers": cluster.bootstrap_servers("az-1"), "client.id": client_id, "acks": 1, "linger.ms": 0,
            "log_level": 0, "socket.timeout.ms": 60_000, "message.timeout.ms": 120_000,
        }  # fmt: skip
        self._producer = Producer(about)
        self._topic = topic
        assert self.delivers("first", PATIENCE_S)

    def delivers(self, value: str, limit_s: float = 0.0) -> bool:
        """True if every written record has a report within `limit_s`.

        `value` "": nothing more is written.
        """
        if value:
            self._producer.produce(self._topic, value, partition=0)
        return self._producer.flush(limit_s) == 0

    def sees(self, limit_s: float) -> bool:
        return bool(self._producer.list_topics(self._topic, timeout=limit_s).topics)


@pytest.fixture
def orders(cluster: faultline.Cluster, led_by_0: str) -> Application:
    return Application(cluster, "orders", led_by_0)


@pytest.fixture
def billing(cluster: faultline.Cluster, led_by_0: str) -> Application:
    return Application(cluster, "billing", led_by_0)


@pytest.mark.parametrize("fault", ["cut", "hold"])
def test_the_connections_of_one_client_id_are_cut_or_held(
    cluster: faultline.Cluster, orders: Application, billing: Application, fault: str
) -> None:
    if fault == "cut":
        cluster.cut("client-1", client_id="orders", recovery="instant")
    else:
        cluster.hold("client-1", client_id="orders")
    assert not orders.delivers("behind it", NOT_YET_S)
    assert billing.delivers("beside it", PATIENCE_S)
    assert "clients orders only" in cluster.status()["faults"][-1]["rule"]
    cluster.heal()
    assert orders.delivers("", PATIENCE_S)


def delivery_time_s(application: Application) -> float:
    began_s = time.monotonic()
    assert application.delivers("in time", PATIENCE_S)
    return time.monotonic() - began_s


def test_the_connections_of_one_client_id_are_delayed(
    cluster: faultline.Cluster, orders: Application, billing: Application
) -> None:
    cluster.delay("client-1", "broker-0", delay_ms=int(DELAY_S * 1000), client_id="orders,others")
    began_s = time.monotonic()
    assert orders.delivers("late", PATIENCE_S)
    late_s = time.monotonic() - began_s
    assert late_s >= DELAY_S
    assert min(delivery_time_s(billing) for _ in range(TRIES)) < DELAY_S, "its connections are not delayed"


def test_frames_of_one_api_are_cut_out_of_one_client_s_connections(
    cluster: faultline.Cluster, orders: Application, billing: Application
) -> None:
    cluster.cut("client-1", "broker-0", only=["Produce"], client_id="orders")
    assert not orders.delivers("asked in vain", NOT_YET_S)
    assert orders.sees(PATIENCE_S)
    assert billing.delivers("beside it", PATIENCE_S)


def test_a_client_that_comes_during_the_cut_is_concerned_if_it_is_called_so(
    cluster: faultline.Cluster, led_by_0: str, billing: Application
) -> None:
    cluster.cut("client-1", client_id="orders", recovery="instant")
    late = Producer({"bootstrap.servers": cluster.bootstrap_servers("az-1"), "client.id": "orders", "log_level": 0})
    late.produce(led_by_0, "v", partition=0)
    assert late.flush(NOT_YET_S) == 1
    assert billing.delivers("beside it", PATIENCE_S)
    cluster.heal()
    assert late.flush(PATIENCE_S) == 0


def test_a_cut_that_names_no_client_concerns_all(
    cluster: faultline.Cluster, orders: Application, billing: Application
) -> None:
    cluster.cut("client-1", "broker-0", recovery="instant")
    assert not orders.delivers("behind it", NOT_YET_S) and not billing.delivers("behind it", NOT_YET_S)
    cluster.heal()
    assert orders.delivers("", PATIENCE_S) and billing.delivers("", PATIENCE_S)
