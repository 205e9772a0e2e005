"""The old client's controller in a new session, and with a successor (semantics 4.1)."""

from collections.abc import Callable

import pytest

from controller.registration import NotRegistered, register_broker
from controller.session_calls import Procedures
from controller.settings import ControllerSettings
from protocol.events import ControllerChanged
from protocol.gates import gates_for
from protocol.ids import BrokerId
from protocol.kinds import ExitKind
from protocol.machine import Now
from protocol.messages.session_messages import (
    Create,
    Delete,
    GetData,
    OpResult,
    SessionError,
    SessionRequest,
    SessionResponse,
    WatchFired,
)
from protocol.outbox import Outbox
from protocol.znodes import BrokerRegistration
from tests.controller.cluster import Cluster
from tests.controller.test_controller_elections import epoch

ANOTHER = b'{"version":1,"brokerid":0,"timestamp":"0"}'


def terms(c: Cluster, broker: int) -> list[tuple[bool, int]]:
    return [(e.active, e.controller_epoch) for e in c.brokers[broker].events if isinstance(e, ControllerChanged)]


@pytest.mark.parametrize(("version", "goes_on"), [("0.8.2", True), ("0.10.2", False), ("1.0", False)])
def test_a_controller_with_a_successor_goes_on_in_0_8_2(version: str, goes_on: bool) -> None:
    """KAFKA-2437: LeaderChangeListener.handleDataChange notes the other's id, and no more."""
    c = Cluster(version=version)
    c.start(2, 0, 1)
    c.create_topic("t", (1, 2))
    c.service.put("/controller", ANOTHER)
    c.settle()
    assert c.brokers[2].controller.active == goes_on
    c.die(1)
    assert c.state().leader == (2 if goes_on else 1)


def test_a_controller_that_noticed_another_is_elected_again_when_that_one_is_gone() -> None:
    c = Cluster(version="0.8.2")
    c.start(2, 0)
    c.service.put("/controller", ANOTHER)
    c.settle()
    c.told_first = 2
    c.service.apply(0, Delete("/controller"))
    c.settle()
    assert (c.active(), epoch(c)) == ([2], 2)
    assert terms(c, 2) == [(True, 1), (False, 1), (True, 2)]


def test_a_controller_that_noticed_another_goes_on_when_a_third_is_elected() -> None:
    c = Cluster(version="0.8.2")
    c.start(2, 0, 1)
    c.service.put("/controller", ANOTHER)
    c.settle()
    c.told_first = 1
    c.service.apply(0, Delete("/controller"))
    c.settle()
    assert (c.active(), c.controller_of()) == ([1, 2], 1)


@pytest.mark.parametrize(("version", "active"), [("0.8.2", []), ("0.10.2", [1])])
def test_a_controller_elected_in_a_new_session_before_its_session_event_resigns_in_0_8_2(
    version: str, active: list[int]
) -> None:
    """KAFKA-4229: the broker was trying when its session expired.
    The client sent the request again in the new session. No broker tries after that: `/controller` is there.
    """
    c = Cluster(version=version)
    c.start(0, 1)
    c.cut_off(1)
    c.brokers[1].controller.watch_fired(c.now, c.brokers[1].out, WatchFired("deleted", "/controller", 0))
    c.service.end(c.brokers[1].session)
    c.die(0)
    c.rejoin(1, expired=True)
    assert (c.active(), c.controller_of()) == (active, 1)
    assert terms(c, 1) == ([(True, 2), (False, 2)] if not active else [(True, 2)])


@pytest.mark.parametrize(
    ("version", "balanced", "elected_first"),
    [("0.8.2", True, False), ("0.8.2", False, True), ("0.10.2", True, True)],
)
def test_a_broker_that_is_no_controller_registers_first_in_a_new_session_of_0_8_2_where_leaders_are_balanced(
    version: str, balanced: bool, elected_first: bool
) -> None:
    """onControllerResignation fails at a scheduler that was not started.
    The election behind it is left out.
    """
    c = Cluster(version=version, settings=ControllerSettings(auto_leader_rebalance_enable=balanced))
    c.start(0, 1)
    c.cut_off(1)
    c.service.end(c.brokers[1].session)
    c.die(0)
    c.service.requests.clear()
    c.rejoin(1, expired=True)
    creates = [op.path for request in c.service.requests for op in request.ops if isinstance(op, Create)]
    assert [path for path in creates if path in ("/controller", "/brokers/ids/1")] == (
        ["/controller", "/brokers/ids/1"] if elected_first else ["/brokers/ids/1", "/controller"]
    )
    assert c.active() == [1]


def _dies_before_its_election_request(c: Cluster, broker: int) -> None:
    """End the session between the missing controller's detection and `/controller`'s creation."""
    original_request = c.service.request
    node = c.brokers[broker]
    looked: list[bool] = []

    def request(session: int, request: SessionRequest) -> SessionResponse:
        response = original_request(session, request)
        if session == node.session and isinstance(request.ops[0], GetData) and response.error:
            looked.append(True)
            if len(looked) == 2:  # once for itself, once to be elected
                c.cut_off(broker)
        return response

    c.service.request = request  # type: ignore[method-assign]
    c.told_first = broker
    c.service.apply(0, Delete("/controller"))
    c.settle()
    c.service.request = original_request  # type: ignore[method-assign]
    assert isinstance(node.waiting[0][0].ops[0], Create)


@pytest.mark.parametrize(("version", "deletes"), [("0.8.2", False), ("0.10.2", True), ("1.0", True), ("1.1", False)])
def test_an_election_that_ends_with_its_session_deletes_the_controller_of_others_from_0_10_2_to_1_0(
    version: str, deletes: bool
) -> None:
    """ZKCheckedEphemeral fails, elect() deletes `/controller`, in the next session.
    In 0.8.2 the client repeats the create there, and finds that there is a controller.
    """
    c = Cluster(version=version)
    c.start(2, 0, 1)
    _dies_before_its_election_request(c, 1)
    winner = c.controller_of()
    assert (winner in (0, 2), epoch(c)) == (True, 2)
    c.expire(1)
    c.service.requests.clear()
    c.rejoin(1, expired=True)
    assert (Delete("/controller") in [r.ops[0] for r in c.service.requests]) == deletes
    assert [change for change in terms(c, winner) if change[1] == 2] == [(True, 2), (False, 2)][: 1 + deletes]
    assert (len(c.active()), epoch(c)) == (1, 2 + deletes)


@pytest.mark.parametrize(("version", "ends"), [("0.8.2", False), ("0.10.2", True), ("1.0", True), ("1.1", True)])
def test_a_registration_ends_with_its_session(version: str, ends: bool) -> None:
    """In 0.8.2 it is asked again in the next session."""
    calls = Lost()
    outcome: list[object] = []
    registering = register_broker(gates_for(version), BrokerRegistration(BrokerId(0), "broker-0"), 0, lambda: 1)
    Procedures(calls).task(
        Now(0, 0), Outbox(), "test", "", registering, lambda now, out, result: outcome.append(result), calls.failed
    ).start()
    assert calls.ended == [ends and version != "1.1"]
    if ends:
        assert outcome == [NotRegistered("the session expired while registering", ExitKind.REGISTRATION_EXPIRED)]


class Lost:
    """A session that expires while it is asked."""

    def __init__(self) -> None:
        self.ended: list[bool] = []

    def failed(self, now: Now, out: Outbox, error: Exception) -> None:
        raise error

    def call(
        self,
        now: Now,
        out: Outbox,
        request: SessionRequest,
        done: Callable[[Now, Outbox, SessionResponse], None],
        *,
        ends_with_session: bool = False,
    ) -> None:
        self.ended.append(ends_with_session)
        done(now, out, SessionResponse([OpResult(SessionError.SESSION_EXPIRED)], SessionError.SESSION_EXPIRED))
