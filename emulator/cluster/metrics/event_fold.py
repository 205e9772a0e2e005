"""The status of a cluster at any time of a run, folded from its events. Pure.

Events come in their order of time. So a simulated run has the metrics of a live cluster. A node has no view while its
process does not run. A paused one does not answer.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from emulator.cluster.cluster_status import ClusterStatus, FaultView, LinkView, NodeView, links_of, partition_order
from emulator.cluster.metrics.replica_fold import FOLDED, NodeFold, brokers_in_text
from emulator.cluster.metrics.rule_texts import rule_in
from emulator.faults.machine_fault_kinds import ENDING, PauseNode, ResumeNode
from emulator.topology import INJECTOR, OBSERVER, Node, Topology, node_name
from protocol.errors import error_name
from protocol.events.fault_events import DIED
from protocol.ids import BrokerId, TopicPartition, topic_partition_text
from protocol.messages.status_messages import PartitionStatus
from protocol.znodes import TOPICS, UnreadableZnode, decode_topic

Event = Mapping[str, Any]
HEAL: Final = "heal"
REQUESTS: Final = {
    "produce": "Produce", "fetch": "Fetch", "metadata": "Metadata", "list-offsets": "ListOffsets",
    "commit": "OffsetCommit", "committed": "OffsetFetch", "send-offset": "TxnOffsetCommit",
}  # fmt: skip
"""{kind of an operation: Kafka's name of its request}"""
EVENTS: Final = FOLDED | {
    "node_started", "node_stopped", "machine_fault", "fault_asked", "fault_in_force", "fault_healed", "fault_lasted",
    "frame_stopped", "znode_changed", "operation_invoked", "attempt_sent", "attempt_ended", "operation_ended",
}  # fmt: skip
"""Names of the events that a fold needs."""
RULES_MAX: Final = 128
"""Limit of rules on links that are reported, as of a live cluster: the newest."""


class _Life(msgspec.Struct):
    """One node. `fold` of its present incarnation."""

    az: str = ""
    alive: bool = False
    paused: bool = False
    incarnation: int = 0
    fold: NodeFold = msgspec.field(default_factory=NodeFold)
    errors: dict[str, dict[str, int]] = {}


class EventFold:
    """`add` each event; `status` then returns the status at that time."""

    def __init__(self) -> None:
        self._lives: dict[str, _Life] = {}
        self._assignments: dict[TopicPartition, list[BrokerId]] = {}
        self._rules: dict[str, FaultView] = {}
        self._stopped: dict[str, Counter[str]] = {}
        """{rule: frames stopped, by frame (`frames`) and by the nodes' reports (`reported`)}"""
        self._attempts: dict[str, tuple[str, int]] = {}
        """{operation: (its request, the broker of its last attempt)}, of operations under way."""
        self.operations: Counter[tuple[str, str, str]] = Counter()
        """{(node, kind, outcome): count}"""

    def add(self, event: Event) -> None:
        """Fold one event. Events come in their order of time."""
        name, node = event["event"], event["node"]
        if name in FOLDED:
            if name == "partition_state_committed":
                self._assignments[event["topic"], event["partition"]] = brokers_in_text(event["replicas"])
            self._life(node).fold.add(event)
            return
        match name:
            case "node_started":
                self._started(node, event)
            case "node_stopped":
                self._life(node).alive = False
            case "machine_fault":
                self._machine_fault(event)
            case "znode_changed":
                self._znode(event)
            case "operation_invoked":
                self._attempts[event["operation"]] = (REQUESTS.get(event["kind"], ""), -1)
            case "attempt_sent":
                request, _ = self._attempts.get(event["operation"], ("", -1))
                self._attempts[event["operation"]] = (request, event["broker"])
            case "attempt_ended":
                self._response(event)
            case "operation_ended":
                self._attempts.pop(event["operation"], None)
                self.operations[node, event["kind"], event["outcome"]] += 1
            case _:
                self._rule(name, event)

    def status(self, at_ms: float) -> ClusterStatus:
        """The status after the events so far."""
        lives = sorted(self._lives.items())
        nodes = {name: self._view(life) for name, life in lives if name not in (OBSERVER, INJECTOR)}
        partitions: dict[str, dict[str, PartitionStatus]] = {}
        for name, view in nodes.items():
            if view.answered:
                for place, replica in sorted(self._lives[name].fold.replicas.items()):
                    partitions.setdefault(topic_partition_text(*place), {})[name] = replica
        ordered = dict(sorted(partitions.items(), key=lambda item: partition_order(item[0])))
        rules = list(self._rules.values())[-RULES_MAX:]
        return ClusterStatus(at_ms, nodes, ordered, _links(nodes, [rule for rule in rules if rule.is_in_force]), rules)

    def _view(self, life: _Life) -> NodeView:
        answers = life.alive and not life.paused
        view = NodeView(life.alive, life.paused, answers, life.incarnation, life.az, list(life.fold.roles))
        if answers:
            for place, replica in life.fold.replicas.items():
                replica.replicas = self._assignments.get(place, replica.isr)
            view.is_controller, view.controller_epoch = life.fold.is_active, life.fold.controller_epoch
            view.metrics, view.quorum, view.errors = life.fold.metrics(), life.fold.quorum, life.errors
        return view

    def _life(self, node: str) -> _Life:
        return self._lives.setdefault(node, _Life())

    def _started(self, node: str, event: Event) -> None:
        roles = tuple(role for role in event["roles"].split(",") if role)
        self._lives[node] = _Life(event["az"], True, False, event["incarnation"], NodeFold(roles))

    def _machine_fault(self, event: Event) -> None:
        life = self._lives.get(event["target"])
        if life is None:
            return  # it starts for the first time
        if event["what"] in (*ENDING, DIED):
            life.alive = False
        elif event["what"] in (PauseNode.VERB, ResumeNode.VERB):
            life.paused = event["what"] == PauseNode.VERB

    def _znode(self, event: Event) -> None:
        """A topic's assignment. Every ZooKeeper server writes it; all write the same."""
        folder, _, topic = event["path"].rpartition("/")
        if folder != TOPICS or not event["data"]:
            return
        try:
            assigned = decode_topic(topic, event["data"].encode())
        except UnreadableZnode:
            return  # a client may write anything there; the controller ignores it, too
        for partition, assignment in assigned.items():
            self._assignments[topic, partition] = list(assignment.replicas)

    def _response(self, event: Event) -> None:
        request, broker = self._attempts.get(event["operation"], ("", -1))
        if not request or broker < 0 or event["error"] < -1:
            return
        error = error_name(event["error"])
        errors = self._life(node_name(BrokerId(broker))).errors.setdefault(request, {})
        errors[error] = errors.get(error, 0) + 1

    def _rule(self, name: str, event: Event) -> None:
        rule = event["rule"]
        if name == "fault_asked":
            if event["what"].startswith(HEAL):
                return
            self._rules[rule] = FaultView(event["what"], event["at_ms"], None, None, 0, False, None, rule)
            return
        view = self._rules.get(rule)
        if view is None:
            return
        if name == "fault_in_force" and view.in_force_ms is None:
            view.in_force_ms = event["at_ms"]
        elif name == "fault_healed":
            view.healed, view.healed_ms = True, event["at_ms"]
        stopped = self._stopped.setdefault(rule, Counter())
        if name == "frame_stopped":
            stopped["frames"] += 1
        elif name in ("fault_healed", "fault_lasted"):
            stopped["reported"] += event["frames_stopped"]
        # A run without events of level wire has the reports alone.
        view.frames_stopped = max(stopped.values(), default=0)
        view.took_effect = view.frames_stopped > 0


def _links(nodes: Mapping[str, NodeView], in_force: Sequence[FaultView]) -> list[LinkView]:
    """Directions between AZs that rules touch, as far as their texts name links."""
    if not in_force:
        return []
    topology = Topology(tuple(Node(name, tuple(view.roles), 0, view.az) for name, view in nodes.items()))
    rules = (rule_in(topology, fault.rule) for fault in in_force)
    return links_of(topology, [rule for rule in rules if rule is not None])
