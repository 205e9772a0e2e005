"""Status of nodes: each its own view, contradictions included, without side effects."""

from typing import Any

import msgspec
import pytest

from emulator.topology import three_azs
from protocol.framing import decode, encode
from protocol.machine import Now, ReportsStatus
from protocol.messages.status_messages import NodeStatus, StatusResponse
from tests.simulated.cluster import BEGIN, Cluster

CUT = BEGIN + """
  - cut: az-0
  - produce: {broker: 0, values: [c], acks: 1}
  - sleep: 12
"""
CUT_CONTROLLER = BEGIN + "  - cut: az-2\n  - sleep: 12\n"


def statuses(cluster: Cluster) -> dict[str, NodeStatus]:
    """Of every node that is alive and has something to say."""
    world = cluster.world
    now = Now(world.now_ms, world.now_ms)
    machines = {name: node.machine for name, node in world.nodes.items() if node.machine is not None}
    return {name: machine.status(now) for name, machine in machines.items() if isinstance(machine, ReportsStatus)}


def played(script: str, version: str = "2.6", **how: Any) -> dict[str, NodeStatus]:
    cluster = Cluster(script, version=version, **how)
    cluster.run()
    assert cluster.finished
    return statuses(cluster)


@pytest.mark.parametrize("version", ["0.10.2", "2.6", "2.8"])
def test_a_query_changes_nothing(version: str) -> None:
    """A status request before every input of a run, in all its faults, changes no action."""
    script = CUT + "  - heal\n  - kill: 1\n  - sleep: 8\n  - start: 1\n  - sleep: 8\n"
    unasked, requested = Cluster(script, version=version), Cluster(script, version=version)
    unasked.run()
    count = 0

    def ask() -> bool:
        nonlocal count
        count += len(statuses(requested))
        return False

    requested.run(ask)
    assert unasked.finished and requested.finished
    assert count > 1_000
    assert requested.world.trace.entries == unasked.world.trace.entries
    assert requested.logs() == unasked.logs()


def test_a_cluster_at_rest_agrees() -> None:
    by_node = played(BEGIN + "  - sleep: 2\n")
    assert {name for name, status in by_node.items() if status.is_controller} == {"broker-2"}
    for broker in range(3):
        status = by_node[f"broker-{broker}"]
        assert (status.controller, status.controller_epoch) == ("broker-2", 1)
        assert status.session is not None and status.session.state == "connected" and status.session.session_id > 0
        replica = status.partitions["t-0"]
        assert (replica.is_leader, replica.leader, replica.leader_epoch) == (broker == 0, 0, 0)
        assert (replica.isr, replica.replicas) == ([0, 1, 2], [0, 1, 2])
        assert (replica.high_watermark, replica.log_end, replica.log_start) == (2, 2, 0)
        assert (replica.fetching, replica.waits) == ("" if broker == 0 else "fetching", "")
    assert by_node["broker-2"].metrics["ActiveControllerCount"] == 1
    assert by_node["broker-2"].metrics["GlobalPartitionCount"] == 1
    assert by_node["broker-0"].metrics["GlobalPartitionCount"] == 0, "not the controller"


def test_a_leader_that_is_cut_off_goes_on_saying_so() -> None:
    by_node = played(CUT)
    old, new = by_node["broker-0"].partitions["t-0"], by_node["broker-1"].partitions["t-0"]
    assert (old.is_leader, old.leader_epoch, old.log_end, old.high_watermark) == (True, 0, 3, 2)
    assert (new.is_leader, new.leader_epoch, new.isr) == (True, 1, [1, 2])
    assert old.waits == "session", "its shrink waits for the session service"
    session = by_node["broker-0"].session
    assert session is not None
    assert session.state == "disconnected", "it has no notice that its session has expired"
    assert by_node["broker-0"].metrics["ZooKeeperDisconnectsPerSec.Count"] == 1
    assert by_node["broker-0"].metrics["IsrShrinksPerSec.Count"] == 0
    assert by_node["broker-1"].metrics["UnderReplicatedPartitions"] == 1


def test_through_the_controller_a_cut_off_leader_waits_for_its_isr() -> None:
    assert played(CUT, "2.8")["broker-0"].partitions["t-0"].waits == "isr"


def test_a_controller_that_is_cut_off_goes_on_saying_so() -> None:
    by_node = played(CUT_CONTROLLER)
    active = {name: status.controller_epoch for name, status in by_node.items() if status.is_controller}
    assert active.pop("broker-2") == 1
    assert list(active.values()) == [2]
    assert {by_node["broker-0"].controller, by_node["broker-1"].controller} == set(active)
    assert by_node["broker-2"].controller == "broker-2"


def test_after_the_heal_its_metrics_count_the_expiry() -> None:
    by_node = played(CUT_CONTROLLER + "  - heal\n  - wait: isr restored\n")
    metrics = by_node["broker-2"].metrics
    assert (metrics["ZooKeeperExpiresPerSec.Count"], metrics["ActiveControllerCount"]) == (1, 0)
    assert by_node["broker-0"].metrics["IsrExpandsPerSec.Count"] == 1


def test_an_unclean_election_is_counted_by_its_controller() -> None:
    script = BEGIN + "  - kill: 1\n  - sleep: 8\n  - kill: 0\n  - sleep: 8\n"
    isolated = BEGIN.replace("assignment: [0, 1, 2]", "assignment: [0, 1]") + script.removeprefix(BEGIN)
    unclean: dict[str, Any] = {"unclean.leader.election.enable": True}
    cluster = Cluster(isolated + "  - start: 1\n  - sleep: 8\n", version="2.6", **unclean)
    cluster.run()
    metrics = statuses(cluster)["broker-2"].metrics
    assert metrics["UncleanLeaderElectionsPerSec.Count"] == 1
    assert metrics["OfflinePartitionsCount"] == 0


def test_a_partition_without_a_leader_is_offline() -> None:
    script = BEGIN.replace("assignment: [0, 1, 2]", "assignment: [0, 1]")
    by_node = played(script + "  - kill: 1\n  - sleep: 8\n  - kill: 0\n  - sleep: 8\n")
    assert by_node["broker-2"].metrics["OfflinePartitionsCount"] == 1


def test_the_ensembles_servers_report_roles_and_sessions() -> None:
    by_node = {name: status.ensemble for name, status in played(CUT).items() if status.ensemble is not None}
    assert {name: server.role for name, server in by_node.items()} == {
        "session-0": "looking", "session-1": "following", "session-2": "leading"
    }  # fmt: skip
    assert {name: server.serving for name, server in by_node.items()} == {
        "session-0": False, "session-1": True, "session-2": True
    }  # fmt: skip
    assert by_node["session-2"].sessions == 2, "broker-0's has expired"
    assert by_node["session-0"].sessions == 3, "which the isolated server does not know"
    assert by_node["session-1"].last_zxid == by_node["session-2"].last_zxid > by_node["session-0"].last_zxid


def test_a_dedicated_controller_reports_itself_as_controller() -> None:
    by_node = played(
        BEGIN.replace("  - start: 2\n", "  - start: controller-0\n  - start: 2\n"),
        topology="{brokers: 3, controllers: 1}",
    )
    assert by_node["controller-0"].is_controller and by_node["controller-0"].metrics["ActiveControllerCount"] == 1
    assert by_node["broker-0"].controller == "controller-0"
    assert not by_node["broker-0"].is_controller


@pytest.mark.parametrize("node", ["broker-0", "session-0", "client-0"])
def test_a_machine_has_a_status_before_its_first_input(node: str) -> None:
    cluster = Cluster()
    factory = cluster.world._factory
    machine = factory(three_azs().node(node), cluster.world.nodes[node].files)
    assert isinstance(machine, ReportsStatus)
    status = machine.status(Now(0.0, 0.0))
    assert not status.is_controller and not status.partitions


def test_a_status_travels_as_it_is() -> None:
    by_node = played(CUT)
    for status in by_node.values():
        frame = decode(encode(StatusResponse(status=status))[4:])
        assert frame.message == StatusResponse(status=status)
        assert msgspec.json.decode(msgspec.json.encode(status), type=NodeStatus) == status


def test_waiting_requests_are_reported_with_their_cause() -> None:
    """A produce that its ISR does not answer is parked.
    a write of the ISR that gets no answer holds a thread.
    """
    script = BEGIN + """
  - cut: az-0
  - {background: write, produce: {broker: 0, values: [c], acks: all, timeout_ms: 30000, socket_timeout_s: 40}}
  - sleep: 14
"""
    cut_off = played(script, version="2.6")["broker-0"]
    produces = [one for one in cut_off.waiting if one.does == "Produce"]
    assert [(one.who, one.waits_for) for one in produces] == [("produce-wait", "high watermarks t-0:3")]
    assert produces[0].deadline_ms > 0.0 > produces[0].since_ms and produces[0].connection < 0
    threads = [one for one in cut_off.waiting if one.since_ms >= 0.0]
    assert any("session service" in one.waits_for for one in threads), threads
    assert cut_off.waiting_count >= len(cut_off.waiting) == len(threads) + len(cut_off.waiting[len(threads) :])
    assert cut_off.waiting[: len(threads)] == threads, "threads stand first"


def test_a_hanging_controller_reports_its_event_under_way() -> None:
    """It leads, too, and shrinks its ISR: its own controller cannot write that down."""
    script = BEGIN.replace("assignment: [0, 1, 2]", "assignment: [2, 0, 1]") + "  - cut: az-2\n  - sleep: 14\n"
    cut_off = played(script, "2.8")["broker-2"]
    (event,) = [one for one in cut_off.waiting if one.who == "controller-event-thread"]
    assert (event.does, event.waits_for) == ("alter-isr", "the session service")
    assert event.since_ms > 0.0


def test_of_a_cluster_at_rest_followers_fetches_alone_wait() -> None:
    for name, status in played(BEGIN + "  - sleep: 2\n").items():
        assert {one.does for one in status.waiting} <= {"Fetch"}, name
        assert (status.queued, status.pipelined) == (0, 0)
