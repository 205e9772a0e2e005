"""Machines for local processes: a network namespace with an agent for each node.

A hub (a namespace of its own) has two bridges. Every machine has a virtual cable to each: `data`, the network between
nodes, and `control`, to which this machine too is connected. Nothing else of this machine is touched, and removing the
namespaces removes everything.
"""

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from emulator.identity import identity_from, mine, standing_of
from emulator.topology import OBSERVER, Topology
from emulator.worlds.network.agent import NODE_PORT
from emulator.worlds.network.agent_engine import AgentEngine
from emulator.worlds.network.spec import Address
from emulator.worlds.packet_filter.driver import Namespace
from protocol.numbers import number_in

PREFIX: Final = "faultline"
CLUSTERS_MAX: Final = 250
NODES_MAX: Final = 250
HUB: Final = "hub"
NETNS_DIR: Final = Path("/run/netns")
LOCK_FILE: Final = Path("/run/faultline.lock")
OWNERS_DIR: Final = Path("/run/faultline")
TOOL_LIMIT_S: Final = 30.0


class NamespaceError(Exception):
    """The kernel refused; the message is the `ip` command's."""


class NamespaceMachines:
    """Machines of one cluster; a context manager. Raises NamespaceError.

    `number` tells it from others on this machine (198.18.NUMBER.0/24 and 198.19.NUMBER.0/24).
    """

    def __init__(self, topology: Topology, token: str) -> None:
        self._nodes = [node.name for node in topology.nodes if node.name != OBSERVER]
        assert len(self._nodes) <= NODES_MAX, "more nodes than addresses"
        self._token = token
        self._keepers: dict[str, subprocess.Popen[bytes]] = {}
        self.number = 0

    def __enter__(self) -> "NamespaceMachines":
        with _alone():
            _remove_abandoned()
            self.number = _free_number()
            OWNERS_DIR.mkdir(mode=0o755, exist_ok=True)
            _owner_file(self.number).write_text(mine().text())
            try:
                self._wire()
                self._keepers = {node: self._keeper(node) for node in self._nodes}
            except BaseException:
                self._take_down()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        with _alone():  # the next owner of this number must not lose its own file
            self._take_down()

    def _take_down(self) -> None:
        for agent in self._keepers.values():
            agent.kill()
            agent.wait()
        self._keepers.clear()
        _remove(_names_of(self.number))
        _owner_file(self.number).unlink(missing_ok=True)

    def engine(self) -> AgentEngine:
        """Nodes reach each other on the data network, the player reaches them on control."""
        data = {node: Address(self._address(19, node), NODE_PORT) for node in self._nodes}
        control = {node: Address(self._address(18, node), NODE_PORT) for node in self._nodes}
        observer = {OBSERVER: Address(f"198.18.{self.number}.254", NODE_PORT)}
        routes = {node: data | observer for node in self._nodes} | {OBSERVER: control | observer}

        async def locate(node: str) -> str:
            return control[node].host

        async def revive(node: str) -> None:
            self._revive(node)

        return AgentEngine(locate, routes, self._token, run_dir=None, revive=revive)

    def namespaces(self) -> dict[str, Namespace]:
        """Namespaces for the kernel driver."""
        return {node: Namespace(str(NETNS_DIR / self._name(node)), (self._address(19, node),)) for node in self._nodes}

    def _wire(self) -> None:
        """Make hub, bridges, cables and addresses."""
        hub = self._name(HUB)
        _ip(["netns add " + self._name(one) for one in (HUB, *self._nodes)])
        uplink = f"fl{self.number}"
        cables = [f"link add {uplink} type veth peer name uplink netns {hub}"]
        cables += [f"addr add 198.18.{self.number}.254/24 dev {uplink}", f"link set {uplink} up"]
        _ip(cables)
        in_hub = ["link add control type bridge", "link add data type bridge", "link set uplink master control"]
        for index, node in enumerate(self._nodes):
            for network in ("control", "data"):
                in_hub.append(f"link add {network[0]}{index} type veth peer name {network} netns {self._name(node)}")
                in_hub += [f"link set {network[0]}{index} master {network}", f"link set {network[0]}{index} up"]
        _ip([*in_hub, "link set uplink up", "link set control up", "link set data up"], hub)
        for node in self._nodes:
            own = ["link set lo up"]
            for network, octet in (("control", 18), ("data", 19)):
                own += [f"addr add {self._address(octet, node)}/24 dev {network}", f"link set {network} up"]
            _ip(own, self._name(node))

    def _revive(self, node: str) -> None:
        """Start a new agent for a killed one, in the same namespace."""
        if self._keepers[node].poll() is not None:
            self._keepers[node] = self._keeper(node)

    def _keeper(self, node: str) -> subprocess.Popen[bytes]:
        """Start an agent, which ends with this process in any case."""
        path = NETNS_DIR / self._name(node)
        return subprocess.Popen(
            ["nsenter", f"--net={path}", sys.executable, "-m", "emulator", "agent"],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(entry or os.getcwd() for entry in sys.path),
                "FAULTLINE_NODE": node,
                "FAULTLINE_TOKEN": self._token,
                "FAULTLINE_CONTROL_HOST": self._address(18, node),
                "FAULTLINE_PARENT": str(os.getpid()),
            },
            stdin=subprocess.DEVNULL,
        )

    def _address(self, octet: int, node: str) -> str:
        return f"198.{octet}.{self.number}.{self._nodes.index(node) + 1}"

    def _name(self, one: str) -> str:
        return f"{PREFIX}-{self.number}-{one}"


def remove_abandoned() -> list[str]:
    """Remove the namespaces of clusters whose supervisor is gone; return their names.

    Raises NamespaceError.
    """
    with _alone():
        return _remove_abandoned()


@contextmanager
def _alone() -> Iterator[None]:
    """Lock out other clusters: until a cluster has processes it looks abandoned to others."""
    with LOCK_FILE.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def abandoned() -> list[str]:
    """Names of namespaces without processes, whose supervisor is gone."""
    return [
        name
        for number in sorted({_number_of(name) for name in _names()})
        if not _is_owned(number) and not any(_has_processes(name) for name in _names_of(number))
        for name in _names_of(number)
    ]


def _remove_abandoned() -> list[str]:
    names = abandoned()
    _remove(names)
    for number in {_number_of(name) for name in names}:
        _owner_file(number).unlink(missing_ok=True)
    return names


def _owner_file(number: int) -> Path:
    """File with the Identity of the process that these namespaces live and die with."""
    return OWNERS_DIR / str(number)


def _is_owned(number: int) -> bool:
    """Whether their supervisor lives, here or elsewhere: all of its agents may have been killed."""
    path = _owner_file(number)
    owner = identity_from(path.read_text()) if path.exists() else None
    return owner is not None and standing_of(owner) != "dead"


def _has_processes(name: str) -> bool:
    try:
        return bool(_output("netns", "pids", name).strip())
    except subprocess.CalledProcessError:
        return False  # its maker was killed before there was more than a name


def _names() -> list[str]:
    there = os.listdir(NETNS_DIR) if NETNS_DIR.is_dir() else []
    return sorted(name for name in there if name.startswith(f"{PREFIX}-") and _number_of(name) > 0)


def _names_of(number: int) -> list[str]:
    return [name for name in _names() if _number_of(name) == number]


def _number_of(name: str) -> int:
    return number_in(name.removeprefix(f"{PREFIX}-").partition("-")[0]) or 0


def _free_number() -> int:
    taken = {_number_of(name) for name in _names()}
    for number in range(1, CLUSTERS_MAX):
        if number not in taken and not _output("addr", "show", "to", f"198.18.{number}.0/24").strip():
            return number
    raise NamespaceError(f"{CLUSTERS_MAX} clusters in network namespaces, no more")


def _remove(names: Sequence[str]) -> None:
    """Remove namespaces.

    Raises NamespaceError if one still exists, and no other process removes them.

    The `ip` of a supervisor that was killed as it ended may do the same.
    """
    while names:
        try:
            _ip([f"netns delete {name}" for name in names])
            return
        except NamespaceError:
            left = [name for name in names if (NETNS_DIR / name).exists()]
            if len(left) == len(names):
                raise
            names = left


def _ip(lines: Sequence[str], namespace: str = "") -> None:
    """One run of `ip` for all lines, in a namespace or here. Raises NamespaceError."""
    inside = ["-netns", namespace] if namespace else []
    done = subprocess.run(
        ["ip", *inside, "-batch", "-"], input="\n".join(lines) + "\n", text=True, capture_output=True,
        timeout=TOOL_LIMIT_S, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        errors = done.stderr.strip().splitlines() or [f"ip ended with code {done.returncode}"]
        raise NamespaceError(f"{namespace or 'this machine'}: {errors[0]}")


def _output(*words: str) -> str:
    return subprocess.run(["ip", *words], text=True, capture_output=True, timeout=TOOL_LIMIT_S, check=True).stdout
