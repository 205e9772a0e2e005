"""Workloads of a scenario.

They go on beside the steps, and each ends, even without its client.
"""

from typing import Any

import pytest

from emulator.scenario.player.steps import StepFailed
from tests.simulated.cluster import Cluster

BEGIN = """
  - start: [0, 1, 2]
  - create-topic: {topic: t, assignment: [[0, 1, 2], [1, 2, 0]]}
"""


def played(script: str) -> Cluster:
    cluster = Cluster(BEGIN + script)
    cluster.run()
    assert cluster.finished
    return cluster


def ended(cluster: Cluster) -> list[dict[str, Any]]:
    return [entry for entry in cluster.player.timeline.entries if entry.get("saw") == "workload"]


def test_it_writes_and_reads_until_it_is_stopped() -> None:
    cluster = played("  - workload: {name: w, rate: 10, azs: [az-0, az-2]}\n  - sleep: 3\n  - stop-workload: w\n")
    found = ended(cluster)
    assert [(e["client"], e["kind"]) for e in found] == [
        ("client-0", "produce"), ("client-0", "consume"), ("client-2", "produce"), ("client-2", "consume"),
    ]  # fmt: skip
    producers = [e for e in found if e["kind"] == "produce"]
    assert all(30 <= e["sent"] == e["ok"] <= 33 for e in producers)
    total = sum(e["ok"] for e in producers)
    assert all(total - 6 <= e["read"] <= total for e in found if e["kind"] == "consume")


def test_the_end_of_the_scenario_stops_it_and_every_write_has_an_end() -> None:
    script = "  - workload: {name: w, rate: 20, consumers: false}\n  - workload: {name: v, azs: az-1}\n  - sleep: 1\n"
    cluster = played(script)
    assert sorted((e["name"], e["client"]) for e in ended(cluster)) == [
        ("v", "client-1"), ("v", "client-1"), ("w", "client-0"), ("w", "client-1"), ("w", "client-2"),
    ]  # fmt: skip
    assert all(e["sent"] == e["ok"] + e["failed"] + e["unknown"] for e in ended(cluster) if e["kind"] == "produce")


def test_keys_go_where_the_partitioner_sends_them_and_each_to_one_partition() -> None:
    cluster = played("  - workload: {name: w, rate: 20, keys: 5, azs: az-0}\n  - sleep: 2\n  - snapshot: end\n")
    logs = [e for e in cluster.player.timeline.entries if e.get("saw") == "snapshot"]
    numbers = [{int(record[-1].rpartition(".")[2]) % 5 for record in e["replicas"]["broker-0"]["log"]} for e in logs]
    assert numbers[0] | numbers[1] == set(range(5)) and not numbers[0] & numbers[1]


def test_a_dead_or_paused_client_is_reported_and_delays_no_other() -> None:
    script = """
  - workload: {name: w, rate: 5, consumers: false}
  - sleep: 1
  - kill: client-0
  - kill: client-1
  - start: client-1
  - sleep: 1
  - pause: client-2
  - stop-workload: {name: w, limit_s: 3}
"""
    cluster = played(script)
    errors = [(e["client"], e["error"]) for e in ended(cluster)]
    assert [client for client, _ in errors] == ["client-0", "client-1", "client-2"]
    assert errors[0][1].startswith("Connection")
    assert errors[1][1] == "no workload 'w:produce': the client has begun another life"
    assert errors[2][1] == "no answer within 5 s"


def test_what_a_client_refuses_is_a_step_that_failed() -> None:
    cluster = Cluster(BEGIN + "  - kill: client-1\n  - workload: {name: w}\n")
    with pytest.raises(StepFailed, match="workload w: client-1: Connection"):
        cluster.run()


def test_writes_that_cannot_end_are_left_as_unknown() -> None:
    script = """
  - workload: {name: w, rate: 5, consumers: false, azs: az-0}
  - sleep: 1
  - cut: az-0
  - sleep: 1
  - stop-workload: {name: w, limit_s: 2}
"""
    (entry,) = ended(played(script))
    assert entry["left"] and entry["unknown"] + entry["failed"] > 0


MEMBERS = "auto.offset.reset: earliest, session.timeout.ms: 6000, auto.commit.interval.ms: 500"


def of_members(cluster: Cluster) -> dict[str, dict[str, Any]]:
    return {entry["client"]: entry for entry in ended(cluster) if "rebalances" in entry}


@pytest.mark.parametrize(
    ("version", "more"),
    [
        ("0.10.2", ""), ("1.1", ""), ("2.2", ", partition.assignment.strategy: RoundRobinAssignor"),
        ("2.3", ", group.instance.id: i"), ("2.8", ", partition.assignment.strategy: CooperativeStickyAssignor"),
    ],
)  # fmt: skip
def test_members_of_a_group_read_every_record_once(version: str, more: str) -> None:
    """Two partitions, three members: one has nothing.

    Whichever member comes or leaves, committed records are not read again.
    """
    script = f"""
  - workload: {{name: r, group: g, producers: false, azs: [az-1, az-2], consumer_settings: {{{MEMBERS}{more}}}}}
  - sleep: 5
  - workload: {{name: w, rate: 20, consumers: false, azs: az-1}}
  - sleep: 2
  - workload: {{name: late, group: g, producers: false, azs: [az-0], consumer_settings: {{{MEMBERS}{more}}}}}
  - sleep: 12
  - stop-workload: w
  - sleep: 2
  - stop-workload: late
  - sleep: 1
  - stop-workload: r
"""
    cluster = Cluster(BEGIN + script, version=version)
    cluster.run()
    assert cluster.finished
    members = of_members(cluster)
    (written,) = [entry["ok"] for entry in ended(cluster) if entry["kind"] == "produce"]
    assert sum(entry["read"] for entry in members.values()) == written > 250
    assert all(entry["rebalances"] >= 1 and entry["refused"] == entry["lost"] == 0 for entry in members.values())


def test_what_a_dead_member_had_goes_to_others_and_a_static_one_finds_it_where_it_was() -> None:
    script = f"""
  - workload: {{name: r, group: g, producers: false, azs: [az-1, az-2], consumer_settings: {{{MEMBERS}}}}}
  - workload: {{name: s, group: h, producers: false, azs: [az-0, az-2], consumer_settings: {{{MEMBERS},
      group.instance.id: i}}}}
  - sleep: 9
  - kill: [client-1, client-0]
  - start: [client-1, client-0]
  - sleep: 1
  - workload: {{name: s2, group: h, producers: false, azs: az-0, consumer_settings: {{{MEMBERS},
      group.instance.id: i}}}}
  - sleep: 12
  - stop-workload: r
  - stop-workload: s2
  - stop-workload: s
"""
    cluster = Cluster(BEGIN + script)
    cluster.run()
    assert cluster.finished
    rebalances = {(entry["name"], entry["client"]): entry.get("rebalances") for entry in ended(cluster)}
    assert rebalances["r", "client-2"] == 2, "the session of client-1 is over"
    assert rebalances["s", "client-2"] == 1, "the static member was back before its session was over"
    assert rebalances["s2", "client-0"] == 1
