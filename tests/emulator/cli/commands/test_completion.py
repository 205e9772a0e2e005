"""`faultline --install-completion`: shells complete the commands that there are."""

import shutil
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

from emulator.cli.app import app
from emulator.packaged import DISTRIBUTION


def test_the_version_is_the_distributions(capsys: pytest.CaptureFixture[str]) -> None:
    app(["--version"], exit_on_error=False, result_action="return_value")
    assert capsys.readouterr().out.strip() == metadata.version(DISTRIBUTION) != "0.0.0"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_commands_and_options(shell: str, tmp_path: Path) -> None:
    file = tmp_path / "faultline"
    words = ["--install-completion", "--shell", shell, "--output", str(file)]
    app(words, exit_on_error=False, result_action="return_value")
    text = file.read_text(encoding="utf-8")
    for word in ("az-isolated-leader", "power-loss", "add-partitions", "kafka-version"):
        assert (word in text) == (word != "az-isolated-leader"), word
    if shutil.which(shell):
        flag = "--no-execute" if shell == "fish" else "-n"
        checked = subprocess.run([shell, flag, str(file)], check=False, capture_output=True, encoding="utf-8")
        assert (checked.returncode, checked.stderr) == (0, "")
