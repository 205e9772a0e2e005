"""A shell that runs in the supervisor's process: the scenario's player."""

import trio

from emulator.worlds.network.arrivals import Arrivals
from emulator.worlds.network.shell import NodeShell
from emulator.worlds.network.spec import EXIT_CRASHED
from protocol.machine import Exit


class InProcess:
    """`exit` is set when `ended` is."""

    def __init__(self, shell: NodeShell) -> None:
        self.shell = shell
        self.exit: Exit | None = None
        self.ended = trio.Event()

    async def run(self) -> None:
        """Run until the machine exits or crashes, or the run is over."""
        self.exit = await self.shell.run(Arrivals(self.shell).accept_all)

    @property
    def crashed(self) -> bool:
        return self.exit is not None and self.exit.code == EXIT_CRASHED
