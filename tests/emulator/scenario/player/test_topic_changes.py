"""Topics altered, grown, moved and deleted by a scenario, in the simulated world."""

from typing import Any

import pytest

from emulator.scenario.player.steps import StepFailed
from protocol.events import TopicConfigured
from tests.simulated.cluster import Cluster

BEGIN = """
  - start: [0, 1, 2]
  - create-topic: {topic: t, assignment: [0, 1], settings: {flush.ms: 7}}
"""


def played(script: str) -> Cluster:
    cluster = Cluster(BEGIN + script)
    cluster.run()
    assert cluster.finished
    return cluster


def test_settings_are_merged_with_those_that_are_there_and_brokers_receive_each_change() -> None:
    script = """
  - alter-topic: {topic: t, settings: {min.insync.replicas: 2, unclean.leader.election.enable: true}}
  - sleep: 1
  - alter-topic: {topic: t, settings: {min.insync.replicas: 1}, remove: [flush.ms, unclean.leader.election.enable]}
  - sleep: 1
"""
    cluster = played(script)
    reported = [
        entry[5].config
        for entry in cluster.world.trace.entries
        if entry[0] == "broker-1" and isinstance(entry[5], TopicConfigured)
    ]
    assert reported == ["flush.ms=7 min.insync.replicas=2 unclean.leader.election.enable=true", "min.insync.replicas=1"]


def test_new_partitions_are_placed_from_the_first_ones_leader_on() -> None:
    """AdminUtils.addPartitions.

    Start at the first broker from partition 0's preferred leader on.
    """
    seen = played("  - add-partitions: {topic: t, partitions: 3}\n  - sleep: 0.1\n").player.seen
    assert {name: seen.assignments[name] for name in ("t-0", "t-1", "t-2")} == {
        "t-0": (0, 1), "t-1": (1, 2), "t-2": (2, 0),
    }  # fmt: skip
    assert all(seen.states[name].leader == seen.assignments[name][0] for name in seen.assignments)


def test_a_partition_moves_and_takes_its_records_along() -> None:
    script = """
  - produce: {broker: 0, values: [a], acks: all}
  - reassign: {partitions: {t-0: [2, 1]}}
  - wait: {until: {all: [{replicas: [2, 1]}, {leader: 2}]}, limit_s: 20}
  - snapshot: end
"""
    cluster = played(script)
    (snapshot,) = [e for e in cluster.player.timeline.entries if e.get("saw") == "snapshot"]
    assert {node: [r[-1] for r in one["log"]] for node, one in snapshot["replicas"].items()} == {
        "broker-1": ["a"], "broker-2": ["a"],
    }  # fmt: skip
    assert not cluster.world.nodes["broker-0"].files.list("t-0")


def test_a_second_reassignment_is_refused_while_one_is_under_way() -> None:
    script = "  - kill: 2\n  - reassign: {partitions: {t-0: [2]}}\n  - reassign: {partitions: {t-0: [1]}}\n"
    cluster = Cluster(BEGIN + script)
    with pytest.raises(StepFailed, match="reassign: one is under way"):
        cluster.run()


def test_a_change_is_made_once_the_session_service_answers_again() -> None:
    """Its quorum is gone while the player asks; the change is begun again, and made once."""
    script = """
  - kill: [session-0, session-1]
  - background: change
    add-partitions: {topic: t, partitions: 2}
  - sleep: 8
  - start: [session-0, session-1]
  - await: change
"""
    seen = played(script).player.seen
    assert seen.assignments["t-1"] and len(seen.assignments) == 2


def test_a_deleted_topic_is_gone_everywhere_and_its_name_is_free() -> None:
    """Semantics 4.5."""
    script = """
  - produce: {broker: 0, values: [a, b], acks: all}
  - delete-topic: t
  - wait: {until: {deleted: t}, limit_s: 10}
  - list-offsets: 0
  - create-topic: {topic: t, assignment: [1, 2], settings: {flush.ms: 9}}
  - produce: {broker: 1, values: [c], acks: all}
  - list-offsets: 1
"""
    cluster = played(script)
    listed = [e for e in cluster.player.timeline.entries if e.get("saw") == "list-offsets"]
    assert [(e["earliest"], e["latest"], e["error"]) for e in listed] == [(None, None, 3), (0, 1, 0)]
    assert not cluster.world.nodes["broker-0"].files.list("t-0")
    machine: Any = cluster.world.nodes["broker-1"].machine
    assert machine.broker.replicas.partitions["t", 0].settings.log_flush_interval_ms == 9
    states = [(e["leader"], e["leader_epoch"], e["zk_version"]) for e in cluster.player.timeline.partition_states]
    assert (states[0], states[-1]) == ((0, 0, 0), (1, 0, 0))


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("  - delete-topic: t\n  - delete-topic: t\n", "it is marked for deletion already"),
        ("  - repeat: {times: 1, steps: [{create-topic: {topic: t, assignment: [1]}}]}\n", "there is such a topic"),
        ("  - delete-topic: t\n  - wait: {until: {deleted: t}}\n  - delete-topic: t\n", "there is no such topic"),
        ("  - delete-topic: t\n  - create-topic: {topic: t, assignment: [1]}\n", "there is such a topic already"),
    ],
)
def test_what_makes_no_sense_of_a_topic_that_is_there_or_gone_fails_the_step(script: str, why: str) -> None:
    cluster = Cluster(BEGIN + "  - kill: 0\n" * ("deleted" not in script) + script)
    with pytest.raises(StepFailed, match=why):
        cluster.run()


def test_a_deletion_begun_without_a_quorum_is_made_once() -> None:
    script = """
  - kill: [session-0, session-1]
  - background: change
    delete-topic: t
  - sleep: 8
  - start: [session-0, session-1]
  - await: change
  - wait: {until: {deleted: t}, limit_s: 30}
"""
    assert not played(script).player.seen.assignments
