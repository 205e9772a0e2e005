"""Commands that would start Spark, without Java: refused before anything is played."""

from pathlib import Path

import pytest

from audit import java
from emulator.cli.app import _command
from emulator.runs import simulated

SCENARIO = "az-isolated-leader"


@pytest.fixture(autouse=True)
def _no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def played(*_: object, **__: object) -> None:
        raise AssertionError("played")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(java, "_bundled_java", lambda: None)
    monkeypatch.setattr(simulated, "play", played)


@pytest.mark.parametrize(
    "line",
    [
        f"run {SCENARIO} --world sim --audit spark",
        f"run {SCENARIO}",
        f"sim {SCENARIO} --seeds 1..1 --master local[1]",
        f"sim {SCENARIO} --seeds 1..1 --master local[1] --out campaign",
        f"sweep {SCENARIO} --set min.insync.replicas=1,2 --master spark://host:7077 --out campaign",
        "advise --master local[1]",
        "fuzz --runs 1 --master local[1] --out finds",
    ],
)
def test_java_is_looked_for_first(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _command(line.split()) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"faultline {line.split(maxsplit=1)[0]}: Spark needs Java") and err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
