"""Forms of a scenario in a metadata mode, and the topology of a cluster in one."""

import pytest

from emulator.runs.metadata_mode import in_mode, kraft_topology, mode_of_files, requested_mode
from emulator.runs.resolve_named import find_in_mode
from emulator.runs.scenario_sources import find_scenario
from emulator.settings.properties_files import Wanted, settings_file
from emulator.topology import KRAFT, ZOOKEEPER, NoSuchMode, three_azs
from emulator.worlds.cluster_file.compose_files import NoClusterFile, topology_in_mode


@pytest.mark.parametrize(
    ("own", "version", "requested", "mode"),
    [
        (ZOOKEEPER, None, "", ZOOKEEPER),
        (ZOOKEEPER, "3.9", "", KRAFT),
        (ZOOKEEPER, "3.9", ZOOKEEPER, ZOOKEEPER),
        (ZOOKEEPER, "3.8.1", "", ZOOKEEPER),
        (ZOOKEEPER, "3.2", "", ZOOKEEPER),
        (ZOOKEEPER, "3.9", KRAFT, KRAFT),
        (ZOOKEEPER, "4.4", "", KRAFT),
        (KRAFT, None, "", KRAFT),
        (KRAFT, "3.9", "", KRAFT),
        (KRAFT, "2.8", "", ZOOKEEPER),
    ],
)
def test_the_version_decides_unless_a_mode_is_requested(
    own: str, version: str | None, requested: str, mode: str
) -> None:
    assert requested_mode(own, version, requested, ("2.8", "3.8")) == mode


def test_a_scenario_with_a_twin_is_played_as_the_twin() -> None:
    scenario, note = find_in_mode("az-isolated-leader", "4.4")
    assert scenario.id == "kraft-az-isolated-leader"
    assert note == "kraft-az-isolated-leader is played: the form of az-isolated-leader in KRaft mode"
    back, _ = find_in_mode("kraft-az-isolated-leader", "2.8")
    assert back.id == "az-isolated-leader"


def test_a_scenario_without_a_twin_is_rewritten_without_expectations() -> None:
    scenario, note = find_in_mode("leader-crash", "4.4")
    assert (scenario.id, scenario.kafka, scenario.topology.metadata) == ("leader-crash", ("4.4",), KRAFT)
    assert scenario.expectations == () and scenario.expects_violations == ()
    assert "zookeeper.session.timeout.ms" not in scenario.settings
    assert "the audit alone judges" in note


def test_a_scenario_about_zookeepers_servers_is_refused() -> None:
    scenario = find_scenario("kip-903")
    for version, requested in (("4.4", ""), ("3.9", KRAFT)):
        with pytest.raises(NoSuchMode, match=r"kip-903: cannot be played in KRaft mode: .*session-0"):
            in_mode("kip-903", scenario, version, requested, lambda _: None)
    assert in_mode("kip-903", scenario, "3.9", "", lambda _: None) == (scenario, "")


def test_controllers_replace_the_session_servers() -> None:
    assert {*kraft_topology(three_azs()).nodes} == {*three_azs(metadata=KRAFT).nodes}


def test_a_file_with_roles_is_one_of_kraft_mode_where_the_version_has_it() -> None:
    file = settings_file(Wanted("server.properties"), "server.properties", b"process.roles=broker\nnode.id=1\n")
    assert (file.broker, file.by_id) == (1, True)
    assert [mode_of_files([file], version) for version in (None, "3.9", "2.1")] == [KRAFT, KRAFT, ""]
    old = settings_file(Wanted("server.properties"), "server.properties", b"zookeeper.connect=zk:2181\n")
    assert [mode_of_files([old], version) for version in (None, "3.9", "4.0")] == ["", ZOOKEEPER, ""]


@pytest.mark.parametrize(
    ("given", "version", "metadata", "controllers", "name"),
    [
        ("three-az", None, "", "", "three-az"),
        ("three-az", "3.9", "", "", "kraft-three-az"),
        ("three-az", "3.2", "", "", "three-az"),
        ("six-brokers", "3.9", "", "", "six-brokers"),
        ("three-az", "3.9", KRAFT, "", "kraft-three-az"),
        ("three-az", "4.4", "", "", "kraft-three-az"),
        ("three-az", "4.4", "", "combined", "kraft-three-az-combined"),
        ("three-az", None, "", "separate", "kraft-three-az"),
        ("kraft-three-az-combined", None, "", "", "kraft-three-az-combined"),
        ("kraft-three-az", "3.9", ZOOKEEPER, "", "three-az"),
    ],
)
def test_the_topology_in_a_mode(given: str, version: str | None, metadata: str, controllers: str, name: str) -> None:
    assert topology_in_mode(given, version, metadata, controllers) == name


def test_a_mode_that_there_is_not() -> None:
    with pytest.raises(NoSuchMode):
        topology_in_mode("three-az", "4.4", ZOOKEEPER, "")
    with pytest.raises(NoSuchMode):
        topology_in_mode("three-az", "2.8", KRAFT, "")
    with pytest.raises(NoClusterFile, match="no form in KRaft mode"):
        topology_in_mode("six-brokers", "4.4", "", "")
