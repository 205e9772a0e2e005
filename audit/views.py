"""Events as tables for `faultline sql`: their names, contents and queries.

Every event with all its fields is in `events`. The others are made from it; their columns have the names and meanings
of the fields in `protocol.events`. `run` distinguishes runs that are opened together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from emulator.old_names import RENAMED
from protocol.errors import ErrorCode
from protocol.events import FIELDS

EVENTS = "events"
EVENTS_HOLDS = "Every event of every level with all its fields."
SQL_TYPES: Final[dict[type, str]] = {int: "bigint", float: "double", str: "string", bool: "boolean"}

ERROR_NAME: Final = "error_name"
"""Column beside each `error`."""
NO_ANSWER: Final = "NO_ANSWER"
_ERROR_NAMES = {-2: NO_ANSWER, **{code.value: code.name for code in ErrorCode}}
_PAIRS = ", ".join(f"{code}L, '{name}'" for code, name in _ERROR_NAMES.items())
ERROR_NAME_OF: Final = f"coalesce(try_element_at(map({_PAIRS}), error), concat('UNKNOWN_CODE_', error))"
"""SQL: Kafka's name of the code in `error`; of -2 NO_ANSWER; null without a code."""

EVENT_COLUMNS: Final = {**{name: SQL_TYPES[kind] for name, kind in FIELDS.items()}, ERROR_NAME: "string"}
"""{column of `events`: its SQL type}"""


class View(msgspec.Struct, frozen=True):
    """One table.

    `holds`: meaning of a row. `columns`: names, with types where those of the source do not apply.
    """

    name: str
    holds: str
    query: str
    columns: tuple[str, ...]

    def types(self, source: Mapping[str, str] = EVENT_COLUMNS) -> dict[str, str]:
        """{column: its SQL type}. `source`: columns of the table from which all views are made."""
        pairs = [column.partition(" ") for column in self.columns]
        return {name: kind or source[name] for name, _, kind in pairs}


_WHO_COLUMNS = ("run", "node", "incarnation", "seq", "at_ms")
_WHO = ", ".join(_WHO_COLUMNS)

VIEWS: tuple[View, ...] = (
    View(
        "operations",
        "Clients' operations, one row each. `outcome` is null without a response. Of a produce of "
        "several `records`, which follow one another in one batch, `value` is a JSON list, and `offset` is that of the "
        "first.",
        """SELECT i.run, i.operation, i.node AS client, i.kind, i.topic,
             coalesce(e.partition, i.partition) AS partition, i.acks, i.value, coalesce(i.records, 1) AS records,
             i.broker,
             i.at_ms AS invoked_ms, e.at_ms AS ended_ms, e.outcome, e.error, e.error_name,
             coalesce(e.offset, i.offset) AS offset, e.digest, e.attempts, e.idempotent
           FROM (SELECT * FROM events WHERE event = 'operation_invoked') AS i
           LEFT JOIN (SELECT * FROM events WHERE event = 'operation_ended') AS e
             ON i.run = e.run AND i.operation = e.operation""",
        (
            "run", "operation", "client", "kind", "topic", "partition", "acks", "value", "records", "broker",
            "invoked_ms double", "ended_ms double", "outcome", "error", "error_name", "offset", "digest",
            "attempts", "idempotent",
        ),
    ),
    View(
        "produced",
        "Records that clients wrote, one row each, at its `offset` if known; `record`: its index in the operation.",
        """SELECT run, operation, record, client, topic, partition, acks,
             CASE WHEN records = 1 THEN value
                  ELSE coalesce(try_element_at(from_json(value, 'array<string>'), record + 1), '') END AS value,
             invoked_ms, ended_ms, outcome, error, error_name, IF(offset < 0, offset, offset + record) AS offset, digest
           FROM (SELECT *, explode(sequence(0, int(records) - 1)) AS record FROM operations WHERE kind = 'produce')""",
        (
            "run", "operation", "record int", "client", "topic", "partition", "acks", "value", "invoked_ms double",
            "ended_ms double", "outcome", "error", "error_name", "offset", "digest",
        ),
    ),
    View(
        "attempts",
        "Attempts of operations, one row each. `error` is null without a response.",
        """SELECT s.run, s.operation, s.attempt, s.node AS client, s.broker, s.timeout_ms,
             s.at_ms AS sent_ms, e.at_ms AS ended_ms, e.error, e.error_name, e.offset, e.reason, s.digest
           FROM (SELECT * FROM events WHERE event = 'attempt_sent') AS s
           LEFT JOIN (SELECT * FROM events WHERE event = 'attempt_ended') AS e
             ON s.run = e.run AND s.operation = e.operation AND s.attempt = e.attempt""",
        (
            "run", "operation", "attempt", "client", "broker", "timeout_ms",
            "sent_ms double", "ended_ms double", "error", "error_name", "offset", "reason", "digest",
        ),
    ),
    View(
        "appends",
        "Every batch a replica ever appended, in the order of its node.",
        f"""SELECT {_WHO}, topic, partition, base_offset, last_offset, leader_epoch, digest, as_leader
           FROM events WHERE event = 'batch_appended'""",
        (*_WHO_COLUMNS, "topic", "partition", "base_offset", "last_offset", "leader_epoch", "digest", "as_leader"),
    ),
    View(
        "truncations",
        "Every cut of a log to `to` (exclusive); `effective`: something was cut.",
        f"""SELECT {_WHO}, topic, partition, `to`, log_end, effective, high_watermark, reason
           FROM events WHERE event = 'log_truncated'""",
        (*_WHO_COLUMNS, "topic", "partition", "to", "log_end", "effective", "high_watermark", "reason"),
    ),
    View(
        "logs",
        "Final contents of each replica's log, one row per batch; `leads`: on the final leader.",
        "SELECT run, node, topic, partition, base_offset, last_offset, leader_epoch, digest, leads "
        "FROM final_logs WHERE base_offset IS NOT NULL",
        ("run", "node", "topic", "partition", "base_offset", "last_offset", "leader_epoch", "digest", "leads boolean"),
    ),
    View(
        "leadership",
        "Roles as brokers took them: leader, follower, offline.",
        f"""SELECT {_WHO}, topic, partition, role, leader, leader_epoch, previous_epoch, controller_epoch, log_end,
             high_watermark, isr FROM events WHERE event = 'role_changed'""",
        (
            *_WHO_COLUMNS, "topic", "partition", "role", "leader", "leader_epoch", "previous_epoch",
            "controller_epoch", "log_end", "high_watermark", "isr",
        ),
    ),
    View(
        "led",
        "Terms of leaders: one row per partition, leader and epoch. `until_ms`: its next role, or the end of its log "
        "or of its incarnation.",
        """SELECT r.run, r.topic, r.partition, r.node AS leader, r.leader_epoch, r.at_ms AS from_ms,
             coalesce(r.next_ms, e.at_ms) AS until_ms, r.log_end
           FROM (SELECT *, lead(at_ms) OVER (
                   PARTITION BY run, node, incarnation, topic, partition ORDER BY seq) AS next_ms
                 FROM (SELECT *, lag(struct(role, leader_epoch)) OVER (
                         PARTITION BY run, node, incarnation, topic, partition ORDER BY seq) AS before
                       FROM events WHERE event IN ('role_changed', 'log_deleted'))
                 WHERE event = 'log_deleted' OR before IS NULL OR before != struct(role, leader_epoch)) AS r
           LEFT JOIN (SELECT run, node, incarnation, min(at_ms) AS at_ms FROM (
                 SELECT run, node, incarnation, at_ms FROM events WHERE event = 'node_stopped' UNION ALL
                 SELECT run, target, life, at_ms FROM events WHERE event = 'machine_fault' AND life > 0
                   AND what IN ('kill', 'power-loss', 'died')) GROUP BY run, node, incarnation) AS e
             ON r.run = e.run AND r.node = e.node AND r.incarnation = e.incarnation
           WHERE r.role = 'leader'""",
        ("run", "topic", "partition", "leader string", "leader_epoch", "from_ms double", "until_ms double", "log_end"),
    ),
    View(
        "lost",
        "Acknowledged records that the final leader does not have; `cut_by`: truncations of them: time, node, reason.",
        """SELECT a.run, a.topic, a.partition, a.operation, a.record, p.value, a.acks, a.offset, a.node AS client,
             a.at_ms AS acknowledged_ms, a.digest, c.cut_by
           FROM (SELECT * EXCEPT (offset), IF(offset < 0, offset, offset + record) AS offset FROM (
                   SELECT *, explode(sequence(0, int(coalesce(records, 1)) - 1)) AS record
                   FROM final_acknowledged)) AS a
           LEFT ANTI JOIN (SELECT * FROM logs WHERE leads) AS l
             ON a.run = l.run AND a.topic = l.topic AND a.partition = l.partition AND a.digest = l.digest
             AND (a.offset < 0 OR a.offset BETWEEN l.base_offset AND l.last_offset)
           LEFT JOIN produced AS p ON a.run = p.run AND a.operation = p.operation AND a.record = p.record
           LEFT JOIN (SELECT b.run, b.partition, b.digest,
                 array_sort(collect_set(struct(t.at_ms, t.node, t.`to`, t.reason))) AS cut_by
               FROM events AS b JOIN events AS t
                 ON b.run = t.run AND b.node = t.node AND b.topic = t.topic AND b.partition = t.partition
                 AND t.`to` <= b.base_offset AND (t.incarnation, t.seq) > (b.incarnation, b.seq)
               WHERE b.event = 'batch_appended' AND t.event = 'log_truncated' AND t.effective
               GROUP BY b.run, b.partition, b.digest) AS c
             ON a.run = c.run AND a.partition = c.partition AND a.digest = c.digest""",
        (
            "run", "topic", "partition", "operation", "record int", "value", "acks", "offset", "client",
            "acknowledged_ms double", "digest",
            "cut_by array<struct<at_ms:double,node:string,to:bigint,reason:string>>",
        ),
    ),
    View(
        "reads",
        "Batches that consumers read, one row each, with the broker, the high watermark then, and the value (of "
        "several records a JSON list, as in `operations`).",
        """SELECT r.run, r.operation, r.node AS client, r.incarnation, r.seq, r.at_ms, r.topic, r.partition,
             r.base_offset, r.last_offset, v.value, r.leader_epoch, r.high_watermark, r.broker, r.digest
           FROM (SELECT * FROM events WHERE event = 'records_read') AS r
           LEFT JOIN (SELECT i.run, i.topic, s.digest, min(i.value) AS value
               FROM events AS i JOIN events AS s ON i.run = s.run AND i.operation = s.operation
               WHERE i.event = 'operation_invoked' AND s.event = 'attempt_sent'
               GROUP BY i.run, i.topic, s.digest) AS v
             ON r.run = v.run AND r.topic = v.topic AND r.digest = v.digest""",
        (
            "run", "operation", "client", "incarnation", "seq", "at_ms", "topic", "partition", "base_offset",
            "last_offset", "value", "leader_epoch", "high_watermark", "broker", "digest",
        ),
    ),
    View(
        "unavailable",
        "Periods in which a client's writes to a partition failed or have an unknown outcome: from the first such "
        "result to the next acknowledgement (null: none); `failed`: count of records.",
        """SELECT run, az, client, topic, partition, from_ms, until_ms, failed FROM (
             SELECT run, az, client, topic, partition, min(at_ms) FILTER (WHERE outcome <> 'ok') AS from_ms,
               lead(min(at_ms)) OVER (PARTITION BY run, client, topic, partition ORDER BY island) AS until_ms,
               coalesce(sum(records) FILTER (WHERE outcome <> 'ok'), 0L) AS failed
             FROM (SELECT o.run, n.az, o.node AS client, o.topic, o.partition, o.at_ms, o.outcome,
                     coalesce(o.records, 1) AS records,
                     count_if(o.outcome = 'ok') OVER (
                       PARTITION BY o.run, o.node, o.topic, o.partition ORDER BY o.incarnation, o.seq) AS island
                   FROM (SELECT * FROM events WHERE event = 'operation_ended' AND kind = 'produce') AS o
                   LEFT JOIN (SELECT DISTINCT run, node, az FROM events WHERE event = 'node_started') AS n
                     ON o.run = n.run AND o.node = n.node)
             GROUP BY run, az, client, topic, partition, island) WHERE failed > 0""",
        ("run", "az", "client", "topic", "partition", "from_ms double", "until_ms double", "failed bigint"),
    ),
    View(
        "isr",
        "Changes of the ISR: requested by a leader, ended, or decided by the controller (see `event`).",
        f"""SELECT {_WHO}, event, topic, partition, change, was, now, isr, result, through, leader, leader_epoch,
          zk_version, reason
           FROM events WHERE event IN ('isr_change_asked', 'isr_change_ended', 'state_decided')""",
        (
            *_WHO_COLUMNS, "event", "topic", "partition", "change", "was", "now", "isr", "result", "through",
            "leader", "leader_epoch", "zk_version", "reason",
        ),
    ),
    View(
        "watermarks",
        "Moves of the high watermark; `leading`: by the leader.",
        f"""SELECT {_WHO}, topic, partition, high_watermark, previous, leading, leader_epoch, cause
           FROM events WHERE event = 'high_watermark_moved'""",
        (*_WHO_COLUMNS, "topic", "partition", "high_watermark", "previous", "leading", "leader_epoch", "cause"),
    ),
    View(
        "controllers",
        "Brokers that became controller (`active`) or resigned.",
        f"SELECT {_WHO}, active, controller_epoch, reason FROM events WHERE event = 'controller_changed'",
        (*_WHO_COLUMNS, "active", "controller_epoch", "reason"),
    ),
    View(
        "states",
        "States of partitions in the metadata log of KRaft, as controllers read them; `offset`: of the record.",
        f"""SELECT {_WHO}, topic, partition, leader, leader_epoch, isr, partition_epoch, replicas, elr, recovering,
             offset, epoch FROM events WHERE event = 'partition_state_committed'""",
        (
            *_WHO_COLUMNS, "topic", "partition", "leader", "leader_epoch", "isr", "partition_epoch", "replicas", "elr",
            "recovering", "offset", "epoch",
        ),
    ),
    View(
        "registrations",
        "Brokers' registrations in KRaft, as controllers read them: registered, fenced, unfenced, ... (`change`).",
        f"""SELECT {_WHO}, broker, change, broker_epoch, offset, epoch
           FROM events WHERE event = 'broker_registration_committed'""",
        (*_WHO_COLUMNS, "broker", "change", "broker_epoch", "offset", "epoch"),
    ),
    View(
        "quorum",
        "States of the quorum's nodes in KRaft: leader, follower, candidate, ..., of brokers observer.",
        f"""SELECT {_WHO}, state, epoch, leader, log_end, high_watermark
           FROM events WHERE event = 'quorum_state_changed'""",
        (*_WHO_COLUMNS, "state", "epoch", "leader", "log_end", "high_watermark"),
    ),
    View(
        "sessions",
        "Sessions as clients (`session_changed`) and the ensemble (`session_ended`) saw them.",
        f"""SELECT {_WHO}, event, session, state, owner, server, reason, zxid
           FROM events WHERE event IN ('session_changed', 'session_ended')""",
        (*_WHO_COLUMNS, "event", "session", "state", "owner", "server", "reason", "zxid"),
    ),
    View(
        "faults",
        "Faults of links and nodes, at each node: requested, in force, healed, first traffic after.",
        f"""SELECT {_WHO}, event, rule, what, target, peer, frames_stopped, expects_traffic
           FROM events WHERE event LIKE 'fault_%' OR event = 'machine_fault'""",
        (*_WHO_COLUMNS, "event", "rule", "what", "target", "peer", "frames_stopped", "expects_traffic"),
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
        (
            "run", "connection", "purpose", "number", "api", "api_direction", "correlation", "size_bytes",
            "sender string", "receiver string", "sent_ms double", "received_ms double",
        ),
    ),
    View(
        "stopped",
        "Frames that a rule held or dropped. Wire level.",
        f"""SELECT {_WHO}, connection, peer, purpose, rule, action, api, size_bytes
           FROM events WHERE event = 'frame_stopped'""",
        (*_WHO_COLUMNS, "connection", "peer", "purpose", "rule", "action", "api", "size_bytes"),
    ),
    View(
        "steps",
        "The scenario's steps as they began.",
        f"SELECT {_WHO}, step, text FROM events WHERE event = 'scenario_step'",
        (*_WHO_COLUMNS, "step", "text"),
    ),
)

OLD_NAMES: Final = {one.old: one.name for one in RENAMED if "sql" in one.surfaces}
"""{old name of a table, still accepted: its name}"""
HIDDEN: Final = ("final_logs", "final_acknowledged", "events_by_life")
"""Tables that a view reads; they exist while it does."""

KEPT_BYTES_MAX = 64 << 20
"""Maximum of events that are parsed once per query and kept for several views."""
_LISTS_TABLES = re.compile(r"\s*(?:show|describe|desc)\b", re.IGNORECASE)
_SOURCE = re.compile(r"\b(?:FROM|JOIN)\s+(\w+)")


def needed(query: str | None, views: Sequence[View]) -> list[View]:
    """Views that the query names, and their sources; all views for a query that lists them."""
    if query is None or _LISTS_TABLES.match(query):
        return list(views)
    by_name = {view.name: view for view in views}
    found: set[str] = set()
    waiting = {OLD_NAMES.get(word, word) for word in words(query)} & by_name.keys()
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= set(_SOURCE.findall(by_name[name].query)) & by_name.keys() - found
    return [view for view in views if view.name in found]


def words(query: str) -> set[str]:
    """Every word of a query that may be a table's name, in lower case."""
    return set(re.findall(r"\w+", query.lower()))


def described(views: Sequence[View] | None = None, first: tuple[str, str] | None = None) -> str:
    """The tables as text: name and meaning of a row. `first`: source of the others."""
    rows = [
        first or (EVENTS, EVENTS_HOLDS),
        *((view.name, view.holds) for view in (VIEWS if views is None else views)),
    ]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {holds}" for name, holds in rows)
