"""Every node's own view of each partition, one row per node.

The worst partitions come first.

A star is before the leader in the row of a node that claims to lead. Two stars in a group are a dual leader.
"""

from typing import NamedTuple

from rich.table import Table
from rich.text import Text

from emulator.cluster.cluster_status import ClusterStatus, partition_order
from emulator.cluster.dashboard.az_box import BAD, DOUBT, FAINT, GOOD
from emulator.topology import broker_name, identifier_named
from protocol.messages.status_messages import PartitionStatus
from protocol.records.offset_commits import OFFSETS_TOPIC

LEADER = "★"
WAITS = {"session": "blocked", "isr": "ISR pending"}
FETCHING = {"fetching": "", "truncating": "cutting"}
ALARMING = ("blocked", "stopped")
PLACE_STYLES = {0: BAD, 1: BAD, 2: DOUBT}
ISR_SHOWN_MAX = 12
ROOMY = 60
"""Columns from which on the table has two blanks between its columns."""


class Row(NamedTuple):
    """One replica; `status` None: its node does not answer, for the reason in `note`."""

    node: str
    status: PartitionStatus | None
    note: str


class Group(NamedTuple):
    """One partition. `worry`: 0 is the worst, 4 is none.

    Dual leader, no leader, below min ISR or replicas missing, replicas that disagree, nothing.
    """

    place: str
    worry: int
    rows: list[Row]


def groups(status: ClusterStatus) -> list[Group]:
    """All partitions, the worst first."""
    found = [Group(place, _worry(reported), _rows(status, reported)) for place, reported in status.partitions.items()]
    return sorted(found, key=lambda it: (it.worry, it.place.startswith(OFFSETS_TOPIC), partition_order(it.place)))


def partition_table(shown: list[Group], width: int, *, apart: bool) -> Table:
    """A row per node and partition; `apart`: an empty one between partitions."""
    gap = 2 if width >= ROOMY else 1
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), width=width, header_style="bold")
    table.add_column("partition", no_wrap=True, overflow="ellipsis", max_width=max(9, width // 5))
    table.add_column("node", no_wrap=True)
    for name in ("leader", "epoch"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("ISR", no_wrap=True, overflow="ellipsis", max_width=ISR_SHOWN_MAX)
    for name in ("HW", "end"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True, overflow="ellipsis", ratio=1)
    for number, group in enumerate(shown):
        if number and apart:
            table.add_row()
        _add(table, group)
    return table


def _worry(replicas: dict[str, PartitionStatus]) -> int:
    leaders = [replica for replica in replicas.values() if replica.is_leader]
    if len(leaders) > 1:
        return 0
    if not leaders:
        return 1
    if len(leaders[0].isr) < len(leaders[0].replicas) or leaders[0].waits:
        return 2
    ideas = {(it.leader, it.leader_epoch, it.high_watermark, it.log_end) for it in replicas.values()}
    return 3 if len(ideas) > 1 else 4


def _rows(status: ClusterStatus, replicas: dict[str, PartitionStatus]) -> list[Row]:
    """Rows of the nodes that answered, and of those that others count as replicas."""
    assigned = {broker_name(broker) for replica in replicas.values() for broker in replica.replicas}
    rows = []
    for node in sorted(assigned | replicas.keys(), key=lambda name: (identifier_named(name), name)):
        replica = replicas.get(node)
        rows.append(Row(node, replica, _state(replica) if replica is not None else _absence(status, node)))
    return rows


def _state(replica: PartitionStatus) -> str:
    if replica.is_leader:
        return WAITS.get(replica.waits, replica.waits)
    return FETCHING.get(replica.fetching, replica.fetching)


def _absence(status: ClusterStatus, node: str) -> str:
    view = status.nodes.get(node)
    if view is None or not view.alive:
        return "dead"
    return "paused" if view.paused else "has none" if view.answered else "no answer"


def _add(table: Table, group: Group) -> None:
    reported = [row.status for row in group.rows if row.status is not None]
    leaders = [replica for replica in reported if replica.is_leader]
    measure = max(leaders, key=lambda replica: replica.leader_epoch, default=None)
    newest = max((replica.leader_epoch for replica in reported), default=-1)
    place = Text(group.place, PLACE_STYLES.get(group.worry, "bold"))
    for node, replica, note in group.rows:
        if replica is None:
            absent = [Text("-", FAINT)] * 5
            table.add_row(place, Text(node, FAINT), *absent, Text(note, BAD if note == "dead" else DOUBT))
        else:
            leading = "" if not replica.is_leader else BAD if len(leaders) > 1 else f"bold {GOOD}"
            table.add_row(
                place,
                Text(node, leading),
                Text(f"{LEADER} {replica.leader}" if replica.is_leader else _leader(replica), leading),
                Text(str(replica.leader_epoch), DOUBT if replica.leader_epoch < newest else leading),
                _isr(replica),
                *_offsets(replica, measure),
                Text(note, BAD if note in ALARMING else DOUBT),
            )
        place = Text("")


def _offsets(replica: PartitionStatus, measure: PartitionStatus | None) -> tuple[Text, Text]:
    """High watermark and log end, coloured if they are not those of the newest leader.

    Red: records that the leader does not have, or perhaps others at the same offsets.
    """
    behind = measure is not None and replica.high_watermark < measure.high_watermark
    end_style = ""
    if measure is not None and replica.log_end != measure.log_end:
        other_epoch = replica.leader_epoch < measure.leader_epoch
        end_style = BAD if other_epoch or replica.log_end > measure.log_end else DOUBT
    return Text(str(replica.high_watermark), DOUBT if behind else ""), Text(str(replica.log_end), end_style)


def _leader(replica: PartitionStatus) -> str:
    return str(replica.leader) if replica.leader >= 0 else "none"


def _isr(replica: PartitionStatus) -> Text:
    """The ISR. The leader's own counts; a follower's is the one it received."""
    text = ",".join(map(str, replica.isr)) or "-"
    missing = replica.is_leader and len(replica.isr) < len(replica.replicas)
    return Text(text, DOUBT if missing else "" if replica.is_leader else FAINT)
