"""Finds events that contradict one another, or that lack a necessary predecessor.

`emulator.judging.completeness` finds missing lines by their numbers; these queries compare the contents of lines. Each
query has rows `run`, `text`: one for each node and kind, and makes the run unknown. Frequent events are folded into
blocks of numbers, or compared by a number first.
"""

from __future__ import annotations

from audit.causality_violations import CLOCKS
from audit.monotonic_runs import CLOCK, disordered_of

BLOCK = 62
"""Count of operations whose bits share one number."""

_OPERATIONS = f"""
-- Operations of a node in blocks, as sets of bits: ended more than once, ended without ever having begun, failed
-- although an answer said that it was done, or acknowledged without any answer.
SELECT run, format_string('of operations of %s, incarnation %d, %s', node, incarnation, concat_ws(', ',
    IF(sum(again) > 0, format_string('%d ended more than once', sum(again)), NULL),
    IF(sum(unbegun) > 0, format_string('%d ended without a beginning', sum(unbegun)), NULL),
    IF(sum(denied) > 0, format_string('%d failed although an attempt succeeded', sum(denied)), NULL),
    IF(sum(unanswered) > 0, format_string('%d are acknowledged without any response', sum(unanswered)), NULL),
    IF(sum(unnumbered) > 0, format_string('%d events have no number', sum(unnumbered)), NULL))) AS text
FROM (
  SELECT run, node, incarnation,
    count_if(event = 'operation_ended') - bit_count(bit_or(ended)) AS again,
    bit_count(bit_or(ended) & ~bit_or(begun)) AS unbegun,
    bit_count(bit_or(failed) & bit_or(done)) AS denied,
    bit_count(bit_or(ok) & ~bit_or(answered)) AS unanswered,
    count_if(block IS NULL) AS unnumbered
  FROM (
    SELECT run, node, incarnation, block, event,
      IF(event = 'operation_invoked', bit, 0L) AS begun, IF(event = 'operation_ended', bit, 0L) AS ended,
      IF(event = 'attempt_ended', bit, 0L) AS answered, IF(event = 'attempt_ended' AND error = 0, bit, 0L) AS done,
      IF(kind = 'produce' AND outcome = 'ok', bit, 0L) AS ok,
      IF(kind = 'produce' AND outcome = 'failed', bit, 0L) AS failed
    FROM (
      SELECT run, node, incarnation, event, kind, outcome, error, number div {BLOCK} AS block,
        shiftleft(1L, int(pmod(number, {BLOCK}))) AS bit
      FROM (
        SELECT *, try_cast(substring_index(operation, ':', -1) AS BIGINT) AS number
        FROM lines WHERE family IN ('invocations', 'operations', 'attempts') AND problem IS NULL
      )
    )
  )
  GROUP BY run, node, incarnation, block
)
WHERE again > 0 OR unbegun > 0 OR denied > 0 OR unanswered > 0 OR unnumbered > 0
GROUP BY run, node, incarnation
"""

_LED_UNTOLD = """
SELECT run, format_string('%s, incarnation %d, appended as leader without an earlier event of its leadership: %s', node,
  incarnation, array_join(slice(collect_set(format_string('%s-%d in leader epoch %d', topic, partition, leader_epoch)),
    1, 9), ', ')) AS text
FROM (
  SELECT /*few(told)*/ led.*
  FROM (
    SELECT run, node, incarnation, topic, partition, leader_epoch, min(seq) AS first_seq
    FROM appends WHERE as_leader GROUP BY run, node, incarnation, topic, partition, leader_epoch
  ) AS led
  LEFT ANTI JOIN (SELECT * FROM rest WHERE event = 'role_changed' AND role = 'leader') AS told
    ON told.run = led.run AND told.node = led.node AND told.incarnation = led.incarnation AND told.topic = led.topic
    AND told.partition = led.partition AND told.seq < led.first_seq
    AND (led.leader_epoch < 0 OR told.leader_epoch = led.leader_epoch)
)
GROUP BY run, node, incarnation
"""

_LOADED_UNTOLD = """
WITH loaded AS (
  SELECT run, node, incarnation, seq, topic, partition, log_end
  FROM rest WHERE event = 'log_loaded' AND log_end > log_start
)
SELECT run, format_string('%s, incarnation %d, found logs longer than in its events: %s', node, incarnation,
  array_join(slice(collect_set(format_string('%s-%d up to %d', topic, partition, log_end)), 1, 9), ', ')) AS text
FROM loaded LEFT ANTI JOIN (
  SELECT /*few(loaded)*/ DISTINCT loaded.run, loaded.node, loaded.incarnation, loaded.seq
  FROM appends JOIN loaded
    ON appends.run = loaded.run AND appends.node = loaded.node AND appends.topic = loaded.topic
    AND appends.partition = loaded.partition AND appends.last_offset >= loaded.log_end - 1
    AND struct(appends.incarnation, appends.seq) < struct(loaded.incarnation, loaded.seq)
) USING (run, node, incarnation, seq)
GROUP BY run, node, incarnation
"""

_UNAPPENDED = """
-- What was acknowledged at an offset was appended there, or answered as a duplicate of other records. Where no node is
-- told to have led, nothing is told of logs. What the final leader has was appended: the others are `lost`.
SELECT run, format_string('%d records were acknowledged, but no event has a replica that appended them, such as at '
  'offset %d of %s-%d', count(*), min(place).offset, min(place).topic, min(place).partition) AS text
FROM (
  SELECT o.run, struct(o.topic, o.partition, o.offset) AS place
  FROM lost AS o
  LEFT SEMI JOIN (SELECT DISTINCT run, topic, partition FROM log_ranges WHERE leads) AS led
    ON o.run = led.run AND o.topic = led.topic AND o.partition = led.partition
  LEFT ANTI JOIN lost_copies AS had
    ON o.run = had.run AND o.operation = had.operation AND o.record = had.record
  LEFT ANTI JOIN reused_sequences AS reused
    ON o.run = reused.run AND o.operation = reused.operation AND o.record = reused.record
  WHERE o.offset >= 0
)
GROUP BY run
"""

_CLOCK = f"""
-- Numbers go up within a life, and so does its clock. In a big run only unchecked incarnations are read.
SELECT run, format_string('the clock of %s went back in its incarnation %d, by %d ms at %d ms', node, incarnation,
  bigint(max(was_ms - at_ms)), bigint(max_by(was_ms, was_ms - at_ms))) AS text
FROM (
  SELECT run, node, incarnation, at_ms, max(at_ms) OVER (PARTITION BY run, node, incarnation ORDER BY seq, at_ms
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS was_ms
  FROM (
    SELECT /*few(disordered)*/ * FROM lines
    --big {disordered_of("clock", CLOCK)}
    WHERE problem IS NULL
  )
)
WHERE at_ms < was_ms GROUP BY run, node, incarnation
"""

DOUBTS = {
    "operations": _OPERATIONS,
    "led-untold": _LED_UNTOLD,
    "loaded-untold": _LOADED_UNTOLD,
    "unappended": _UNAPPENDED,
    "clock": _CLOCK,
    "clocks": CLOCKS,
}
"""{name: query with rows `run`, `text`}"""
