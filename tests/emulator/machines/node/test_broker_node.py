"""The life of a broker's process: registration, session, orderly stop, full disk.
Semantics 3, 4, 11.10.

Played in the simulated world, because these are conversations with an ensemble and a controller.
"""

from typing import Any, TypeVar

import pytest

from emulator.machines.broker.settings import BrokerSettings
from emulator.machines.node.broker_node import BrokerNode
from emulator.storage.log_directory import CLEAN_SHUTDOWN, HIGH_WATERMARKS
from protocol.events import (
    ControllerChanged,
    Event,
    LogDirFailed,
    LogLoaded,
    LogTruncated,
    NodeStopped,
    RoleChanged,
    SessionEnded,
)
from protocol.kinds import ExitKind
from protocol.link_rules import LinkRule
from tests.simulated.cluster import BEGIN, BROKERS, Cluster

E = TypeVar("E", bound=Event)
VERSIONS = ("0.10.2", "1.1", "2.1", "2.2", "2.6", "2.8")


def played(script: str, version: str = "2.6", **settings: Any) -> Cluster:
    cluster = Cluster(BEGIN + script, version=version, **settings)
    cluster.run()
    assert cluster.finished
    return cluster


def starting(version: str) -> tuple[Cluster, BrokerNode]:
    """A cluster whose broker-0 was killed, is dead for all others, and has been started again."""
    cluster = played("  - kill: 0\n  - sleep: 9\n", version)
    cluster.world.start("broker-0")
    machine = cluster.world.nodes["broker-0"].machine
    assert isinstance(machine, BrokerNode)
    return cluster, machine


def seen(cluster: Cluster, name: str, kind: type[E]) -> list[E]:
    return [e[5] for e in cluster.world.trace.entries if e[0] == name and isinstance(e[5], kind)]


def states(cluster: Cluster) -> list[tuple[int, int, tuple[int, ...]]]:
    return [(s["leader"], s["leader_epoch"], tuple(s["isr"])) for s in cluster.player.timeline.partition_states]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_broker_back_before_its_old_session_ended_exits(version: str) -> None:
    """Semantics 11.10: NODEEXISTS.
    2.2 replaces an ephemeral of its own process's earlier session only.
    """
    cluster = played("  - kill: 1\n  - start: 1\n  - sleep: 4\n", version)
    (stopped,) = seen(cluster, "broker-1", NodeStopped)
    assert (stopped.code, stopped.kind) == (1, ExitKind.STILL_REGISTERED)
    assert stopped.reason.startswith("/brokers/ids/1 exists and belongs to session ")
    assert stopped.reason.endswith("a broker with this id is registered, or its earlier session has not expired yet")
    assert not cluster.alive("broker-1")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_start_that_cannot_register_ends_as_an_orderly_stop_does(version: str) -> None:
    """KafkaServer.startup catches what registering throws, and shuts down.
    Logs synced, marker, session closed.
    """
    script = "  - kill: 1\n  - start: 1\n  - sleep: 8\n  - start: 1\n  - wait: isr restored\n"
    cluster = played(script, version)
    assert [event.clean for event in seen(cluster, "broker-1", LogLoaded)] == [False, True]
    ended = [e for name in ("session-0", "session-1", "session-2") for e in seen(cluster, name, SessionEnded)]
    assert {"expired", "closed"} <= {event.reason for event in ended if event.owner == "broker-1"}


def test_a_broker_of_0_8_2_back_before_its_old_session_ended_waits_and_registers() -> None:
    """Semantics 11.10: it finds what it wrote itself.
    It tries again after zookeeper.session.timeout.ms.
    """
    cluster = played("  - kill: 1\n  - start: 1\n  - wait: {until: {isr: [0, 2]}}\n  - wait: isr restored\n", "0.8.2")
    assert cluster.alive("broker-1")
    assert seen(cluster, "broker-1", NodeStopped) == []
    assert states(cluster)[-1] == (0, 1, (0, 2, 1))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_broker_back_after_its_session_ended_registers_and_catches_up(version: str) -> None:
    cluster = played("  - kill: 1\n  - sleep: 8\n  - start: 1\n  - wait: isr restored\n", version)
    assert cluster.alive("broker-1")
    assert seen(cluster, "broker-1", NodeStopped) == []
    assert states(cluster)[-1] == (0, 1, (0, 2, 1))


@pytest.mark.parametrize("version", VERSIONS)
def test_an_expired_session_resigns_registers_anew_and_elects(version: str) -> None:
    """Semantics 4.1: disconnection alone changes nothing.
    After the heal the controller resigns, then registers.
    """
    cluster = played("  - cut: az-2\n  - sleep: 12\n  - heal\n  - wait: isr restored\n  - sleep: 2\n", version)
    offices = [(change.active, change.controller_epoch) for change in seen(cluster, "broker-2", ControllerChanged)]
    assert offices[:2] == [(True, 1), (False, 1)]
    others = [c for name in ("broker-0", "broker-1") for c in seen(cluster, name, ControllerChanged)]
    assert [(c.active, c.controller_epoch) for c in others] == [(True, 2)]
    live = [tuple(entry["live"]) for entry in cluster.player.timeline.live_brokers]
    assert live == [(0, 1, 2), (0, 1), (0, 1, 2)]
    assert cluster.alive("broker-2")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_short_cut_changes_nothing(version: str) -> None:
    """The session survives: same registration, same controller, same ISR."""
    cluster = played("  - cut: az-2\n  - sleep: 1\n  - heal\n  - sleep: 20\n", version)
    assert [tuple(entry["live"]) for entry in cluster.player.timeline.live_brokers] == [(0, 1, 2)]
    assert [(c["controller"], c["epoch"]) for c in cluster.player.timeline.controllers] == [(2, 1)]
    assert states(cluster) == [(0, 0, (0, 1, 2))]


@pytest.mark.parametrize("version", VERSIONS)
def test_an_orderly_stop_hands_over_leadership_and_leaves_a_marker(version: str) -> None:
    """Semantics 3, 4.2: ControlledShutdown, checkpoints, marker, exit 0."""
    cluster = played("  - sleep: 1\n  - stop: 0\n  - sleep: 1\n", version)
    (stopped,) = seen(cluster, "broker-0", NodeStopped)
    assert (stopped.code, stopped.reason, stopped.kind) == (0, "stopped", ExitKind.REQUESTED)
    assert states(cluster)[1] == (1, 1, (1, 2))
    files = cluster.world.nodes["broker-0"].files
    assert files.exists(CLEAN_SHUTDOWN)
    assert files.read(HIGH_WATERMARKS, 0, 100) == b"0\n1\nt 0 2\n"
    files.power_loss({})
    assert files.size("t-0/00000000000000000000.log") > 0, "the log was flushed"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_followers_orderly_stop_keeps_its_high_watermark(version: str) -> None:
    """It is stopped by the controller (StopReplica) before it checkpoints.
    Back, it cuts nothing.
    """
    cluster = played("  - sleep: 1\n  - stop: 1\n  - start: 1\n  - wait: isr restored\n", version)
    assert [event.code for event in seen(cluster, "broker-1", NodeStopped)] == [0]
    loaded = seen(cluster, "broker-1", LogLoaded)
    assert [(event.clean, event.log_end, event.high_watermark) for event in loaded] == [(True, 2, 2)]
    assert not [event for event in seen(cluster, "broker-1", LogTruncated) if event.effective]


def test_without_controlled_shutdown_the_session_is_closed_and_the_controller_notices() -> None:
    cluster = played("  - stop: 0\n  - sleep: 1\n", version="2.6", **{"controlled.shutdown.enable": False})
    assert [event.code for event in seen(cluster, "broker-0", NodeStopped)] == [0]
    assert states(cluster)[1] == (1, 1, (1, 2))


def test_the_controllers_own_orderly_stop() -> None:
    """It sends the request to itself, through a socket as to any other; then another leads."""
    cluster = played("  - stop: 2\n  - sleep: 3\n", "2.8")
    assert [event.code for event in seen(cluster, "broker-2", NodeStopped)] == [0]
    assert [c["epoch"] for c in cluster.player.timeline.controllers if c["controller"] is not None] == [1, 2]
    assert states(cluster)[-1][2] == (0, 1)


def test_a_full_disk_ends_the_broker_and_its_next_life_has_room() -> None:
    """The log directory fails at the next write; without another one the process ends with 1."""
    script = """
  - disk-full: 0
  - produce: {broker: 0, values: [c], acks: 1}
  - sleep: 8
  - start: 0
  - wait: isr restored
"""
    cluster = played(script, "2.6")
    assert len(seen(cluster, "broker-0", LogDirFailed)) == 1
    (stopped,) = seen(cluster, "broker-0", NodeStopped)
    assert (stopped.code, stopped.kind) == (1, ExitKind.LOG_DIRECTORIES_FAILED)
    assert stopped.reason.startswith("log directory failed: ")
    assert [value for value, error in cluster.attempts() if error == 0] == ["a", "b"]
    assert states(cluster)[1][:2] == (1, 1)
    assert [(role.role, role.leader) for role in seen(cluster, "broker-0", RoleChanged)][-1] == ("follower", 1)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_stop_waits_for_the_session_service_without_limit(version: str) -> None:
    """It looks up the controller there, and gets no answer: no quorum.
    It stops when there is one.
    """
    cluster = played("  - sleep: 1\n", version)
    world = cluster.world
    for name in ("session-0", "session-1"):
        world.kill(name)
    world.stop("broker-0")
    cluster.go_on(120_000.0)
    assert cluster.alive("broker-0")
    for name in ("session-0", "session-1"):
        world.start(name)
    cluster.go_on(60_000.0)
    assert seen(cluster, "broker-0", NodeStopped)[-1].reason == "stopped"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_stop_tries_as_often_as_configured_and_pauses_after_each(version: str) -> None:
    """The controller cannot be reached, the session service can.
    controlled.shutdown.max.retries attempts in all.
    """
    script = "  - sleep: 1\n  - cut: {link: [broker-0, broker-2]}\n  - background: stopping\n    stop: 0\n"
    cluster = played(script, version)
    settings = BrokerSettings()
    tries_ms = settings.controller_socket_timeout_ms + settings.controlled_shutdown_retry_backoff_ms
    cluster.go_on(settings.controlled_shutdown_max_retries * tries_ms - 1_500.0)
    assert cluster.alive("broker-0")
    cluster.go_on(2_000.0)
    assert seen(cluster, "broker-0", NodeStopped)[-1].reason == "stopped"


# --- a start (semantics 4.2) ---


@pytest.mark.parametrize("version", VERSIONS)
def test_a_broker_that_does_not_reach_the_session_service_when_it_starts_ends(version: str) -> None:
    """zookeeper.connection.timeout.ms, by default the session's time-out.
    Its logs have not been touched.
    """
    script = "  - stop: 0\n  - cut: az-0\n  - background: starting\n    start: 0\n  - sleep: 30\n"
    cluster = played(script, version)
    (stopped,) = [event for event in seen(cluster, "broker-0", NodeStopped) if event.code]
    assert stopped.reason == "no session service within 4000 ms (zookeeper.connection.timeout.ms)"
    assert stopped.kind == ExitKind.NO_SESSION_SERVICE
    assert cluster.world.nodes["broker-0"].files.exists(CLEAN_SHUTDOWN)
    assert [event for event in seen(cluster, "broker-0", LogLoaded)] == []


def test_a_broker_waits_for_the_session_service_as_long_as_configured() -> None:
    script = "  - stop: 0\n  - cut: az-0\n  - background: starting\n    start: 0\n"
    script += "  - sleep: 12\n  - heal\n  - sleep: 20\n"
    for timeout_ms, back in ((5_000, False), (60_000, True)):
        settings: dict[str, Any] = {"zookeeper.connection.timeout.ms": timeout_ms}
        cluster = played(script, **settings)
        assert cluster.alive("broker-0") is back


@pytest.mark.parametrize("version", ["0.8.2", *VERSIONS])
def test_a_broker_that_is_stopped_before_it_has_loaded_its_logs_leaves_them_as_they_are(version: str) -> None:
    """KafkaServer.shutdown: "still starting up, cannot shut down".
    KafkaServerStartable halts the process then. In 0.8.2 there is no log manager yet that could be shut down.
    """
    script = "  - sleep: 7\n  - kill: 0\n  - cut: az-0\n"
    script += "  - background: starting\n    start: 0\n  - sleep: 3\n  - stop: 0\n"
    settings: dict[str, Any] = {"zookeeper.connection.timeout.ms": 60_000}
    cluster = played(script, version, **settings)
    (stopped,) = seen(cluster, "broker-0", NodeStopped)
    assert (stopped.code, stopped.kind) == (0, ExitKind.REQUESTED)
    files = cluster.world.nodes["broker-0"].files
    assert not files.exists(CLEAN_SHUTDOWN)
    assert files.read(HIGH_WATERMARKS, 0, 100) == b"0\n1\nt 0 2\n"


@pytest.mark.parametrize("version", ["0.8.2", *VERSIONS])
def test_a_broker_that_is_stopped_before_it_has_registered_ends_as_if_it_was_killed(version: str) -> None:
    """From 0.9 on; 0.8.2 closes the logs that it has loaded."""
    cluster, machine = starting(version)
    world = cluster.world
    while not machine.booted:
        cluster.go_on(1.0)
    world.stop("broker-0")
    halts = version != "0.8.2"
    assert cluster.alive("broker-0") is not halts, "0.8.2 closes its session, and waits for the answer"
    cluster.go_on(100.0)
    assert not cluster.alive("broker-0")
    (stopped,) = seen(cluster, "broker-0", NodeStopped)
    assert (stopped.code, stopped.reason) == (0, "stopped while it was starting" if halts else "stopped")
    assert world.nodes["broker-0"].files.exists(CLEAN_SHUTDOWN) is not halts


@pytest.mark.parametrize("version", ["0.8.2", "0.10.2", "0.11", "1.0"])
def test_a_broker_whose_session_ends_while_it_starts_starts_once(version: str) -> None:
    """Up to 1.0 zkclient goes on in the next session with what startup() asked.
    There is no second startup().
    """
    cluster, machine = starting(version)
    world = cluster.world
    while machine.session.session_id == 0:
        cluster.go_on(0.1)
    first, before = machine.session.session_id, len(seen(cluster, "broker-0", LogLoaded))
    world.pause("broker-0")
    cluster.go_on(9_000)
    world.resume("broker-0")
    cluster.go_on(15_000)
    assert machine.session.session_id not in (0, first)
    assert machine.booted and cluster.alive("broker-0")
    assert len(seen(cluster, "broker-0", LogLoaded)) == before + 1


@pytest.mark.parametrize(("version", "ends"), [("0.8.2", False), ("0.10.2", True), ("1.0", True), ("1.1", True)])
def test_a_first_registration_that_ends_with_its_session_ends_the_process(version: str, ends: bool) -> None:
    """From 0.9 on it is asked in no other session (ZKCheckedEphemeral)."""
    cluster, machine = starting(version)
    world = cluster.world
    while not machine.booted or machine.controller.busy_with:
        cluster.go_on(0.1)
    world.apply(LinkRule("cut", "cut", "cut", ("broker-0",), ("session-0", "session-1", "session-2")))
    cluster.go_on(9_000)
    world.heal("cut")
    cluster.go_on(15_000)
    assert cluster.alive("broker-0") is not ends
    if ends:
        assert [event.kind for event in seen(cluster, "broker-0", NodeStopped)] == [ExitKind.REGISTRATION_EXPIRED]


def _blocked(version: str) -> tuple[Cluster, BrokerNode, int]:
    """A controller, broker-2, that waits for the sender of the dead broker-1 (semantics 11.13).
    Its session has ended meanwhile; the service is within reach again. With its broker epoch in that session.
    """
    cluster = played("", version)
    world, machine = cluster.world, cluster.world.nodes["broker-2"].machine
    assert isinstance(machine, BrokerNode) and machine.controller.active
    world.kill("broker-0")
    cluster.go_on(2_000)
    world.pause("broker-1")  # it is told that broker-0 is gone, and never answers
    cluster.go_on(8_000)
    assert machine.controller.waiting_tasks()[0].waits_for == "the end of the channel to broker-1"
    world.apply(LinkRule("cut", "cut", "cut", ("broker-2",), ("session-0", "session-1", "session-2")))
    cluster.go_on(7_000)
    epoch = machine.context.broker_epoch
    world.heal("cut")
    while not machine.session.changes["expired"]:
        cluster.go_on(10)
    return cluster, machine, epoch


@pytest.mark.parametrize(("version", "beside"), [("0.10.2", False), ("0.11", True), ("1.0", True)])
def test_a_broker_registers_in_a_new_session_while_its_controller_is_busy_from_0_11(version: str, beside: bool) -> None:
    cluster, machine, epoch = _blocked(version)
    cluster.go_on(2_000)
    assert machine.session.state == "connected" and machine.controller.waiting_tasks()
    assert (machine.context.broker_epoch > epoch) is beside
    cluster.go_on(30_000)
    assert machine.context.broker_epoch > epoch


@pytest.mark.parametrize("version", ["1.1", "2.0.1"])
def test_there_is_no_new_session_while_the_controller_waits_for_a_sender_from_1_1_to_2_0(version: str) -> None:
    """KafkaController.beforeInitializingSession waits until the event under way is over."""
    cluster, machine, epoch = _blocked(version)
    while machine.controller.waiting_tasks():
        assert (machine.session.state, machine.controller.active) == ("expired", True)
        cluster.go_on(100)
    cluster.go_on(2_000)
    assert (machine.session.state, machine.session.changes["connected"]) == ("connected", 2)
    assert machine.context.broker_epoch > epoch
    reasons = [event.reason for event in seen(cluster, "broker-2", ControllerChanged)]
    assert reasons == ["elected", "the session expired", "elected"]


@pytest.mark.parametrize("version", VERSIONS)
def test_topics_own_settings_hold_from_the_first_moment_of_a_life(version: str) -> None:
    script = (
        "  - create-topic: {topic: own, assignment: [0, 1, 2], settings: {min.insync.replicas: 1}}\n"
        "  - stop: 0\n  - start: 0\n  - wait: isr restored\n"
    )
    cluster = played(script, version)
    for name in BROKERS:
        machine = cluster.world.nodes[name].machine
        assert isinstance(machine, BrokerNode)
        assert machine.broker.replicas.partitions["own", 0].settings.min_insync_replicas == 1


@pytest.mark.parametrize("version", ["0.10.2", "0.11", "1.0", "1.1", "2.8"])
def test_a_started_broker_listens_when_its_logs_are_loaded_and_reads_requests_when_it_has_registered(
    version: str,
) -> None:
    """KafkaServer.startup: logs, sockets, registration, processors.
    Up to 0.11 request handlers come before registration; from 1.0 on processors come after it. A client that is
    answered earlier is given metadata without brokers, for longer than by Kafka.
    """
    cluster, machine = starting(version)
    stages: list[tuple[bool, bool, bool]] = []
    while not machine.reads_requests:
        stages.append((machine.listens, machine.reads_requests, machine.context.broker_epoch >= 0))
        cluster.go_on(0.1)
    stages.append((machine.listens, machine.reads_requests, machine.context.broker_epoch >= 0))
    waits = version not in ("0.10.2", "0.11")
    met = list(dict.fromkeys(stages))
    assert met[0] == (False, False, False)
    assert met[1:] == ([(True, False, False), (True, True, True)] if waits else [(True, True, False)])
