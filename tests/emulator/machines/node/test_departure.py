"""The end of an orderly stop: nodes wait for their session's close (semantics 5.2).

Played in the simulated world: the close is a conversation with an ensemble, over links that are slow or cut.
"""

from typing import Any

import pytest

from emulator.faults.link_rule_building import rule_of
from emulator.faults.link_words import parse
from emulator.machines.node.broker_node import BrokerNode
from emulator.storage.log_directory import CLEAN_SHUTDOWN
from emulator.topology import OBSERVER
from protocol.events import NodeStopped, SessionEnded
from protocol.kinds import ExitKind
from protocol.versions import LADDER
from tests.simulated.cluster import BEGIN, Cluster

RULE = "rule"
SESSION_MS = 4_000.0
"""zookeeper.session.timeout.ms of the script."""


def played(script: str, version: str = "2.6", topology: str = "{brokers: 3}", **settings: Any) -> Cluster:
    first = "  - start: controller-0\n" if "controllers" in topology else ""
    cluster = Cluster(first + BEGIN.lstrip("\n") + script, version=version, topology=topology, **settings)
    cluster.run()
    assert cluster.finished
    return cluster


def impose(cluster: Cluster, words: str) -> str:
    rule = rule_of(cluster.world.topology, RULE, parse(words.split()))
    cluster.world.apply(rule)
    return rule.rule


def end_of(cluster: Cluster, name: str) -> tuple[float, NodeStopped]:
    """Time and kind of a node's end."""
    return [(e[4], e[5]) for e in cluster.world.trace.entries if e[0] == name and isinstance(e[5], NodeStopped)][-1]


def session_ends(cluster: Cluster) -> list[str]:
    """Reasons of nodes' session ends, as the ensemble reports them."""
    ended = [e[5] for e in cluster.world.trace.entries if isinstance(e[5], SessionEnded)]
    return [event.reason for event in ended if event.owner != OBSERVER]


@pytest.mark.parametrize("version", LADDER)
@pytest.mark.parametrize("delay_ms", [1, 5, 500])
def test_a_broker_that_stops_behind_a_slow_link_registers_at_once_when_it_starts(version: str, delay_ms: int) -> None:
    script = f"  - delay: {{az: 1, delay_ms: {delay_ms}}}\n  - stop: 1\n  - start: 1\n"
    script += "  - wait: {until: {registered: [1]}, limit_s: 60}\n"
    cluster = played(script, version)
    assert end_of(cluster, "broker-1")[1].kind is ExitKind.REQUESTED
    assert cluster.alive("broker-1") and "expired" not in session_ends(cluster)


@pytest.mark.parametrize("version", ["0.8.2", "1.0", "2.8"])
@pytest.mark.parametrize("kind", ["cut", "hold"])
def test_a_stop_ends_when_the_session_service_cannot_be_reached(version: str, kind: str) -> None:
    """At the latest when its server has been silent for two thirds of the session's time-out.
    a client that is closing looks for no other one. The session ends by itself.
    """
    settings: dict[str, Any] = {"controlled.shutdown.enable": False}
    cluster = played("  - sleep: 3\n", version, **settings)
    world = cluster.world
    impose(cluster, f"{kind} broker-1 session")
    requested_ms = world.now_ms
    world.stop("broker-1")
    cluster.go_on(3 * SESSION_MS)
    at_ms, stopped = end_of(cluster, "broker-1")
    assert (stopped.code, stopped.kind) == (0, ExitKind.REQUESTED)
    assert SESSION_MS / 3 < at_ms - requested_ms < SESSION_MS * 2 / 3 + 50.0
    assert session_ends(cluster).count("expired") == 1
    assert world.nodes["broker-1"].files.exists(CLEAN_SHUTDOWN)


def test_a_broker_receives_nothing_but_its_session_while_it_departs() -> None:
    """Its processors have been shut down before.
    Who is connected is told by the end of the connection.
    """
    settings: dict[str, Any] = {"controlled.shutdown.enable": False}
    cluster = played("  - sleep: 3\n", **settings)
    world = cluster.world
    impose(cluster, "hold broker-1 session")
    world.stop("broker-1")
    cluster.go_on(1_000.0)
    assert cluster.alive("broker-1")
    node = world.nodes["broker-1"]
    purposes = sorted(end.wire.purpose for end in node.ends.values())
    assert purposes == ["session"], "closed in the order of KafkaServer.shutdown: its session last"
    assert {key[0] for key in node.timers} == {"session"}
    world.stop("broker-1")
    world.heal(RULE)
    cluster.go_on(100.0)
    assert not cluster.alive("broker-1") and session_ends(cluster)[-1] == "closed"


def test_a_dedicated_controllers_session_ends_with_it_behind_a_slow_link() -> None:
    cluster = played("  - delay: {link: [controller-0, session], delay_ms: 300}\n  - stop: controller-0\n",
                     topology="{controllers: 2}")  # fmt: skip
    cluster.go_on(1_000.0)
    assert not cluster.alive("controller-0")
    assert session_ends(cluster)[-1] == "closed"
    impose(cluster, "cut controller-1 session")
    cluster.world.start("controller-0")
    cluster.go_on(SESSION_MS)
    assert cluster.alive("controller-0")


def test_a_start_before_the_killed_brokers_session_has_expired_fails_and_one_after_it_does_not() -> None:
    script = "  - kill: 1\n  - start: 1\n  - sleep: 1\n  - wait: {until: {session_expired: 1}, limit_s: 30}\n"
    script += "  - start: 1\n  - wait: {until: {registered: [1]}, limit_s: 10}\n"
    for version in LADDER[1:]:
        cluster = played(script, version)
        ends = [e[5].kind for e in cluster.world.trace.entries if e[0] == "broker-1" and isinstance(e[5], NodeStopped)]
        assert ends == [ExitKind.STILL_REGISTERED] and cluster.alive("broker-1"), version
    waits = played("  - kill: 1\n  - start: 1\n  - wait: {until: {registered: [1]}, limit_s: 30}\n", "0.8.2")
    waits.go_on(20_000.0)
    machine = waits.world.nodes["broker-1"].machine
    assert isinstance(machine, BrokerNode) and machine._registered_in == machine.session.session_id
