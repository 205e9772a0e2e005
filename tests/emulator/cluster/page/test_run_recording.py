"""A finished run as a recording, and the file that plays it."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from emulator.cli.app import app
from emulator.cli.commands.export_command import export_command
from emulator.cluster.page import run_recording
from emulator.cluster.page.log_fold import LogFold
from emulator.cluster.page.run_recording import TooLong, recording_of, run_page
from emulator.cluster.page.state_deltas import Delta, applied
from emulator.exit_codes import HELD, UNUSABLE


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("runs") / "run"
    words = ["run", "az-isolated-leader", "--world", "sim", "--out", str(directory)]
    assert app(words, result_action="return_value") == HELD
    return directory


def states(recording: dict[str, Any]) -> list[tuple[float, dict[str, Any]]]:
    """(moment, state) after each change, as the page makes them."""
    found = [(recording["at_ms"], recording["state"])]
    for one in recording["changes"]:
        found.append((one["at_ms"], applied(found[-1][1], Delta(one.get("set", []), one.get("remove", [])))))
    return found


def claims(state: dict[str, Any]) -> set[tuple[str, int]]:
    return {(node, one["leader_epoch"]) for node, one in state["partitions"].get("t-0", {}).items() if one["is_leader"]}


def test_the_recording_has_the_cut_both_leaders_and_logs_that_part(run: Path) -> None:
    found = states(recording_of(run, 200.0))
    apart = [state for _, state in found if len(claims(state)) == 2]
    assert claims(apart[-1]) == {("broker-0", 0), ("broker-1", 1)}
    assert {"az-0 az-1", "az-1 az-0", "az-0 az-2", "az-2 az-0"} <= apart[0]["links"].keys()
    logs = {node: [batch[3] for batch in batches] for node, batches in apart[-1]["logs"]["t-0"].items()}
    assert logs == {"broker-0": [*"abcde"], "broker-1": [*"abfgh"], "broker-2": [*"abfgh"]}
    at_ms, last = found[-1]
    assert claims(last) == {("broker-1", 1)} and not last["links"]
    assert all(node["alive"] for node in last["nodes"].values()), "a run's end kills no node"
    assert {[batch[3] for batch in batches] == [*"abfgh"] for batches in last["logs"]["t-0"].values()} == {True}
    assert {(one["finding"], one["violation"]) for one in last["findings"]} == {
        ("lost-acknowledged", False), ("dual-leader", False),
    }  # fmt: skip
    assert at_ms >= found[-2][0]


def test_a_log_is_cut_at_a_batch_and_its_texts_come_from_attempts() -> None:
    logs = LogFold()
    place = {"topic": "t", "partition": 0, "node": "broker-0"}

    def append(base: int, last: int, digest: int) -> None:
        batch = {"base_offset": base, "last_offset": last, "leader_epoch": 3, "digest": digest}
        logs.add({"event": "batch_appended", **place, **batch})

    logs.add({"event": "operation_invoked", "operation": "o", "kind": "produce", "value": '["x","y"]', "records": 2})
    logs.add({"event": "attempt_sent", "operation": "o", "digest": 7})
    append(0, 1, 7)
    append(2, 2, 8)
    append(3, 5, 9)
    assert logs.logs() == {"t-0": {"broker-0": [[0, 1, 3, "x +1"], [2, 2, 3, ""], [3, 5, 3, ""]]}}
    logs.add({"event": "log_truncated", **place, "to": 3})
    assert logs.logs()["t-0"]["broker-0"][-1] == [2, 2, 3, ""]
    logs.add({"event": "log_loaded", **place, "log_end": 2})
    assert logs.logs() == {"t-0": {"broker-0": [[0, 1, 3, "x +1"]]}}
    logs.add({"event": "log_deleted", **place})
    assert logs.logs() == {}


def test_the_file_has_the_recording_once_and_nothing_that_ends_its_element(run: Path, tmp_path: Path) -> None:
    page = run_page(run, 1_000.0)
    body = page.partition("<body>")[2].partition("\n<script>")[0]
    assert body.startswith('<script type="application/json" id="recording">') and body.count("<") == 2
    text = body.partition(">")[2].removesuffix("</script>")
    assert msgspec.json.decode(text) == msgspec.json.decode(msgspec.json.encode(recording_of(run, 1_000.0)))
    out = tmp_path / "run.html"
    assert export_command(run, page=True, every_ms=1_000.0, out=out) == HELD
    assert out.read_text(encoding="utf-8") == page


def test_a_recording_above_its_limit_is_refused(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_recording, "BYTES_MAX", 2_000)
    with pytest.raises(TooLong, match=r"choose a longer --every-ms than 200"):
        recording_of(run, 200.0)


def test_a_folder_without_settings_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export_command(tmp_path, page=True) == UNUSABLE
    assert "settings.json: cannot be read" in capsys.readouterr().err
