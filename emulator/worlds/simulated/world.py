"""The simulated world: nodes on a heap, their faults, the executor of player's actions."""

from emulator.faults.actions import Act
from emulator.worlds.simulated.fault_executor import FaultExecutor
from emulator.worlds.simulated.fault_targets import Breakable
from emulator.worlds.simulated.node import SimulatedNode


class SimulatedWorld(Breakable):
    """All nodes of a topology."""

    _executor: FaultExecutor | None = None

    @property
    def executor(self) -> FaultExecutor:
        """The executor of the whole run: it keeps the nodes that are started together."""
        if self._executor is None:
            self._executor = FaultExecutor(self)
        return self._executor

    def _act(self, node: SimulatedNode, order: Act) -> None:
        (self.on_act or self.executor.do)(node, order)
