"""A cluster that says what it goes by, as the cluster that advice is about."""

import pytest
from msgspec.structs import replace

from emulator.judging.advice.advice import options_of
from emulator.judging.advice.advice_cluster import THREE_AZS
from emulator.judging.advice.advice_runs import Choice, base_of, text_of
from emulator.judging.advice.running import Running, RunningNode, RunningTopic, ToCome, of_running
from emulator.judging.campaigns.space import UnusableSpace
from emulator.scenario.load import load_scenario

NODES = {
    node.name: RunningNode(node.az, node.number, node.roles) for node in THREE_AZS.topology.nodes if node.az
}
BROKERS = ("broker-0", "broker-1", "broker-2")
RUNNING = Running(
    name="mine",
    kafka="2.6",
    versions=dict.fromkeys(BROKERS, "2.6"),
    nodes=NODES,
    session={"tickTime": 1000},
    given={name: {"min.insync.replicas": 2, "replica.lag.time.max.ms": 10_000} for name in BROKERS},
    topics={"t": RunningTopic(2, (2, 2)), "__consumer_offsets": RunningTopic(50, (1,) * 50)},
    to_come=ToCome(producers={"acks": "all"}),
)


def test_its_topology_version_settings_and_a_topics_replicas() -> None:
    cluster = of_running(RUNNING)
    assert (cluster.version, cluster.brokers, cluster.of) == ("2.6", (0, 1, 2), "cluster mine, topic t")
    assert cluster.settings == {
        "min.insync.replicas": 2, "replica.lag.time.max.ms": 10_000, "default.replication.factor": 2,
        "tickTime": 1000, "producer.acks": "all",
    }  # fmt: skip
    assert cluster.sources["default.replication.factor"] == "topic t of cluster mine"
    base = base_of(Choice("2.6"), None, cluster)
    assert (base.replicas, base.left_open, base.sources["producer.acks"]) == (
        2, {}, "cluster mine, for producers to come",
    )  # fmt: skip
    assert {name: base.sources[name] for name in base.settings}.keys() == base.settings.keys()


def test_what_was_altered_comes_before_what_was_given_and_a_topics_own_before_both() -> None:
    altered = {"": {"min.insync.replicas": "1", "log.flush.interval.ms": "7"}, "1": {"log.flush.interval.ms": "9"}}
    cluster = of_running(replace(RUNNING, altered=altered))
    assert cluster.settings["min.insync.replicas"] == 1
    assert cluster.sources["min.insync.replicas"] == "cluster mine, altered since"
    assert {broker: own["log.flush.interval.ms"] for broker, own in cluster.by_broker.items()} == {0: 7, 1: 9, 2: 7}
    assert cluster.sources["broker-1: log.flush.interval.ms"] == "cluster mine, altered since"
    own = {"t": RunningTopic(1, (3,), {"min.insync.replicas": "3", "flush.ms": "5"})}
    by_topic = of_running(replace(RUNNING, altered=altered, topics=own))
    assert (by_topic.settings["min.insync.replicas"], by_topic.settings["log.flush.interval.ms"]) == (3, 5)
    assert by_topic.by_broker == {}, "no broker's own is in force for this topic"
    assert by_topic.sources["min.insync.replicas"] == "topic t of cluster mine"


def test_files_and_words_of_clients_come_before_what_the_cluster_has_for_them() -> None:
    choice = Choice("2.6", ("producer.acks=1",))
    base = base_of(choice, None, of_running(RUNNING))
    assert (base.settings["producer.acks"], base.sources["producer.acks"]) == ("1", "--set")
    read = load_scenario(text_of(options_of(choice, base, (1,)), 0, 0), "own.yaml")
    assert read.settings["min.insync.replicas"] == 2 and read.default_version == "2.6"


def test_without_a_topic_those_to_come_count() -> None:
    to_come = replace(RUNNING, topics={}, to_come=ToCome(topics={"min.insync.replicas": 1}))
    cluster = of_running(to_come)
    assert (cluster.settings["min.insync.replicas"], cluster.of) == (1, "cluster mine")
    assert "default.replication.factor" not in cluster.settings


def test_what_is_written_there_and_no_setting_is_left_alone() -> None:
    assert "no.such" not in of_running(replace(RUNNING, altered={"": {"no.such": "1"}})).settings


@pytest.mark.parametrize(
    ("running", "topic", "reported"),
    [
        (RUNNING, "u", "--topic u: cluster mine has no such topic; there is t"),
        (
            replace(RUNNING, topics={"t": RunningTopic(1, (2,)), "u": RunningTopic(1, (3,), {"flush.ms": "5"})}), None,
            r"topics of cluster mine differ \(t: 2 replicas; u: 3 replicas flush.ms=5\): choose one with --topic",
        ),
        (
            replace(RUNNING, versions={**RUNNING.versions, "broker-2": "2.8"}), None,
            r"cluster mine has several versions \(2.6: broker-0, broker-1; 2.8: broker-2\)",
        ),
        (replace(RUNNING, nodes={name: NODES[name] for name in BROKERS}), None, "no AZ has a client"),
        (replace(RUNNING, altered={"": {"min.insync.replicas": "x"}}), None, "altered since: min.insync.replicas"),
    ],
)  # fmt: skip
def test_of_what_there_is_no_advice(running: Running, topic: str | None, reported: str) -> None:
    with pytest.raises(UnusableSpace, match=reported):
        of_running(running, topic)
