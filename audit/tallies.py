"""How many lines there are of each kind: a table of big runs, so that nobody else counts them.

TALLIES gives rows `run`, `node`, `incarnation`, `event`, `problem`, and what tells operations and moves apart (`kind`,
`outcome`, `acks`, `led`); and of these lines `events`, how many `records` they are about (of a produce; of others one
each), the first and the last number and time (`first_seq`, `last_seq`, `first_ms`, `last_ms`), and two sums over the
numbers, `seq_sum` and `seq_squares`, each number modulo SEQ_MODULUS. Of a broken line nothing but its problem is
believed: its numbers may be none.
"""

from audit.events import PROBLEM
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
"""`kinds`: by what else they are told apart, each with a comma behind it; `records`: how many they are about."""

_TELLING = "kind, outcome, acks, coalesce(as_leader, leading) AS led, "
_RECORDS = f"sum(IF({PROBLEM} IS NULL, coalesce(records, 1L), 1L))"
TALLIES = OF_LINES.format(lines="lines", kinds=_TELLING, records=_RECORDS)
OF_LEFT = OF_LINES.format(lines="left_lines", kinds=_TELLING, records=_RECORDS)
"""Of lines that Spark has read; of the others `audit.block_sums` tells."""
