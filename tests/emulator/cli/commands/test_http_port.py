"""`up --http PORT`: a port that cannot be had is told before anything is started."""

import socket
from pathlib import Path

import pytest

from emulator.cli.command_options import UpOptions
from emulator.cli.commands.live_up import up_command
from emulator.cluster.cluster_registry import clusters


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


@pytest.mark.parametrize("port", [-1, 65_536])
def test_what_is_no_port(port: int, nowhere: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert up_command(options=UpOptions(http=port)) == 2
    error = f"faultline up: --http {port}: not a port; give 1 to 65535, or 0 for a free one\n"
    assert capsys.readouterr() == ("", error)
    assert list(Path().iterdir()) == [] and not clusters()


@pytest.mark.parametrize("wait_s", [-1, -1e33, 86_401, 1e300])
def test_a_time_limit_out_of_range_is_refused_before_anything_is_started(
    wait_s: float, nowhere: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert up_command(options=UpOptions(wait=wait_s)) == 2
    assert capsys.readouterr() == ("", f"faultline up: --wait {wait_s:g}: from 0 to 86400 seconds\n")
    assert list(Path().iterdir()) == [] and not clusters()


def test_a_port_that_another_process_has(nowhere: None, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert up_command(options=UpOptions(http=port)) == 2
    assert capsys.readouterr().err == f"faultline up: --http {port}: Address already in use; 0 takes a free port\n"
    assert list(Path().iterdir()) == [] and not clusters()
