"""The data source through Spark Connect, whose server finds or receives the class."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from audit.java import find_java
from tests.audit.trace import dual_leader
from tests.pyspark_faultline.test_record_batches import rows_of

ROOT = Path(__file__).parents[2]
NEEDED = ("grpc", "grpc_status", "google.rpc", "pandas")
SCRIPT = """
import json, sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.remote("local[1]").getOrCreate()
assert "connect" in type(spark).__module__
run, out = sys.argv[1:]
if sys.stdin.read() == "register":
    from pyspark_faultline import FaultlineDataSource
    spark.dataSource.register(FaultlineDataSource)
table = spark.read.format("faultline").option("group", "appends").load(run)
stream = spark.readStream.format("faultline").option("group", "appends").load(run)
writer = stream.writeStream.format("parquet").option("checkpointLocation", out + "/checkpoint")
writer.trigger(availableNow=True).start(out + "/rows").awaitTermination()
nodes = sorted({row.node for row in table.collect()})
print(json.dumps([table.count(), nodes, spark.read.parquet(out + "/rows").count()]))
"""
TIMEOUT_S = 900


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.skipif(not all(map(_is_there, NEEDED)), reason="needs the packages of pyspark[connect]")
@pytest.mark.parametrize("how", ["register", "found"])
def test_a_client_of_spark_connect_reads_and_follows_runs(tmp_path: Path, how: str) -> None:
    run = dual_leader().write(tmp_path)
    home = find_java(os.environ).command.parents[1]
    environment = {
        **os.environ, "JAVA_HOME": str(home), "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable,
        "SPARK_TESTING": "1", "SPARK_LOCAL_DIRS": str(tmp_path),
    }  # fmt: skip
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(run), str(tmp_path / "out")], env=environment, cwd=tmp_path, input=how,
        capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-3000:]
    rows = rows_of(run, "appends")
    nodes = sorted({row["node"] for row in rows})
    assert msgspec.json.decode(ended.stdout.splitlines()[-1]) == [len(rows), nodes, len(rows)]
