"""Stretches of a life's lines whose clock goes forward, and the lives that are not one after another of such.

A stretch is what one reader has read at once: `life` (a number that stands for run, node and incarnation), the first
and the last number and time of its lines, and whether they are `ordered`: no number comes twice, and where numbers go
up time does not go back. OF_LEFT tells them of lines that Spark has read (`left_lines`), of each life one; OF_BLOCKS of
what `audit.block_sums` has told (`blocks`).

DISORDERED gives rows `life`: of the others nobody needs to look at a line to know that their clock went forward.
"""

_LIFE = "xxhash64(run, node, incarnation)"

OF_LEFT = f"""
SELECT life, min(seq) AS first_seq, max(seq) AS last_seq, min(at_ms) AS first_ms, max(at_ms) AS last_ms,
  NOT max(coalesce(at_ms < before_ms, false)) AS ordered
FROM (
  SELECT life, seq, at_ms, lag(at_ms) OVER (PARTITION BY life ORDER BY seq, at_ms) AS before_ms
  FROM (SELECT {_LIFE} AS life, seq, at_ms FROM left_lines WHERE problem IS NULL)
)
GROUP BY life
"""

OF_BLOCKS = f"SELECT {_LIFE} AS life, first_seq, last_seq, first_ms, last_ms, ordered FROM blocks"

DISORDERED = """
SELECT DISTINCT life FROM (
  SELECT *, lag(last_seq) OVER of_life AS before_seq, lag(last_ms) OVER of_life AS before_ms
  FROM stretches WINDOW of_life AS (PARTITION BY life ORDER BY first_seq, last_seq)
)
WHERE NOT ordered OR first_seq <= before_seq OR first_ms < before_ms
"""
