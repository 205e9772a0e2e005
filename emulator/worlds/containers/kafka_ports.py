"""Kafka ports of brokers in containers: on loopback, one per AZ of clients and broker.

A container listens on the published port itself, because metadata report this port to clients. For that brokers join
KAFKA_NETWORK, their only network that is not internal: a port can be published on no other. The network has no way
outside (no address is masqueraded), and no container on it reaches another one.
"""

import socket
from typing import Any, Final

from emulator.topology import Topology
from emulator.worlds.network.kafka_listener.advertised_listeners import azs_of_clients
from emulator.worlds.network.spec import LOOPBACK, Address
from protocol.numbers import number_in

KAFKA_NETWORK: Final = "kafka"
"""The network."""
KAFKA: Final = "FAULTLINE_KAFKA"
"""A broker's variable: import the library of the Kafka listener before the fork."""
PORTS: Final = "FAULTLINE_KAFKA_PORTS"
"""Variable of `control` in a plain `docker compose up`: the first figures of all ports."""
PORTS_DEFAULT: Final = "95"
FIGURE: Final = 10
"""Base of the two figures behind the first ones: one for the AZ, one for the broker."""
FIRST_MAX: Final = 654
"""Maximum: with two figures behind it, below the largest port."""
NETWORK: Final[dict[str, Any]] = {
    "driver_opts": {
        "com.docker.network.bridge.enable_ip_masquerade": "false",
        "com.docker.network.bridge.enable_icc": "false",
    }
}

KafkaPorts = dict[str, dict[str, Address]]
"""{AZ of clients ("": outside): {broker: address for Kafka clients of that AZ}}."""


class UnusablePorts(ValueError):
    """Invalid first figures of ports."""


def free_ports(topology: Topology) -> KafkaPorts:
    """Listeners on ports that are free now; another process may take one before it is published."""
    taken: list[socket.socket] = []
    kafka_ports: KafkaPorts = {}
    try:
        for az in azs_of_clients(topology):
            for broker in topology.with_role("broker"):
                taken.append(socket.create_server((LOOPBACK, 0)))
                kafka_ports.setdefault(az, {})[broker.name] = Address(LOOPBACK, taken[-1].getsockname()[1])
    finally:
        for one in taken:
            one.close()
    return kafka_ports


def ports_from(topology: Topology, first: str) -> KafkaPorts:
    """Ports as compose/kafka/ publishes them. Raises UnusablePorts.

    `95` and AZ 1, broker 2: 9512. AZs in their order, outside last.
    """
    azs, brokers = azs_of_clients(topology), topology.with_role("broker")
    if not 0 < (number_in(first) or 0) <= FIRST_MAX:
        raise UnusablePorts(f"{PORTS}={first!r}: the first figures of ports, 1 to {FIRST_MAX}")
    if len(azs) > FIGURE or len(brokers) > FIGURE:
        raise UnusablePorts(f"{PORTS}: at most {FIGURE - 1} AZs and {FIGURE} brokers")
    return {
        az: {broker.name: Address(LOOPBACK, int(f"{first}{place}{number}")) for number, broker in enumerate(brokers)}
        for place, az in enumerate(azs)
    }


def service_of(broker: str, kafka_ports: KafkaPorts, network: str = KAFKA_NETWORK) -> dict[str, Any]:
    """The additions to a broker's service."""
    ports = [address.port for brokers in kafka_ports.values() for name, address in brokers.items() if name == broker]
    return {
        "environment": {KAFKA: "1"},
        "networks": {network: {}},
        "ports": [f"{LOOPBACK}:{port}:{port}" for port in ports],
    }
