"""The same tables and checks by DuckDB, on the same files: Spark's share of an audit's time.

    python -m benchmarks.beside_duckdb [EVENTS]

The queries are the audit's own, translated by sqlglot; IN_OTHER_WORDS rewrites untranslatable parts. DuckDB reads the
lines as they are, accepts all of them, and makes no counts, doubts or verdicts. Both find the same number of violations
of every check, or this fails.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import duckdb
import sqlglot

from audit.checks.check_registry import CHECKS
from audit.derived_tables import FLOORS
from audit.event_groups import COLUMNS, REST, TABLES
from audit.log_tables import LOGS
from audit.states import STATES
from benchmarks.audit_throughput import BOUND, first_audit
from benchmarks.figure_records import Figure, show, write
from benchmarks.synthetic_run import write_run
from emulator.exit_codes import HELD
from emulator.toplevel_errors import ended
from protocol.events import FIELDS

EVENTS = 1_000_000
THREADS = 2
TYPES: Final[dict[type, str]] = {int: "BIGINT", float: "DOUBLE", str: "VARCHAR", bool: "BOOLEAN"}

MACROS = (
    "substring_index(text, mark, which) AS CASE WHEN which > 0 THEN split_part(text, mark, 1)"
    " ELSE split_part(text, mark, -1) END",
    "xxhash64(value) AS (hash(value) >> 1)::BIGINT",
    "size(list) AS len(list)",
    "whole(value) AS CAST(value AS BIGINT)",
    """state_of(data) AS from_json(data,
      '{"leader": "BIGINT", "leader_epoch": "BIGINT", "isr": ["BIGINT"], "controller_epoch": "BIGINT"}')""",
    """isr_of(data) AS from_json(json_extract(data, '$.isr'), '["BIGINT"]')""",
    "assigned_of(data) AS CAST(json_extract(data, '$.partitions') AS MAP(VARCHAR, BIGINT[]))",
    "rules(a, b, c, d, e, f, g, h) AS [{'breaks': a, 'why': b}, {'breaks': c, 'why': d}, {'breaks': e, 'why': f},"
    " {'breaks': g, 'why': h}]",
)
"""Functions of Spark's that DuckDB lacks, as far as our queries use them."""

IN_OTHER_WORDS = (
    (r"(?m)/\*(gather|few\(\w+\)|spread\([\w, ]+\))\*/|^ *--big .*$", ""),
    (r"\bbigint\(", "whole("),
    (r"xxhash64\(([\w., ]+,[\w., ]+)\)", r"xxhash64(hash(\1))"),
    (r"shiftleft\(leader_epoch, 32\)", "(leader_epoch * 4294967296)"),
    (r"from_json\(max\(data\),\s+'[^']+'\)", "state_of(max(data))"),
    (r"from_json\(get_json_object\(data, '\$.isr'\), '[^']+'\)", "isr_of(data)"),
    (r"from_json\(get_json_object\(max_by\(data, zxid\), '\$.isr'\), '[^']+'\)", "isr_of(max_by(data, zxid))"),
    (
        r"explode\(from_json\(get_json_object\(\s+max_by\(data, zxid\), '[^']+'\), '[^']+'\)\) AS \(number, replicas\)",
        "unnest(map_entries(assigned_of(max_by(data, zxid)))) AS pair",
    ),
    (
        r"try_cast\(number AS BIGINT\) AS partition, replicas",
        "try_cast(pair.key AS BIGINT) AS partition, pair.value AS replicas",
    ),
    (
        r"max\(copies.leader_epoch\) < unclean.leader_epoch",
        "max(copies.leader_epoch) < any_value(unclean.leader_epoch)",
    ),
    (r"CASE WHEN acks != -1 THEN", "CASE WHEN any_value(acks) != -1 THEN"),
    # DuckDB compares the parts of structs by their names.
    (r"struct\((\w+\.incarnation, \w+\.\w+)\) < struct\((\w+\.incarnation, \w+\.\w+)\)", r"(\1) < (\2)"),
    (r"stack\(4,", "unnest(rules("),
    (r"\) AS \(breaks, why\) FROM states\)\s+WHERE breaks", ")) AS rule FROM states) WHERE rule.breaks"),
    (r"'%s \(zxid %d\)', why", "'%s (zxid %d)', rule.why"),
    # What a replica knew before a cut: the highest of what it had been told, each cut down by what came between.
    (
        r"SELECT run, topic, partition, one\.cut AS offset[\s\S]+",
        """
SELECT * FROM (
  SELECT run, node, topic, partition, cut, (
    SELECT max(least(j.high_watermark, (
      SELECT coalesce(min(k.cut), j.high_watermark) FROM parts AS k WHERE k.run = i.run AND k.node = i.node
        AND k.topic = i.topic AND k.partition = i.partition AND k.part > j.part AND k.part < i.part)))
    FROM parts AS j WHERE j.run = i.run AND j.node = i.node AND j.topic = i.topic AND j.partition = i.partition
      AND j.part < i.part) AS known
  FROM parts AS i WHERE judged
) WHERE cut < known""",
    ),
)
"""(what it says for Spark, as a pattern; what it says for sqlglot)"""


def translated(query: str) -> str:
    for pattern, other in IN_OTHER_WORDS:
        query = re.sub(pattern, other, query)
    [translation] = sqlglot.transpile(query, read="spark", write="duckdb", identify=True)
    return re.sub(r"\bFORMAT\(", "PRINTF(", translation)


def by_duckdb(run: Path) -> tuple[float, dict[str, int]]:
    """(seconds, {check: its violations}). To translate is not counted."""
    tables = {"logs": LOGS, "states": STATES}
    tables |= {name: query for floor in FLOORS for name, query in floor.items()}
    made = {name: translated(query) for name, query in tables.items()}
    checks = {name: translated(check.violations) for name, check in CHECKS.items()}
    began = time.perf_counter()
    with duckdb.connect() as duck:
        duck.execute(f"SET threads = {THREADS}")
        for macro in MACROS:
            duck.execute(f"CREATE MACRO {macro}")
        types = ", ".join(f"'{name}': '{TYPES[FIELDS[name]]}'" for name in dict.fromkeys(("event", *COLUMNS)))
        files = f"read_json('{run}/events/*.jsonl', format = 'newline_delimited', columns = {{{types}}})"
        duck.execute(f"CREATE TABLE lines AS SELECT * FROM {files}")
        for table, (event, columns) in TABLES.items():
            gone = ", false AS gone" if table in ("operations", "reads") else ""
            duck.execute(f"CREATE VIEW {table} AS SELECT {_listed(columns)}{gone} FROM lines WHERE event = '{event}'")
        frequent = ", ".join(f"'{event}'" for event, _ in TABLES.values())
        duck.execute(f"CREATE TABLE rest AS SELECT {_listed(REST)} FROM lines WHERE event NOT IN ({frequent})")
        for name, query in made.items():
            duck.execute(f'CREATE TABLE "{name}" AS {query}')
        found = {name: len(duck.execute(query).fetchall()) for name, query in checks.items()}
    return time.perf_counter() - began, found


def _listed(columns: tuple[str, ...]) -> str:
    return ", ".join(f'"{name}"' for name in columns)


def main(events: int = EVENTS) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="faultline-") as name:
        run = Path(name, "run")
        write_run(run, events)
        duckdb_s, found = by_duckdb(run)
        first = first_audit(Path(name), run)
    counted = {check: verdict.count for check, verdict in first.verdict.checks.items()}
    differ = {check: (counted[check], found[check]) for check in CHECKS if counted[check] != found[check]}
    assert not differ, f"violations by (Spark, DuckDB): {differ}"
    figures = [
        Figure(
            line=f"audit of {events:,} events by Spark, relative to DuckDB's tables and checks",
            value=first.took_s / duckdb_s, unit="x", target=4.0, bound=BOUND,
        ),
    ]  # fmt: skip
    write(
        "beside_duckdb",
        figures,
        {"spark_s": first.took_s, "duckdb_s": duckdb_s, "violations": {k: n for k, n in found.items() if n}},
    )
    return figures


def alone() -> int:
    """`python -m benchmarks.beside_duckdb [EVENTS]`."""
    show(main(*map(int, sys.argv[1:2])))
    return HELD


if __name__ == "__main__":
    sys.exit(ended("benchmarks.beside_duckdb", alone))
