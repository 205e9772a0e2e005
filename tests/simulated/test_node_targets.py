"""Steps that name a leader or the active controller act on the node of the moment."""

from typing import Any

import pytest

from protocol.events import BrokerConfigured, ScenarioStep
from tests.simulated.cluster import BEGIN, Cluster

RETURNED = "  - wait: {until: t-0 every ISR full, limit_s: 60}\n"
TWICE = """
  - kill: leader of t-0
  - wait: {until: new leader}
  - kill: leader:t-0
  - sleep: 11
  - pause: active controller
"""


def played(steps: str, seed: int = 1, **more: Any) -> Cluster:
    cluster = Cluster(BEGIN + steps, seed=seed, **more)
    cluster.run()
    assert cluster.finished
    return cluster


def done(cluster: Cluster, verb: str) -> list[dict[str, Any]]:
    return [{k: v for k, v in e.items() if k != "t"} for e in cluster.player.timeline.entries if e.get("do") == verb]


def step_texts(cluster: Cluster) -> list[str]:
    return [entry[5].text for entry in cluster.world.trace.entries if isinstance(entry[5], ScenarioStep)]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_leader_and_the_controller_of_the_moment(seed: int) -> None:
    cluster = played(TWICE, seed)
    first, second = done(cluster, "kill")
    assert first == {"do": "kill", "broker": 0, "targets": {"leader of t-0": "broker-0"}}
    last = {"broker-1", "broker-2"} - {f"broker-{second['broker']}"}
    assert second["targets"] == {"leader of t-0": f"broker-{second['broker']}"} and second["broker"] in (1, 2)
    (paused,) = done(cluster, "pause-node")
    assert {paused["targets"]["active controller"]} == last
    assert 'kill broker=0 targets={"leader of t-0":"broker-0"}' in step_texts(cluster)
    assert step_texts(cluster) == step_texts(played(TWICE, seed))  # the same seed, the same nodes


def test_one_node_under_two_names_is_done_to_once() -> None:
    cluster = played("  - pause: [leader of t-0, 0, active controller]\n")
    (step,) = done(cluster, "pause-node")
    assert step["nodes"] == ["broker-0", "broker-2"]


def test_a_heal_ends_what_the_same_words_put_in_force() -> None:
    cluster = played(
        "  - cut: {link: [leader of t-0, session]}\n"
        "  - delay: {link: [1, session], delay_ms: 5}\n"
        "  - wait: {until: new leader, limit_s: 30}\n"
        "  - heal: {link: [leader of t-0, session]}\n"
    )
    assert [rule.what for rule in cluster.world.in_force.values()] == ["delay broker-1 session 5ms"]
    (heal,) = done(cluster, "heal")
    assert heal["targets"] == {"leader of t-0": "broker-0"}


def test_a_heal_means_the_node_of_the_moment_where_no_rule_has_its_words() -> None:
    cluster = played("  - cut: {link: [0, 1]}\n  - heal: {link: [leader of t-0, 1]}\n")
    assert not cluster.world.in_force


def test_clients_send_to_the_leader() -> None:
    cluster = played(
        "  - kill: leader of t-0\n"
        "  - wait: {until: new leader}\n"
        "  - produce: {broker: leader of t-0, values: [c], acks: all}\n"
        "  - fetch: {broker: leader of t-0, offset: 0}\n"
        "  - metadata: active controller\n"
    )
    assert cluster.attempts()[-1] == ("c", 0)
    (fetched,) = (e for e in cluster.player.timeline.entries if e.get("saw") == "fetch")
    assert [record[-1] for record in fetched["records"]] == ["a", "b", "c"]


def test_settings_of_the_leader_are_altered() -> None:
    alter = "  - alter-broker: {broker: leader of t-0, configs: {num.io.threads: 9}}\n  - pause: 1\n"
    cluster = played("  - kill: leader of t-0\n  - wait: {until: new leader}\n" + alter)
    (step,) = done(cluster, "alter-broker")
    leader = step["targets"]["leader of t-0"]
    assert leader == f"broker-{step['broker']}" and leader != "broker-0"
    configured = [entry[0] for entry in cluster.world.trace.entries if isinstance(entry[5], BrokerConfigured)]
    assert configured == [leader]


NO_LEADER = "leader of u-0: the partition has none now; wait for one first"
ONLY_REPLICA_DEAD = "  - create-topic: {topic: u, assignment: [0]}\n  - kill: 0\n  - sleep: 15\n"
ALL_DEAD = "  - kill: [0, 1, 2]\n  - sleep: 15\n"


@pytest.mark.parametrize(
    ("before", "step", "why"),
    [
        (ONLY_REPLICA_DEAD, "kill: leader of u-0", NO_LEADER),
        (ONLY_REPLICA_DEAD, "cut: {link: [leader of u-0, 1]}", NO_LEADER),
        (ONLY_REPLICA_DEAD, "heal: {link: [leader of u-0, 1]}", NO_LEADER),
        (ONLY_REPLICA_DEAD, "{fetch: leader of u-0, background: f}", NO_LEADER),
        (ONLY_REPLICA_DEAD, "alter-broker: {broker: leader of u-0, remove: num.io.threads}", NO_LEADER),
        (ALL_DEAD, "power-loss: active controller", "active controller: there is none now; wait for one first"),
    ],
)
def test_no_leader_and_no_controller_fail_the_step(before: str, step: str, why: str) -> None:
    cluster = Cluster(BEGIN + before + f"  - {step}\n", steps_may_fail=True)
    cluster.run()
    failed = [e["why"] for e in cluster.player.timeline.entries if e.get("saw") == "step-failed"]
    assert failed == [why]


def test_a_link_of_a_node_with_itself_fails_the_step() -> None:
    cluster = Cluster(BEGIN + "  - cut: {link: [leader of t-0, 0]}\n", steps_may_fail=True)
    cluster.run()
    failed = [e["why"] for e in cluster.player.timeline.entries if e.get("saw") == "step-failed"]
    assert failed == ["broker-0 is on both sides of broker-0 and broker-0"]


def test_every_isr_of_one_topic() -> None:
    cluster = played(
        "  - create-topic: {topic: u, assignment: [[0, 1], [1, 0]]}\n"
        "  - kill: 2\n"
        "  - wait: {until: isr shrunk, limit_s: 30}\n"
        "  - wait: {until: u every ISR full, limit_s: 1}\n"
        "  - wait: {until: every ISR full, limit_s: 1, may_time_out: true}\n"
        "  - wait: {until: t every ISR full, limit_s: 1, may_time_out: true}\n"
        "  - start: 2\n" + RETURNED
    )
    waits = [(e["until"], e["saw"]) for e in cluster.player.timeline.entries if "until" in e and "saw" in e]
    assert waits[1:4] == [
        ("u every ISR full", "reached"),
        ("every partition: isr restored", "not-reached"),
        ("t every ISR full", "not-reached"),
    ]
    assert waits[-1] == ("t-0 every ISR full", "reached")
