"""The factory that processes of the network world name: from a run's plain data to the machine of a life."""

from typing import Any

import msgspec

from emulator.machines.node.specs import RunSpec, machine_for
from emulator.storage.files import Files
from emulator.worlds.network.spec import Life
from protocol.machine import Machine


def network_machine(life: Life, files: Files, arguments: dict[str, Any]) -> Machine:
    """`arguments`: a RunSpec as builtins."""
    return machine_for(msgspec.convert(arguments, RunSpec), life.node, files)
