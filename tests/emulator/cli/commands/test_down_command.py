"""`faultline down --all` says what it could not remove, and does not end well then."""

import tempfile
from pathlib import Path

import msgspec
import pytest

from emulator.cli.cluster_options import ClusterOptions
from emulator.cli.commands.live_down import down_command
from emulator.exit_codes import HELD, UNUSABLE
from emulator.runs import engine_choice
from emulator.worlds.containers.tool import DockerFailed, DockerMissing
from emulator.worlds.packet_filter.namespaces import NamespaceError


@pytest.fixture(autouse=True)
def _nothing_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide scratch folders of killed commands on this machine.
    They are not ours to find, nor to remove.
    """
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def engine(monkeypatch: pytest.MonkeyPatch, containers: Exception, namespaces: Exception | None = None) -> None:
    def fail(error: Exception | None) -> list[str]:
        if error is not None:
            raise error
        return []

    monkeypatch.setattr(engine_choice, "abandoned_containers", lambda: fail(containers))
    monkeypatch.setattr(engine_choice, "missing_rights", lambda: "")
    monkeypatch.setattr(engine_choice, "remove_namespaces", lambda: fail(namespaces))


def test_without_an_engine_there_is_nothing_to_remove(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    engine(monkeypatch, DockerMissing("no engine"))
    assert down_command(all_=True) == HELD
    assert capsys.readouterr().out == "no cluster runs\n"


def test_leftovers_are_reported_and_shown_by_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    engine(monkeypatch, DockerFailed("p0 is busy"), NamespaceError("n0 is busy"))
    assert down_command(all_=True) == UNUSABLE
    printed = capsys.readouterr()
    assert printed.out == "", "it does not say that no cluster runs"
    assert printed.err == (
        "faultline down: containers that were left could not be removed: p0 is busy; "
        "network namespaces that were left could not be removed: n0 is busy\n"
    )


def test_as_json_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    engine(monkeypatch, DockerFailed("p0 is busy"))
    assert down_command(all_=True, options=ClusterOptions(json=True)) == UNUSABLE
    reported = msgspec.json.decode(capsys.readouterr().out)
    assert reported["left"] == ["containers that were left could not be removed: p0 is busy"]
