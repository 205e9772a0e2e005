"""Factory of the network world: makes an incarnation's machine from a run's plain data."""

from typing import Any

import msgspec

from emulator.machines.node.specs import RunSpec, machine_for
from emulator.storage.files import Files
from emulator.worlds.network.spec import Life
from protocol.machine import Machine


def network_machine(life: Life, files: Files, arguments: dict[str, Any]) -> Machine:
    """`arguments`: a RunSpec as builtins."""
    return machine_for(msgspec.convert(arguments, RunSpec), life.node, files)
