"""`faultline sweep`: what it prints and writes, and how it ends."""

import csv
import io
import json
import shlex
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from emulator.cli.app import app
from emulator.judging.campaigns.campaign_runs import CampaignOptions, play_runs
from emulator.judging.campaigns.dataset import rows_of
from emulator.judging.campaigns.row import Row
from emulator.runs.verdict_file import from_json

pytestmark = pytest.mark.slow

FLAGS = ("--set", "zookeeper.session.timeout.ms=6000,9000", "--kafka-version", "2.6,2.8", "--seeds", "1..2")


def sweep(*words: str) -> int:
    code: Any = app(["sweep", *words], result_action="return_value")
    assert isinstance(code, int)
    return code


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One sweep with everything that it can write."""
    folder = tmp_path_factory.mktemp("sweep")
    files = ("--csv", str(folder / "s.csv"), "--html", str(folder / "s.html"), "--out", str(folder / "c"))
    assert sweep("az-isolated-leader", *FLAGS, *files) == 0
    return folder


def test_the_table_has_a_line_per_cell_and_common_parts_once(capsys: pytest.CaptureFixture[str]) -> None:
    """In a pipe no line is broken. The scenario expects its loss, and other settings lose more.
    Neither is judged.
    """
    assert sweep("az-isolated-leader", *FLAGS) == 0
    out, err = capsys.readouterr()
    lines = [line.split() for line in out.splitlines() if line.strip()]
    assert ["2.6", "6000", "8", "3"] in [line[:4] for line in lines]
    assert ["2.8", "9000", "9", "4"] in [line[:4] for line in lines]
    assert "in every cell: duplicated 0, reordered 0, diverged 0" in out
    assert "lost-acknowledged: broken in 4 of 4 cells, of the worst in 100% of the runs" in out
    assert "4 cells, 2 seeds each: 8 runs in" in out and "valid" not in out and err == ""


def test_csv_json_page_and_campaign_agree(swept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(csv.DictReader(io.StringIO((swept / "s.csv").read_text())))
    assert [(row["kafka_version"], row["lost.low"], row["lost.share"]) for row in rows] == [
        ("2.6", "3.0", "1.0"), ("2.6", "3.0", "1.0"), ("2.8", "4.0", "1.0"), ("2.8", "4.0", "1.0")
    ]  # fmt: skip
    assert sweep("az-isolated-leader", *FLAGS, "--json") == 0
    reported = json.loads(capsys.readouterr().out)
    assert [cell["measures"]["lost"]["high"] for cell in reported["cells"]] == [3, 3, 4, 4]
    assert (reported["runs"], reported["exit_code"], reported["cells"][3]["broken"][0]["check"]) == (
        8,
        0,
        "lost-acknowledged",
    )
    assert all(row["replay"] in (swept / "s.html").read_text().replace("&#x27;", "'") for row in rows)
    assert sorted((row.kafka_version, row.lost) for row in rows_of(swept / "c")) == [("2.6", 3)] * 4 + [("2.8", 4)] * 4


def test_a_cell_is_one_command_away(swept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    last = list(csv.DictReader(io.StringIO((swept / "s.csv").read_text())))[-1]
    command = shlex.split(last["replay"])
    app([*command[1:], "--out", str(tmp_path / "run"), "--json"], result_action="return_value")
    assert from_json(capsys.readouterr().out.encode()).checks["lost-acknowledged"].count == 4


def test_an_existing_sweep_is_printed_without_playing(swept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = {path: path.stat().st_mtime_ns for path in (swept / "c").rglob("*.parquet")}
    assert sweep("az-isolated-leader", *FLAGS, "--out", str(swept / "c")) == 0
    assert "8 runs, 8 of them played before, in" in capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in (swept / "c").rglob("*.parquet")} == parts


def test_a_changed_settings_file_is_not_mixed_with_the_earlier_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of the command line and that which a scenario names; comments may come and go."""
    monkeypatch.chdir(tmp_path)
    file, own = tmp_path / "producer.properties", tmp_path / "own-producer.properties"
    steps = "  - start: 0\n  - create-topic: {topic: t, assignment: [0]}\n"
    named = f"settings_files: [{own.name}]\n"
    (tmp_path / "s.yaml").write_text(f"id: s\ntitle: t\nkafka: [2.8]\n{named}steps:\n{steps}")
    file.write_text("linger.ms=0\n")
    own.write_text("retries=1\n")
    words = ("s.yaml", "--set", "producer.acks=1,all", "--seeds", "1", "--settings", file.name, "--out", "c")
    assert sweep(*words) == 0
    file.write_text("# as before\nlinger.ms=0\n")
    assert sweep(*words) == 0
    for one, other in ((file, "linger.ms=5\n"), (own, "retries=2\n")):
        before = one.read_text()
        one.write_text(other)
        capsys.readouterr()
        assert sweep(*words) == 2
        out, err = capsys.readouterr()
        assert not out and "when settings files were others; give --out another directory" in err
        one.write_text(before)
    assert sweep(*words) == 0


def test_a_draw_of_runs_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert sweep("az-isolated-leader", *FLAGS, "--runs", "3") == 0
    assert "3 runs, drawn from 8, in" in capsys.readouterr().out
    assert sweep("az-isolated-leader", *FLAGS, "--runs", "3", "--json") == 0
    reported = json.loads(capsys.readouterr().out)
    assert (reported["runs"], reported["of"], reported["drawn"]) == (3, 8, True)


def test_unknown_runs_are_counted_and_a_cell_of_them_ends_with_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "in-vain.yaml"
    steps = "  - start: 2\n  - start: 0\n  - start: 1\n  - create-topic: {topic: t, assignment: [0, 1, 2]}\n"
    wait = "  - wait: {until: isr shrunk, limit_s: 2}\n"
    file.write_text(f"id: in-vain\ntitle: t\nkafka: [2.8]\nsteps:\n{steps}{wait}")
    assert sweep(str(file), "--set", "min.insync.replicas=1,2", "--seeds", "1..2") == 3
    out = capsys.readouterr().out
    assert "4 runs in 2 cells are inconclusive: step 5: wait 'isr shrunk' timed out" in out and "0 of 2" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("cap-choce", "--set", "producer.acks=1,all"), "nearest: cap-choice"),
        (("cap-choice", "--set", "producer.ackz=1,all"), "nearest: producer.acks"),
        (("cap-choice", "--set", "producer.acks=1,2"), "producer.acks"),
        (("cap-choice", "--set", "producer.acks"), "expected NAME=A,B"),
        (("cap-choice", "--param", "sleep=1,2"), "sleep: which of them?"),
        (("az-isolated-leader",), "no axis; give --set NAME=A,B"),
        (("cap-choice", "--kafka-version", "2.8,nine"), "nine"),
        (("cap-choice", "--set", "producer.acks=1,all", "--seeds", "2..1"), "the last is before the first"),
        (("cap-choice", "--set", "producer.acks=1,all", "--runs", "0"), "--runs 0: at least 1"),
        (("cap-choice", "--set", "producer.acks=1,all", "--measure", "isr_shrink"), "nearest: isr_shrinks"),
        (("cap-choice", "--measure", "lostt"), "--measure lostt: no such measure; nearest: lost"),
        (("cap-choise",), "no sweep or scenario 'cap-choise'; nearest: cap-choice"),
        (("cap-choice", "--settings", "no.properties"), "--settings no.properties: cannot be read"),
    ],
)
def test_what_cannot_be_swept_is_one_line(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sweep(*words) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1) and err.startswith("faultline sweep: ") and message in err


def test_an_interrupt_keeps_what_was_played_and_prints_how_to_resume(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(requested: CampaignOptions, numbers: Sequence[int], players: object) -> Iterator[Row]:
        yield from islice(play_runs(requested, numbers, 1), 3)
        raise KeyboardInterrupt

    out = str(tmp_path / "c")
    words = ("az-isolated-follower", "--set", "min.insync.replicas=1,2", "--seeds", "1..2", "--out", out)
    with monkeypatch.context() as patch:
        patch.setattr("emulator.cli.commands.campaign_playing.play_runs", interrupted)
        with pytest.raises(KeyboardInterrupt):
            sweep(*words)
    assert capsys.readouterr().err.endswith(f"interrupted; the same command resumes from {tmp_path}/c\n")
    assert [row.number for row in rows_of(tmp_path / "c")] == [0, 1, 2]
    assert sweep(*words) == 0
    assert [row.number for row in rows_of(tmp_path / "c")] == [0, 1, 2, 3]
