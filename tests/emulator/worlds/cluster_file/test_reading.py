"""A compose file's nodes and settings.

Accepted forms, and one line with a place for each error.
"""

from pathlib import Path

import pytest

from emulator.cluster.specification import resolved
from emulator.topology import OBSERVER, Node
from emulator.worlds.cluster_file.cluster_model import ClusterFile
from emulator.worlds.cluster_file.compose_files import NoClusterFile, named_topology, read_cluster_file
from emulator.worlds.cluster_file.compose_parsing import ClusterFileErrors, cluster_of

SMALL = """\
x-environment: &environment
  FAULTLINE_KAFKA_VERSION: ${FAULTLINE_KAFKA_VERSION:-2.6}
  FAULTLINE_SPEED: ${FAULTLINE_SPEED:-1}
services:
  session-0:
    labels: [faultline.az=az-1, faultline.roles=session]
    environment: [FAULTLINE_NODE=session-0, ZOO_TICK_TIME=2000]
    networks: {az-1: {aliases: [session-0.az-1]}, az-0-az-1: {aliases: [session-0.az-0-az-1]},
               control: {aliases: [session-0.control]}}
  broker-7:
    labels: {faultline.az: az-0, faultline.roles: "controller, broker"}
    environment:
      <<: *environment
      FAULTLINE_NODE: broker-7
      FAULTLINE_TOKEN:
      KAFKA_MIN_INSYNC_REPLICAS: "2"
      KAFKA_UNCLEAN_LEADER_ELECTION_ENABLE: "true"
    networks: {az-0: {aliases: [broker-7.az-0]}, az-0-az-1: {aliases: [broker-7.az-0-az-1]},
               control: {aliases: [broker-7.control]}}
  control:
    image: anything
"""


def read(text: str, environment: dict[str, str] | None = None) -> ClusterFile:
    return cluster_of(text, Path("some/small.yml"), environment or {})


def problems(text: str) -> list[str]:
    with pytest.raises(ClusterFileErrors) as raised:
        read(text)
    return str(raised.value).splitlines()


def test_services_with_roles_are_nodes_and_an_observer_stands_outside() -> None:
    cluster = read(SMALL)
    assert cluster.name == "small"
    assert cluster.topology.nodes == (
        Node("broker-7", ("broker", "controller"), 7, "az-0"),
        Node("session-0", ("session",), 0, "az-1"),
        Node(OBSERVER, ("observer",), 0, ""),
    )


def test_environments_are_typed_settings() -> None:
    cluster = read(SMALL)
    assert cluster.settings == {
        "broker-7": {"min.insync.replicas": 2, "unclean.leader.election.enable": True},
    }
    assert (cluster.kafka_version, cluster.speed) == ("2.6", 1.0)
    assert cluster.session == {"tickTime": 2000}


def test_variables_come_from_the_environment() -> None:
    cluster = read(SMALL, {"FAULTLINE_KAFKA_VERSION": "2.8.1", "FAULTLINE_SPEED": "2.5"})
    assert (cluster.kafka_version, cluster.speed) == ("2.8", 2.5)


def test_a_run_has_every_setting_of_its_version_on_every_broker() -> None:
    spec = resolved(read(SMALL, {"FAULTLINE_KAFKA_VERSION": "2.5"}), None, {}).spec
    assert spec.kafka_version == "2.5"
    assert spec.tick_time_ms == 2000
    assert list(spec.settings) == ["broker-7"]
    assert spec.settings["broker-7"]["min.insync.replicas"] == 2
    assert spec.settings["broker-7"]["replica.lag.time.max.ms"] == 30000


def test_what_the_version_does_not_have_is_dropped_with_a_word() -> None:
    about = resolved(read(SMALL.replace("KAFKA_MIN_INSYNC_REPLICAS", "KAFKA_REPLICA_LAG_MAX_MESSAGES")), None, {})
    assert "replica.lag.max.messages" not in about.spec.settings["broker-7"]
    (dropped,) = about.account.dropped
    assert (dropped.name, dropped.where) == ("replica.lag.max.messages", "broker-7")


def test_options_of_the_java_machine_are_no_settings() -> None:
    text = SMALL.replace("KAFKA_MIN_INSYNC_REPLICAS", "KAFKA_HEAP_OPTS").replace('"2"', "-Xmx1g")
    assert read(text).settings == {"broker-7": {"unclean.leader.election.enable": True}}


def test_a_services_own_values_come_before_merged_ones() -> None:
    text = SMALL.replace("FAULTLINE_NODE: broker-7", "FAULTLINE_NODE: broker-7\n      FAULTLINE_SPEED: 3")
    assert read(text).speed == 3.0


@pytest.mark.parametrize(
    ("written", "instead", "message"),
    [
        ("KAFKA_MIN_INSYNC_REPLICAS", "KAFKA_MIN_INSYNC_REPLICA",
         "16:7: KAFKA_MIN_INSYNC_REPLICA is no setting of a broker; nearest: KAFKA_MIN_INSYNC_REPLICAS"),
        ('"2"', "two", "16:7: min.insync.replicas: expected a whole number of replicas, got 'two'"),
        ('"2"', '"0"', "16:7: min.insync.replicas: expected a whole number of replicas, at least 1, got 0"),
        ("KAFKA_MIN_INSYNC_REPLICAS", "KAFKA_PRODUCER_ACKS", "16:7: KAFKA_PRODUCER_ACKS is no setting of a broker"),
        ("ZOO_TICK_TIME", "ZOO_TICKTIME",
         "7:45: ZOO_TICKTIME is no setting of a session server; nearest: ZOO_TICK_TIME"),
        ("ZOO_TICK_TIME=2000", "ZOO_TICK_TIME=0", "7:45: tickTime: expected a whole number of ms, at least 1, got 0"),
        ("ZOO_TICK_TIME", "KAFKA_NUM_PARTITIONS",
         "7:45: KAFKA_NUM_PARTITIONS: Kafka's settings are for brokers and controllers"),
        ("FAULTLINE_TOKEN:", "ZOO_TICK_TIME: 1",
         "15:7: ZOO_TICK_TIME: ZooKeeper's settings are for session servers"),
        ("FAULTLINE_TOKEN:", "FAULTLINE_TOKENS: a",
         "15:7: unknown variable FAULTLINE_TOKENS; nearest: FAULTLINE_TOKEN"),
        ("FAULTLINE_NODE: broker-7", "FAULTLINE_NODE: broker-0",
         "14:23: FAULTLINE_NODE is the service's name, broker-7; got 'broker-0'"),
        ("FAULTLINE_NODE=session-0, ", "", "5:3: session-0 needs FAULTLINE_NODE: session-0"),
        ("${FAULTLINE_KAFKA_VERSION:-2.6}", "2.9", "2:28: unknown Kafka version '2.9'; one of: "),
        ("${FAULTLINE_SPEED:-1}", "fast", "3:20: FAULTLINE_SPEED: a number from 0.1 to 100, got 'fast'"),
        ("${FAULTLINE_SPEED:-1}", "nan", "3:20: FAULTLINE_SPEED: a number from 0.1 to 100, got 'nan'"),
        ("${FAULTLINE_SPEED:-1}", "${FAULTLINE_SPEED:?how fast}",
         "3:20: the variable FAULTLINE_SPEED is not set: how fast"),
        ("ZOO_TICK_TIME=2000", "FAULTLINE_SPEED=4, ",
         "7:45: FAULTLINE_SPEED is one for the cluster: '1' at broker-7, here '4'"),
        ("faultline.roles=session", "faultline.roles=client", "6:33: the roles of a session are session; got 'client'"),
        ("faultline.az=az-1", "faultline.zone=az-1", "6:14: unknown label 'faultline.zone'; nearest: faultline.az"),
        ("faultline.az=az-1, ", "", "5:3: session-0 needs the label faultline.az, as faultline.az: az-0"),
        ("  broker-7:", "  broker-07:",
         "10:3: a node is called after its role and number, as broker-0; got 'broker-07'"),
        ("  broker-7:", "  broker-1000:",
         "10:3: a broker's number is below 1000; dedicated controllers have those from there"),
        ('faultline.az: az-0, faultline.roles: "controller, broker"', "", "5:3: no service has the role broker"),
        ("az-0-az-1: {aliases: [broker-7.az-0-az-1]}", "links: {}", "10:3: broker-7 is not on the network az-0-az-1"),
        ("aliases: [broker-7.az-0]", "aliases: [broker-7]",
         "10:3: broker-7 has no alias broker-7.az-0 on the network az-0"),
        ("services:", "service:", "1:1: a compose file needs 'services'"),
        ("*environment", "*envirnment", "13:11: not YAML: found undefined alias 'envirnment'"),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_its_place(written: str, instead: str, message: str) -> None:
    assert written in SMALL
    found = problems(SMALL.replace(written, instead, 1))
    assert any(line.startswith(f"some/small.yml:{message}") for line in found), found


def test_all_faults_are_found_at_once_and_in_order() -> None:
    text = SMALL.replace('"2"', "two").replace("faultline.az=az-1, ", "").replace("ZOO_TICK_TIME", "ZOO_TICK")
    places = [line.split(": ")[0] for line in problems(text)]
    assert {"some/small.yml:5:3", "some/small.yml:7:45", "some/small.yml:16:7"} <= set(places)


def test_a_mapping_that_merges_itself_is_refused() -> None:
    assert problems("services: &services\n  <<: *services\n")


def test_a_file_that_is_not_there_or_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "latin.yml").write_bytes(b"services: \xe9\n")
    with pytest.raises(NoClusterFile, match="not UTF-8 text"):
        read_cluster_file(tmp_path / "latin.yml")
    with pytest.raises(NoClusterFile, match="cannot be read"):
        read_cluster_file(tmp_path)


def test_topologies_have_names_and_files_their_path(tmp_path: Path) -> None:
    assert named_topology("three-az").name == "three-az.yml"
    own = tmp_path / "own.yml"
    own.write_text(SMALL, encoding="utf-8")
    assert named_topology(str(own)) == own
    with pytest.raises(NoClusterFile, match="no topology or file 'three-azs'; nearest: three-az"):
        named_topology("three-azs")
    every = "dedicated-controllers, kraft-three-az-combined, kraft-three-az, six-brokers, three-az"
    with pytest.raises(NoClusterFile, match=f"there are: {every}"):
        named_topology("xyzzy")
