"""The fork server: one warmed process that forks every node, so that a node is ready in milliseconds.

It imports everything (`fork_serving`) and runs no event loop. Started as `python -m emulator.worlds.network.fork_server
FD PARENT MODULE,...`. Every run waits for it, so it imports no more than nodes need.
"""

import sys


def main() -> int:
    from emulator.last_resort import ended
    from emulator.worlds.network.fork_serving import serve

    return ended("faultline's fork server", lambda: serve(sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(main())
