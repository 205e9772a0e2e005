"""A campaign's rows as tables for `faultline sql`: their names, contents and queries.

`runs` has every column of docs/campaigns.md; the others are made from it. `campaign` distinguishes campaigns that are
opened together.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Final

from audit.input import AuditInputError, escaped
from audit.views import View, needed
from emulator.judging.campaigns.cells import MEASURES
from emulator.judging.campaigns.columns import sql_columns, sql_type
from emulator.judging.campaigns.dataset import RUNS_FOLDER, UnusableCampaign, about, files_of
from emulator.judging.campaigns.row import Row, described

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CAMPAIGNS_MAX = 100
ROWS_TABLE = "runs"

_TYPES = {name: sql_type(kind).lower() for name, (kind, _) in described(Row).items()}
ROWS_COLUMNS: Final = {**{name: kind.replace(" ", "") for name, kind in _TYPES.items()}, "campaign": "string"}
"""{column of `runs`: its SQL type}"""

_STACKED = ", ".join(f"'{name}', double({name})" for name in MEASURES)
_CELL_COLUMNS = ("campaign", "scenario", "kafka_version", "cell", "settings", "parameters")
_RUN_COLUMNS = ("campaign", "scenario", "kafka_version", "cell", "seed", "settings", "parameters")
_RUN = ", ".join(_RUN_COLUMNS)

CAMPAIGN_VIEWS: tuple[View, ...] = (
    View(
        "checks",
        "The oracle's verdict on each promise: one row per run and check.",
        f"""SELECT {_RUN}, one.check, one.verdict, one.expected, one.count, one.judged, replay
           FROM runs LATERAL VIEW explode(checks) AS one""",
        (
            *(*_RUN_COLUMNS, "check string", "verdict string", "expected boolean", "count bigint", "judged bigint"),
            "replay",
        ),
    ),
    View(
        "measures",
        "Measures: one row per run and measure, `az` where it is one AZ's (`unavailable_ms`).",
        f"""SELECT * FROM (
             SELECT {_RUN}, replay, stack({len(MEASURES)}, {_STACKED}) AS (measure, value), NULL AS az FROM runs
             UNION ALL SELECT {_RUN}, replay, 'unavailable_ms' AS measure, ms AS value, az
               FROM runs LATERAL VIEW explode(unavailable_ms) AS az, ms
           ) WHERE value IS NOT NULL""",
        (*_RUN_COLUMNS, "replay", "measure string", "value double", "az string"),
    ),
    View(
        "cells",
        "Each choice of version, settings and parameters over its seeds: runs, conclusive runs (`told`), the share of "
        "those with losses, duplicates or divergence, and the maximum of losses.",
        """SELECT campaign, scenario, kafka_version, cell, settings, parameters, count(*) AS runs,
             count_if(told) AS told, avg(int(lost > 0)) FILTER (WHERE told) AS losing,
             max(lost) FILTER (WHERE told) AS most_lost, avg(int(duplicated > 0)) FILTER (WHERE told) AS duplicating,
             avg(int(diverged > 0)) FILTER (WHERE told) AS diverging, min_by(replay, seed) AS replay
           FROM (SELECT *, error = '' AND size(unknown_because) = 0 AS told FROM runs)
           GROUP BY ALL""",
        (
            *(*_CELL_COLUMNS, "runs bigint", "told bigint", "losing double", "most_lost bigint"),
            *("duplicating double", "diverging double", "replay"),
        ),
    ),
    View(
        "broken",
        "Violations: each promise in each cell where it was broken, its share of the conclusive runs, and the "
        "command that replays the first of them.",
        """SELECT campaign, scenario, kafka_version, cell, settings, parameters, check, count_if(violated) AS runs,
             count(*) AS of, avg(int(violated)) AS share, min_by(replay, seed) FILTER (WHERE violated) AS replay
           FROM (SELECT campaign, scenario, kafka_version, cell, settings, parameters, seed, replay, one.check,
                   one.verdict = 'violated' AS violated
                 FROM runs LATERAL VIEW explode(checks) AS one
                 WHERE error = '' AND size(unknown_because) = 0 AND one.verdict IN ('held', 'violated'))
           GROUP BY ALL HAVING count_if(violated) > 0""",
        (*_CELL_COLUMNS, "check string", "runs bigint", "of bigint", "share double", "replay"),
    ),
)

RUNS_HOLDS = "Every run: its options, its results, and its replay command."
"""Description of `runs`, from which the others are made."""


def create_campaign_views(spark: SparkSession, directories: Sequence[Path], query: str | None = None) -> None:
    """Create the tables that `query` names; without one, all. Raises AuditInputError."""
    from pyspark.sql import functions as F

    if len(directories) > CAMPAIGNS_MAX:
        raise AuditInputError(f"{len(directories)} campaigns given; at most {CAMPAIGNS_MAX} are opened at once")
    opened = []
    for name, directory in _named(directories).items():
        try:
            about(directory)
            files = files_of(directory)
        except UnusableCampaign as error:
            raise AuditInputError(str(error)) from error
        if not files:
            raise AuditInputError(f"{directory}: has no run yet")
        reader = spark.read.schema(sql_columns()).option("basePath", str(directory / RUNS_FOLDER))
        rows = reader.parquet(*(escaped(str(path)) for path in files))
        opened.append(rows.withColumn("campaign", F.lit(name)))
    reduce(lambda one, other: one.unionByName(other), opened).createOrReplaceTempView(ROWS_TABLE)
    for view in needed(query, CAMPAIGN_VIEWS):
        spark.sql(view.query).createOrReplaceTempView(view.name)


def _named(directories: Sequence[Path]) -> dict[str, Path]:
    """{distinguishing name: directory}, each once."""
    paths = list(dict.fromkeys(path.resolve() for path in directories))
    depth = 1
    while len({path.parts[-depth:] for path in paths}) < len(paths):
        depth += 1
    return {"/".join(path.parts[-depth:]): path for path in paths}
