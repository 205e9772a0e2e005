"""Bounds, cost and repeatability of session servers."""

import msgspec

from emulator.machines.client.session_client import SessionClient
from emulator.machines.session.clients import CONNECTIONS_MAX, OUTSTANDING_MAX
from emulator.machines.session.server import SessionServer
from emulator.storage.memory_files import MemoryFiles
from protocol.events import EnsembleChanged
from protocol.machine import Close, ConnectionAccepted, MessageReceived, Now, Started
from protocol.messages.session_messages import (
    Create,
    PingRequest,
    SessionError,
)
from protocol.purposes import ENSEMBLE, OBSERVE, SESSION
from tests.emulator.machines.session.harness import Ensemble


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


def test_a_connection_without_a_handshake_is_closed() -> None:
    server, now = _lone_server()
    server.step(now, ConnectionAccepted(-1, "a", SESSION))
    assert server.step(now, MessageReceived(-1, 0, 0, PingRequest())) == [Close(-1)]
    server.step(now, ConnectionAccepted(-2, "observer", OBSERVE))
    assert server.step(now, MessageReceived(-2, 0, 0, PingRequest())) == [Close(-2)]
    assert server.step(now, ConnectionAccepted(-3, "stranger", ENSEMBLE)) == [Close(-3)]


def test_an_idle_ensemble_with_three_sessions_is_cheap() -> None:
    """Budget: a few inputs per second.
    So simulation runs thousands of times faster than real time.
    """
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


def test_roles_and_terms_are_reported_as_events() -> None:
    ensemble = Ensemble(3).launch()
    reported = [(node, e.role, e.serving) for _, node, e in ensemble.world.events if isinstance(e, EnsembleChanged)]
    assert [entry for entry in reported if entry[0] == "session-2"] == [
        ("session-2", "looking", False),
        ("session-2", "leading", False),
        ("session-2", "leading", True),
    ]
    assert isinstance(ensemble.add_client("a").client, SessionClient)
