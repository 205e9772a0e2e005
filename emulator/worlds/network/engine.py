"""Engines: what gives a cluster its processes. Forked on this machine (`local_engine`), or by agents on machines of
their own, containers for instance (`agent_engine`); the supervisor cannot tell them apart."""

import socket
from typing import NamedTuple, Protocol

from emulator.worlds.network.spec import Address, ProcessOrder
from emulator.worlds.network.supervision import ControlConnection
from protocol.link_rules import LinkRule


class Launched(NamedTuple):
    """A new process, not begun yet. `pid` names it towards its engine."""

    pid: int
    control: ControlConnection


class Engine(Protocol):
    """Starts, signals and awaits the processes of a run's nodes.

    A node that does not run refuses connections, as a machine does whose process has died. When the supervisor is
    gone, the nodes end.
    """

    @property
    def pid(self) -> int:
        """The process on this machine that all nodes' processes are children of; 0: they live elsewhere."""

    @property
    def ports(self) -> dict[str, int]:
        """{node: the port at which it is dialled}."""

    @property
    def kafka(self) -> dict[str, dict[str, Address]]:
        """{AZ of clients ("": outside): {broker: where Kafka clients dial it}}; empty: no door is open."""

    def run_dir_in(self, run_dir: str) -> str:
        """The run's directory as its nodes see it."""

    def routes(self, node: str) -> dict[str, Address]:
        """{other node: where this one dials it}."""

    def listen_here(self, node: str) -> socket.socket:
        """For a node that runs in the supervisor's own process."""

    async def listen(self) -> None:
        """Takes reports until cancelled. Must run before anything is launched."""

    async def reach(self, node: str) -> None:
        """The node's machine is there, or is started: one can die as a node can. Raises ClusterError."""

    async def launch(self, order: ProcessOrder, token: str) -> Launched:
        """Raises ClusterError when there is no machine to launch it on."""

    async def send_signal(self, pid: int, number: int) -> bool:
        """False: the process had ended before."""

    async def wait_ended(self, pid: int) -> int:
        """Its exit code, or minus the signal."""

    async def wait_halted(self, pid: int, halted: bool = True) -> None:
        """Until SIGSTOP (or SIGCONT) has done its work, or the process ended."""

    def close(self) -> None:
        """Ends every node at once, and gives back what was reserved."""


class LinkDriver(Protocol):
    """Cuts links in the nodes' place (the kernel's packet filter). All may raise ClusterError."""

    def require_possible(self, rule: LinkRule) -> None:
        """Raises RuleError for what this driver cannot do."""

    async def apply(self, rule: LinkRule) -> None:
        """At all ends."""

    async def heal(self, rule_id: str) -> dict[str, int]:
        """{node: packets dropped there}."""

    async def dropped(self, rule_id: str) -> dict[str, int]:
        """{node: packets dropped there so far}."""

    async def returned(self, node: str) -> None:
        """Before the node's next life begins."""
