"""Without a container engine, or without its image, nothing is made.
One line, code 2, and no directory.
"""

from pathlib import Path

import pytest

from emulator.cli.command_options import RunOptions, UpOptions
from emulator.cli.commands.live_up import up_command
from emulator.cli.commands.run_scenario import run_command
from emulator.cluster.cluster_registry import clusters, plays

NO_ENGINE = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"
NO_IMAGE = "Error: No such image: faultline:dev"


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A docker command that has an engine if there is a file, and no image.
    We are in an empty folder.
    """
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("FAULTLINE_IMAGE", raising=False)
    folder, engine = tmp_path / "bin", tmp_path / "engine"
    folder.mkdir()
    command = folder / "docker"
    command.write_text(
        f'#!/bin/sh\n[ -e {engine} ] || {{ echo "{NO_ENGINE}" >&2; exit 1; }}\n'
        f'[ "$1" = version ] && echo 29.0 && exit 0\necho "{NO_IMAGE}" >&2; exit 1\n'
    )
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return engine


def run() -> int:
    return run_command("az-isolated-leader", RunOptions(engine="docker"))


def test_no_engine_leaves_no_directory(docker: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 2
    assert up_command(options=UpOptions(engine="docker")) == 2
    why = f"no Docker engine answers ({NO_ENGINE}); start it, or use --engine process\n"
    assert capsys.readouterr() == ("", f"faultline run: {why}faultline up: {why}")
    assert list(Path().iterdir()) == [] and not (*clusters(), *plays())


def test_no_image_leaves_no_directory(docker: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`up` may be told a compose file with an image of its own: its supervisor finds that out."""
    docker.touch()
    assert run() == 2
    assert capsys.readouterr() == ("", "faultline run: there is no image faultline:dev: compose/build.sh makes it\n")
    assert list(Path().iterdir()) == [] and not plays()
