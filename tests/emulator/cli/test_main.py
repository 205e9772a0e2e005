"""`python -m emulator`: the command line, and what containers run."""

import subprocess
import sys
from importlib import import_module

import pytest

from emulator.__main__ import IN_CONTAINERS
from tests.patience import PATIENCE_S


def run_faultline(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "emulator", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=PATIENCE_S, check=False, env={"PATH": ""},
    )  # fmt: skip


@pytest.mark.parametrize(("word", "lacking"), [("agent", "FAULTLINE_NODE"), ("control", "FAULTLINE_CLUSTER_FILE")])
def test_a_containers_command_reports_what_it_lacks(word: str, lacking: str) -> None:
    ended = run_faultline(word)
    assert ended.returncode == 2 and lacking in ended.stderr and "Traceback" not in ended.stderr


def test_they_are_words_of_their_own() -> None:
    for word, (module, _) in IN_CONTAINERS.items():
        assert callable(import_module(module).main)
        assert run_faultline(word, "more").returncode == 2, "the command line does not know it"
