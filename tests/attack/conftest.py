"""Fixtures of the attack tests: a command line for a node that is never started."""

from collections.abc import Callable

import pytest

from emulator.topology import three_azs
from emulator.worlds.network.spec import Life, MachineSpec, ProcessOrder, ShellSettings


@pytest.fixture
def make_order() -> Callable[[], ProcessOrder]:
    def order() -> ProcessOrder:
        topology = three_azs()
        life = Life("run", topology.node("broker-0"), topology, 1, 1)
        return ProcessOrder(ShellSettings(life, "/nowhere", "token", {}, 0.0, 0.0), MachineSpec("a:b"))

    return order
