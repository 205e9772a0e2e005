"""Engines: make a cluster's processes, on this machine or on others.

Same for the supervisor.

`local_engine` forks them on this machine; with `agent_engine`, agents fork them on separate machines, such as
containers.
"""

import socket
from typing import NamedTuple, Protocol

from emulator.worlds.network.spec import Address, ProcessOrder
from emulator.worlds.network.supervision import ControlConnection
from protocol.link_rules import LinkRule


class Launched(NamedTuple):
    """A new process, not begun yet. `pid`: its id for its engine."""

    pid: int
    control: ControlConnection


class Engine(Protocol):
    """Starts, signals and awaits the processes of a run's nodes.

    A node that does not run refuses connections, as a machine does whose process has died. When the supervisor is gone,
    the nodes end.
    """

    @property
    def pid(self) -> int:
        """Parent of all nodes' processes on this machine; 0: they run elsewhere."""

    @property
    def ports(self) -> dict[str, int]:
        """{node: the port that the others connect to}."""

    @property
    def kafka(self) -> dict[str, dict[str, Address]]:
        """{AZ of clients ("": outside): {broker: address for Kafka clients}}.

        Empty: no Kafka listener.
        """

    def run_dir_in(self, run_dir: str) -> str:
        """The run's directory as its nodes see it."""

    def routes(self, node: str) -> dict[str, Address]:
        """{other node: its address for this one}."""

    def listen_here(self, node: str) -> socket.socket:
        """Listener of a node that runs in the supervisor's own process."""

    async def listen(self) -> None:
        """Handle reports until cancelled. Must run before anything is launched."""

    async def reach(self, node: str) -> None:
        """Wait for the node's machine, or start it: one can die as a node can. Raises ClusterError."""

    async def launch(self, order: ProcessOrder, token: str) -> Launched:
        """Launch a process. Raises ClusterError if there is no machine for it."""

    async def send_signal(self, pid: int, number: int) -> bool:
        """False: the process had ended before."""

    async def wait_ended(self, pid: int) -> int:
        """Its exit code, or minus the signal."""

    async def wait_halted(self, pid: int, halted: bool = True) -> None:
        """Wait until SIGSTOP (or SIGCONT) has taken effect, or the process ended."""

    def close(self) -> None:
        """End every node at once, and release the reserved ports."""


class LinkDriver(Protocol):
    """Cuts links in the nodes' place (the kernel's packet filter). All may raise ClusterError."""

    def require_possible(self, rule: LinkRule) -> None:
        """Raises RuleError for a rule that this driver does not support."""

    async def apply(self, rule: LinkRule) -> None:
        """Put a rule in force at all ends."""

    async def heal(self, rule_id: str) -> dict[str, int]:
        """Lift a rule; {node: packets dropped there}."""

    async def dropped(self, rule_id: str) -> dict[str, int]:
        """{node: packets dropped there so far}."""

    async def returned(self, node: str) -> None:
        """Apply the rules to a machine before the node's next incarnation begins."""
