"""Failures of a running scenario, and their output in a pipe.

With file and line, however long the line is.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.system.conftest import Faultline

TITLE = "A title that is longer than a terminal of eighty columns is, so that it would be wrapped there"
TWICE = f"""\
id: twice
title: {TITLE}
kafka: 2.6
steps:
  - start: 2
  - create-topic: {{topic: t, assignment: [2]}}
  - repeat: {{times: 1, steps: [{{create-topic: {{topic: t, assignment: [2]}}}}]}}
"""
WHY = "create-topic t: there is such a topic already"


def test_seeds_name_the_place_of_a_step_that_fails(faultline_here: Faultline, tmp_path: Path) -> None:
    script = tmp_path / "twice.yaml"
    script.write_text(TWICE)
    ended = faultline_here("sim", script, "--seeds", "1")
    assert ended.code == 3
    assert f"seed 1: {script}:7: not played to its end: step 3 " in ended.out and WHY in ended.out


@pytest.mark.slow
def test_a_run_that_fails_names_the_place_and_wraps_nothing_in_a_pipe(faultline: Faultline, tmp_path: Path) -> None:
    script = tmp_path / "twice.yaml"
    script.write_text(TWICE)
    ended = faultline("run", script, "--out", tmp_path / "run", "--audit", "none")
    assert ended.code == 3
    assert ended.out.splitlines()[0] == f"twice on Kafka 2.6: {TITLE}"
    assert ended.err.startswith(f"{script}:7: faultline run: ") and WHY in ended.err


MORE_THAN_THERE_ARE = """\
id: more
title: more batches than there are
kafka: 2.6
steps:
  - start: 2
  - create-topic: {topic: t, assignment: [2]}
  - kill: 2
  - lose-unsynced: {node: 2, batches_kept: 5}
"""


@pytest.mark.slow
@pytest.mark.parametrize("world", ["sim", pytest.param("network", marks=pytest.mark.network)])
def test_more_batches_than_there_are_cannot_be_kept_in_either_world(
    faultline: Faultline, tmp_path: Path, world: str
) -> None:
    script = tmp_path / "more.yaml"
    script.write_text(MORE_THAN_THERE_ARE)
    ended = faultline("run", script, "--world", world, "--out", tmp_path / "run", "--audit", "none")
    assert ended.code == 3 and "Traceback" not in ended.err, ended
    assert ended.err.startswith(f"{script}:8: faultline run: ")
    assert "t-0 holds 0 batches, 5 of them cannot be kept" in ended.err
