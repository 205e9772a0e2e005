"""Events of one run in order, and its replicas' final logs, as the pre-tests read them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, NamedTuple

import msgspec

from protocol.undecodable import UNDECODABLE

Row = dict[str, Any]
Replica = tuple[str, str, int]
"""Node, topic, partition."""
TopicPartition = tuple[str, int]

CONTROLLER_EPOCH: Final = "/controller_epoch"
"""Path of its znode."""
_OPERATIONS = (
    *("operation_invoked", "operation_ended", "attempt_sent", "attempt_ended", "records_read", "position_left"),
)
_OF_LOGS = ("batch_appended", "log_created", "log_deleted", "log_loaded", "log_truncated")


class Log(NamedTuple):
    """A replica's log at the end.

    `batches`: those that survived, by offset. `bound`: the last log end that was seen, at which no batch may be
    missing; None: none was.
    """

    batches: list[Row]
    bound: int | None

    @property
    def end(self) -> int:
        return self.batches[-1]["last_offset"] + 1 if self.batches else 0


class State(NamedTuple):
    """A committed state of a partition. `version`: of its znode, or its partition epoch."""

    zxid: int
    change: str
    version: int | None
    leader: int
    leader_epoch: int
    controller_epoch: int
    isr: tuple[int, ...]


class PretestedRun:
    """A run whose lines are all events, each file's in the order of their numbers and times.

    `events`: {name: its events, by node, incarnation and number}.
    """

    def __init__(self, events: dict[str, list[Row]]) -> None:
        self._events = events

    def of(self, *names: str) -> Iterator[Row]:
        """Events of these names, by node, incarnation and number within each name."""
        for name in names:
            yield from self._events.get(name, ())

    def in_order(self, *names: str) -> list[Row]:
        """Events of these names, by node, incarnation and number."""
        return sorted(self.of(*names), key=_place)

    def all(self) -> Iterator[Row]:
        return self.of(*self._events)

    def has(self, *names: str) -> bool:
        return any(self._events.get(name) for name in names)

    @cached_property
    def logs(self) -> dict[Replica, Log]:
        """Final logs, as `audit.log_tables.LOGS` has them."""
        of: defaultdict[Replica, list[Row]] = defaultdict(list)
        for row in self.in_order(*_OF_LOGS):
            of[row["node"], row["topic"], row["partition"]].append(row)
        return {replica: _folded(rows) for replica, rows in of.items()}

    @cached_property
    def leaders(self) -> dict[TopicPartition, str]:
        """The final leader of each partition: the last in the order of leader epochs."""
        found: dict[TopicPartition, tuple[int, str]] = {}
        for row in self.of("role_changed"):
            if row["role"] == "leader":
                key = row["topic"], row["partition"]
                found[key] = max(found.get(key, (-(1 << 60), "")), (row["leader_epoch"], row["node"]))
        return {key: node for key, (_, node) in found.items()}

    @cached_property
    def held(self) -> dict[tuple[str, int, int], list[Row]]:
        """Batches of the final leaders' logs by topic, partition and digest."""
        found: defaultdict[tuple[str, int, int], list[Row]] = defaultdict(list)
        for (topic, partition), node in self.leaders.items():
            for batch in self.logs.get((node, topic, partition), Log([], None)).batches:
                found[topic, partition, batch["digest"]].append(batch)
        return found

    @cached_property
    def appended(self) -> dict[tuple[str, int, int], list[Row]]:
        """All batches that any replica ever appended, likewise."""
        found: defaultdict[tuple[str, int, int], list[Row]] = defaultdict(list)
        for batch in self.of("batch_appended"):
            found[batch["topic"], batch["partition"], batch["digest"]].append(batch)
        return found

    @cached_property
    def states(self) -> dict[TopicPartition, list[State]] | None:
        """Committed states of each partition, in order; None: two reports contradict each other."""
        found: dict[tuple[str, int, int], State] = {}
        of_znodes = ((topic, partition, state) for _, topic, partition, state in states_of_znodes(self))
        for topic, partition, state in (*of_znodes, *_states_of_kraft(self)):
            if state is None or found.setdefault((topic, partition, state.zxid), state) != state:
                return None
        ordered: defaultdict[TopicPartition, list[State]] = defaultdict(list)
        for (topic, partition, _), state in sorted(found.items(), key=lambda item: item[0][2]):
            ordered[topic, partition].append(state)
        return ordered

    @cached_property
    def controller_epochs(self) -> list[tuple[int, int]] | None:
        """(zxid, epoch) of each controller epoch that ZooKeeper committed; None: one cannot be read."""
        rows = [row for row in self.of("znode_changed") if row["path"] == CONTROLLER_EPOCH]
        if not all(row["data"].isdecimal() for row in rows):
            return None
        return sorted({(row["zxid"], int(row["data"])) for row in rows})


def pretested(files: Sequence[Sequence[Row]]) -> PretestedRun | None:
    """The run of these files' events; None: they are out of order, and every query is asked.

    One node and incarnation wrote each file.
    """
    lives = [(rows[0]["node"], rows[0]["incarnation"]) for rows in files if rows]
    if len({*lives}) < len(lives) or not all(map(_is_ordered, files)):
        return None
    events: dict[str, list[Row]] = {}
    node_of: dict[str, str] = {}
    for rows in sorted(filter(None, files), key=lambda rows: _place(rows[0])):
        for row in rows:
            name = row["event"]
            events.setdefault(name, []).append(row)
            # The order of an operation's events is that of its only node.
            if name in _OPERATIONS and node_of.setdefault(row["operation"], row["node"]) != row["node"]:
                return None
    return PretestedRun(events)


def _place(row: Row) -> tuple[str, int, int]:
    return row["node"], row["incarnation"], row["seq"]


def _is_ordered(rows: Sequence[Row]) -> bool:
    return all(one["seq"] < other["seq"] and one["at_ms"] <= other["at_ms"] for one, other in pairwise(rows))


def cut_of(row: Row) -> int:
    """Offset from which on an event has removed what its replica had."""
    if row["event"] == "log_loaded":
        return int(row["log_end"])
    if row["event"] in ("log_created", "log_deleted") or row["reason"] == "full":
        return 0
    return int(min(row["to"], row["log_end"]))


def _folded(rows: Sequence[Row]) -> Log:
    batches: list[Row] = []
    lowest = bound = None
    for row in reversed(rows):
        if row["event"] != "batch_appended":
            lowest = cut_of(row) if lowest is None else min(lowest, cut_of(row))
            bound = lowest if bound is None else max(bound, lowest)
        elif lowest is None or lowest > row["last_offset"]:
            batches.append(row)
    return Log(sorted(batches, key=lambda batch: (batch["base_offset"], batch["last_offset"])), bound)


def states_of_znodes(run: PretestedRun) -> Iterator[tuple[Row, str, int, State | None]]:
    """Changes of partitions' znodes: the event, topic, partition and state."""
    for row in run.of("znode_changed"):
        parts = row["path"].split("/")
        if len(parts) == 7 and parts[1:3] == ["brokers", "topics"] and parts[4] == "partitions" and parts[6] == "state":
            yield row, parts[3], int(parts[5]) if parts[5].isdecimal() else -1, _state_in(row)


class _Data(msgspec.Struct):
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int


def _state_in(row: Row) -> State | None:
    """None: no state of a partition, or its deletion, after which another partition may begin."""
    if row["change"] == "deleted":
        return None
    try:
        data = msgspec.json.decode(row["data"], type=_Data)
    except UNDECODABLE:
        return None
    return State(
        row["zxid"], row["change"], row["version"], data.leader, data.leader_epoch, data.controller_epoch, data.isr
    )


def _states_of_kraft(run: PretestedRun) -> Iterator[tuple[str, int, State | None]]:
    for row in run.of("partition_state_committed"):
        version = row["partition_epoch"]
        isr = row["isr"].split(",")
        whole = all(one.isdecimal() for one in isr if one)
        yield row["topic"], row["partition"], State(
            row["offset"], "created" if version == 0 else "changed", version, row["leader"], row["leader_epoch"],
            row["epoch"], tuple(int(one) for one in isr if one),
        ) if whole else None  # fmt: skip
