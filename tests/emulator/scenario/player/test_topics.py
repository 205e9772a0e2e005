"""Topics with Kafka's placement of replicas over the brokers registered at the request."""

from collections import Counter

import pytest

from emulator.scenario.player.steps import StepFailed
from tests.simulated.cluster import Cluster

BEGIN = "  - start: 2\n  - start: 1\n  - start: 0\n"


def played(script: str, **how: object) -> Cluster:
    cluster = Cluster(script, **how)  # type: ignore[arg-type]
    cluster.run()
    assert cluster.finished
    return cluster


def assigned(cluster: Cluster, topic: str = "t") -> list[tuple[int, ...]]:
    """Replicas by partition, as the session service holds them."""
    found = cluster.player.seen.assignments
    return [found[f"{topic}-{number}"] for number in range(len(found))]


def test_replicas_and_leaders_are_spread_over_the_brokers() -> None:
    """Semantics 4.4."""
    placed = assigned(played(BEGIN + "  - create-topic: {topic: t, partitions: 12, replicas: 2}\n"))
    assert len(placed) == 12
    assert Counter(replicas[0] for replicas in placed) == {0: 4, 1: 4, 2: 4}
    assert all(len(set(replicas)) == 2 for replicas in placed)


def test_the_seed_determines_where_placement_starts() -> None:
    """Semantics 4.4: two numbers are drawn."""
    script = BEGIN + "  - create-topic: {topic: t, partitions: 3, replicas: 2}\n"
    seeds = [tuple(assigned(played(script, seed=seed))) for seed in (1, 2, 3, 4, 1)]
    assert seeds[0] == seeds[4]
    assert len(set(seeds)) > 1


@pytest.mark.parametrize(("version", "racks"), [("0.8.2", {""}), ("0.10.2", {"az-0", "az-1", "az-2"})])
def test_brokers_register_their_az_as_rack_since_kip_36(version: str, racks: set[str]) -> None:
    """Semantics 4.4."""
    cluster = Cluster(BEGIN, version=version)
    cluster.run()
    assert set(cluster.player.seen.racks.values()) == racks


def test_a_topic_without_overrides_has_the_brokers_settings() -> None:
    settings = {"num.partitions": 4, "default.replication.factor": 3}
    placed = assigned(played(BEGIN + "  - create-topic: {topic: t}\n", **settings))
    assert [len(replicas) for replicas in placed] == [3] * 4


def test_replicas_need_brokers_that_are_registered() -> None:
    script = "  - start: 2\n  - start: 1\n  - create-topic: {topic: t, partitions: 4, replicas: 3}\n"
    why = "t: replication factor 3 is larger than the 2 available brokers"
    with pytest.raises(StepFailed, match=rf"^step 3 \(create-topic .*\): {why}$"):
        played(script)


def test_partitions_are_counted() -> None:
    cluster = played(
        BEGIN
        + "  - create-topic: {topic: t, assignment: [[0, 1, 2], [1, 2], [1, 0], [2]]}\n"
        + "  - record: partitions\n  - kill: 1\n  - wait: {until: {every: {not: {leader: 1}}}}\n"
        + "  - sleep: 1\n  - kill: 2\n  - wait: {until: {leader: none, partition: t-3}}\n  - sleep: 1\n"
        + "  - record: partitions\n"
    )
    before, after = [entry for entry in cluster.player.timeline.entries if entry.get("saw") == "partitions"]
    counts = {"partitions": 4, "azs": 1, "replicas": {"broker-0": 2, "broker-1": 3, "broker-2": 3}, "saw": "partitions"}
    leaders = {"broker-0": 1, "broker-1": 2, "broker-2": 1}
    assert before == {**counts, "t": before["t"], "led": 4, "preferred": 4, "in_sync": 4, "leaders": leaders}
    leaders = {"broker-0": 2, "broker-1": 0, "broker-2": 0}
    assert after == {**counts, "t": after["t"], "led": 2, "preferred": 1, "in_sync": 1, "leaders": leaders}


def test_a_client_writes_to_partitions_of_its_own_choice() -> None:
    """Semantics 6: two values of a key are in one partition, in order; the entries say in which."""
    cluster = played(
        BEGIN
        + "  - create-topic: {topic: t, partitions: 5, replicas: 3}\n"
        + "  - produce: {client: az-1, acks: all, values: [a, b, c], keys: [k, l, k]}\n"
        + "  - produce: {client: az-2, acks: all, values: [d], partition: any}\n"
    )
    attempts = [entry for entry in cluster.player.timeline.entries if entry.get("saw") == "attempt"]
    where = {entry["value"]: entry.get("partition", "t-0") for entry in attempts}
    assert where["a"] == where["c"] != where["b"]
    assert {entry["error"] for entry in attempts} == {0}
    offsets = {entry["value"]: entry["offset"] for entry in attempts}
    assert (offsets["a"], offsets["c"], offsets["b"]) == (0, 1, 0)


def test_logs_of_a_partition_without_a_second_replica_cannot_be_noted() -> None:
    with pytest.raises(StepFailed, match=r"^step 5 \(record\): t-0 has no two replicas whose logs could be noted$"):
        played(BEGIN + "  - create-topic: {topic: t, assignment: [0]}\n  - record: logs\n")
