"""What a controller of the old client does in a new session, and when it hears of another one (semantics 4.1)."""

import pytest

from controller.settings import ControllerSettings
from protocol.events import ControllerChanged
from protocol.messages.session import Create, Delete, WatchFired
from tests.controller.cluster import Cluster
from tests.controller.test_controller_elections import epoch

ANOTHER = b'{"version":1,"brokerid":0,"timestamp":"0"}'


def terms(c: Cluster, broker: int) -> list[tuple[bool, int]]:
    return [(e.active, e.controller_epoch) for e in c.brokers[broker].events if isinstance(e, ControllerChanged)]


@pytest.mark.parametrize(("version", "goes_on"), [("0.8.2", True), ("0.10.2", False), ("1.0", False)])
def test_a_controller_that_hears_of_another_goes_on_in_0_8_2(version: str, goes_on: bool) -> None:
    """KAFKA-2437: LeaderChangeListener.handleDataChange notes the other's id, and no more."""
    c = Cluster(version=version)
    c.start(2, 0, 1)
    c.create_topic("t", (1, 2))
    c.service.put("/controller", ANOTHER)
    c.settle()
    assert c.brokers[2].controller.active == goes_on
    c.die(1)
    assert c.state().leader == (2 if goes_on else 1)


def test_a_controller_that_has_heard_of_another_is_elected_again_when_that_one_is_gone() -> None:
    c = Cluster(version="0.8.2")
    c.start(2, 0)
    c.service.put("/controller", ANOTHER)
    c.settle()
    c.told_first = 2
    c.service.apply(0, Delete("/controller"))
    c.settle()
    assert (c.active(), epoch(c)) == ([2], 2)
    assert terms(c, 2) == [(True, 1), (False, 1), (True, 2)]


def test_a_controller_that_has_heard_of_another_goes_on_when_a_third_is_elected() -> None:
    c = Cluster(version="0.8.2")
    c.start(2, 0, 1)
    c.service.put("/controller", ANOTHER)
    c.settle()
    c.told_first = 1
    c.service.apply(0, Delete("/controller"))
    c.settle()
    assert (c.active(), c.controller_of()) == ([1, 2], 1)


@pytest.mark.parametrize(("version", "active"), [("0.8.2", []), ("0.10.2", [1])])
def test_who_is_elected_in_a_new_session_before_it_hears_of_the_session_resigns_in_0_8_2(
    version: str, active: list[int]
) -> None:
    """KAFKA-4229. It was trying when its session expired, and the client asked again in the new one. Nobody tries after
    that: `/controller` is there."""
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
def test_who_is_no_controller_registers_first_in_a_new_session_of_0_8_2_where_leaders_are_balanced(
    version: str, balanced: bool, elected_first: bool
) -> None:
    """onControllerResignation fails at a scheduler that was not started, and the election behind it is left out."""
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
