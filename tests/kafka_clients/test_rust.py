"""rskafka: a client that shares no line with librdkafka, Java's or Python's.

It is a program of its own (tests/kafka_clients/rust).

It always writes with acks=all, and knows nothing older than the record batches of 0.11.
"""

import subprocess

import pytest

import faultline
from tests.kafka_clients import rust_client
from tests.kafka_clients.capabilities import works
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.network, pytest.mark.cargo]

FIRST_MS = 1_700_000_000_000
SEEN = f"""\
written at [0, 1, 2]
earliest 0
latest 3
0 k a [empty=,from=rust] {FIRST_MS}
1 null b [] {FIRST_MS + 1}
2 gone null [] {FIRST_MS + 2}
high watermark 3
partitions {{0, 1}}
"""


def client(servers: str, topic: str, codec: str) -> str:
    """The output of the program."""
    command = [str(rust_client.BINARY), servers, topic, codec]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@works("rskafka", "topics created, listed; produce with acks all, read, watermarks; keys, headers, null values", "1.1")
def test_it_creates_writes_and_reads(cluster: faultline.Cluster, topic: str) -> None:
    assert client(cluster.bootstrap_servers("az-2"), f"{topic}-rust", "none") == SEEN


@works("rskafka", "gzip, snappy", "1.1")
@pytest.mark.parametrize("codec", ["gzip", "snappy"])
def test_it_reads_what_it_has_compressed(cluster: faultline.Cluster, topic: str, codec: str) -> None:
    assert client(cluster.bootstrap_servers(), f"{topic}-{codec}", codec) == SEEN


@pytest.mark.long
def test_it_compiles() -> None:
    rust_client.compile_it()
    assert rust_client.is_compiled()
