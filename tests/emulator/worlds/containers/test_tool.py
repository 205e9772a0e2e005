"""A failing Docker command's output, and the consequences."""

from pathlib import Path

import pytest

from emulator.worlds.containers.tool import DockerFailed, DockerMissing, NoEngine, docker, engine_version


@pytest.fixture
def says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A docker command that prints what is in this file, and fails."""
    output = tmp_path / "said"
    command = tmp_path / "docker"
    command.write_text(f"#!/bin/sh\n/bin/cat {output} >&2\nexit 1\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return output


@pytest.mark.parametrize(
    "output",
    [
        "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?\n",
        "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock: Get\n",
    ],
)
def test_no_engine_is_distinguished_from_one_that_refuses(says: Path, output: str) -> None:
    says.write_text(output)
    with pytest.raises(NoEngine):
        docker("ps")
    with pytest.raises(DockerMissing, match=r"no Docker engine answers \((Cannot|permission)"):
        engine_version()
    says.write_text("warning: old\nError response from daemon: network n0 has active endpoints\n")
    with pytest.raises(DockerFailed, match=r"^Error response from daemon: network n0 has active endpoints$") as raised:
        docker("network", "rm", "n0")
    assert not isinstance(raised.value, NoEngine)
