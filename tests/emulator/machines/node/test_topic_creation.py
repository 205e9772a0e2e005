"""A topic made by a broker itself (semantics 4.4, 6)."""

from collections.abc import Callable

import msgspec
import pytest

from controller.session_calls import Procedures
from emulator.machines.node.topic_creation import Made, create_topic
from protocol.chance import Chance
from protocol.errors import ErrorCode
from protocol.gates import gates_for
from protocol.ids import BrokerId
from protocol.machine import Now
from protocol.messages.session_messages import SessionRequest, SessionResponse
from protocol.outbox import Outbox
from protocol.znodes import PERSISTENT_PATHS, BrokerRegistration, decode_topic, encode_broker
from tests.controller.service import Service

NOW = Now(0.0, 0.0)
TOPIC = "__consumer_offsets"
CONFIGS = {"cleanup.policy": "compact"}


class Calls:
    """The service, always within reach."""

    def __init__(self, brokers: int) -> None:
        self.service = Service()
        for path in PERSISTENT_PATHS:
            self.service.put(path)
        for broker in range(brokers):
            registration = BrokerRegistration(BrokerId(broker), f"broker-{broker}", 9092, f"az-{broker % 3}")
            self.service.put(f"/brokers/ids/{broker}", encode_broker(registration, 0))

    def call(
        self,
        now: Now,
        out: Outbox,
        request: SessionRequest,
        done: Callable[[Now, Outbox, SessionResponse], None],
        *,
        ends_with_session: bool = False,
    ) -> None:
        done(now, out, self.service.request(1, request))


def made(calls: Calls, *, version: str = "2.6", partitions: int = 6, factor: int = 3, seed: int = 1) -> bool:
    results: list[Made] = []

    def failed(now: Now, out: Outbox, error: Exception) -> None:
        raise error

    making = create_topic(gates_for(version), Chance(seed), TOPIC, partitions, factor, CONFIGS)
    procedures = Procedures(calls)
    procedures.task(
        NOW, Outbox(), "test", "", making, lambda now, out, result: results.append(result), failed
    ).start()
    (result,) = results
    return result.error == ErrorCode.NONE


@pytest.mark.parametrize("seed", range(5))
def test_its_replicas_are_spread_over_the_brokers_that_are_registered_one_in_each_az(seed: int) -> None:
    """Semantics 4.4: Kafka's placement, rack-aware."""
    calls = Calls(brokers=6)
    assert made(calls, seed=seed)
    assignment = decode_topic(TOPIC, calls.service.znodes[f"/brokers/topics/{TOPIC}"].data)
    assert sorted(assignment) == list(range(6))
    assert sorted(each.replicas[0] for each in assignment.values()) == list(range(6))
    assert all(len({broker % 3 for broker in each.replicas}) == 3 for each in assignment.values())


def test_its_configuration_is_written_before_it() -> None:
    """The controller hears of the topic's znode, and brokers then ask for the configuration."""
    calls = Calls(brokers=3)
    assert made(calls)
    written = [path for path, _, _ in calls.service.history if TOPIC in path]
    assert written == [f"/config/topics/{TOPIC}", f"/brokers/topics/{TOPIC}"]
    content = msgspec.json.decode(calls.service.znodes[written[0]].data)
    assert content["config"] == CONFIGS


@pytest.mark.parametrize(("version", "znode_version"), [("2.3", 1), ("2.4", 2)])
def test_its_znode_is_the_versions(version: str, znode_version: int) -> None:
    calls = Calls(brokers=3)
    assert made(calls, version=version)
    assert msgspec.json.decode(calls.service.znodes[f"/brokers/topics/{TOPIC}"].data)["version"] == znode_version


def test_one_that_is_there_is_left_alone() -> None:
    calls = Calls(brokers=3)
    assert made(calls)
    before = calls.service.znodes[f"/brokers/topics/{TOPIC}"].data
    assert not made(calls, partitions=9)
    assert calls.service.znodes[f"/brokers/topics/{TOPIC}"].data == before


def test_a_configuration_that_was_left_behind_is_replaced() -> None:
    calls = Calls(brokers=3)
    calls.service.put(f"/config/topics/{TOPIC}", b'{"version":1,"config":{}}')
    assert made(calls)
    assert msgspec.json.decode(calls.service.znodes[f"/config/topics/{TOPIC}"].data)["config"] == CONFIGS


def test_fewer_brokers_than_replicas_make_none() -> None:
    calls = Calls(brokers=2)
    assert not made(calls, factor=3)
    assert f"/brokers/topics/{TOPIC}" not in calls.service.znodes
