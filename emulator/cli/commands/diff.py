"""`faultline diff RUN RUN`: the first difference between two runs, ignoring timestamps.

Of two replicas' folders, such as data/broker-0/t-0, it is that of their segments. Each node's events are compared in
their order; the earliest difference is the first one.
"""

import sys
from pathlib import Path
from typing import Any

import msgspec

from emulator.cli.commands.command_errors import reports_errors
from emulator.cli.commands.diff_segments import diff_segments
from emulator.exit_codes import BROKEN, HELD
from emulator.runs.importing.segment_differences import is_replica_folder
from emulator.runs.run_events import LeftOut, Line, NoEvents, TooManyEvents, by_topic_partition, left_out_lines, read
from protocol.events import ENVELOPE, EVENTS
from protocol.ids import topic_partition_of, topic_partition_text

COMPARED = tuple(name for name, event in EVENTS.items() if event.LEVEL != "wire" and name != "timer_lateness")
SHOWN_MAX = 5


class Parting(msgspec.Struct, frozen=True):
    """First difference between one node's events. None: this run has no event at that index."""

    node: str
    index: int
    at_ms: float
    left: Line | None
    right: Line | None


@reports_errors("diff", NoEvents, TooManyEvents)
def diff_command(left: Path, right: Path, /, *, partition: str | None = None, json: bool = False) -> int:
    """Exit code 0: only timestamps differ; 1: the runs differ.

    Parameters
    ----------
    left
        A run's directory, or a replica's folder with segments, such as data/broker-0/t-0.
    right
        The other run's directory, or the other replica's folder.
    partition
        Only events of this partition, such as t-0.
    json
        Print the first difference of each node as JSON; an empty list: the runs are the same.
    """
    if is_replica_folder(left) and is_replica_folder(right):
        return diff_segments(left, right, json=json)
    left_out = LeftOut()
    events = [_by_node(left, partition, left_out), _by_node(right, partition, left_out)]
    if partition is not None and not any(events):
        raise NoEvents(f"no event of either run is of {partition}{_partitions_of(left)}")
    for line in left_out_lines(left_out):
        print(f"faultline diff: {line}", file=sys.stderr)
    partings = sorted(partings_of(*events), key=lambda parting: parting.at_ms)
    if json:
        print(msgspec.json.encode(partings).decode())
        return BROKEN if partings else HELD
    if not partings:
        of = f" of {partition}" if partition is not None else ""
        print(f"the runs are the same{of}, node by node; only timestamps differ")
        return HELD
    first = partings[0]
    print(f"first difference at {first.node}, event {first.index + 1}, about {first.at_ms / 1000:.3f} s:")
    print(f"  {left}: {_text(first.left)}")
    print(f"  {right}: {_text(first.right)}")
    for parting in partings[1 : SHOWN_MAX + 1]:
        print(f"then {parting.node} at {parting.at_ms / 1000:.3f} s: {_text(parting.left)}  |  {_text(parting.right)}")
    return BROKEN


def _by_node(run: Path, partition: str | None, left_out: LeftOut) -> dict[str, list[Line]]:
    """{node: its events}, optionally of one partition."""
    events = list(read(run, COMPARED, left_out=left_out))
    if partition is not None:
        topic_partition = topic_partition_of(partition)
        events = by_topic_partition(events).get(topic_partition, []) if topic_partition is not None else []
    nodes: dict[str, list[Line]] = {}
    for event in events:
        nodes.setdefault(event["node"], []).append(event)
    for events in nodes.values():
        events.sort(key=lambda event: (event["incarnation"], event["seq"]))
    return nodes


def _partitions_of(run: Path) -> str:
    """Text that names the partitions of a run."""
    known = sorted(place for place in by_topic_partition(list(read(run, COMPARED))) if place[1] >= 0)
    shown = ", ".join(topic_partition_text(*place) for place in known[:SHOWN_MAX])
    more = f" and {len(known) - SHOWN_MAX} more" if len(known) > SHOWN_MAX else ""
    return f"; partitions: {shown}{more}" if known else ""


def partings_of(left: dict[str, list[Line]], right: dict[str, list[Line]]) -> list[Parting]:
    """The first difference of every node that has one."""
    found = []
    for node in sorted(left.keys() | right.keys()):
        ours, theirs = left.get(node, []), right.get(node, [])
        for index in range(max(len(ours), len(theirs))):
            one = ours[index] if index < len(ours) else None
            other = theirs[index] if index < len(theirs) else None
            if one is None or other is None or _timeless(one) != _timeless(other):
                times = [event["at_ms"] for event in (one, other) if event is not None]
                found.append(Parting(node, index, min(times), one, other))
                break
    return found


def _timeless(event: Line) -> dict[str, Any]:
    """Fields that must be equal: not the envelope, session ids, zxids, digests."""
    kept = {key: value for key, value in event.items() if key not in ENVELOPE or key in ("event", "incarnation")}
    for name in ("data", "session", "zxid", "digest"):
        kept.pop(name, None)
    return kept


def _text(event: Line | None) -> str:
    if event is None:
        return "no more events"
    fields = {key: value for key, value in event.items() if key not in ENVELOPE}
    return f"{event['event']} " + " ".join(f"{key}={value}" for key, value in fields.items() if value not in ("", -1))
