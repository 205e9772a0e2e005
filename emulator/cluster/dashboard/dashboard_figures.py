"""Table of brokers and controllers: session, known controller, and Kafka's metrics.

The figures have Kafka's metric names (of a meter, its Count).
"""

from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from emulator.cluster.cluster_status import ClusterStatus, NodeView
from emulator.cluster.dashboard.az_box import BAD, CONTROLLER, DOUBT, FAINT, GOOD, STALE_RECORDS
from emulator.cluster.dashboard.contradictions import controllers
from emulator.topology import identifier_named

METRICS = (
    "ActiveControllerCount",
    "OfflinePartitionsCount",
    "UnderReplicatedPartitions",
    "UnderMinIsrPartitionCount",
    "IsrShrinksPerSec.Count",
    "IsrExpandsPerSec.Count",
    "MaxLag",
    "LeaderCount",
    "PartitionCount",
    "FencedBrokerCount",
    "ZooKeeperExpiresPerSec.Count",
    "UncleanLeaderElectionsPerSec.Count",
    "FailedIsrUpdatesPerSec.Count",
)
"""Metrics, most important first; the last are left out first."""
ALARMS = {
    "OfflinePartitionsCount": BAD,
    "UnderReplicatedPartitions": DOUBT,
    "UnderMinIsrPartitionCount": BAD,
    "FencedBrokerCount": DOUBT,
    "UncleanLeaderElectionsPerSec.Count": BAD,
    "MaxLag": DOUBT,
}
"""Style of a value other than 0."""
HEADS = ("session", "controller", "controller epoch")
HEADS_IN_KRAFT = ("quorum", "active controller", "quorum epoch", "metadata offset")
QUORUM_MARKS = {
    "leader": ("L", CONTROLLER), "resigned": ("R", BAD), "candidate": ("C", DOUBT), "prospective": ("P", DOUBT),
    "voted": ("V", DOUBT), "unattached": ("U", DOUBT), "follower": ("f", GOOD), "observer": ("o", GOOD),
}  # fmt: skip
"""Letters of the states in the quorum."""
FEW = 4
ONLY_IF_ANY = frozenset(METRICS[-4:])
SESSION_MARKS = {"connected": ("●", GOOD), "disconnected": ("○", DOUBT), "expired": ("✕", BAD)}


def in_kraft(status: ClusterStatus) -> bool:
    """Whether some node is one of a KRaft quorum, or an observer of it."""
    return any(node.quorum is not None for node in status.nodes.values())


def heads(status: ClusterStatus) -> tuple[str, ...]:
    """Heads of the rows above the metrics."""
    return HEADS_IN_KRAFT if in_kraft(status) else HEADS


def columns(status: ClusterStatus) -> list[tuple[str, NodeView]]:
    """Nodes that may lead or control, brokers first."""
    found = [(name, node) for name, node in status.nodes.items() if {"broker", "controller"} & set(node.roles)]
    return sorted(found, key=lambda item: identifier_named(item[0]))


def short_name(name: str) -> str:
    """b2 of broker-2, c0 of controller-0."""
    kind, _, number = name.rpartition("-")
    return f"{kind[:1]}{number}"


def figures_width(status: ClusterStatus) -> int:
    """Columns that `figures_table` takes."""
    names = [*_names(status), *heads(status)]
    return max(map(len, names)) + sum(1 + _column_width(status, name, node) for name, node in columns(status))


def figures_table(status: ClusterStatus, lines: int) -> Table:
    """The table with at most that many lines, the head included."""
    nodes = columns(status)
    table = Table(box=None, pad_edge=False, padding=(0, 0, 0, 1), header_style="bold")
    table.add_column("", no_wrap=True)
    for name, node in nodes:
        table.add_column(
            short_name(name), justify="right", min_width=_column_width(status, name, node), no_wrap=True
        )
    first = [_quorum(node) for _, node in nodes] if in_kraft(status) else [_session(node) for _, node in nodes]
    rows: list[Iterable[Text]] = [first, _controllers(status, nodes), _epochs(nodes)]
    if in_kraft(status):
        rows.append(_offsets(nodes))
    for head, cells in zip(heads(status), rows, strict=True):
        table.add_row(head, *cells)
    for metric in _names(status)[: max(0, lines - 1 - len(rows))]:
        table.add_row(metric, *(_figure(node, metric) for _, node in nodes))
    return table


def figures_words(status: ClusterStatus, width: int, lines: int) -> list[Text]:
    """Values other than 0 with their nodes, for a terminal too narrow for the table."""
    parts = [_controller_words(status)]
    sessions = [f"{name} {node.session.state}" for name, node in columns(status) if _cut_off(node) and node.session]
    if sessions:
        parts.append(Text(f"sessions: {', '.join(sessions)}", DOUBT))
    for metric in METRICS:
        whose = [(name, node.metrics.get(metric, 0)) for name, node in columns(status)]
        values = " ".join(f"{short_name(name)}={count}" for name, count in whose if count)
        if values and metric not in ("ActiveControllerCount", "LeaderCount", "PartitionCount"):
            parts.append(Text(f"{metric} {values}", ALARMS.get(metric, "")))
    return _flowed(parts, width, lines)


def _column_width(status: ClusterStatus, name: str, node: NodeView) -> int:
    """Width of a node's column; a blank more if there are few nodes."""
    values = [str(node.metrics.get(metric, 0)) for metric in _names(status)] + [str(node.controller_epoch)]
    if node.quorum is not None:
        values.append(str(node.quorum.high_watermark))
    least = 3 if len(columns(status)) <= FEW else 2
    return max(least, len(short_name(name)), *map(len, values))


def _names(status: ClusterStatus) -> list[str]:
    """Metrics to show; rare ones only if one is not 0."""
    nodes = [node for _, node in columns(status)]
    return [m for m in METRICS if m not in ONLY_IF_ANY or any(node.metrics.get(m, 0) for node in nodes)]


def _figure(node: NodeView, metric: str) -> Text:
    if metric not in node.metrics:
        return Text("-", FAINT)
    value = node.metrics[metric]
    if metric == "ActiveControllerCount" and value:
        return Text(str(value), CONTROLLER)
    return Text(str(value), ALARMS.get(metric, "") if value else FAINT)


def _session(node: NodeView) -> Text:
    if node.session is None:
        return Text("-", FAINT)
    return Text(*SESSION_MARKS.get(node.session.state, ("?", DOUBT)))


def _quorum(node: NodeView) -> Text:
    if node.quorum is None:
        return Text("-", FAINT)
    return Text(*QUORUM_MARKS.get(node.quorum.state, (node.quorum.state[:1] or "?", DOUBT)))


def _offsets(nodes: list[tuple[str, NodeView]]) -> Iterable[Text]:
    """High watermark of the metadata log as each node knows it."""
    newest = max((node.quorum.high_watermark for _, node in nodes if node.quorum is not None), default=-1)
    for _, node in nodes:
        known = node.quorum.high_watermark if node.quorum is not None else -1
        yield Text(str(known) if known >= 0 else "-", DOUBT if known < newest - STALE_RECORDS else FAINT)


def _cut_off(node: NodeView) -> bool:
    return node.session is not None and node.session.state != "connected"


def _controllers(status: ClusterStatus, nodes: list[tuple[str, NodeView]]) -> Iterable[Text]:
    """The controller that each node knows."""
    newest = controllers(status)[-1:]
    for _, node in nodes:
        known = node.controller
        right = bool(newest) and known == newest[0].node
        yield Text(short_name(known) if known else "-", CONTROLLER if right else FAINT if not known else DOUBT)


def _epochs(nodes: list[tuple[str, NodeView]]) -> Iterable[Text]:
    newest = max((node.controller_epoch for _, node in nodes), default=-1)
    for _, node in nodes:
        epoch = node.controller_epoch
        yield Text(str(epoch) if epoch >= 0 else "-", FAINT if epoch < 0 else DOUBT if epoch < newest else "")


def _controller_words(status: ClusterStatus) -> Text:
    text = Text("controller: ", no_wrap=True)
    claims = controllers(status)
    for number, (name, epoch) in enumerate(claims):
        followers = [short_name(other) for other, node in columns(status) if node.controller == name]
        text.append("; " if number else "")
        text.append(f"{name} epoch {epoch}", BAD if len(claims) > 1 else CONTROLLER)
        text.append(f" (known to {', '.join(followers)})", FAINT)
    if not claims:
        text.append("no node claims it", BAD)
    return text


def _flowed(parts: list[Text], width: int, lines: int) -> list[Text]:
    """As many parts as fit, several on a line."""
    flowed: list[Text] = []
    for part in parts:
        if flowed and flowed[-1].cell_len + 3 + part.cell_len <= width:
            flowed[-1].append(" · ", FAINT).append_text(part)
        elif len(flowed) < lines:
            flowed.append(part)
    return flowed
