"""Validation of a scenario's steps against the state of its machines and topics.

A node of a fault must be able to run, and a topic to create must not exist. Only certain contradictions are errors of
the file. A node may die by itself, so its state is unknown after some steps. Background and repeated steps make the
state of their nodes unknown.
"""

from collections.abc import Iterable, Iterator

from ruamel.yaml.nodes import Node

from emulator.faults.targets import candidates, shown, target_in
from emulator.scenario import scenario_model as m
from emulator.topology import KRAFT, Topology

NEVER, DEAD, RUNS, PAUSED = "never", "dead", "runs", "paused"
TOPIC_STEPS = m.CreateTopic | m.DeleteTopic


class NodeStates:
    """State of each node after the steps so far; a node without an entry may have any state."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        others = [node for node in topology.nodes if not {"broker", "controller"} & set(node.roles)]
        self._is = dict.fromkeys((node.name for node in topology.nodes), NEVER)
        self._is |= dict.fromkeys((node.name for node in others), RUNS)  # they are started first, before every step
        if topology.metadata == KRAFT:  # dedicated controllers run, unless the script starts them itself
            dedicated = {node.name for node in topology.with_role("controller") if "broker" not in node.roles}
            self._is = {name: state for name, state in self._is.items() if name not in dedicated}
        self._topics: set[str] = set()
        """Topics that certainly exist."""

    def take(self, node: Node, steps: Iterable[m.AnyStep]) -> Iterator[tuple[Node, str]]:
        """Errors of these steps, of `node`; updates the states."""
        for step in steps:
            if isinstance(step, m.Background | m.Repeat):
                for one in _machine_steps(step):
                    self._forget(one.node)
                self._topics -= {one.topic for one in m.plain_steps([step]) if isinstance(one, TOPIC_STEPS)}
                continue
            if isinstance(step, m.DeleteTopic):
                self._topics.discard(step.topic)
            if isinstance(step, m.CreateTopic):
                if step.topic in self._topics and not step.may_fail:
                    yield node, f"{step.topic} is there: a step before has created it, and none has deleted it"
                if not step.may_fail:
                    self._topics.add(step.topic)
            for one in _machine_steps(step):
                if why := self._unfit(one):
                    target = target_in(one.node)
                    yield node, f"{one.node if target is None else shown(target)} {why}"
                self._do(one)

    def _forget(self, name: str) -> None:
        """Forget the node's state; of a target, the states of all nodes that it can mean."""
        target = target_in(name)
        if target is None:
            self._is.pop(name, None)
            return
        for node in candidates(self._topology, target):
            if self._is.get(node.name) != NEVER:
                self._is.pop(node.name, None)

    def _unfit(self, step: m.MachineStep) -> str:
        if target := target_in(step.node):
            if all(self._is.get(node.name) == NEVER for node in candidates(self._topology, target)):
                return "means no node yet: no step before has started one that it can mean"
            return ""
        now = self._is.get(step.node)
        needs_life = step.NEEDS_LIFE or isinstance(step, m.Kill)  # killing a dead node is no fault of a file
        if needs_life and now == NEVER:
            return "does not run yet: no step before has started it"
        if needs_life and now == DEAD:
            return "does not run: a step before has ended it, and none has started it again"
        match step:
            case m.PauseNode() if now == PAUSED:
                return "is paused already"
            case m.ResumeNode() if now == RUNS:
                return "is not paused"
            case _ if step.HEARS and now == PAUSED:
                return "is paused; resume it first"
        return ""

    def _do(self, step: m.MachineStep) -> None:
        if target_in(step.node):
            if step.LEAVES != "as it was":
                self._forget(step.node)
            return
        match step.LEAVES:
            case "running":
                self._is[step.node] = RUNS
            case "dead":
                self._is[step.node] = DEAD
            case "paused":
                self._is[step.node] = PAUSED
            case "unknown":
                self._is.pop(step.node, None)  # it may die of it


def _machine_steps(step: m.AnyStep) -> Iterator[m.MachineStep]:
    return (one for one in m.plain_steps([step]) if isinstance(one, m.MachineStep))
