"""Checked writes refused by the session service for other reasons than epochs.
Semantics 4.1, 5.2.
"""

import pytest

from protocol.events import ControllerChanged, StateDecided
from protocol.messages.leadership_messages import UpdateMetadataRequest
from protocol.messages.session_messages import SessionRequest, SessionResponse, SetData
from tests.controller.cluster import Cluster
from tests.controller.test_controller_elections import epoch


def _elsewhere(version: str) -> Cluster:
    """Broker 2 is controller of a topic of broker 1, its session is taken to be elsewhere.
    The service refuses each of its checked writes (-118) until the session is known to be here again (semantics 5.2).
    """
    c = Cluster(version=version)
    c.start(2, 0, 1)
    c.create_topic("t", (0, 1, 2))
    c.service.elsewhere.add(c.brokers[2].session)
    c.forget_requests()
    return c


@pytest.mark.parametrize("version", ["2.1", "2.3", "2.8"])
def test_states_that_the_session_service_refuses_fail_alone_and_the_event_goes_on(version: str) -> None:
    """A follower dies: its state is not written.
    The controller reports its death to brokers all the same.
    """
    c = _elsewhere(version)
    before = c.states()
    c.die(1)
    assert c.states() == before
    reported = [m for m in c.requests(0) if isinstance(m, UpdateMetadataRequest)]
    assert [broker.broker for broker in reported[-1].live_brokers] == [0, 2]
    c.service.elsewhere.clear()
    c.die(0)
    assert (c.state().leader, c.active(), epoch(c)) == (2, [2], 1)


@pytest.mark.parametrize("version", ["2.1", "2.8"])
def test_a_first_state_that_is_refused_is_written_at_the_next_event_that_elects(version: str) -> None:
    c = _elsewhere(version)
    c.create_topic("u", (0, 1))
    assert "/brokers/topics/u/partitions" not in c.service.znodes
    assert (c.active(), c.controller_of(), epoch(c)) == ([2], 2, 1)
    c.service.elsewhere.clear()
    c.die(0)
    assert (c.state(("u", 0)).leader, c.state().leader) == (1, 1)


@pytest.mark.parametrize("version", ["2.1", "2.8"])
def test_a_refused_write_about_no_state_ends_its_event_without_reading_the_controller(version: str) -> None:
    """A mark for a topic that is not there cannot be taken away (deleteTopicDeletions).
    KafkaController.process logs the KeeperException.
    """
    c = _elsewhere(version)
    c.service.requests.clear()
    c.service.put("/admin/delete_topics/nothing")
    c.settle()
    original_request = [op.path for request in c.service.requests for op in request.ops]
    assert "/controller" not in original_request
    assert ("/admin/delete_topics/nothing" in c.service.znodes, c.active()) == (True, [2])


@pytest.mark.parametrize("version", ["2.1", "2.8"])
def test_a_refused_write_while_taking_over_makes_a_controller_resign(version: str) -> None:
    """KafkaController.triggerControllerMove.
    Its deletion of `/controller` is refused, too, so no other broker is elected before its session ends.
    """
    c = Cluster(version=version)
    c.start(0, 1, 2)
    c.service.put("/isr_change_notification/isr_change_0000000000")  # to be taken away by who takes over
    c.service.fired.clear()
    c.told_first = 1
    original_request = c.service.request

    def request(session: int, request: SessionRequest) -> SessionResponse:
        if c.controller_of() == 1:
            c.service.elsewhere.add(session)
        return original_request(session, request)

    c.service.request = request  # type: ignore[method-assign]
    c.die(0)
    changes = [(e.active, e.reason) for e in c.brokers[1].events if isinstance(e, ControllerChanged)]
    assert changes == [(True, "elected"), (False, "the session service refused a write with SESSION_MOVED")]
    assert (c.active(), c.controller_of()) == ([], 1)
    c.service.elsewhere.clear()
    c.service.request = original_request  # type: ignore[method-assign]
    c.expire(1)
    assert c.active() == [2]


@pytest.mark.parametrize(
    ("version", "elections"), [("1.0", 1), ("1.1", 2), ("2.0.1", 2), ("2.3", 2), ("2.4", 1), ("2.8", 1)]
)
def test_one_state_that_was_written_meanwhile_repeats_all_elections_from_1_1_to_2_3(
    version: str, elections: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PartitionStateMachine.electLeaderForPartitions repeats all `partitions`.
    It does not repeat only those that remain.
    """
    c = Cluster(version=version)
    c.start(2, 0, 1)
    c.create_topic("t", (1, 0, 2))
    c.create_topic("u", (1, 0, 2))
    path, answered = "/brokers/topics/u/partitions/0/state", c.service.request

    def by_its_leader_first(session: int, request: SessionRequest) -> SessionResponse:
        if any(isinstance(op, SetData) and op.path == path for op in request.ops):
            monkeypatch.undo()
            c.service.put(path, c.service.znodes[path].data)
        return answered(session, request)

    monkeypatch.setattr(c.service, "request", by_its_leader_first)
    c.die(1)
    decided = [event for event in c.brokers[2].events if isinstance(event, StateDecided)]
    assert [event.topic for event in decided if event.reason == "offline-election"].count("t") == elections
    assert [event.topic for event in decided if event.reason == "offline-election"].count("u") == 1
