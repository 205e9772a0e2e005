"""Kafka's ports of brokers in containers: published on this machine's loopback, one for each AZ of clients and broker.

A container listens on the very port that is published, because that is what metadata tell clients. For that brokers
join the network DOORS, the only one of theirs that is not internal: a port can be published on no other. Nothing leads
outside from it (no address is masqueraded), and no container on it reaches another one.
"""

import socket
from typing import Any, Final

from emulator.topology import Topology
from emulator.worlds.network.door.place import azs_of_clients
from emulator.worlds.network.spec import LOOPBACK, Address
from protocol.numbers import number_in

DOORS: Final = "kafka"
"""The network."""
KAFKA: Final = "FAULTLINE_KAFKA"
"""Of a broker's environment: a door will be opened, so its library is imported before nodes are forked."""
PORTS: Final = "FAULTLINE_KAFKA_PORTS"
"""Of `control`'s environment in a plain `docker compose up`: the first figures of all ports."""
PORTS_DEFAULT: Final = "95"
FIGURE: Final = 10
"""Behind the first figures stand one for the AZ and one for the broker."""
FIRST_MAX: Final = 654
"""With two figures behind it, below the largest port."""
NETWORK: Final[dict[str, Any]] = {
    "driver_opts": {
        "com.docker.network.bridge.enable_ip_masquerade": "false",
        "com.docker.network.bridge.enable_icc": "false",
    }
}

Doors = dict[str, dict[str, Address]]
"""{AZ of clients ("": outside): {broker: where Kafka clients of that AZ dial it}}"""


class UnusablePorts(ValueError):
    """No first figures of ports."""


def free_doors(topology: Topology) -> Doors:
    """On ports that are free now; whoever publishes them finds out whether they still are."""
    taken: list[socket.socket] = []
    doors: Doors = {}
    try:
        for az in azs_of_clients(topology):
            for broker in topology.with_role("broker"):
                taken.append(socket.create_server((LOOPBACK, 0)))
                doors.setdefault(az, {})[broker.name] = Address(LOOPBACK, taken[-1].getsockname()[1])
    finally:
        for one in taken:
            one.close()
    return doors


def doors_from(topology: Topology, first: str) -> Doors:
    """As compose/kafka/ publishes them: `95` and AZ 1, broker 2: 9512. AZs in their order, outside last. Raises
    UnusablePorts."""
    azs, brokers = azs_of_clients(topology), topology.with_role("broker")
    if not 0 < (number_in(first) or 0) <= FIRST_MAX:
        raise UnusablePorts(f"{PORTS}={first!r}: the first figures of ports, 1 to {FIRST_MAX}")
    if len(azs) > FIGURE or len(brokers) > FIGURE:
        raise UnusablePorts(f"{PORTS}: at most {FIGURE - 1} AZs and {FIGURE} brokers")
    return {
        az: {broker.name: Address(LOOPBACK, int(f"{first}{place}{number}")) for number, broker in enumerate(brokers)}
        for place, az in enumerate(azs)
    }


def service_of(broker: str, doors: Doors, network: str = DOORS) -> dict[str, Any]:
    """What is added to a broker's service."""
    ports = [address.port for brokers in doors.values() for name, address in brokers.items() if name == broker]
    return {
        "environment": {KAFKA: "1"},
        "networks": {network: {}},
        "ports": [f"{LOOPBACK}:{port}:{port}" for port in ports],
    }
