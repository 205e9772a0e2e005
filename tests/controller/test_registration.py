"""A broker's registration (semantics 5.1, 11.10; KAFKA-7165)."""

import msgspec
import pytest

from protocol.ids import BrokerId
from protocol.messages.session_messages import Create, SessionRequest, SetData
from protocol.znodes import PERSISTENT_PATHS, BrokerRegistration, encode_broker
from tests.controller.cluster import Cluster


@pytest.mark.parametrize("version", ["0.10.2", "1.1", "2.2", "2.8"])
def test_it_is_an_ephemeral_whose_czxid_is_the_broker_epoch(version: str) -> None:
    c = Cluster(version=version)
    c.start(0)
    znode = c.service.znodes["/brokers/ids/0"]
    assert (znode.owner, znode.czxid) == (c.brokers[0].session, c.brokers[0].broker_epoch)
    content = msgspec.json.decode(znode.data)
    assert content["host"] == "broker-0"
    assert content["rack"] == "az-0"
    assert content["endpoints"] == ["PLAINTEXT://broker-0:9092"]


def test_from_2_2_it_is_a_multi() -> None:
    for version, operations in (("2.1", [Create]), ("2.2", [Create, SetData])):
        c = Cluster(version=version)
        c.start(0)
        (made,) = [r for r in c.service.requests if isinstance(r.ops[0], Create) and r.ops[0].path == "/brokers/ids/0"]
        assert [type(op) for op in made.ops] == operations


def test_the_paths_that_everything_is_under_are_made_first() -> None:
    c = Cluster()
    c.start(0)
    assert all(path in c.service.znodes for path in PERSISTENT_PATHS)
    c.start(1)


@pytest.mark.parametrize("version", ["0.10.2", "1.1", "2.2", "2.8"])
def test_a_broker_restarted_before_its_old_session_expired_cannot_register(version: str) -> None:
    """Semantics 11.10: it exits."""
    c = Cluster(version=version)
    c.start(2, 0)
    c.kill(0)
    c.start(0)
    assert "belongs to session" in c.brokers[0].unregistered


def test_0_8_2_distinguishes_a_leftover_of_its_own_from_another_broker_of_its_id() -> None:
    """Semantics 11.10: only the former will go away."""
    c = Cluster(version="0.8.2")
    c.start(2, 0)
    c.kill(0)
    c.start(0)
    assert c.brokers[0].waits_to_register
    c.service.put("/brokers/ids/1", encode_broker(BrokerRegistration(BrokerId(1), "elsewhere"), 0.0))
    c.start(1)
    assert "belongs to session" in c.brokers[1].unregistered
    assert not c.brokers[1].waits_to_register


@pytest.mark.parametrize(("version", "registered"), [("1.1", False), ("2.1", False), ("2.2", True), ("2.8", True)])
def test_in_a_new_session_its_own_leftover_is_replaced_from_2_2(version: str, registered: bool) -> None:
    """KAFKA-7165: the old ephemeral survived its session."""
    c = Cluster(version=version)
    c.start(2, 0)
    node = c.brokers[0]
    c.cut_off(0)
    kept = c.service.znodes["/brokers/ids/0"]
    c.service.end(node.session)
    c.service.znodes["/brokers/ids/0"] = kept
    c.rejoin(0, expired=True)
    assert (node.unregistered == "") == registered
    assert (c.service.znodes["/brokers/ids/0"].owner == node.session) == registered


def test_a_registration_whose_answer_was_lost_is_recognized() -> None:
    c = Cluster(version="2.8")
    original_request = c.service.request

    def twice(session: int, request: SessionRequest) -> object:
        first = request.ops[0]
        if isinstance(first, Create) and first.path == "/brokers/ids/0":
            original_request(session, request)
        return original_request(session, request)

    c.service.request = twice  # type: ignore[method-assign,assignment]
    c.start(0)
    assert c.brokers[0].unregistered == ""
    assert c.brokers[0].broker_epoch == c.service.znodes["/brokers/ids/0"].czxid


@pytest.mark.parametrize("version", ["0.10.2", "2.0.1", "2.1", "2.8"])
def test_an_election_whose_answer_was_lost_is_recognized(version: str) -> None:
    c = Cluster(version=version)
    original_request = c.service.request

    def twice(session: int, request: SessionRequest) -> object:
        first = request.ops[0]
        if isinstance(first, Create) and first.path == "/controller":
            original_request(session, request)
        return original_request(session, request)

    c.service.request = twice  # type: ignore[method-assign,assignment]
    c.start(0)
    assert c.active() == [0]
    assert c.brokers[0].controller.controller_epoch == 1
