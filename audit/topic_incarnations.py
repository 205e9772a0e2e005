"""Incarnations of a topic: one with a deleted topic's name is another (semantics 4.5).

An incarnation ends when the controller, after the deletion of all replicas, removes the topic from ZooKeeper
(`topic_removed`). In the tables that checks read, the last incarnation has the topic's name; those before are `t#1`,
`t#2` and so on (no real topic can have such a name). An event belongs to the incarnation with its `topic_id`. Without
an id, as of an operation without a response, it belongs to the one in which it happened, an operation to the one in
which it began. Records of an ended incarnation are gone on request: `gone` names such an incarnation, and one of which
a log has been deleted already (`log_deleted`, topic-deleted).

A log outlives its topic on a broker that was down and received no order. A topic of the same name that is assigned to
the broker reuses that log (topic-recreated-over-stray). Events of such a stray log (`of_logs`) belong to the
incarnation that reuses it.

Most runs have no deletion. So files are searched for the two events first: as text where runs are small, by a query of
rare events where they are big.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from audit.event_lines import run_keys
from audit.input import RunDirectory
from emulator.regular_files import open_regular
from protocol.events import (
    BatchAppended,
    LeaderEpochBegan,
    LogCreated,
    LogDeleted,
    LogLoaded,
    LogStartMoved,
    LogTruncated,
    TopicRemoved,
)
from protocol.events.event_parsing import LINE_BYTES_MAX
from protocol.undecodable import UNDECODABLE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LIVES_MAX = 10_000
"""Maximum of all topics and runs together; further ones are not distinguished."""
AS_TEXT_MAX_BYTES = 64 << 20
MARKS = tuple(f'"{event.NAME}"'.encode() for event in (TopicRemoved, LogDeleted))
_TURNS = (LogCreated.NAME, LogLoaded.NAME, LogDeleted.NAME)
"""Events of a log: it was created, found, or deleted."""
TURN_MARKS = tuple(f'"{name}"'.encode() for name in _TURNS)
_EVENTS_OF_LOGS = (BatchAppended, LeaderEpochBegan, LogCreated, LogLoaded, LogDeleted, LogTruncated, LogStartMoved)
OF_LOGS = f"event IN ({', '.join(repr(event.NAME) for event in _EVENTS_OF_LOGS)})"
"""SQL: whether a row's event is of its node's log."""
TURNS_MAX = 100_000
"""Maximum of events of logs that are read; with more, strays are not distinguished."""


class Ended(msgspec.Struct, frozen=True):
    """End of an incarnation: a topic's removal at `at_ms`, or, `only_begun`, a log's deletion."""

    run: str
    topic: str
    at_ms: float
    only_begun: bool
    topic_id: str = ""


class Turn(NamedTuple):
    """An event of a log: created, found or deleted. Sorts by time within a run."""

    at_ms: float
    run: str
    topic: str
    node: str
    partition: int
    event: str


class _Line(msgspec.Struct):
    event: str
    topic: str
    at_ms: float
    node: str = ""
    partition: int = -1
    reason: str = ""
    topic_id: str = ""


_decode = msgspec.json.Decoder(_Line).decode


class Lives:
    """Incarnations of all topics. `ended`, `turns`: in any order."""

    def __init__(self, ended: Iterable[Ended] = (), turns: Iterable[Turn] = ()) -> None:
        self._removed: dict[tuple[str, str], list[float]] = {}
        self._ids: dict[tuple[str, str], list[str]] = {}
        begun: dict[tuple[str, str], float] = {}
        for one in sorted(ended, key=lambda one: one.at_ms)[:LIVES_MAX]:
            is_known = one.topic_id != "" and one.topic_id in self._ids.get((one.run, one.topic), ())
            if is_known:
                continue  # every controller of KRaft emits a removal, and the brokers' logs go later
            if one.only_begun:
                begun[one.run, one.topic] = one.at_ms
            else:
                self._removed.setdefault((one.run, one.topic), []).append(one.at_ms)
                self._ids.setdefault((one.run, one.topic), []).append(one.topic_id)
        self._going = {key for key, at_ms in begun.items() if at_ms > max(self._removed.get(key, (-1.0,)))}
        self._strays = self._strays_of(sorted(turns)) if self._removed else {}

    def _strays_of(self, turns: Sequence[Turn]) -> dict[tuple[str, str, float], set[tuple[str, int]]]:
        """{(run, topic, time of removal): logs (node, partition) that were found again later}."""
        of: dict[tuple[str, str], list[Turn]] = {}
        for turn in turns:
            if (turn.run, turn.topic) in self._removed:
                of.setdefault((turn.run, turn.topic), []).append(turn)
        strays: dict[tuple[str, str, float], set[tuple[str, int]]] = {}
        for (run, topic), some in of.items():
            for removed_ms in self._removed[run, topic]:
                there = {(turn.node, turn.partition): turn.event for turn in some if turn.at_ms <= removed_ms}
                after = {(turn.node, turn.partition): turn.event for turn in reversed(some) if turn.at_ms > removed_ms}
                strays[run, topic, removed_ms] = {
                    log for log, event in there.items() if event != LogDeleted.NAME and after.get(log) == LogLoaded.NAME
                }
        return strays

    @property
    def found(self) -> bool:
        """Whether there is any incarnation to distinguish."""
        return bool(self._removed or self._going)

    def name(self, at_ms: str = "at_ms", of_logs: str = "") -> str:
        """SQL: name of a row's topic incarnation, by `topic_id` or, without one, at `at_ms`.

        `of_logs`: whether the row is of a log, OF_LOGS for rows of several events; "": none is.
        """
        cases = []
        for (run, topic), times in self._removed.items():
            that = f"run = {_text(run)} AND topic = {_text(topic)}"
            for number, (time, topic_id) in enumerate(zip(times, self._ids[run, topic], strict=True), 1):
                its = f"IF(coalesce(topic_id, '') = '', {at_ms} <= {time!r}D, topic_id = {_text(topic_id)})"
                strays = sorted(self._strays.get((run, topic, time), ())) if of_logs else []
                listed = ", ".join(f"struct({_text(node)}, {partition}L)" for node, partition in strays)
                but = f" AND NOT ({of_logs} AND struct(node, partition) IN ({listed}))" if strays else ""
                cases.append(f"WHEN {that} AND {its}{but} THEN {_text(f'{topic}#{number}')}")
        return f"CASE {' '.join(cases)} ELSE topic END" if cases else "topic"

    @property
    def gone(self) -> str:
        """SQL: whether a row's topic, by this name, is deleted or being deleted."""
        names = [
            (run, f"{topic}#{number}")
            for (run, topic), times in self._removed.items()
            for number in range(1, len(times) + 1)
        ]
        names += sorted(self._going)
        listed = ", ".join(f"struct({_text(run)}, {_text(name)})" for run, name in names)
        return f"coalesce(struct(run, topic) IN ({listed}), false)" if names else "false"


def lives_of(spark: SparkSession, runs: Sequence[RunDirectory], events: DataFrame) -> Lives:
    """The incarnations, by the method that suits the size of the runs."""
    small = sum(run.size_bytes for run in runs) <= AS_TEXT_MAX_BYTES
    return lives_in_files(runs) if small else lives_in_rows(spark, events)


def lives_in_files(runs: Sequence[RunDirectory]) -> Lives:
    """The incarnations, from the files' text: for small runs."""
    keyed = [*zip(runs, run_keys(runs), strict=True)]
    ended = [one for run, key in keyed for one in _ended(run, key)]
    return _lives(ended, lambda: islice((one for run, key in keyed for one in _turns(run, key)), TURNS_MAX))


def lives_in_rows(spark: SparkSession, rest: DataFrame) -> Lives:
    """The incarnations, by queries of rare events: for big runs."""
    rest.createOrReplaceTempView("rest_for_lives")
    rows = spark.sql(
        f"""SELECT run, topic, max(at_ms) AS at_ms, event, topic_id FROM rest_for_lives
        WHERE event = '{LogDeleted.NAME}' AND reason = 'topic-deleted' GROUP BY run, topic, event, topic_id
        UNION ALL SELECT run, topic, at_ms, event, topic_id FROM rest_for_lives WHERE event = '{TopicRemoved.NAME}'
        LIMIT {2 * LIVES_MAX}"""
    ).collect()
    ended = [
        Ended(row.run, row.topic, row.at_ms, row.event == LogDeleted.NAME, row.topic_id or "") for row in rows
    ]
    turns = f"""SELECT at_ms, run, topic, node, partition, event FROM rest_for_lives
        WHERE event IN ({", ".join(map(_text, _TURNS))}) AND partition IS NOT NULL LIMIT {TURNS_MAX}"""
    return _lives(ended, lambda: (Turn(*row) for row in spark.sql(turns).collect()))


def _lives(ended: Sequence[Ended], turns: Callable[[], Iterable[Turn]]) -> Lives:
    """The incarnations; `turns` are read only where a topic was removed."""
    return Lives(ended, () if all(one.only_begun for one in ended) else turns())


def _ended(run: RunDirectory, key: str) -> Iterator[Ended]:
    for line in _lines(run, MARKS):
        if line.event == TopicRemoved.NAME:
            yield Ended(key, line.topic, line.at_ms, only_begun=False, topic_id=line.topic_id)
        elif line.event == LogDeleted.NAME and line.reason == "topic-deleted":
            yield Ended(key, line.topic, line.at_ms, only_begun=True, topic_id=line.topic_id)


def _turns(run: RunDirectory, key: str) -> Iterator[Turn]:
    for line in _lines(run, TURN_MARKS):
        if line.event in _TURNS:
            yield Turn(line.at_ms, key, line.topic, line.node, line.partition, line.event)


def _lines(run: RunDirectory, marks: Sequence[bytes]) -> Iterator[_Line]:
    """Lines with such marks: of the marked events, and some others whose text has a mark."""
    for path in (file.path for file in run.files if not file.wire and file.size_bytes):
        with open_regular(path) as file:
            text = file.read()
        if not any(mark in text for mark in marks):
            continue
        for line in text.splitlines():
            if len(line) <= LINE_BYTES_MAX and any(mark in line for mark in marks):
                try:
                    yield _decode(line)
                except UNDECODABLE:
                    continue  # a broken line, which the audit counts where it reads lines


def _text(text: str) -> str:
    """The text as a literal of SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
