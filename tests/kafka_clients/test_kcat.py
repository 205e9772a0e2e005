"""kcat as Debian has it, with a librdkafka of some years ago."""

import subprocess

import pytest

import faultline
from tests.kafka_clients.capabilities import works
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.network, pytest.mark.kcat]

LIMIT_S = PATIENCE_S
FIRST_MS = 1_700_000_000_000


def kcat(servers: str, *arguments: str, stdin: str = "") -> str:
    """The output of kcat."""
    command = ["kcat", "-b", servers, "-q", *arguments]
    ended = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@works("kcat", "metadata; produce, read, offsets; a member of a group")
def test_it_lists_writes_reads_and_joins(cluster: faultline.Cluster, topic: str) -> None:
    servers = cluster.bootstrap_servers("az-1")
    listed = kcat(servers, "-L", "-t", topic)
    assert f'topic "{topic}" with 2 partitions' in listed
    assert sorted(line.split()[-1] for line in listed.splitlines() if "broker " in line and " at " in line) != []
    kcat(servers, "-P", "-t", topic, "-p", "0", "-K", ":", "-X", "acks=all", stdin="k1:a\nk2:b\nk3:c\n")
    assert kcat(servers, "-C", "-t", topic, "-p", "0", "-o", "1", "-e", "-f", "%o %k %s\\n") == "1 k2 b\n2 k3 c\n"
    assert kcat(servers, "-Q", "-t", f"{topic}:0:-1").split() == [topic, "[0]", "offset", "3"]
    joined = kcat(
        servers, "-G", f"g-{topic}", "-X", "auto.offset.reset=earliest", "-X", "session.timeout.ms=6000", "-c", "3",
        "-f", "%s ", topic,
    )  # fmt: skip
    assert joined.split() == ["a", "b", "c"]
