"""Names and networks: two nodes share the one over which each finds the other."""

from itertools import permutations

import pytest

from emulator.topology import three_azs
from emulator.worlds.cluster_file.networks import CONTROL, data_name, network_between, networks_of
from emulator.worlds.cluster_file.settings import BROKER_SETTINGS, kafka_setting, kafka_variable

TOPOLOGY = three_azs()


def test_a_node_is_on_its_azs_network_its_links_and_control() -> None:
    assert networks_of(TOPOLOGY.node("broker-1"), TOPOLOGY.azs) == ("az-1", "az-0-az-1", "az-1-az-2", "control")


def test_any_two_nodes_meet_on_one_network_beside_control() -> None:
    in_azs = [node for node in TOPOLOGY.nodes if node.az]
    for one, other in permutations(in_azs, 2):
        shared = set(networks_of(one, TOPOLOGY.azs)) & set(networks_of(other, TOPOLOGY.azs)) - {CONTROL}
        between = network_between(one.az, other.az)
        assert between in shared
        assert data_name(one, seen_from=other) == f"{one.name}.{between}"


def test_links_have_one_name_from_both_sides() -> None:
    assert network_between("az-2", "az-0") == network_between("az-0", "az-2") == "az-0-az-2"
    assert network_between("az-2", "az-2") == "az-2"


@pytest.mark.parametrize("name", [*BROKER_SETTINGS, "with_underscore.and.dots"])
def test_every_setting_has_a_variable_and_back(name: str) -> None:
    assert kafka_setting(kafka_variable(name)) == name
