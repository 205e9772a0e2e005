"""The ensemble, rule by rule (semantics 5.2, 5.3), in a small deterministic world."""

import msgspec
import pytest

from emulator.client.session_client import SessionClient
from emulator.session.clients import CONNECTIONS_MAX, OUTSTANDING_MAX
from emulator.session.quorum import Limits
from emulator.session.server import SessionServer
from emulator.storage.memory import MemoryFiles
from protocol.events import EnsembleChanged, SessionEnded, ZnodeChanged
from protocol.machine import Close, ConnectionAccepted, MessageReceived, Now, Started
from protocol.messages.ensemble import Transaction
from protocol.messages.session import (
    Check,
    Create,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Operation,
    PingRequest,
    SessionError,
    SetData,
    Sync,
)
from protocol.purposes import ENSEMBLE, OBSERVE, SESSION
from tests.session.harness import ClientNode, Ensemble, ObserverNode

SIZES = pytest.mark.parametrize("size", [1, 3, 5])


def _ended(ensemble: Ensemble) -> list[tuple[str, str]]:
    return [(e.owner, e.reason) for _, _, e in ensemble.world.events if isinstance(e, SessionEnded)]


# --- serving -----------------------------------------------------------------------------------------------------


@SIZES
def test_an_ensemble_elects_the_highest_server_and_answers_every_operation(size: int) -> None:
    ensemble = Ensemble(size).launch()
    assert ensemble.leader() == f"session-{size - 1}", "equal zxids: the highest server number"
    ensemble.add_client("a")
    assert ensemble.create("a", "/p", b"x").results[0].version == 0
    assert ensemble.request("a", SetData("/p", b"y", 0)).results[0].version == 1
    got = ensemble.request("a", GetData("/p")).results[0]
    assert (got.data, got.version) == (b"y", 1)
    assert ensemble.request("a", Create("/p/n", b"", sequential=True)).results[0].path == "/p/n0000000000"
    assert ensemble.request("a", GetChildren("/p")).results[0].children == ["n0000000000"]
    assert ensemble.request("a", Delete("/p")).error == SessionError.NOT_EMPTY
    assert ensemble.request("a", Check("/p", 1), Delete("/p/n0000000000"), multi=True).error == 0
    assert ensemble.request("a", Exists("/p/n0000000000")).error == SessionError.NO_NODE
    assert ensemble.request("a", Sync("/p")).error == 0


def test_who_leads_a_launched_ensemble_does_not_depend_on_who_is_up_first() -> None:
    ensemble = Ensemble(3)
    for name in ensemble.names:
        ensemble.world.start(name)
        ensemble.world.run_for(500)
    assert ensemble.leader() == "session-2"
    assert all(ensemble.server(name).serving for name in ensemble.names)


def test_a_launched_ensemble_waits_two_seconds_for_a_server_that_does_not_come() -> None:
    ensemble = Ensemble(3)
    ensemble.world.start("session-0", "session-1")
    took = ensemble.world.wait_for(lambda: ensemble.leader() == "session-1", 5000)
    assert 2000 <= took <= 2100
    ensemble.world.start("session-2")
    ensemble.world.wait_for(lambda: ensemble.server("session-2").serving, 2000)
    assert ensemble.leader() == "session-1", "a reign is not ended by a higher number"


def test_requests_that_are_none_are_answered_as_bad_arguments() -> None:
    ensemble = Ensemble(1).launch()
    ensemble.add_client("a")
    for ops, multi in (((), False), ((Create("/a"), Create("/b")), False), ((GetData("/"), Check("/", 0)), True)):
        assert ensemble.request("a", *ops, multi=multi).error == SessionError.BAD_ARGUMENTS
    assert ensemble.request("a", GetChildren("/")).results[0].children == []


def test_answers_keep_the_order_of_requests_and_a_client_reads_its_own_writes() -> None:
    ensemble = Ensemble(3).launch()
    for name in ensemble.names:
        client = ensemble.add_client(f"at-{name}", [name])
        path = f"/{name}"
        ops: list[Operation] = [
            Create(path, b"0"),
            GetData(path),
            SetData(path, b"1"),
            GetData(path),
            Delete(path),
            Exists(path),
        ]
        ensemble.world.act(f"at-{name}", client.submitting(*ops))
        ensemble.world.run_for(1000)
        assert [(a.error, a.results[0].data) for a in client.answers] == [
            (0, b""),
            (0, b"0"),
            (0, b""),
            (0, b"1"),
            (0, b""),
            (SessionError.NO_NODE, b""),
        ]


def test_every_server_applies_the_same_and_events_say_so() -> None:
    ensemble = Ensemble(3).launch()
    ensemble.add_client("a")
    ensemble.create("a", "/x", b"1")
    ensemble.world.run_for(100)
    seen = {(node, e.path, e.change, e.data) for _, node, e in ensemble.world.events if isinstance(e, ZnodeChanged)}
    assert seen == {(name, "/x", "created", "1") for name in ensemble.names}
    snapshots = {ensemble.server(name)._replica.tree.snapshot() for name in ensemble.names}
    assert len(snapshots) == 1


# --- sessions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("asked", "negotiated"), [(100, 2000), (6000, 6000), (60_000, 20_000)])
def test_the_session_time_out_is_negotiated(asked: float, negotiated: float) -> None:
    ensemble = Ensemble(1).launch()
    assert ensemble.add_client("a", timeout_ms=asked).client.session_timeout_ms == negotiated


def test_a_dead_client_expires_and_its_ephemerals_vanish_in_one_zxid() -> None:
    ensemble = Ensemble(3).launch()
    ensemble.add_client("a")
    ensemble.add_client("b")
    for path in ("/one", "/two"):
        ensemble.create("a", path, ephemeral=True)
    ensemble.create("b", "/three", ephemeral=True)
    ensemble.world.kill("a")
    took = ensemble.world.wait_for(lambda: bool(_ended(ensemble)), 10_000)
    assert 4000 <= took <= 7500, "expiry counts from the last ping (semantics 11.11)"
    ensemble.world.run_for(100)
    assert _ended(ensemble) == [("a", "expired")]
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
    assert _ended(ensemble) == []


def test_a_closed_session_ends_at_once_and_its_client_is_told() -> None:
    ensemble = Ensemble(3).launch()
    client = ensemble.add_client("a")
    ensemble.create("a", "/e", ephemeral=True)
    ensemble.world.stop("a")
    ensemble.world.run_for(50)
    assert client.states == ["connected", "closed"]
    assert _ended(ensemble) == [("a", "closed")]
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
    assert _ended(ensemble) == []


def test_a_session_that_moved_is_refused_at_its_old_server() -> None:
    """The leader knows where each session is; what comes through another server is late."""
    ensemble = Ensemble(3).launch()
    client = ensemble.add_client("a", ["session-0"])
    leader = ensemble.server("session-2")._leading
    assert leader is not None and leader.broadcast is not None
    leader.broadcast.tracker.moved(client.client.session_id, 1)
    assert ensemble.create("a", "/late").error == SessionError.SESSION_MOVED


def test_a_client_learns_that_it_expired_only_from_a_server() -> None:
    """Semantics 5.2: it never declares itself expired."""
    ensemble = Ensemble(3).launch()
    client = ensemble.add_client("a")
    ensemble.world.isolate("cut", ("a",))
    ensemble.world.run_for(60_000)
    assert client.states == ["connected", "disconnected"]
    assert _ended(ensemble) == [("a", "expired")]
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


# --- expiry and quorum ---------------------------------------------------------------------------------------------


def test_without_a_quorum_nothing_expires_and_nobody_serves() -> None:
    """Semantics 5.2, 11.14: every AZ isolated; sessions survive the heal."""
    ensemble = Ensemble(3).launch()
    for i in range(3):
        ensemble.add_client(f"broker-{i}")
    for i in range(3):
        ensemble.world.isolate(f"cut-{i}", (f"broker-{i}", f"session-{i}"))
    ensemble.world.run_for(6000)
    assert not any(ensemble.server(name).serving for name in ensemble.names)
    ensemble.world.run_for(30_000)
    assert _ended(ensemble) == []
    ensemble.world.heal()
    ensemble.world.run_for(15_000)
    assert ensemble.leader() is not None
    assert _ended(ensemble) == []
    for i in range(3):
        states = ensemble.client(f"broker-{i}").states
        assert "expired" not in states and states[-1] == "connected" and "disconnected" in states


def test_a_leader_without_a_majority_stops_serving_within_sync_limit_and_closes_its_clients() -> None:
    ensemble = Ensemble(3).launch()
    client = ensemble.add_client("a", ["session-2"])
    ensemble.world.cut("cut", ("session-2",), ("session-0", "session-1"))
    took = ensemble.world.wait_for(lambda: not ensemble.server("session-2").serving, 10_000)
    assert 3500 <= took <= 5500
    ensemble.world.run_for(5)
    assert client.states == ["connected", "disconnected"]
    ensemble.world.run_for(3000)
    assert client.client.state == "connecting", "not running: its connections are closed at once"


def test_a_follower_without_its_leader_stops_serving_after_sync_limit() -> None:
    ensemble = Ensemble(3).launch()
    client = ensemble.add_client("a", ["session-0"])
    ensemble.world.isolate("cut", ("session-0",))
    took = ensemble.world.wait_for(lambda: not ensemble.server("session-0").serving, 10_000)
    assert 3500 <= took <= 4000
    ensemble.world.run_for(5)
    assert client.states[:2] == ["connected", "disconnected"]
    assert ensemble.leader() == "session-2"


def test_a_new_leader_gives_every_session_a_full_time_out_again() -> None:
    ensemble = Ensemble(3).launch()
    ensemble.add_client("a")
    ensemble.world.kill("a")
    ensemble.world.run_for(3500)
    ensemble.world.kill("session-2")
    ensemble.world.wait_for(lambda: ensemble.leader() == "session-1", 5000)
    led_ms = ensemble.world.now_ms
    ensemble.world.wait_for(lambda: bool(_ended(ensemble)), 10_000)
    assert 6000 <= ensemble.world.now_ms - led_ms <= 7100


def test_a_killed_leader_is_replaced_by_the_server_that_knows_most() -> None:
    ensemble = Ensemble(5).launch()
    ensemble.add_client("a", ["session-0", "session-1"])
    ensemble.world.cut("behind", ("session-3",), ("session-4",))
    ensemble.create("a", "/x")
    ensemble.world.kill("session-4")
    ensemble.world.wait_for(lambda: ensemble.leader() is not None, 8000)
    assert ensemble.leader() == "session-2", "session-3 has a higher number but lacks a transaction"
    assert ensemble.request("a", GetData("/x")).error == 0


# --- recovery --------------------------------------------------------------------------------------------------------


@SIZES
def test_all_servers_die_and_return_with_everything_that_was_acknowledged(size: int) -> None:
    ensemble = Ensemble(size).launch()
    client = ensemble.add_client("a", timeout_ms=20_000)
    for i in range(5):
        assert ensemble.create("a", f"/n{i}", ephemeral=i == 0).error == 0
    for name in ensemble.names:
        ensemble.world.kill(name)
        ensemble.disks[name].power_loss(lambda path, synced, written: synced, name_changes_kept=0)
    ensemble.world.run_for(1000)
    ensemble.world.start(*ensemble.names)
    ensemble.world.wait_for(lambda: client.states[-1] == "connected" and len(client.states) == 3, 20_000)
    children = ensemble.request("a", GetChildren("/")).results[0].children
    assert children == [f"n{i}" for i in range(5)]


def test_a_returning_server_gets_a_diff_a_trunc_or_a_snap() -> None:
    ensemble = Ensemble(3).launch()
    ensemble.add_client("a", ["session-1"])
    ensemble.create("a", "/before")
    # TRUNC: the leader proposes what nobody hears, dies, and comes back to another reign.
    leader = ensemble.server("session-2")
    ensemble.world.cut("alone", ("session-2",), ("session-0", "session-1", "a"))
    lonely = Transaction(0, "operations", 1, 2, 99, [Create("/lonely")])
    assert leader._leading is not None and leader._leading.broadcast is not None
    leader._leading.broadcast._send(ensemble.world.now(), leader._out, lonely)
    leader._out.take()
    assert leader._history.last_zxid == lonely.zxid
    ensemble.world.kill("session-2")
    ensemble.world.wait_for(lambda: ensemble.leader() == "session-1", 8000)
    for i in range(3):
        assert ensemble.create("a", f"/after{i}").error == 0
    ensemble.world.heal()
    ensemble.world.start("session-2")
    ensemble.world.wait_for(lambda: ensemble.server("session-2").serving, 12_000)
    ensemble.world.run_for(100)
    trees = {ensemble.server(name)._replica.tree.snapshot() for name in ensemble.names}
    assert len(trees) == 1
    assert lonely.zxid not in ensemble.server("session-2")._history.zxids
    assert "/lonely" not in ensemble.server("session-2")._replica.tree.znodes
    # SNAP: the follower's place is no longer in the leader's log.
    observer = ensemble.observe("session-0", ["/late"])
    ensemble.world.kill("session-2")
    now = ensemble.server("session-1")
    for i in range(10):
        assert ensemble.create("a", f"/late{i}").error == 0
    now._history._log_max, now._history._log_kept = 5, 2
    ensemble.create("a", "/late")
    assert now._history.base_zxid > 0
    ensemble.world.start("session-2")
    ensemble.world.wait_for(lambda: ensemble.server("session-2").serving, 12_000)
    ensemble.world.run_for(100)
    assert ensemble.server("session-2")._history.snapshot_zxid > 0
    assert len({ensemble.server(name)._replica.tree.snapshot() for name in ensemble.names}) == 1
    assert [z.path for seen in observer.seen for z in seen.changes] == ["/late"]


def test_a_disk_that_fails_ends_the_server() -> None:
    ensemble = Ensemble(1).launch()
    ensemble.add_client("a")
    ensemble.disks["session-0"].capacity_bytes = 0
    ensemble.world.act("a", ensemble.client("a").submitting(Create("/x")))
    ensemble.world.run_for(100)
    assert ensemble.alive() == []
    assert [a.error for a in ensemble.client("a").answers] == [SessionError.CONNECTION_LOSS]


# --- observers -------------------------------------------------------------------------------------------------------


def _paths(observer: ObserverNode) -> list[str]:
    return [("-" if z.data is None else "+") + z.path for seen in observer.seen for z in seen.changes]


def test_an_observer_sees_a_copy_then_every_change_in_order_and_whether_the_server_serves() -> None:
    ensemble = Ensemble(3).launch()
    ensemble.add_client("a", ["session-1", "session-2"])
    ensemble.create("a", "/seen")
    ensemble.create("a", "/other")
    observer = ensemble.observe("session-0", ["/seen"])
    assert _paths(observer) == ["+/seen"] and observer.seen[0].serving
    ensemble.create("a", "/seen/x")
    ensemble.create("a", "/seenmore")
    ensemble.request("a", SetData("/seen/x", b"1"))
    ensemble.request("a", Delete("/seen/x"))
    ensemble.world.run_for(10)
    assert _paths(observer) == ["+/seen", "+/seen/x", "+/seen/x", "-/seen/x"]
    zxids = [z.zxid for seen in observer.seen for z in seen.changes]
    assert zxids == sorted(zxids)
    ensemble.world.isolate("cut", ("session-0",))
    ensemble.world.run_for(1000)
    assert ensemble.create("a", "/seen/late").error == 0
    ensemble.world.run_for(5000)
    assert [seen.serving for seen in observer.seen][-1:] == [False]
    assert "+/seen/late" not in _paths(observer)
    ensemble.world.heal()
    ensemble.world.run_for(10_000)
    assert [seen.serving for seen in observer.seen][-1:] == [True]
    assert _paths(observer)[-1] == "+/seen/late"


# --- cost and repeatability ------------------------------------------------------------------------------------------


def test_an_idle_ensemble_with_three_sessions_is_cheap() -> None:
    """Budget: a few inputs per second, so that simulation runs thousands of times faster than real time."""
    ensemble = Ensemble(3).launch()
    for i in range(3):
        ensemble.add_client(f"broker-{i}")
    before = sum(node.steps for node in ensemble.world.nodes.values())
    ensemble.world.run_for(60_000)
    assert sum(node.steps for node in ensemble.world.nodes.values()) - before <= 60 * 17


def test_the_same_seed_gives_the_same_run() -> None:
    runs = []
    for _ in range(2):
        ensemble = Ensemble(3, seed=7).launch()
        ensemble.add_client("a")
        ensemble.create("a", "/x")
        ensemble.world.kill("session-2")
        ensemble.world.run_for(20_000)
        runs.append(repr(ensemble.world.events))
    assert runs[0] == runs[1]


def test_roles_and_reigns_are_told_as_events() -> None:
    ensemble = Ensemble(3).launch()
    told = [(node, e.role, e.serving) for _, node, e in ensemble.world.events if isinstance(e, EnsembleChanged)]
    assert [entry for entry in told if entry[0] == "session-2"] == [
        ("session-2", "looking", False),
        ("session-2", "leading", False),
        ("session-2", "leading", True),
    ]
    assert isinstance(ensemble.add_client("a").client, SessionClient)


# --- bounds --------------------------------------------------------------------------------------------------------


def _lone_server() -> tuple[SessionServer, Now]:
    server = SessionServer("session-0", ["session-0"], 1000, 10, 4, MemoryFiles())
    now = Now(0.0, 0.0)
    server.step(now, Started(1, 1))
    assert server.serving
    return server, now


def test_clients_beyond_the_bound_are_turned_away() -> None:
    server, now = _lone_server()
    for number in range(1, CONNECTIONS_MAX + 1):
        assert server.step(now, ConnectionAccepted(-number, "a", SESSION)) == []
    late = -CONNECTIONS_MAX - 1
    assert server.step(now, ConnectionAccepted(late, "a", SESSION)) == [Close(late)]


def test_a_client_with_too_much_outstanding_loses_its_connection() -> None:
    ensemble = Ensemble(3).launch()
    client = ensemble.add_client("a", ["session-0"])
    ensemble.world.isolate("cut", ("session-0",))
    ensemble.world.rules[0] = msgspec.structs.replace(ensemble.world.rules[0], b=("session-1", "session-2"))
    ensemble.world.act("a", client.submitting(*[Create("/x")] * (OUTSTANDING_MAX + 1)))
    ensemble.world.run_for(10)
    assert client.states == ["connected", "disconnected"]
    assert {answer.error for answer in client.answers} == {SessionError.CONNECTION_LOSS}


def test_who_does_not_introduce_itself_is_disconnected() -> None:
    server, now = _lone_server()
    server.step(now, ConnectionAccepted(-1, "a", SESSION))
    assert server.step(now, MessageReceived(-1, 0, 0, PingRequest())) == [Close(-1)]
    server.step(now, ConnectionAccepted(-2, "observer", OBSERVE))
    assert server.step(now, MessageReceived(-2, 0, 0, PingRequest())) == [Close(-2)]
    assert server.step(now, ConnectionAccepted(-3, "stranger", ENSEMBLE)) == [Close(-3)]
