"""Sessions at the ensemble, rule by rule (semantics 5.2)."""

import pytest

from emulator.machines.session.quorum import Limits
from protocol.events import ZnodeChanged
from protocol.messages.session_messages import (
    Create,
    Exists,
    GetData,
    SessionError,
)
from tests.emulator.machines.session.harness import ClientNode, Ensemble


@pytest.mark.parametrize(("requested", "negotiated"), [(100, 2000), (6000, 6000), (60_000, 20_000)])
def test_the_session_time_out_is_negotiated(requested: float, negotiated: float) -> None:
    ensemble = Ensemble(1).launch()
    assert ensemble.add_client("a", timeout_ms=requested).client.session_timeout_ms == negotiated


def test_a_dead_client_expires_and_its_ephemerals_vanish_in_one_zxid() -> None:
    ensemble = Ensemble(3).launch()
    ensemble.add_client("a")
    ensemble.add_client("b")
    for path in ("/one", "/two"):
        ensemble.create("a", path, ephemeral=True)
    ensemble.create("b", "/three", ephemeral=True)
    ensemble.world.kill("a")
    took = ensemble.world.wait_for(lambda: bool(ensemble.ended()), 10_000)
    assert 4000 <= took <= 7500, "expiry counts from the last ping (semantics 11.11)"
    ensemble.world.run_for(100)
    assert ensemble.ended() == [("a", "expired")]
    gone = {
        (node, e.path, e.zxid)
        for _, node, e in ensemble.world.events
        if isinstance(e, ZnodeChanged) and e.change == "deleted"
    }
    assert {path for _, path, _ in gone} == {"/one", "/two"} and len({zxid for _, _, zxid in gone}) == 1
    assert {node for node, _, _ in gone} == set(ensemble.names)
    assert ensemble.client("b").states == ["connected"]


def test_an_idle_client_lives_by_its_pings() -> None:
    ensemble = Ensemble(3).launch()
    for name in ensemble.names:
        ensemble.add_client(f"at-{name}", [name])
    ensemble.world.run_for(120_000)
    assert ensemble.ended() == []


def test_a_closed_session_ends_at_once_and_its_client_learns_of_it() -> None:
    ensemble = Ensemble(3).launch()
    client = ensemble.add_client("a")
    ensemble.create("a", "/e", ephemeral=True)
    ensemble.world.stop("a")
    ensemble.world.run_for(50)
    assert client.states == ["connected", "closed"]
    assert ensemble.ended() == [("a", "closed")]
    ensemble.add_client("b")
    assert ensemble.request("b", Exists("/e")).error == SessionError.NO_NODE


def test_a_session_moves_to_another_server_with_its_ephemerals() -> None:
    ensemble = Ensemble(3).launch()
    client = ensemble.add_client("a", ["session-0", "session-1"])
    session = client.client.session_id
    ensemble.create("a", "/e", ephemeral=True)
    server = client.client._servers.current
    ensemble.world.kill(server)
    ensemble.world.wait_for(lambda: client.states[-1] == "connected" and len(client.states) == 3, 3000)
    assert client.client.session_id == session
    assert ensemble.request("a", GetData("/e")).results[0].owner == session
    ensemble.world.run_for(20_000)
    assert ensemble.ended() == []


def taken_to_be_elsewhere(server: str = "session-0") -> tuple[Ensemble, ClientNode]:
    """A client at `server` that the leader takes to be at session-1.
    It had tried there before.
    """
    ensemble = Ensemble(3).launch()
    client = ensemble.add_client("a", [server])
    leader = ensemble.server("session-2")._leading
    assert leader is not None and leader.broadcast is not None
    leader.broadcast.tracker.moved(client.client.session_id, 1)
    return ensemble, client


def test_a_write_of_a_session_that_is_taken_to_be_elsewhere_ends_its_connection_and_is_done_when_it_is_back() -> None:
    """ZOOKEEPER-710: an error would repeat for ever.
    The leader learns of no other server.
    """
    ensemble, client = taken_to_be_elsewhere()
    session = client.client.session_id
    assert ensemble.create("a", "/late").error == 0
    assert client.states == ["connected", "disconnected", "connected"]
    assert client.client.session_id == session
    assert ensemble.request("a", Exists("/late")).error == 0


def test_a_multi_of_a_session_that_is_taken_to_be_elsewhere_is_refused() -> None:
    """FinalRequestProcessor up to 3.5: its error is one of its results.
    The connection stands.
    """
    ensemble, client = taken_to_be_elsewhere()
    for _ in range(2):
        answer = ensemble.request("a", Create("/one"), Create("/two"), multi=True)
        assert [result.error for result in answer.results] == [
            SessionError.SESSION_MOVED, SessionError.RUNTIME_INCONSISTENCY
        ]  # fmt: skip
    assert client.states == ["connected"]


@pytest.mark.parametrize(("server", "states"), [("session-0", 1), ("session-2", 3)])
def test_the_leader_looks_where_a_session_is_also_when_its_own_client_only_pings(server: str, states: int) -> None:
    """PrepRequestProcessor, which followers do not have."""
    ensemble, client = taken_to_be_elsewhere(server)
    ensemble.world.run_for(6_000)
    assert client.states == ["connected", "disconnected", "connected"][:states]


def test_a_session_is_closed_wherever_it_is_taken_to_be() -> None:
    """PrepRequestProcessor: the server that expires it is not its server either."""
    ensemble, client = taken_to_be_elsewhere()
    ensemble.world.stop("a")
    ensemble.world.run_for(50)
    assert client.states == ["connected", "closed"]
    assert ensemble.ended() == [("a", "closed")]


def test_a_client_learns_that_it_expired_only_from_a_server() -> None:
    """Semantics 5.2: it never declares itself expired."""
    ensemble = Ensemble(3).launch()
    client = ensemble.add_client("a")
    ensemble.world.isolate("cut", ("a",))
    ensemble.world.run_for(60_000)
    assert client.states == ["connected", "disconnected"]
    assert ensemble.ended() == [("a", "expired")]
    ensemble.world.heal()
    ensemble.world.run_for(8000)
    assert client.states[-1] == "expired"
    old = client.client.session_id
    ensemble.world.act("a", client.client.restart)
    ensemble.world.run_for(2000)
    assert client.states[-1] == "connected" and client.client.session_id != old


def test_a_wrong_password_opens_no_session() -> None:
    ensemble = Ensemble(1).launch()
    owner = ensemble.add_client("a")
    thief = ClientNode(ensemble.names, 6000)
    thief.client.session_id = owner.client.session_id
    thief.client._password = owner.client._password + 1
    ensemble.world.add("thief", lambda: thief)
    ensemble.world.start("thief")
    ensemble.world.run_for(100)
    assert thief.states == ["expired"] and owner.states == ["connected"]


def test_a_server_behind_the_client_refuses_it() -> None:
    ensemble = Ensemble(3).launch()
    ensemble.world.isolate("cut", ("session-0",))
    client = ensemble.add_client("a", ["session-1"])
    client.client._servers._servers = ["session-1", "session-0"]
    ensemble.world.rules.clear()
    for server in ("session-1", "session-2"):
        ensemble.world.cut("behind", (server,), ("session-0",))
    before = ensemble.server("session-0")._replica.tree.zxid
    assert ensemble.server("session-0").serving and before < client.client.last_zxid
    accepted = ensemble.world.nodes["session-0"].next_accepted
    ensemble.world.cut("away", ("a",), ("session-1",))
    ensemble.server("session-0")._following._limits = Limits(1000, 1e9, 1e9)  # type: ignore[union-attr]
    ensemble.world.run_for(8000)
    assert ensemble.world.nodes["session-0"].next_accepted < accepted, "it tried"
    assert client.client.state == "connecting"
