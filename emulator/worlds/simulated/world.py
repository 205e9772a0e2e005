"""The simulated world: nodes on a heap, what may be done to them, and who does what the player asks."""

from functools import cached_property

from emulator.faults.actions import Act
from emulator.worlds.simulated.breakable import Breakable
from emulator.worlds.simulated.fault_executor import FaultExecutor
from emulator.worlds.simulated.node import SimulatedNode


class SimulatedWorld(Breakable):
    """All nodes of a topology."""

    @cached_property
    def executor(self) -> FaultExecutor:
        return FaultExecutor(self)

    def _act(self, node: SimulatedNode, order: Act) -> None:
        (self.on_act or self.executor.do)(node, order)
