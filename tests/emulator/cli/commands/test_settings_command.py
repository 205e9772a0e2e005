"""`faultline settings`: what is a name, and what is a file."""

from pathlib import Path

import pytest

from emulator.cli.commands.settings import settings_command


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("nofile.properties", "--settings nofile.properties: cannot be read: No such file or directory"),
        ("no/file", "--settings no/file: cannot be read: No such file or directory"),
        (
            "prodcer:un.properties",
            "--settings prodcer:un.properties: cannot be read: No such file or directory; "
            "nearest: producer:un.properties",
        ),
        ("folder", "--settings folder: cannot be read: is a directory"),
        ("ack", "unknown setting 'ack'; nearest: acks"),
    ],
)
def test_a_file_that_is_not_there_is_no_unknown_setting(
    word: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    assert settings_command(word) == 2
    assert capsys.readouterr().err == f"faultline settings: {message}\n"
