"""Kafka's ports of containers: their numbers; the shipped compose files publish just those."""

from typing import Any

import pytest
from ruamel.yaml import YAML

from emulator.packaged import COMPOSE
from emulator.topology import three_azs
from emulator.worlds.cluster_file.compose_files import named_topology, read_cluster_file, topologies
from emulator.worlds.cluster_file.interpolation import interpolate
from emulator.worlds.containers.kafka_ports import (
    KAFKA,
    KAFKA_NETWORK,
    NETWORK,
    PORTS,
    UnusablePorts,
    free_ports,
    ports_from,
    service_of,
)


def filled_in(value: Any, environment: dict[str, str]) -> Any:
    match value:
        case dict():
            return {key: filled_in(one, environment) for key, one in value.items()}
        case list():
            return [filled_in(one, environment) for one in value]
    return interpolate(value, environment) if isinstance(value, str) else value


@pytest.mark.parametrize("first", ["95", "201"])
@pytest.mark.parametrize("name", topologies())
def test_a_shipped_file_publishes_the_addresses_that_clients_receive(name: str, first: str) -> None:
    topology = read_cluster_file(named_topology(name), {}).topology
    file = filled_in(YAML(typ="safe", pure=True).load(COMPOSE / "kafka" / f"{name}.yml"), {PORTS: first})
    kafka_ports = ports_from(topology, first)
    brokers = [node.name for node in topology.with_role("broker")]
    ours = {name: about for name, about in file["services"].items() if "profiles" not in about}
    assert ours == {broker: service_of(broker, kafka_ports) for broker in brokers} | {
        "control": {"environment": {PORTS: first}}
    }
    for service, about in file["services"].items():
        if service not in ours:  # a client: of its own AZ, or outside all
            az = "" if service == "load-topic" else f"az-{service[-1]}"
            servers = [f"{one.host}:{one.port}" for one in kafka_ports[az].values()]
            assert about["environment"]["FAULTLINE_BOOTSTRAP"].split(",") == servers
    assert file["networks"] == {KAFKA_NETWORK: NETWORK}


def test_ports_encode_az_and_broker() -> None:
    kafka_ports = ports_from(three_azs(), "95")
    assert {az: [one.port for one in brokers.values()] for az, brokers in kafka_ports.items()} == {
        "az-0": [9500, 9501, 9502], "az-1": [9510, 9511, 9512], "az-2": [9520, 9521, 9522], "": [9530, 9531, 9532],
    }  # fmt: skip
    assert {one.host for brokers in kafka_ports.values() for one in brokers.values()} == {"127.0.0.1"}


@pytest.mark.parametrize("first", ["", "0", "-1", "655", "9x", "²"])
def test_a_wrong_port_prefix_is_reported(first: str) -> None:
    with pytest.raises(UnusablePorts, match=f"{PORTS}='{first}': the first figures of ports, 1 to 654"):
        ports_from(three_azs(), first)


def test_more_brokers_than_one_figure_shows_are_refused() -> None:
    with pytest.raises(UnusablePorts, match="at most 9 AZs and 10 brokers"):
        ports_from(three_azs(brokers=11), "95")


def test_free_ports_are_all_different_and_a_broker_listens_on_its_own() -> None:
    kafka_ports = free_ports(three_azs())
    ports = [one.port for brokers in kafka_ports.values() for one in brokers.values()]
    assert len(set(ports)) == 12
    added = service_of("broker-1", kafka_ports)
    assert added["environment"] == {KAFKA: "1"}
    own = [brokers["broker-1"].port for brokers in kafka_ports.values()]
    assert added["ports"] == [f"127.0.0.1:{port}:{port}" for port in own]
