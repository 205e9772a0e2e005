"""`python -m emulator` is `faultline`. Containers use commands of their own (compose files)."""

import sys
from importlib import import_module
from typing import Final

IN_CONTAINERS: Final = {
    "agent": ("emulator.worlds.network.agent", "agent"),
    "control": ("emulator.cluster.attached", "faultline"),
    "cluster": ("emulator.cluster.single_container", "faultline"),
    "cluster-ready": ("emulator.cluster.container_health", "faultline"),
}
"""{command: (module, name in messages)} of containers' main processes.

A node's container, the service that accepts commands without an `up`, and a container with all nodes,
and its health check.
"""


def main() -> None:
    """Ends this process with an exit code."""
    of_container = IN_CONTAINERS.get(sys.argv[1]) if len(sys.argv) == 2 else None
    if of_container is None:
        from emulator.cli.app import main as command_line

        command_line()
    else:
        from emulator.toplevel_errors import ended

        module, name = of_container
        sys.exit(ended(name, import_module(module).main, log="the container's log"))


if __name__ == "__main__":
    main()
