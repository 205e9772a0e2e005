"""Groups in the simulated world.

Consume, commit and look, from outside or an AZ (semantics 6).
"""

from typing import Any

import pytest

from emulator.scenario.player.client_step_execution import ClientRefused
from protocol.events import GroupCoordinatorChanged
from tests.simulated.cluster import Cluster

BEGIN = """
  - start: 2
  - start: 0
  - start: 1
  - create-topic: {topic: t, assignment: [0, 1, 2]}
  - produce: {broker: 0, values: [a, b, c], acks: all}
  - sleep: 1
"""
OFFSETS: dict[str, Any] = {"offsets.topic.num.partitions": 3, "offsets.topic.replication.factor": 3}


def played(script: str, version: str = "2.6", settings: dict[str, Any] | None = None) -> Cluster:
    cluster = Cluster(BEGIN + script, version=version, **(settings or {}))
    cluster.run()
    assert cluster.finished
    return cluster


def saw(cluster: Cluster, kind: str) -> list[dict[str, Any]]:
    return [{k: v for k, v in e.items() if k not in ("t", "saw")} for e in cluster.player.timeline.entries
            if e.get("saw") == kind]  # fmt: skip


@pytest.mark.parametrize("version", ["0.10.2", "1.1", "2.6", "2.8"])
def test_the_offsets_topic_is_made_when_the_first_group_requests_its_coordinator(version: str) -> None:
    """Semantics 6, 4.4: placed over all brokers; then the commit goes through."""
    cluster = played("  - commit: {group: g, offset: 2, client: az-1}\n  - committed: g\n", version, OFFSETS)
    assert saw(cluster, "commit") == [{"group": "g", "offset": 2, "error": 0}]
    assert saw(cluster, "committed") == [{"group": "g", "offset": 2, "leader_epoch": None, "error": 0}]
    states = {s["partition"]: s for s in cluster.player.timeline.partition_states if "partition" in s}
    assert sorted(states) == [f"__consumer_offsets-{number}" for number in range(3)]
    assert sorted(state["leader"] for state in states.values()) == [0, 1, 2]
    loaded = [e[5] for e in cluster.world.trace.entries if isinstance(e[5], GroupCoordinatorChanged)]
    assert {event.change for event in loaded} == {"loading", "loaded"}


def test_a_consumer_that_finds_no_coordinator_ends_with_an_error_by_its_name() -> None:
    """Two of three brokers: the offsets topic cannot be made, and no broker coordinates."""
    script = "  - kill: 2\n  - sleep: 8\n  - consume: {group: g, settings: {auto.offset.reset: earliest}, limit_s: 5}\n"
    (entry,) = saw(played(script, "2.6", OFFSETS), "consume")
    assert (entry["error"], entry["position"], entry["records"]) == ("TimeoutException", -1, [])


@pytest.mark.parametrize(("version", "old"), [("0.8.2", True), ("1.1", True), ("0.10.2", False), ("2.8", False)])
def test_what_a_group_has_read_and_committed_the_next_of_it_goes_on_from(version: str, old: bool) -> None:
    policy = "smallest" if old else "earliest"
    how = f"group: g, old: {str(old).lower()}, settings: {{auto.offset.reset: {policy}}}"
    script = (
        f"  - consume: {{{how}}}\n"
        "  - produce: {broker: 0, values: [d], acks: all}\n"
        "  - sleep: 1\n"
        f"  - consume: {{{how}, client: az-2}}\n"
        f"  - committed: {{group: g, old: {str(old).lower()}, client: az-0}}\n"
    )
    cluster = played(script, version, {} if version == "0.8.2" else OFFSETS)
    first, second = saw(cluster, "consume")
    assert (first["committed"], [r[-1] for r in first["records"]], first["position"]) == (None, ["a", "b", "c"], 3)
    assert (second["committed"], [r[-1] for r in second["records"]], second["position"]) == (3, ["d"], 4)
    (committed,) = saw(cluster, "committed")
    assert committed["offset"] == 4
    assert committed["leader_epoch"] == (0 if version == "2.8" else None)


def test_a_snapshot_leaves_the_offsets_topic_out() -> None:
    cluster = played("  - commit: {group: g, offset: 2}\n  - snapshot: end\n", settings=OFFSETS)
    (snapshot,) = saw(cluster, "snapshot")
    assert "partition" not in snapshot


def test_where_steps_may_fail_one_that_its_client_refuses_or_does_not_live_to_end_is_noted() -> None:
    """By the player's own process, by a client's, and by one that dies over it."""
    script = (
        "  - committed: {group: g, old: true}\n"
        "  - consume: {group: g, client: az-1, settings: {offsets.storage: zookeeper}}\n"
        "  - background: dies\n    consume: {group: g, client: az-1, at_least_s: 5}\n"
        "  - sleep: 1\n  - kill: client-1\n  - await: dies\n"
    )
    cluster = Cluster(BEGIN + script, steps_may_fail=True, **OFFSETS)
    cluster.run()
    assert cluster.finished
    removed, unusable, died = (entry["why"] for entry in saw(cluster, "step-failed"))
    assert removed == "the client: the old consumer was removed in Kafka 2.0; there is none in 2.6"
    assert unusable.startswith("client-1: offsets.storage")
    assert died.startswith("client-1: ConnectionResetError")


def test_what_the_version_does_not_have_is_refused() -> None:
    with pytest.raises(ClientRefused, match=r"the client: the old consumer was removed in Kafka 2\.0"):
        played("  - committed: {group: g, old: true}\n")
    with pytest.raises(ClientRefused, match=r"client-1: .*Kafka 0\.9 or later"):
        played("  - consume: {group: g, client: az-1}\n", "0.8.2")
