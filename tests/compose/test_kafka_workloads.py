"""Kafka clients of a compose file.

Librdkafka and kcat in every AZ, at work, cut off, and stopped.
"""

import os
import re
import subprocess
from collections.abc import Generator, Iterator
from contextlib import closing

import pytest

from emulator.worlds.cluster_file.compose_files import named_topology
from emulator.worlds.containers.removal import remove_project
from emulator.worlds.containers.tool import compose
from tests.compose.test_runs_on_engine import COMMAND_LIMIT_S, objects

pytestmark = [pytest.mark.docker, pytest.mark.slow]

PORTS = "271"
"""27100 to 27132."""


@pytest.fixture
def of(image: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, ...]]:
    """The words that name the project to the compose tool, while it is up."""
    monkeypatch.setenv("FAULTLINE_PORT", "0")
    monkeypatch.setenv("FAULTLINE_KAFKA_PORTS", PORTS)
    file = named_topology("three-az")
    second = file.parent / "kafka" / file.name
    project = f"faultline-workloads-{os.getpid()}"
    named = (
        *("--project-name", project, "--file", str(file), "--file", str(second)),
        *("--profile", "librdkafka", "--profile", "kcat"),
    )
    try:
        compose(*named, "up", "--detach", "--no-build", limit_s=COMMAND_LIMIT_S)
        yield named
    finally:
        remove_project(project)
    assert objects(project) == []


def lines(of: tuple[str, ...], service: str) -> Generator[str]:
    """Its output lines, from the beginning, as they come."""
    container = compose(*of, "ps", "--quiet", service, limit_s=COMMAND_LIMIT_S).strip()
    with subprocess.Popen(
        ["docker", "logs", "--follow", container], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8"
    ) as followed:
        assert followed.stdout is not None
        try:
            yield from followed.stdout
        finally:
            followed.kill()


def until(output: Iterator[str], pattern: str) -> str:
    for line in output:
        if re.search(pattern, line):
            return line
    raise AssertionError(f"it ended without a line like {pattern}")


def test_clients_in_every_az_are_at_work_and_those_behind_a_cut_are_not(of: tuple[str, ...]) -> None:
    for service in ("librdkafka-0", "librdkafka-1", "librdkafka-2"):
        with closing(lines(of, service)) as output:
            until(output, r"[1-9]\d* delivered, [1-9]\d* read")
    for service in ("kcat-reader-0", "kcat-reader-1", "kcat-reader-2"):
        with closing(lines(of, service)) as output:
            until(output, r"partition \d, offset \d+: az-[012]-\d+")
    in_control = (*of, "exec", "-T", "control")
    for az in ("az-0", "az-1", "az-2"):
        for client in ("librdkafka", "kcat", "kcat-reader"):  # each begins when it does
            reported = f"""grep -qs '"client":"{client}-{az}"' /faultline/run/events/broker-*/*.jsonl"""
            compose(*in_control, "sh", "-c", f"until {reported}; do sleep 0.2; done", limit_s=COMMAND_LIMIT_S)
    with closing(lines(of, "librdkafka-0")) as inside, closing(lines(of, "librdkafka-1")) as outside:
        compose(*in_control, "faultline", "cut", "az-0", limit_s=COMMAND_LIMIT_S)
        until(inside, r"az-0: 0 delivered, 0 read$")
        until(outside, r"az-1: [1-9]\d* delivered")
        compose(*in_control, "faultline", "heal", limit_s=COMMAND_LIMIT_S)
        until(inside, r"az-0: [1-9]\d* delivered")
        compose(*of, "stop", "--timeout", "300", "librdkafka-0", limit_s=COMMAND_LIMIT_S)
        assert until(inside, "at the end").endswith("; 0 unknown at the end\n")
