"""Commands that read runs, on an imported one."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from emulator.cli.app import main
from emulator.cli.commands.diff import diff_command
from emulator.exit_codes import BROKEN, HELD
from emulator.runs.importing.append_places import BatchAt
from emulator.runs.importing.segment_differences import OffsetRange, ranges_of

Imported = Callable[[str], Path]
CUT_OFF = "az-isolated-leader@3.9"


def batch(first: int, last: int, epoch: int, digest: int) -> BatchAt:
    return BatchAt(first, last, epoch, digest, 0, "0.log", 0)


def test_ranges_have_one_kind_and_epoch() -> None:
    left = (batch(0, 1, 0, 7), batch(2, 2, 0, 8), batch(3, 5, 0, 9), batch(6, 6, 3, 1))
    right = (batch(0, 1, 0, 7), batch(2, 2, 1, 8), batch(6, 6, 3, 2), batch(7, 7, 3, 3))
    assert ranges_of(left, right) == [
        OffsetRange("differs", 2, 2, 0, 1), OffsetRange("left-only", 3, 5, 0, -1), OffsetRange("differs", 6, 6, 3, 3),
        OffsetRange("right-only", 7, 7, -1, 3),
    ]  # fmt: skip


def test_diff_names_the_records_that_a_broker_truncated(
    imported: Imported, capsys: pytest.CaptureFixture[str]
) -> None:
    """The copy of the cut-off leader's folder against its final one, and two equal replicas."""
    run = imported(CUT_OFF)
    copy, final = run / "copies/broker-0-1/t-0", run / "data/broker-0/t-0"
    assert diff_command(copy, final, json=True) == BROKEN
    ranges = msgspec.json.decode(capsys.readouterr().out)["ranges"]
    assert ranges[0]["first"] == 2
    assert {one["left_epoch"] for one in ranges if one["kind"] != "right-only"} == {0}
    assert diff_command(copy, final) == BROKEN
    assert "offsets 2 to 4: differ, leader epoch 0 and" in capsys.readouterr().out
    assert diff_command(final, run / "data/broker-1/t-0") == HELD
    assert "hold the same batches" in capsys.readouterr().out


def test_explain_and_log_name_the_lines(imported: Imported, capsys: pytest.CaptureFixture[str]) -> None:
    run = imported(CUT_OFF)
    with pytest.raises(SystemExit) as explained:
        main(["explain", str(run), "3"])
    text = capsys.readouterr().out
    assert explained.value.code in (None, 0)
    assert "broker-0   appends it as leader at offset 3, epoch 0" in text
    assert "[t-0/00000000000000000000.log@" in text
    with pytest.raises(SystemExit) as logged:
        main(["log", "broker-0", "t-0", "--run", str(run)])
    assert logged.value.code in (None, 0)
    assert "log end" in capsys.readouterr().out


def test_a_diff_of_the_events_of_two_imports(imported: Imported, capsys: pytest.CaptureFixture[str]) -> None:
    run = imported(CUT_OFF)
    assert diff_command(run, run, partition="t-0") == HELD
    assert diff_command(run, imported("az-isolated-leader@2.8"), partition="t-0") == BROKEN
    assert "first difference at broker-1" in capsys.readouterr().out
