"""Class archive that halves the time to Spark's first answer.

`python -m audit.class_archive` makes it once.

Starting Spark means loading some 12,000 classes out of 280 jars, checking and linking each. Java can keep the result in
a file that it maps on the next start. Java 25 keeps all of it linked, with lambdas ("ahead-of-time cache", JEP 483); 17
and 21 keep checked classes ("application class-data sharing"). There are two steps: a training session, which does the
work of an audit and notes the classes, then the dump. It takes half a minute and 200 MB on disk, as a part of `make`'s
set-up. Without an archive, or with an unsuitable one, all works as well and starts more slowly.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from audit.java import Java, NoJavaError, find_java
from audit.spark_home import ahead_of_time, archive_path, class_path
from audit.spark_java import TUNING_OPTIONS, SparkNotStarted, module_options
from audit.spark_keeper import Launch
from audit.warm_spark import own_session
from emulator.runs.scratch import scratch
from emulator.toplevel_errors import ended

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DUMP_TIMEOUT_S = 600.0
"""Limit, also of the training session's end: Java 25 writes its notes then."""
OUTPUT_TAIL_CHARS = 2_000


class ClassArchiveError(Exception):
    """Java could not write the archive; the message has the end of its output."""


def make_class_archive(java: Java) -> Path:
    """The archive for `java`, made unless it exists.

    Raises:
        SparkNotStarted: Spark does not run on this Java.
        ClassArchiveError: Spark runs, but the archive could not be written.
    """
    archive = archive_path(java)
    if archive.exists():
        return archive
    archive.parent.mkdir(parents=True, exist_ok=True)
    # Beside its final place, so that the last step is a rename and a half-written archive is never found.
    with scratch(archive.parent) as own:
        classes = own / "classes"
        _train(java, own, classes)
        _dump(java, classes, own / "archive")
        (own / "archive").rename(archive)
    return archive


def _train(java: Java, scratch: Path, classes: Path) -> None:
    """Run an audit and have Java note the classes that it loads."""
    noting = (
        ("-XX:AOTMode=record", f"-XX:AOTConfiguration={classes}", "-Xlog:disable")
        if ahead_of_time(java)
        else ("-Xshare:off", f"-XX:DumpLoadedClassList={classes}")
    )
    launch = Launch(idle_s=0.0, archived_classes=False, jvm_options=noting, end_timeout_s=DUMP_TIMEOUT_S)
    with own_session(scratch / "spark", launch) as session:
        _audit(session, scratch)
        session.conf.set("spark.sql.codegen.wholeStage", "true")  # the classes of larger audits too
        session.conf.set("spark.sql.codegen.factoryMode", "FALLBACK")
        train(session, scratch)


def _audit(session: SparkSession, scratch: Path) -> None:
    """Audit a run of ordinary size."""
    from audit.audited_run import audit_runs
    from audit.checks.check_registry import CHECKS
    from audit.tiny_run import tiny_run

    checks = tuple(CHECKS.values())
    [verdict] = audit_runs(session, [tiny_run(scratch)], scratch=str(scratch), checks=checks)
    assert verdict.valid is True, verdict


def train(session: SparkSession, scratch: Path) -> None:
    """Run the operations of checks: reading JSON lines, counts, windows, joins, Parquet."""
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    events = scratch / "training.jsonl"
    lines = (
        json.dumps({"node": f"n{i % 3}", "seq": i // 3, "name": name, "at_ms": i / 2, "isr": [0, 1]})
        for i, name in enumerate(["appended", "acknowledged", "truncated"] * 40)
    )
    events.write_text("\n".join([*lines, "not json", ""]), encoding="utf-8")
    schema = "node string, seq bigint, name string, at_ms double, isr array<int>, bad string"
    read = session.read.schema(schema).option("columnNameOfCorruptRecord", "bad").json(str(events)).cache()
    read.filter("bad is not null").count()
    by_node = Window.partitionBy("node").orderBy("seq")
    moved = read.select("*", sf.lag("seq").over(by_node).alias("before"), sf.row_number().over(by_node))
    moved.filter("before > seq").collect()
    appended = read.filter("name = 'appended'").alias("a")
    acknowledged = read.filter("name = 'acknowledged'").alias("b")
    appended.join(acknowledged, ["node", "seq"], "left_anti").collect()
    pairs = appended.join(acknowledged, sf.expr("a.node = b.node and a.seq <= b.seq"))
    evidence = (sf.count("*"), sf.max("b.at_ms"), sf.collect_list("b.seq"))
    pairs.groupBy("a.node").agg(*evidence).orderBy("node").collect()
    replicas = sf.explode("isr").alias("replica")
    exploded = read.select("node", "seq", replicas, sf.sha2("name", 256).alias("digest"))
    as_json = sf.to_json(sf.struct(*exploded.columns)).alias("row")
    exploded.distinct().unionByName(exploded).select(as_json).limit(10).collect()
    read.createOrReplaceTempView("events")
    session.sql("select name, count(*) n from events group by name having n > 1 order by n").collect()
    exploded.write.mode("overwrite").parquet(str(scratch / "parquet"))
    session.read.parquet(str(scratch / "parquet")).groupBy("replica").count().collect()
    exploded.write.mode("overwrite").json(str(scratch / "json"))
    session.createDataFrame([(1, "held")], "check int, verdict string").collect()
    read.unpersist()


def _dump(java: Java, classes: Path, archive: Path) -> None:
    dumping = (
        ("-XX:AOTMode=create", f"-XX:AOTConfiguration={classes}", f"-XX:AOTCache={archive}", *module_options(java))
        if ahead_of_time(java)
        else ("-Xshare:dump", f"-XX:SharedClassListFile={classes}", f"-XX:SharedArchiveFile={archive}")
    )
    command = [
        str(java.command),
        *dumping,
        "-Xlog:disable",
        "-Xlog:all=error",
        *TUNING_OPTIONS["quick"],
        "-cp",
        class_path({}),
    ]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        timeout=DUMP_TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0 or not archive.exists():
        last_words = done.stdout[-OUTPUT_TAIL_CHARS:].strip()
        raise ClassArchiveError(
            f"{java.command} wrote no class archive, code {done.returncode}: {last_words}"
        )


def main() -> int:
    try:
        java = find_java(os.environ)
        make_class_archive(java)
    except (NoJavaError, SparkNotStarted, ClassArchiveError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(ended("audit.class_archive", main))
