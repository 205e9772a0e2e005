"""The fork server: one warmed process that forks every node, in milliseconds.

It imports everything (`fork_serving`) and runs no event loop.
Started as `python -m emulator.worlds.network.fork_server FD PARENT MODULE,...`.
Every start waits for it, so it imports no more than nodes need. structlog would import rich, for terminal output that
no node has, and works without it (50 ms, 5 MiB).
"""

import sys

ONLY_FOR_TERMINALS = "rich"


def main() -> int:
    sys.modules[ONLY_FOR_TERMINALS] = None  # type: ignore[assignment]  # so it is not found (the import system's rule)
    from emulator.toplevel_errors import ended
    from emulator.worlds.network.fork_serving import serve

    return ended("faultline's fork server", lambda: serve(sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(main())
