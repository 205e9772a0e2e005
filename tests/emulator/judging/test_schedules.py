"""Judgement of a random schedule: each recording by runs of its own script."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from emulator.judging import schedule_judging
from emulator.packaged import GOLDEN
from emulator.runs.simulated import play

SHORT = "random-405@0.10.2"
"""Its recordings' scripts differ in who is written to near the end."""


@pytest.mark.slow
def test_each_recording_is_reached_by_runs_of_its_own_script() -> None:
    judged = schedule_judging.judge(SHORT, range(1, 6))
    assert judged.reached["2.json"], "no run of the other's script could"
    seed = judged.reached["2.json"][0]
    assert schedule_judging.reaches(SHORT, "2.json", seed)
    assert not schedule_judging.reaches(SHORT, "1.json", seed)


def test_a_script_that_both_recordings_share_is_played_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / SHORT
    folder.mkdir()
    content = (GOLDEN / SHORT / "1.json").read_bytes()
    for name in ("1.json", "2.json"):
        (folder / name).write_bytes(content)
    seeds = []

    def counted(resolved: object, seed: int) -> object:
        seeds.append(seed)
        return play(resolved, seed)  # type: ignore[arg-type]

    monkeypatch.setattr(schedule_judging, "play", counted)
    judged = schedule_judging.judge(SHORT, [1, 2], tmp_path)
    assert seeds == [1, 2]
    assert judged.reached["1.json"] == judged.reached["2.json"]


def test_a_result_that_no_run_has_is_named_with_how_to_see_it(tmp_path: Path) -> None:
    folder = tmp_path / SHORT
    folder.mkdir()
    recording = msgspec.json.decode((GOLDEN / SHORT / "1.json").read_bytes())
    first = next(entry for entry in recording["timeline"] if entry.get("saw") == "attempt")
    first["offset"] = 77
    (folder / "1.json").write_bytes(msgspec.json.encode(recording))
    judged = schedule_judging.judge(SHORT, [1], tmp_path)
    assert judged.broken == (1,) and judged.reached["1.json"] == ()
    assert any("--world sim --seed 1" in example for example in judged.examples)
