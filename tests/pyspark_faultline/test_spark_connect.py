"""The data source through Spark Connect: a server process, and a client that has no Java."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from audit.spark_keeper import Launch
from audit.warm_spark import stop, used
from tests.audit.trace import dual_leader
from tests.pyspark_faultline.test_record_batches import rows_of

ROOT = Path(__file__).parents[2]
NEEDED = ("grpc", "grpc_status", "google.rpc", "pandas")
CLIENT = """
import json, sys
from pyspark.sql import SparkSession
url, run, out = sys.argv[1:]
spark = SparkSession.builder.remote(url).getOrCreate()
assert "connect" in type(spark).__module__
counts = [spark.read.format("faultline").option("group", "appends").load(run).count()]
from pyspark_faultline import FaultlineDataSource
spark.dataSource.register(FaultlineDataSource)
table = spark.read.format("faultline").option("group", "appends").load(run)
counts.append(len(table.collect()))
stream = spark.readStream.format("faultline").option("group", "appends").load(run)
writer = stream.writeStream.format("parquet").option("checkpointLocation", out + "/checkpoint")
writer.trigger(availableNow=True).start(out + "/rows").awaitTermination()
counts.append(spark.read.parquet(out + "/rows").count())
print(json.dumps(counts))
spark.stop()
"""
TIMEOUT_S = 300


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(not all(map(_is_there, NEEDED)), reason="needs the packages of pyspark[connect]"),
]


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """The URL of a server that ends with the test."""
    folder = tmp_path / "server"
    folder.mkdir()
    with used(folder, Launch(master="local[1]", idle_s=0.0, at_once=True)) as server:
        yield server.url
    stop(folder)


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def test_a_client_of_spark_connect_reads_and_follows_runs(tmp_path: Path, url: str) -> None:
    """With the class that the server finds, and with one that the client registers."""
    run = dual_leader().write(tmp_path)
    ended = subprocess.run(
        [sys.executable, "-c", CLIENT, url, str(run), str(tmp_path / "out")], env=_environment(), cwd=tmp_path,
        capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert msgspec.json.decode(ended.stdout.splitlines()[-1]) == [len(rows_of(run, "appends"))] * 3
