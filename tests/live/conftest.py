"""A live cluster for tests.

`up` starts it, clients use its control server, `down` removes it.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from emulator.cluster.cluster_registry import CLUSTER_FILE, LOG_FILE, Found, clusters
from emulator.cluster.control_client import ask
from emulator.cluster.control_requests import Answer, ControlRequest, DescribeTopic, Machine, Status
from emulator.cluster.ending import Ended, end
from emulator.cluster.launch import launch
from emulator.cluster.specification import LiveSpec, resolved, write_specification
from emulator.runs.directory import prepare
from emulator.worlds.cluster_file.compose_files import named_topology, read_cluster_file
from tests.patience import PATIENCE_S

SPEED = 5.0
SETTINGS: dict[str, Any] = {
    "zookeeper.session.timeout.ms": 6000,
    "replica.lag.time.max.ms": 10000,
    "auto.create.topics.enable": False,
}
LOOK_S = 0.05
SETTLED_S = 1.6
"""Longer than a session lives.

The registration of any node then is not its last incarnation's.
"""


class Live:
    """A running cluster.

    `processes`: the supervisor, the fork server and every node that ever was its child.
    """

    def __init__(self, found: Found) -> None:
        self.found = found
        self.registration = found.registration
        self.directory = found.directory
        self.supervisor = psutil.Process(self.registration.pid)
        self.seen: set[psutil.Process] = set()
        self.look()

    def look(self) -> None:
        """Notes the processes that there are now."""
        self.seen.add(self.supervisor)
        with contextlib.suppress(psutil.NoSuchProcess):
            self.seen |= set(self.supervisor.children(recursive=True))

    def ask(self, what: ControlRequest, wait_s: float = 1.5) -> Answer:
        return ask(self.registration, what, wait_s)

    def did(self, what: ControlRequest, wait_s: float = 10.0) -> dict[str, Any]:
        """The result of what must succeed."""
        answer = self.ask(what, wait_s)
        assert answer.code == 0, (what, answer)
        return answer.result

    def status(self) -> dict[str, Any]:
        return self.did(Status())

    def partition(self, topic: str = "t", number: int = 0) -> dict[str, Any]:
        found: dict[str, Any] = self.did(DescribeTopic(topic))["topics"][topic][number]
        return found

    def until(self, holds: Callable[[], Any], limit_s: float = PATIENCE_S) -> Any:
        """The first value that held."""
        deadline = time.monotonic() + limit_s
        while True:
            value = holds()
            if value:
                return value
            assert time.monotonic() < deadline, f"not within {limit_s:g} s; {self.ask(Status())}"
            threading.Event().wait(LOOK_S)

    def events(self, node: str, incarnation: int, *, wire: bool = False) -> list[dict[str, Any]]:
        """Whole lines of one life so far, in their order."""
        kinds = [f"{node}.{incarnation}.jsonl"] + ([f"{node}.{incarnation}.wire.jsonl"] if wire else [])
        found: list[dict[str, Any]] = []
        for name in kinds:
            path = self.directory / "events" / name
            if path.exists():
                whole, _, _ = path.read_bytes().rpartition(b"\n")
                found += [msgspec.json.decode(line) for line in whole.splitlines()]
        return sorted(found, key=lambda event: event["seq"])

    def led(self, broker: int, topic: str = "t", number: int = 0) -> bool:
        """Whether that broker has begun to lead the partition.

        ZooKeeper has its new leader earlier: before the controller's LeaderAndIsr has reached the broker.
        """
        return any(
            (event["topic"], event["partition"], event["role"]) == (topic, number, "leader")
            for event in self.events(f"broker-{broker}", 1)
            if event["event"] == "role_changed"
        )

    def bring_back(self, limit_s: float = PATIENCE_S) -> None:
        """Resumes paused nodes and starts dead ones, again if need be.

        A broker whose last session has not expired yet dies of it, as Kafka's does.
        """

        since = time.monotonic()

        def all_there() -> bool:
            nonlocal since
            nodes = self.status()["nodes"]
            for name, node in nodes.items():
                if node["paused"]:
                    self.ask(Machine("resume", name))
                elif not node["alive"]:
                    self.ask(Machine("start", name))
            if not all(node["alive"] for node in nodes.values()) or not self.status()["cluster"]["ready"]:
                since = time.monotonic()
            return time.monotonic() - since > SETTLED_S

        self.until(all_there, limit_s)
        self.look()

    def down(self) -> Ended:
        self.look()
        return end(self.found)

    def ports(self) -> list[int]:
        """Those that its processes listen on."""
        found = []
        for process in self.seen:
            try:
                found += [c.laddr.port for c in process.net_connections("tcp") if c.status == psutil.CONN_LISTEN]
            except psutil.Error:
                continue
        return found

    def assert_nothing_left(self, ports: list[int]) -> None:
        gone, left = psutil.wait_procs(self.seen, 5.0)
        assert not left, f"left running: {left}"
        assert len(gone) >= 1
        assert not (self.directory / CLUSTER_FILE).exists()
        for port in ports:
            with socket.socket() as sock:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections of the dead may linger
                sock.bind(("127.0.0.1", port))
                sock.listen()
        for path in self.directory.rglob("*"):
            assert not path.name.endswith((".lock", ".partial")), path


def bring_up(
    directory: Path,
    name: str = "three-az",
    *,
    wire: bool = False,
    speed: float = SPEED,
    page: bool = False,
    story: Sequence[dict[str, Any]] = (),
    **settings: Any,
) -> Live:
    """As `faultline up --out directory` does. `settings`: Kafka's, with underscores for dots."""
    given = {name.replace("_", "."): value for name, value in settings.items()}
    about = resolved(read_cluster_file(named_topology("three-az")), "2.6", SETTINGS | given)
    levels = ("client", "replica", "wire") if wire else ("client", "replica")
    spec = LiveSpec(
        name, about.spec, about.record_magic, speed=speed, seed=3, levels=levels, page=page, story=list(story)
    )
    prepare(directory)
    write_specification(directory, spec, about)
    return Live(launch(directory))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory without runs, of a user who has none.

    Afterwards no cluster is left, whatever the test did.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    yield tmp_path
    for one in clusters():  # a test that failed half-way has not ended its own
        if one.registration.pid != os.getpid():  # tests of the registry stand for a supervisor themselves
            end(one)


@pytest.fixture
def up(home: Path) -> Iterator[Callable[..., Live]]:
    """`up(name)`; afterwards nothing of any cluster is left, and its supervisor has met no bug."""
    running: list[Live] = []
    before = set(psutil.Process(os.getpid()).children())  # another suite's Spark, for instance

    def make(name: str = "three-az", **options: Any) -> Live:
        live = bring_up(home / "runs" / name, name, **options)
        running.append(live)
        return live

    yield make
    for live in running:
        ports = live.ports()
        live.down()
        live.assert_nothing_left(ports)
        assert "Traceback" not in (live.directory / LOG_FILE).read_text()
    left = set(psutil.Process(os.getpid()).children()) - before
    assert not [one for one in left if one.status() != psutil.STATUS_ZOMBIE]
