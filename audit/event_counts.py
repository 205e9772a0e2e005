"""Counts of lines of each kind: a table of big runs, so that no other query counts them.

TALLIES has rows `run`, `node`, `incarnation`, `event`, `problem`, and fields that distinguish operations and moves
(`kind`, `outcome`, `acks`, `led`). Of these lines it has `events`, the count of `records` (of a produce; of others one
each), the first and the last number and time (`first_seq`, `last_seq`, `first_ms`, `last_ms`), and two sums over the
numbers, `seq_sum` and `seq_squares`, each number modulo SEQ_MODULUS. Of a broken line only the problem counts: its
numbers may be invalid.
"""

from audit.event_lines import PROBLEM
from emulator.judging.findings import SEQ_MODULUS

_BELIEVED = ", ".join(f"IF({PROBLEM} IS NULL, {name}, NULL) AS {name}" for name in ("node", "incarnation", "event"))
_SPAN = ", ".join(
    f"{pick}(IF({PROBLEM} IS NULL, {field}, NULL)) AS {name}"
    for pick, field, name in (
        *(("min", "seq", "first_seq"), ("max", "seq", "last_seq")),
        *(("min", "at_ms", "first_ms"), ("max", "at_ms", "last_ms")),
        ("sum", f"pmod(seq, {SEQ_MODULUS})", "seq_sum"),
        ("sum", f"pmod(seq, {SEQ_MODULUS}) * pmod(seq, {SEQ_MODULUS}) % {SEQ_MODULUS}", "seq_squares"),
    )
)

OF_LINES = f"""
SELECT run, {_BELIEVED}, {PROBLEM}, {{kinds}}count(*) AS events, {{records}} AS records, {_SPAN}
FROM {{lines}} GROUP BY ALL"""
"""SQL.

`kinds`: further distinguishing columns, each with a comma behind it; `records`: count of records.
"""

_TELLING = "kind, outcome, acks, coalesce(as_leader, leading) AS led, "
_RECORDS = f"sum(IF({PROBLEM} IS NULL, coalesce(records, 1L), 1L))"
TALLIES = OF_LINES.format(lines="lines", kinds=_TELLING, records=_RECORDS)
OF_LEFT = OF_LINES.format(lines="left_lines", kinds=_TELLING, records=_RECORDS)
"""SQL of Spark's lines; `audit.block_sums` has the others."""
