"""Election of the controller (semantics 4.1)."""

from collections.abc import Callable

import pytest

from protocol.events import ControllerChanged
from protocol.messages.leadership_messages import LeaderAndIsrRequest, UpdateMetadataRequest
from protocol.messages.session_messages import Delete, SessionRequest, SessionResponse, SetData, WatchFired
from protocol.znodes import decode_controller_epoch
from tests.controller.cluster import Cluster
from tests.controller.test_leader_epochs import VERSIONS


def epoch(c: Cluster) -> int:
    return decode_controller_epoch(c.service.znodes["/controller_epoch"].data)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_first_controller_ever_has_epoch_one(version: str) -> None:
    c = Cluster(version=version)
    c.start(1, 0, 2)
    assert (c.controller_of(), c.active(), epoch(c)) == (1, [1], 1)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_next_controller_has_the_next_epoch(version: str) -> None:
    c = Cluster(version=version)
    c.start(1, 0, 2)
    c.die(1)
    assert epoch(c) == 2
    assert c.active() == [c.controller_of()]
    assert c.brokers[c.controller_of()].controller.controller_epoch == 2


@pytest.mark.parametrize(("version", "operations"), [("2.0.1", 1), ("2.1", 2)])
def test_the_epoch_is_raised_after_the_election_up_to_2_0_and_with_it_from_2_1(version: str, operations: int) -> None:
    c = Cluster(version=version)
    c.start(0)
    c.die(0)
    c.service.requests.clear()
    c.start(1)
    raising = [
        request
        for request in c.service.requests
        if any(isinstance(op, SetData) and op.path == "/controller_epoch" for op in request.ops)
    ]
    assert [(len(request.ops), request.multi) for request in raising] == [(operations, operations > 1)]


@pytest.mark.parametrize("version", VERSIONS)
def test_disconnection_alone_changes_nothing(version: str) -> None:
    """The old controller stays active, blocked, while another is elected: a dual controller."""
    c = Cluster(version=version)
    c.start(2, 0, 1)
    c.create_topic("t", (0, 1, 2))
    c.isolate(2)
    c.expire(2)
    c.settle()
    assert 2 in c.active()
    assert len(c.active()) == 2
    assert c.brokers[2].controller.controller_epoch == 1
    assert epoch(c) == 2


@pytest.mark.parametrize("version", VERSIONS)
def test_after_the_heal_an_expired_controller_resigns_registers_anew_and_loses_the_election(
    version: str,
) -> None:
    c = Cluster(version=version)
    c.start(2, 0, 1)
    c.create_topic("t", (0, 1, 2))
    before = c.brokers[2].broker_epoch
    c.isolate(2)
    c.expire(2)
    c.rejoin(2, expired=True)
    assert c.active() == [c.controller_of()]
    assert c.controller_of() != 2
    assert c.brokers[2].broker_epoch > before
    changes = [e for e in c.brokers[2].events if isinstance(e, ControllerChanged)]
    assert [(e.active, e.controller_epoch) for e in changes] == [(True, 1), (False, 1)]


@pytest.mark.parametrize("version", VERSIONS)
def test_an_elected_controller_names_the_version_of_the_epoch_that_it_wrote(version: str) -> None:
    """The version of `/controller_epoch`.
    Its first write is its creation up to 2.0; from 2.1 it is created before.
    """
    c = Cluster(version=version)
    c.start(2, 0, 1)
    changes = [e for e in c.brokers[2].events if isinstance(e, ControllerChanged)]
    assert [e.zk_version for e in changes] == [c.service.znodes["/controller_epoch"].version]


def test_a_reconnection_in_the_same_session_goes_on_where_it_stood() -> None:
    c = Cluster(version="2.8")
    c.start(2, 0, 1)
    c.create_topic("t", (0, 1))
    c.cut_off(2)
    node = c.brokers[2]
    c.brokers[1].alive = False
    c.service.end(c.brokers[1].session)
    c.deliver_only(2, "/brokers/ids")
    assert node.controller.busy_with
    assert c.states()[1:] == []
    c.rejoin(2, expired=False)
    assert c.states()[1:] == [(0, 1, [0], 1, 1)]
    assert not node.controller.busy_with


def _blocked_with_a_dead_broker(version: str) -> Cluster:
    """A controller that noticed broker 1's death, then lost sight of the service.
    It could not write before.
    """
    c = Cluster(version=version)
    c.start(2, 0, 1)
    c.create_topic("t", (1, 0, 2))
    c.brokers[1].alive = False
    c.service.end(c.brokers[1].session)
    node = c.brokers[2]
    c.cut_off(2)
    c.deliver_only(2, "/brokers/ids")
    node.controller.watch_fired(c.now, node.out, WatchFired("children", "/brokers/topics"))
    assert c.brokers[2].controller.busy_with == "children /brokers/ids"
    return c


def test_expiry_ends_the_running_event_and_drops_the_queued_ones_from_1_1() -> None:
    c = _blocked_with_a_dead_broker("2.8")
    c.expire(2)
    c.rejoin(2, expired=True)
    assert c.controller_of() == 0
    assert [s[3] for s in c.states()[1:]] == [2, 2, 2], "only the new controller wrote"


def test_up_to_1_0_the_running_event_goes_on_in_the_new_session_but_respects_a_newer_controller() -> None:
    c = _blocked_with_a_dead_broker("0.10.2")
    c.expire(2)
    wrote = c.states()
    c.rejoin(2, expired=True)
    assert c.active() == [0]
    assert c.states() == wrote, "a state with a higher controller epoch aborts the change"


def test_a_write_of_a_controller_of_the_past_is_refused_from_2_1_and_makes_it_resign() -> None:
    """KAFKA-6082."""
    c = Cluster(version="2.1")
    c.start(2, 0, 1)
    c.create_topic("t", (0, 1))
    node = c.brokers[2]
    node.within_reach = False
    c.brokers[1].alive = False
    c.service.end(c.brokers[1].session)
    c.deliver_only(2, "/brokers/ids")
    # Somebody else was elected, and our session is the same: a pause that was noticed by nobody.
    c.service.put("/controller_epoch", b"2")
    c.service.put("/controller", b'{"version":1,"brokerid":0,"timestamp":"0"}')
    c.service.fired.clear()
    c.rejoin(2, expired=False)
    assert c.states() == [(0, 0, [0, 1], 1, 0)]
    assert not node.controller.active


def test_up_to_2_0_such_a_write_goes_through() -> None:
    c = Cluster(version="2.0.1")
    c.start(2, 0, 1)
    c.create_topic("t", (0, 1))
    node = c.brokers[2]
    node.within_reach = False
    c.brokers[1].alive = False
    c.service.end(c.brokers[1].session)
    c.deliver_only(2, "/brokers/ids")
    c.service.put("/controller_epoch", b"2")
    c.service.fired.clear()
    c.rejoin(2, expired=False)
    assert c.states()[1:] == [(0, 1, [0], 1, 1)]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_controller_whose_znode_names_another_resigns(version: str) -> None:
    c = Cluster(version=version)
    c.start(2, 0)
    c.service.put("/controller", b'{"version":1,"brokerid":0,"timestamp":"0"}')
    c.settle()
    assert 2 not in c.active()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("winner", [0, 2])
def test_a_deleted_controller_znode_is_fought_for_again(winner: int, version: str) -> None:
    c = Cluster(version=version)
    c.start(2, 0)
    c.told_first = winner
    c.service.apply(0, Delete("/controller"))
    c.settle()
    assert c.active() == [winner]
    assert epoch(c) == 2
    changes = [(e.active, e.controller_epoch) for e in c.brokers[2].events if isinstance(e, ControllerChanged)]
    assert changes[:2] == [(True, 1), (False, 1)], "the old one resigns before it tries again"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_new_controller_sends_live_brokers_before_leaders(version: str) -> None:
    c = Cluster(version=version)
    c.start(2, 0, 1)
    c.create_topic("t", (0, 1))
    c.forget_requests()
    c.die(2)
    sent = c.requests(1)
    assert isinstance(sent[0], UpdateMetadataRequest)
    assert [b.broker for b in sent[0].live_brokers] == [0, 1]
    assert isinstance(sent[1], LeaderAndIsrRequest)
    assert {m.controller_epoch for m in sent} == {2}  # type: ignore[attr-defined]
    assert all(p.controller_epoch == 1 for p in sent[1].partitions)


def test_the_first_metadata_of_a_new_controller_names_no_partition_from_2_2_and_all_before() -> None:
    named = {}
    for version in ("2.1", "2.2"):
        c = Cluster(version=version)
        c.start(2, 0, 1)
        c.create_topic("t", (0, 1))
        c.forget_requests()
        c.die(2)
        first = c.requests(1)[0]
        assert isinstance(first, UpdateMetadataRequest)
        named[version] = len(first.partitions)
    assert named == {"2.1": 1, "2.2": 0}


@pytest.mark.parametrize(
    ("version", "elected_first"), [("0.10.2", True), ("1.0", True), ("1.1", False), ("2.8", False)]
)
def test_a_broker_registers_before_its_controller_starts_from_1_1(version: str, elected_first: bool) -> None:
    c = Cluster(version=version)
    c.start(0)
    paths = [path for path, _, _ in c.service.history]
    assert (paths.index("/controller") < paths.index("/brokers/ids/0")) == elected_first


def _meddle(c: Cluster, path: str, meddle: Callable[[], None]) -> None:
    """Run a foreign action just before the first write of `path`."""
    original_request = c.service.request
    done: list[bool] = []

    def request(session: int, request: SessionRequest) -> SessionResponse:
        if not done and isinstance(request.ops[-1], SetData) and request.ops[-1].path == path:
            done.append(True)
            meddle()
        return original_request(session, request)

    c.service.request = request  # type: ignore[method-assign]


@pytest.mark.parametrize("version", ["0.10.2", "1.1", "2.0.1"])
def test_up_to_2_0_a_controller_that_cannot_raise_the_epoch_gives_up(version: str) -> None:
    """It deletes its znode.
    Its watch was spent on the creation, so from 1.1 another broker tries next. Before, the client found the znode gone
    when it looked.
    """
    c = Cluster(version=version)
    c.start(0)
    c.die(0)
    _meddle(c, "/controller_epoch", lambda: c.service.put("/controller_epoch", b"5"))
    c.start(1)
    changes = [(e.active, e.controller_epoch) for e in c.brokers[1].events if isinstance(e, ControllerChanged)]
    again = version == "0.10.2"
    assert changes == [(False, 0), *([(True, 6)] if again else [])]
    c.start(2)
    assert (c.active(), epoch(c)) == ([1] if again else [2], 6)


@pytest.mark.parametrize("version", ["2.1", "2.8"])
def test_a_controller_that_is_replaced_while_it_takes_over_resigns(version: str) -> None:
    c = Cluster(version=version)
    c.start(0, 1, 2)
    c.create_topic("t", (0, 1, 2))

    def replaced() -> None:
        c.service.put("/controller_epoch", b"9")
        c.service.put("/controller", b'{"version":1,"brokerid":2,"timestamp":"0"}')

    c.told_first = 1
    _meddle(c, "/brokers/topics/t/partitions/0/state", replaced)
    c.die(0)
    assert c.active() == []
    assert len(c.states()) == 1


def test_stopping_ends_the_term() -> None:
    c = Cluster(version="2.8")
    c.start(0, 1)
    node = c.brokers[0]
    node.controller.stop(c.now, node.out)
    c.settle()
    assert not node.controller.active
    assert not node.timers
    assert not node.connections
