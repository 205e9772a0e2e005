"""Stretches of sequences that go up, and the sequences that are not one after another of such: DISORDERED.

Three things go up unless something is wrong, or at least worth a look, and each is a sequence with a place for each of
its values:

- `clock`: the time of a life's lines, in the order of their numbers
- `producer`: the offsets that a client's produces were given in a partition, in the order in which it asked for them
- `leader`: the high watermark of a leader of one epoch, in the order in which it moved

A stretch is what one reader has read of one at once: `sequence` (a number that stands for its names), `incarnation`,
its first and last place, its least and most value, and whether it is `ordered`: no place comes twice, and no value is
less than one before it. OF_BLOCKS has those that `audit.block_sums` tells (`blocks`); OF_LEFT those of lines that Spark
has read (`left_lines`), where of producers and leaders nothing is told.

DISORDERED gives rows `kind`, `sequence`: of the others nobody needs to look at a line. A topic that was made again is
one with the one before it here. In a query, `disordered_of` joins to that what it is asked of.
"""

from typing import Final

_TOPIC = "substring_index(topic, '#', 1)"

CLOCK: Final = "xxhash64('clock', run, node, incarnation)"
PRODUCER: Final = f"xxhash64('producer', run, node, {_TOPIC}, partition)"
LEADER: Final = f"xxhash64('leader', run, node, {_TOPIC}, partition, leader_epoch)"
"""The numbers of sequences."""

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
    """Of a big run: a join that leaves the rows of those of them alone."""
    asked = f"(SELECT sequence FROM disordered WHERE kind = '{kind}') AS disordered"
    return f"LEFT SEMI JOIN {asked} ON {sequence} = sequence"
