"""A simulated cluster under a script, whose brokers a test may kill where it likes."""

from collections.abc import Callable
from typing import Any

from emulator.machines.node.specs import machine_for
from emulator.runs.resolve import resolve
from emulator.scenario.load import load_scenario
from emulator.scenario.player.player import Player
from emulator.storage import inspect
from emulator.storage.files import NodeKilled
from emulator.storage.memory_files import MemoryFiles
from emulator.topology import OBSERVER, Node
from emulator.worlds.simulated.latencies import CALM, Latencies
from emulator.worlds.simulated.world import SimulatedWorld
from protocol.machine import Machine

BROKERS = ("broker-0", "broker-1", "broker-2")
HEAD = """
id: script
title: a script of the tests
settings:
  zookeeper.session.timeout.ms: 4000
  replica.lag.time.max.ms: 4000
  auto.leader.rebalance.enable: false
  auto.create.topics.enable: false
  min.insync.replicas: 2
steps:
"""
BEGIN = """
  - start: 2
  - start: 1
  - start: 0
  - create-topic: {topic: t, assignment: [0, 1, 2]}
  - produce: {broker: 0, values: [a, b], acks: all}
"""
"""Three brokers, and two records that all of them have."""
WRITES = """
  - start: 2
  - start: 1
  - start: 0
  - create-topic: {topic: t, assignment: [0, 1, 2]}
  - produce: {broker: 0, values: [a, b, c, d], acks: all}
  - sleep: 6
  - produce: {broker: 0, values: [e, f, g, h], acks: all}
  - sleep: 12
  - produce: {broker: 0, values: [i], acks: all}
  - produce: {broker: 1, values: [j], acks: all}
  - sleep: 10
"""


class Cluster:
    """`finished`: the script is over. Restarts of killed brokers are the test's."""

    def __init__(
        self,
        script: str = WRITES,
        *,
        version: str = "2.6",
        seed: int = 1,
        latencies: Latencies = CALM,
        topology: str = "{brokers: 3}",
        steps_may_fail: bool = False,
        **settings: Any,
    ) -> None:
        text = f"topology: {topology}{HEAD}{script}"
        resolved = resolve(load_scenario(text, "script.yaml"), version, settings)
        spec, steps = resolved.spec, resolved.scenario.steps
        self.player = Player(
            spec.topology, steps, resolved.record_magic, spec.kafka_version, steps_may_fail=steps_may_fail
        )

        def machine(node: Node, files: MemoryFiles) -> Machine:
            return self.player if node.name == OBSERVER else machine_for(resolved.spec, node, files)

        self.world = SimulatedWorld(resolved.spec.topology, machine, seed, latencies=latencies)
        self.world.start(OBSERVER)

    def run(self, until: Callable[[], bool] = lambda: False, max_ms: float = 600_000.0) -> None:
        self.world.run(lambda: self.player.finished or until(), max_ms=max_ms)

    def go_on(self, ms: float) -> None:
        """Time passes after the script."""
        end_ms = self.world.now_ms + ms
        self.world.at(end_ms, lambda: None)
        self.world.run(lambda: self.world.now_ms >= end_ms)

    @property
    def finished(self) -> bool:
        return self.player.finished

    def count_operations(self, name: str) -> list[str]:
        """From now on every primitive storage operation of a node, by name."""
        operations: list[str] = []
        self.world.nodes[name].before_storage = lambda operation, path: operations.append(operation)
        return operations

    def kill_before(self, name: str, operation: int) -> None:
        """The node dies before its `operation`-th storage operation from now (0: the next)."""
        left = [operation]

        def hook(what: str, path: str) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise NodeKilled(f"before {what} {path}")

        self.world.nodes[name].before_storage = hook

    def spare(self, name: str) -> None:
        self.world.nodes[name].before_storage = None

    def restart_in(self, name: str, ms: float) -> None:
        self.world.at(self.world.now_ms + ms, lambda: self.world.start(name))

    def alive(self, name: str) -> bool:
        return self.world.nodes[name].alive

    # --- what came of it ---

    def logs(self) -> dict[str, list[list[Any]]]:
        """{broker: [[offset, epoch, value], ...]} as they lie on disk now."""
        nodes = self.world.nodes
        return {name: inspect.read_partition(nodes[name].files, "t-0")["log"] for name in BROKERS}

    def acknowledged(self) -> list[str]:
        """Values whose attempt was answered with success."""
        return [e["value"] for e in self.player.timeline.entries if e.get("saw") == "attempt" and e["error"] == 0]

    def attempts(self) -> list[tuple[str, int | str]]:
        return [(e["value"], e["error"]) for e in self.player.timeline.entries if e.get("saw") == "attempt"]

    def assert_sound(self) -> None:
        """The script ended, replicas are equal, and nothing that was acknowledged is lost."""
        assert self.finished and all(self.alive(name) for name in BROKERS)
        logs = self.logs()
        first = logs["broker-0"]
        assert all(log == first for log in logs.values()), logs
        values = [value for _, _, value in first]
        missing = [value for value in self.acknowledged() if value not in values]
        assert not missing, (missing, logs, self.attempts())
        assert [offset for offset, _, _ in first] == list(range(len(first)))
