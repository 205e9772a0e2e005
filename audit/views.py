"""The events as tables for `faultline sql`: what each is called, what it holds, and how it is made.

Every event with all its fields is in `events`. The others are made from it; their columns have the names and meanings
of the fields in `protocol.events`. `run` tells runs apart where several are opened together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from audit.events import read_events
from audit.facts import LOGS
from audit.input import RunDirectory
from audit.lives import lives_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class View(msgspec.Struct, frozen=True):
    """One table. `holds`: what a row is."""

    name: str
    holds: str
    query: str


_WHO = "run, node, incarnation, seq, at_ms"

VIEWS: tuple[View, ...] = (
    View(
        "operations",
        "What clients asked for: one row per operation. `outcome` is null while nothing came back.",
        """SELECT i.run, i.operation, i.node AS client, i.kind, i.topic,
             coalesce(e.partition, i.partition) AS partition, i.acks, i.value, i.broker,
             i.at_ms AS invoked_ms, e.at_ms AS ended_ms, e.outcome, e.error, coalesce(e.offset, i.offset) AS offset,
               e.digest
           FROM (SELECT * FROM events WHERE event = 'operation_invoked') AS i
           LEFT JOIN (SELECT * FROM events WHERE event = 'operation_ended') AS e
             ON i.run = e.run AND i.operation = e.operation""",
    ),
    View(
        "attempts",
        "Tries of operations: one row each. `error` is null while nothing came back.",
        """SELECT s.run, s.operation, s.attempt, s.node AS client, s.broker, s.at_ms AS sent_ms, e.at_ms AS ended_ms,
          e.error,
             e.offset, e.reason, s.digest
           FROM (SELECT * FROM events WHERE event = 'attempt_sent') AS s
           LEFT JOIN (SELECT * FROM events WHERE event = 'attempt_ended') AS e
             ON s.run = e.run AND s.operation = e.operation AND s.attempt = e.attempt""",
    ),
    View(
        "records",
        "Every batch a replica ever appended, in the order of its node.",
        f"""SELECT {_WHO}, topic, partition, base_offset, last_offset, leader_epoch, digest, as_leader
           FROM events WHERE event = 'batch_appended'""",
    ),
    View(
        "truncations",
        "Every cut of a log to `to` (exclusive); `effective`: something was cut.",
        f"""SELECT {_WHO}, topic, partition, `to`, log_end, effective, high_watermark, reason
           FROM events WHERE event = 'log_truncated'""",
    ),
    View(
        "logs",
        "What each replica's log holds at the end: one row per batch; `leads`: on the final leader.",
        "SELECT run, node, topic, partition, base_offset, last_offset, leader_epoch, digest, leads "
        "FROM final_logs WHERE base_offset IS NOT NULL",
    ),
    View(
        "leadership",
        "Roles as brokers took them: leader, follower, offline.",
        f"""SELECT {_WHO}, topic, partition, role, leader, leader_epoch, previous_epoch, controller_epoch, log_end,
             high_watermark, isr FROM events WHERE event = 'role_changed'""",
    ),
    View(
        "isr",
        "Changes of the in-sync set: asked by a leader, ended, or decided by the controller (`event` says which).",
        f"""SELECT {_WHO}, event, topic, partition, change, was, now, isr, result, through, leader, leader_epoch,
          zk_version, reason
           FROM events WHERE event IN ('isr_change_asked', 'isr_change_ended', 'state_decided')""",
    ),
    View(
        "watermarks",
        "Moves of the high watermark; `leading`: by the leader.",
        f"""SELECT {_WHO}, topic, partition, high_watermark, previous, leading, leader_epoch
           FROM events WHERE event = 'high_watermark_moved'""",
    ),
    View(
        "controllers",
        "Brokers that became controller (`active`) or resigned.",
        f"SELECT {_WHO}, active, controller_epoch, reason FROM events WHERE event = 'controller_changed'",
    ),
    View(
        "sessions",
        "Sessions as clients (`session_changed`) and the ensemble (`session_ended`) saw them.",
        f"""SELECT {_WHO}, event, session, state, owner, server, reason, zxid
           FROM events WHERE event IN ('session_changed', 'session_ended')""",
    ),
    View(
        "faults",
        "What was done to links and machines, at each node: asked, in force, healed, first traffic after.",
        f"""SELECT {_WHO}, event, rule, what, target, peer, frames_stopped, expects_traffic
           FROM events WHERE event LIKE 'fault_%' OR event = 'machine_fault'""",
    ),
    View(
        "messages",
        "Frames: sent by one node, received by the other (`received_ms` null: not, or not recorded). Wire level.",
        """SELECT s.run, s.connection, s.purpose, s.number, s.api, s.api_direction, s.correlation, s.size_bytes,
             s.node AS sender, s.peer AS receiver, s.at_ms AS sent_ms, r.at_ms AS received_ms
           FROM (SELECT * FROM events WHERE event = 'frame_sent') AS s
           LEFT JOIN (SELECT * FROM events WHERE event = 'frame_received') AS r
             ON s.run = r.run AND s.connection = r.connection AND s.number = r.number AND s.node = r.peer AND s.peer =
               r.node""",
    ),
    View(
        "stopped",
        "Frames that a rule held or dropped. Wire level.",
        f"""SELECT {_WHO}, connection, peer, purpose, rule, action, api, size_bytes
           FROM events WHERE event = 'frame_stopped'""",
    ),
    View(
        "steps",
        "The scenario's steps as they began.",
        f"SELECT {_WHO}, step, text FROM events WHERE event = 'scenario_step'",
    ),
)


def create_views(spark: SparkSession, runs: Sequence[RunDirectory]) -> None:
    """Make all of them in the session. They read the files whenever they are asked."""
    events = read_events(spark, runs)
    events.createOrReplaceTempView("events")
    lives = lives_of(spark, runs, events)
    source = "events"
    if lives.told:
        source = "events_by_life"
        named = [f"{lives.name()} AS topic" if name == "topic" else f"`{name}`" for name in events.columns]
        events.selectExpr(*named).createOrReplaceTempView(source)
    tables = f"appends AS (SELECT * FROM {source} WHERE event = 'batch_appended'), rest AS (SELECT * FROM {source})"
    logs = spark.sql(f"WITH {tables} SELECT * FROM ({LOGS})")
    (logs.where(f"NOT {lives.gone}") if lives.told else logs).createOrReplaceTempView("final_logs")
    for view in VIEWS:
        spark.sql(view.query).createOrReplaceTempView(view.name)


def described() -> str:
    """The tables for a person: name and what a row is."""
    width = max(len(view.name) for view in VIEWS)
    rows = [("events", "Every event of every level with all its fields."), *((v.name, v.holds) for v in VIEWS)]
    return "\n".join(f"{name:<{width}}  {holds}" for name, holds in rows)
