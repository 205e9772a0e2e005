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

from tests.audit.trace import dual_leader
from tests.pyspark_faultline.test_record_batches import rows_of

ROOT = Path(__file__).parents[2]
NEEDED = ("grpc", "grpc_status", "google.rpc", "pandas")
SERVER = """
import os, socket, sys
from pathlib import Path
from audit.gateway import start_gateway
from audit.java import find_java
from audit.spark_session import spark_session
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
settings = {
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.address": "127.0.0.1", "spark.connect.grpc.binding.port": str(port),
}
with start_gateway(find_java(os.environ), Path(sys.argv[1]), master="local[1]") as gateway:
    spark_session(gateway, settings=settings)
    print(port, flush=True)
    sys.stdin.read()
"""
CLIENT = """
import json, sys
from pyspark.sql import SparkSession
port, run, out = sys.argv[1:]
spark = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()
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
def port(tmp_path: Path) -> Iterator[str]:
    """The port of a server that ends with the test."""
    command = [sys.executable, "-c", SERVER, str(tmp_path / "server")]
    (tmp_path / "server").mkdir()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=_environment()
    ) as server:
        assert server.stdout is not None and server.stdin is not None
        yield server.stdout.readline().strip()
        server.stdin.close()


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def test_a_client_of_spark_connect_reads_and_follows_runs(tmp_path: Path, port: str) -> None:
    """With the class that the server finds, and with one that the client registers."""
    run = dual_leader().write(tmp_path)
    ended = subprocess.run(
        [sys.executable, "-c", CLIENT, port, str(run), str(tmp_path / "out")], env=_environment(), cwd=tmp_path,
        capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert msgspec.json.decode(ended.stdout.splitlines()[-1]) == [len(rows_of(run, "appends"))] * 3
