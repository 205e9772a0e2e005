"""A cluster's status: every node's own view, and the faults in force. Pure.

Nothing is reconciled. Two nodes that both claim to lead a partition are two entries; the reader interprets them
(`emulator.cluster.dashboard` shows it in red). `as_json` returns the form that `faultline status --json` prints.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import msgspec

from emulator.faults.link_fault_kinds import LINK_FAULTS
from emulator.topology import OBSERVER, Node, Topology
from protocol.hardware import SOUND, Hardware
from protocol.link_rules import LinkRule
from protocol.messages.status_messages import (
    EnsembleStatus,
    GroupStatus,
    NodeStatus,
    PartitionStatus,
    QuorumStatus,
    SessionStatus,
    WaitingStatus,
    WorkloadStatus,
)
from protocol.numbers import number_in


class Life(msgspec.Struct, frozen=True):
    """A node's process: whether it runs, whether it is paused, and its incarnation."""

    alive: bool
    paused: bool
    incarnation: int
    hardware: Hardware = SOUND


class LinkFault(msgspec.Struct, frozen=True):
    """A requested rule. Times in scenario ms; None: never.

    `in_force_ms`, `healed_ms`: at the last of its ends. `frames_stopped`: so far.
    """

    rule: LinkRule
    requested_ms: float
    in_force_ms: float | None = None
    healed_ms: float | None = None
    frames_stopped: int = 0


# --- the report -----------------------------------------------------------------------------------------------------


class NodeView(msgspec.Struct):
    """One node. The fields after `roles` are as in NodeStatus.

    `answered` false: it did not report its view (stopped, paused, or too slow), and these fields are not known.
    """

    alive: bool
    paused: bool
    answered: bool
    incarnation: int
    az: str
    roles: list[str]
    is_controller: bool = False
    controller_epoch: int = -1
    controller: str = ""
    session: SessionStatus | None = None
    ensemble: EnsembleStatus | None = None
    quorum: QuorumStatus | None = None
    metrics: dict[str, int] = {}
    errors: dict[str, dict[str, int]] = {}
    workloads: dict[str, WorkloadStatus] = {}
    groups: dict[str, GroupStatus] = {}
    hardware: Hardware = SOUND
    waiting: list[WaitingStatus] = []
    waiting_count: int = 0
    queued: int = 0
    pipelined: int = 0


class LinkView(msgspec.Struct, rename={"from_az": "from", "to_az": "to"}):
    """One direction between two AZs that a rule in force touches.

    `kind`: the worst fault there: cut, hold, loss or delay. `whole`: it stops all traffic of this direction; otherwise
    only some nodes, connections or frames.
    """

    from_az: str
    to_az: str
    kind: str
    whole: bool
    delay_ms: float = 0.0
    jitter_ms: float = 0.0
    loss: float = 0.0
    bytes_per_s: float = 0.0


class FaultView(msgspec.Struct, rename={"requested_ms": "asked_ms"}):
    """A rule as in verdict.json, and its `id`. `took_effect`: it stopped something.

    `healed` null: no heal was requested.
    """

    rule: str
    requested_ms: float
    in_force_ms: float | None
    healed_ms: float | None
    frames_stopped: int
    took_effect: bool
    healed: bool | None
    id: str = ""

    @property
    def is_in_force(self) -> bool:
        return self.in_force_ms is not None and self.healed is None


class FindingView(msgspec.Struct):
    """A finding of a live audit (`audit --follow`). `at_ms`: when it happened or began.

    `lasts`: it has not ended, as far as the audit has read.
    """

    at_ms: float
    finding: str
    partition: str
    violation: bool
    lasts: bool
    text: str


class ClusterStatus(msgspec.Struct):
    """`partitions`: {t-0: {node: its replica}}, of nodes that answered. `at_ms`: scenario time.

    `findings`: the newest of a live audit, newest last; none: no live audit runs.
    """

    at_ms: float
    nodes: dict[str, NodeView]
    partitions: dict[str, dict[str, PartitionStatus]] = {}
    links: list[LinkView] = []
    faults: list[FaultView] = []
    name: str = ""
    findings: list[FindingView] = []


def status_of(
    topology: Topology,
    statuses: Mapping[str, NodeStatus],
    lives: Mapping[str, Life],
    faults: Sequence[LinkFault],
    at_ms: float,
    name: str = "",
) -> ClusterStatus:
    """Status from `statuses` of the nodes that answered (`Cluster.statuses()`).

    A node without an entry in `lives` has never been started. The player is left out.
    """
    nodes = [node for node in topology.nodes if node.name != OBSERVER]
    partitions: dict[str, dict[str, PartitionStatus]] = {}
    for node in nodes:
        status = statuses.get(node.name)
        for place, replica in status.partitions.items() if status is not None else ():
            partitions.setdefault(place, {})[node.name] = replica
    return ClusterStatus(
        at_ms=at_ms,
        nodes={node.name: _node_view(node, lives.get(node.name), statuses.get(node.name)) for node in nodes},
        partitions=dict(sorted(partitions.items(), key=lambda item: partition_order(item[0]))),
        links=links_of(topology, [fault.rule for fault in faults if _in_force(fault)]),
        faults=[_fault_view(fault) for fault in faults],
        name=name,
    )


def as_json(status: ClusterStatus) -> dict[str, Any]:
    """As `faultline status --json` prints it; `msgspec.convert` reads it back."""
    builtins: dict[str, Any] = msgspec.to_builtins(status)
    return builtins


def partition_order(place: str) -> tuple[str, int]:
    """Sort key: t-2 before t-10."""
    topic, _, last = place.rpartition("-")
    number = number_in(last)
    return topic, -1 if number is None else number


# --- its parts ------------------------------------------------------------------------------------------------------


def _node_view(node: Node, life: Life | None, status: NodeStatus | None) -> NodeView:
    view = NodeView(
        alive=life is not None and life.alive,
        paused=life is not None and life.paused,
        answered=status is not None,
        incarnation=life.incarnation if life is not None else 0,
        az=node.az,
        roles=list(node.roles),
        hardware=life.hardware if life is not None else SOUND,
    )
    if status is not None:
        view.is_controller = status.is_controller
        view.controller_epoch = status.controller_epoch
        view.controller = status.controller
        view.session = status.session
        view.ensemble = status.ensemble
        view.quorum = status.quorum
        view.metrics = status.metrics
        view.errors = status.errors
        view.workloads = status.workloads
        view.groups = status.groups
        view.waiting, view.waiting_count = status.waiting, status.waiting_count
        view.queued, view.pipelined = status.queued, status.pipelined
    return view


def _in_force(fault: LinkFault) -> bool:
    return fault.in_force_ms is not None and fault.healed_ms is None


def _fault_view(fault: LinkFault) -> FaultView:
    return FaultView(
        rule=fault.rule.what,
        requested_ms=fault.requested_ms,
        in_force_ms=fault.in_force_ms,
        healed_ms=fault.healed_ms,
        frames_stopped=fault.frames_stopped,
        took_effect=fault.frames_stopped > 0,
        healed=None if fault.healed_ms is None else True,
        id=fault.rule.rule,
    )


WORST_FIRST = sorted(LINK_FAULTS, key=lambda kind: LINK_FAULTS[kind].RANK)


def links_of(topology: Topology, rules: Iterable[LinkRule]) -> list[LinkView]:
    """Directions between AZs, and within one, that a rule touches."""
    az_of = {node.name: node.az for node in topology.nodes if node.az}
    met: dict[tuple[str, str], dict[str, list[tuple[LinkRule, set[tuple[str, str]]]]]] = {}
    for rule in rules:
        pairs = set(product(rule.a, rule.b))
        if not (rule.one_way or rule.opened_by_a):
            pairs |= set(product(rule.b, rule.a))
        for way in sorted({(az_of[x], az_of[y]) for x, y in pairs if x in az_of and y in az_of}):
            here = {(x, y) for x, y in pairs if (az_of.get(x), az_of.get(y)) == way}
            met.setdefault(way, {}).setdefault(rule.kind, []).append((rule, here))
    return [_link(topology, way, by_kind) for way, by_kind in sorted(met.items())]


def _link(
    topology: Topology, way: tuple[str, str], by_kind: dict[str, list[tuple[LinkRule, set[tuple[str, str]]]]]
) -> LinkView:
    kind = next(kind for kind in WORST_FIRST if kind in by_kind)
    worst = by_kind[kind]
    every_pair = {(x.name, y.name) for x in topology.in_az(way[0]) for y in topology.in_az(way[1]) if x.name != y.name}
    met = {pair for rule, pairs in worst if not (rule.is_of_some_frames or rule.opened_by_a) for pair in pairs}
    rules = [rule for entries in by_kind.values() for rule, _ in entries]
    return LinkView(
        from_az=way[0],
        to_az=way[1],
        kind=kind,
        whole=met >= every_pair,
        delay_ms=max(rule.delay_ms for rule in rules),
        jitter_ms=max(rule.jitter_ms for rule in rules),
        loss=max(rule.loss for rule in rules),
        bytes_per_s=min((rule.bytes_per_s for rule in rules if rule.bytes_per_s), default=0.0),
    )
