"""Values that no option takes: exit code 2 and the option's name, whatever the command."""

from itertools import product
from pathlib import Path

import pytest

from emulator.cli.app import _command
from tests.generated_command_lines import command_apps

NUMBERS = ("nan", "inf", "-inf", "1e400")
LOW = "-1" + "0" * 33
TEXTS = ("o\udcff", "a\0b", "x" * 100_001)


def _options(kind: type) -> list[tuple[tuple[str, ...], str]]:
    found = []
    for words, inner in command_apps():
        for argument in inner.assemble_argument_collection():
            names = [name for name in argument.names if name.startswith("--")]
            if names and kind.__name__ in str(argument.hint):
                found.append((words, names[0]))
    return found


def test_the_table_of_commands_is_read() -> None:
    assert len(list(command_apps())) > 30 and len(_options(float)) > 3 and len(_options(str)) > 30


@pytest.fixture(autouse=True)
def _no_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


def test_numbers_that_no_option_takes_end_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    cases = [*product(_options(float), (*NUMBERS, LOW)), *product(_options(int), (*NUMBERS, LOW))]
    for (words, option), value in cases:
        assert _command([*words, f"{option}={value}"]) == 2, (words, option, value)
        assert capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "option"), [(["run", "x"], "--speed"), (["up"], "--wait"), (["kill", "broker-0"], "--wait")]
)
@pytest.mark.parametrize("value", NUMBERS)
def test_the_message_names_the_option(
    words: list[str], option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _command([*words, f"{option}={value}"]) == 2
    assert option in capsys.readouterr().err


def test_texts_that_are_no_text_end_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    """Options of a command's own.
    Those that live commands share name clusters, and find none.
    """
    for (words, option), value in product([*_options(str), *_options(Path)], TEXTS):
        assert _command([*words, f"{option}={value}"]) == 2, (words, option, value[:10])
        assert capsys.readouterr().err


def test_a_directory_of_bytes_that_are_no_text_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert _command(["run", "az-isolated-leader", "--world", "sim", "--out", "o\udcff"]) == 2
    assert "--out" in capsys.readouterr().err


def test_an_audit_that_cannot_be_had_is_refused_before_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert _command(["run", "az-isolated-leader", "--world", "network", "--audit", "oracle"]) == 2
    assert "--audit oracle" in capsys.readouterr().err
