"""Generated settings files, played.

Accepted ones end with a verdict, refusals name file and line.
"""

from pathlib import Path

import pytest

from emulator.cli.app import app
from tests.emulator.settings.hostile_settings import SCENARIO
from tests.generated_inputs import tallied

pytestmark = pytest.mark.slow

CASES = 150
PART = 50


@pytest.mark.parametrize("first", range(0, CASES, PART))
def test_a_run_with_any_settings_file_ends_with_a_verdict_or_names_the_line(
    tmp_path: Path, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert set(tallied("settings", range(first, first + PART), tmp_path / "work")) > {2}


def test_a_zookeeper_without_a_quorum_ends_the_run_as_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = tmp_path / "generated-settings.yaml"
    scenario.write_text(SCENARIO)
    words = ["run", str(scenario), "--world", "sim", "--set", "tickTime=1", "--out", str(tmp_path / "run")]
    assert app(words, result_action="return_value") == 3
    assert "ZooKeeper: no quorum after 60 s; raise tickTime or initLimit" in capsys.readouterr().err
