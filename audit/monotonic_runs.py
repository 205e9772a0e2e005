"""Sequences that must increase, in stretches, and those that do not: DISORDERED.

Three things increase unless something is wrong, or suspect. Each is a sequence with a place for each of its values:

- `clock`: times of an incarnation's lines, in the order of their numbers
- `producer`: offsets of a client's produces in a partition, in the order of its requests
- `leader`: high watermarks of a leader of one epoch, in the order of their changes

A stretch is the part of a sequence that one reader has read at once: `sequence` (a number that stands for its names),
`incarnation`, its first and last place, its least and most value, and whether it is `ordered`: no place occurs twice,
and no value decreases. OF_BLOCKS has those of `audit.block_sums` (`blocks`); OF_LEFT those of Spark's lines
(`left_lines`), which have none of producers and leaders.

DISORDERED has rows `kind`, `sequence`: queries need the lines of these alone. A recreated topic shares a sequence with
its predecessor here. In a query, `disordered_of` makes the join.
"""

from typing import Final

_TOPIC = "substring_index(topic, '#', 1)"

CLOCK: Final = "xxhash64('clock', run, node, incarnation)"
PRODUCER: Final = f"xxhash64('producer', run, node, {_TOPIC}, partition)"
LEADER: Final = f"xxhash64('leader', run, node, {_TOPIC}, partition, leader_epoch)"
"""Numbers of sequences."""

OF_BLOCKS = f"""
SELECT CASE kind WHEN 'clock' THEN {CLOCK} WHEN 'producer' THEN {PRODUCER} ELSE {LEADER} END AS sequence,
  kind, incarnation, first, last, least, most, ordered
FROM blocks
"""

OF_LEFT = f"""
SELECT sequence, 'clock' AS kind, min(incarnation) AS incarnation, min(place) AS first, max(place) AS last,
  min(value) AS least, max(value) AS most, NOT max(coalesce(value < before, false)) AS ordered
FROM (
  SELECT *, lag(value) OVER (PARTITION BY sequence ORDER BY place, value) AS before
  FROM (
    SELECT {CLOCK} AS sequence, incarnation, seq AS place, at_ms AS value FROM left_lines WHERE problem IS NULL
  )
)
GROUP BY sequence
UNION ALL
SELECT DISTINCT {PRODUCER}, 'producer', 0L, 0L, 0L, 0D, 0D, false
FROM left_lines WHERE event = 'operation_ended' AND problem IS NULL
UNION ALL
SELECT DISTINCT {LEADER}, 'leader', 0L, 0L, 0L, 0D, 0D, false
FROM left_lines WHERE event = 'high_watermark_moved' AND problem IS NULL
"""

DISORDERED = """
SELECT DISTINCT kind, sequence FROM (
  SELECT *, lag(incarnation) OVER so_far AS in_life, lag(last) OVER so_far AS before, lag(most) OVER so_far AS reached
  FROM stretches WINDOW so_far AS (PARTITION BY sequence ORDER BY incarnation, first, last)
)
WHERE NOT ordered OR (incarnation = in_life AND first <= before) OR least < reached
"""


def disordered_of(kind: str, sequence: str) -> str:
    """SQL for a big run: a join that keeps the rows of disordered sequences alone."""
    disordered = f"(SELECT sequence FROM disordered WHERE kind = '{kind}') AS disordered"
    return f"LEFT SEMI JOIN {disordered} ON {sequence} = sequence"
