"""An image that is not there, told before anything is made from it."""

import json
from pathlib import Path
from typing import Any

import pytest

from emulator.cli.command_options import UpOptions
from emulator.cli.commands.live_up import up_command
from emulator.worlds.containers.images import require_image, require_images
from emulator.worlds.containers.tool import DockerFailed, DockerMissing

NODES = ("broker-0", "broker-1", "session-0")
DOCKER = """#!/bin/sh
echo "$*" >> {folder}/asked
case "$*" in
  "image inspect"*" there:1") echo sha256:1;;
  "image inspect"*) exit 1;;
  "compose version"* | "version"*) echo 20.10;;
  *" config") /bin/cat {folder}/config;;
  *) echo "unexpected arguments" >&2; exit 1;;
esac
"""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A docker command whose engine has the image there:1.

    Its folder holds the calls and the compose tool's output for any file.
    """
    command = tmp_path / "bin" / "docker"
    command.parent.mkdir()
    command.write_text(DOCKER.format(folder=command.parent))
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(command.parent))
    monkeypatch.delenv("FAULTLINE_IMAGE", raising=False)
    monkeypatch.chdir(tmp_path)
    return command.parent


def has(engine: Path, **services: dict[str, Any]) -> None:
    named = {name.replace("_", "-"): service for name, service in services.items()}
    (engine / "config").write_text(json.dumps({"services": named}))


def refused() -> str:
    with pytest.raises(DockerMissing) as raised:
        require_images(Path("own.yml").resolve(), NODES)
    return str(raised.value)


def test_file_service_image_and_how_to_make_it_are_named(engine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    has(engine, broker_0={"image": "there:1"}, broker_1={"image": "own:1"}, session_0={"image": "own:1"})
    assert refused() == (
        "own.yml: service broker-1 and 1 more: no image own:1; "
        "FAULTLINE_IMAGE=own:1 compose/build.sh makes one of that name, docker pull own:1 fetches one"
    )
    monkeypatch.setenv("FAULTLINE_IMAGE", "own:1")
    assert refused() == "own.yml: service broker-1 and 1 more: no image own:1; compose/build.sh makes it"
    monkeypatch.setenv("FAULTLINE_IMAGE", "")  # compose files take it for none
    with pytest.raises(DockerMissing, match=r"^there is no image faultline:dev: compose/build.sh makes it$"):
        require_image()


@pytest.mark.parametrize("policy", ["missing", "always"])
def test_what_is_there_what_is_fetched_and_what_is_no_node_is_let_pass(engine: Path, policy: str) -> None:
    fetched = {"image": "elsewhere/own:1", "pull_policy": policy}
    has(engine, broker_0={"image": "there:1"}, session_0=fetched, spark={"image": "spark:3"})
    require_images(Path("own.yml"), NODES)
    has(engine, broker_0={**fetched, "pull_policy": "never"})
    assert "no image elsewhere/own:1;" in refused()


def test_a_wrong_compose_file_is_reported_in_a_line(engine: Path) -> None:
    (engine / "config").write_text("version: 3\n")
    with pytest.raises(DockerFailed, match=r"^own\.yml: the compose tool's `config` has no services"):
        require_images(Path("own.yml"), NODES)


def test_up_makes_nothing_then(engine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = tmp_path / "own.yml"
    own.write_text((Path(__file__).parents[4] / "compose" / "three-az.yml").read_text())
    has(engine, broker_0={"image": "own:1"})
    assert up_command("own.yml", options=UpOptions(engine="docker")) == 2
    assert capsys.readouterr().err.startswith("faultline up: own.yml: service broker-0: no image own:1; FAULTLINE")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "own.yml"]
    requested = (engine / "asked").read_text().splitlines()
    assert [words for words in requested if "config" not in words and "version" not in words] == [
        "image inspect --format {{.Id}} own:1"
    ]
