"""Creates the tables of `faultline sql` (`audit.views`) in a Spark session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from audit.event_lines import read_events
from audit.input import RunDirectory
from audit.log_tables import LOGS
from audit.topic_incarnations import OF_LOGS, lives_of
from audit.views import ERROR_NAME, ERROR_NAME_OF, KEPT_BYTES_MAX, OLD_NAMES, VIEWS, needed, words

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def create_views(spark: SparkSession, runs: Sequence[RunDirectory], query: str | None = None) -> DataFrame:
    """Create the views that `query` names; without one, all.

    Returns all events, as the files are now. The caller may unpersist them after the query.
    """
    names = {view.name for view in needed(query, VIEWS)}
    events = read_events(spark, runs).withColumn(ERROR_NAME, F.expr(ERROR_NAME_OF))
    if sum(run.size_bytes for run in runs) <= KEPT_BYTES_MAX:
        events.unpersist()  # rows of an earlier read of the same files
        events.persist()
    events.createOrReplaceTempView("events")
    if names & {"logs", "lost"}:
        _create_final(spark, runs, events)
    for view in VIEWS:
        if view.name in names:
            spark.sql(view.query).createOrReplaceTempView(view.name)
    for old, name in OLD_NAMES.items():
        if name in names and old in words(query or old):
            spark.table(name).createOrReplaceTempView(old)
    return events


def _create_final(spark: SparkSession, runs: Sequence[RunDirectory], events: DataFrame) -> None:
    """Create `final_logs` and `final_acknowledged`, without records of deleted topics."""
    lives = lives_of(spark, runs, events)
    source = "events"
    if lives.found:
        source = "events_by_life"
        topic = f"{lives.name(of_logs=OF_LOGS)} AS topic"
        named = [topic if name == "topic" else f"`{name}`" for name in events.columns]
        events.selectExpr(*named).createOrReplaceTempView(source)
    tables = f"appends AS (SELECT * FROM {source} WHERE event = 'batch_appended'), rest AS (SELECT * FROM {source})"
    acknowledged = "event = 'operation_ended' AND kind = 'produce' AND outcome = 'ok'"
    for name, query in (
        ("final_logs", f"WITH {tables} SELECT * FROM ({LOGS})"),
        ("final_acknowledged", f"SELECT * FROM {source} WHERE {acknowledged}"),
    ):
        rows = spark.sql(query)
        (rows.where(f"NOT {lives.gone}") if lives.found else rows).createOrReplaceTempView(name)
