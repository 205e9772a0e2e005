"""docs/notebook: what its cells give is what it says; and what notebooks call."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from docs.notebook.run_notebook import NOTEBOOK, played, read, written
from emulator.cli import notebook
from emulator.cli.notebook import Answer, Refused, ask, command
from tests.audit.trace import dual_leader

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def session(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook, "_session", [spark])


@pytest.mark.spark
@pytest.mark.slow
def test_the_notebook_has_the_output_of_its_cells(session: None) -> None:
    """Otherwise: python -m docs.notebook."""
    assert written(played(read())) == NOTEBOOK.read_bytes()


def test_the_notebook_answers_five_questions_and_names_pages_that_exist() -> None:
    cells = read()["cells"]
    prose = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    assert len(re.findall(r"^## \d\. .*\?$", prose, re.MULTILINE)) == 5
    for name in re.findall(r"\]\(([^)]+)\)", prose):
        assert (NOTEBOOK.parent / name).is_file()
    assert all(cell["outputs"] for cell in cells if cell["cell_type"] == "code")
    assert len({cell["id"] for cell in cells}) == len(cells)


def test_a_question_is_refused_before_spark_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emulator.cli.notebook._session", [])
    monkeypatch.setattr("emulator.cli.notebook._spark", lambda: pytest.fail("Spark starts"))
    with pytest.raises(Refused, match=r"^no column valu; nearest: value \(line 1, pos 7\)$"):
        ask(str(dual_leader().write(tmp_path)), "SELECT valu FROM operations")


@pytest.mark.spark
@pytest.mark.slow
def test_a_refused_question_is_one_line(session: None, tmp_path: Path) -> None:
    run = str(dual_leader().write(tmp_path))
    with pytest.raises(Refused, match=r"^no column valu; nearest: value \(line 1, pos 7\)$"):
        ask(run, "SELECT valu FROM operations")
    with pytest.raises(Refused, match="no such directory"):
        ask(str(tmp_path / "nothing"), "SELECT 1")
    assert ask(run, "SELECT value, acks FROM operations ORDER BY invoked_ms", rows_max=1).more


def test_a_command_that_can_use_nothing_is_refused_in_its_own_line() -> None:
    with pytest.raises(Refused, match="nearest: cap-choice"):
        command("run cap-choce --world sim")


def test_an_answer_is_a_table() -> None:
    answer = Answer(("name", "n"), (("<a>", 1.5), ("b", 20)), more=True)
    assert repr(answer) == "name    n\n<a>   1.5\nb      20\n..."
    assert "<td>&lt;a&gt;</td><td>1.5</td>" in answer._repr_html_()


def test_a_cell_that_fails_is_not_kept(tmp_path: Path) -> None:
    cell = {"cell_type": "code", "id": "x", "metadata": {}, "outputs": [], "source": ["print(1)\n", "1 / 0"]}
    with pytest.raises(ZeroDivisionError):
        played({"cells": [cell]})
    [good] = played({"cells": [{**cell, "source": ["print(1)\n", "x = 2\n", "x + 1"]}]})["cells"]
    assert [one["output_type"] for one in good["outputs"]] == ["stream", "execute_result"]
    assert good["outputs"][1]["data"] == {"text/plain": ["3"]}
