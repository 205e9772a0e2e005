"""Limits of a soak: figures that must be rejected, and those that must not."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from verification.soak.__main__ import main
from verification.soak.ledger import Acknowledged, hold, read_ledger
from verification.soak.process_memory import Sample, trend_of
from verification.soak.soak_verdict import (
    MUST_HOLD,
    Cut,
    Kept,
    Outside,
    judge_kept,
    judge_memory,
    judge_unknown,
)

HELD = dict.fromkeys(MUST_HOLD, "held")


def climbing(first_mib: float, per_minute_mib: float, minutes: int = 60) -> list[Sample]:
    return [Sample(n * 2.0, first_mib + per_minute_mib * n / 30.0) for n in range(minutes * 30)]


# --- memory ---------------------------------------------------------------------------------------------------------


def test_memory_that_grows_is_rejected_by_name() -> None:
    """A batch's header kept for ever, 400 bytes at 300 batches per second, is 400 MiB an hour."""
    trends = {"broker-0": trend_of(climbing(12.0, 0.0)), "broker-1": trend_of(climbing(12.0, 6.9))}
    judged = judge_memory(trends, 1.0)
    assert judged.held is False
    assert "broker-1 by 276" in judged.text and "broker-0" not in judged.text


# --- records --------------------------------------------------------------------------------------------------------


def kept_of(acknowledged: dict[int, str], log: dict[int, str]) -> Kept:
    kept = Kept(acknowledged=len(acknowledged), replicas={"t-0": ["broker-0"]})
    side = Acknowledged()
    for offset, value in acknowledged.items():
        side.add(offset, value)
    hold(kept, "t-0 on broker-0", side, list(log.items()))
    return kept


def test_all_acknowledged_records_at_their_offsets_are_kept() -> None:
    assert judge_kept(kept_of({0: "a", 2: "c"}, {0: "a", 1: "b", 2: "c"}), HELD).held is True


@pytest.mark.parametrize("log", [{0: "a"}, {0: "a", 2: "x"}, {0: "a", 1: "c"}, {}])
def test_an_acknowledged_record_that_is_missing_is_rejected(log: dict[int, str]) -> None:
    """Not there, another in its place, at another offset, no log at all."""
    judged = judge_kept(kept_of({0: "a", 2: "c"}, log), HELD)
    assert judged.held is False
    assert "are not in t-0 on broker-0" in judged.text


# --- outcomes -------------------------------------------------------------------------------------------------------


def test_unknown_outcomes_outside_the_cuts_are_rejected_above_a_thousandth() -> None:
    assert judge_unknown(Outside(operations=10_000, unknown=10)).held is True
    judged = judge_unknown(Outside(operations=10_000, unknown=11, examples=["client-0.1:7 of 12.0 s"]))
    assert judged.held is False and "client-0.1:7" in judged.text
    assert judge_unknown(Outside()).held == "unknown"


def test_the_ledger_lists_what_a_cut_can_touch(tmp_path: Path) -> None:
    """A cut from 100 to 115 ms with a margin of 20.

    Operations that end before 100 or begin after 135 are outside.
    """
    lives = {"before": (10, 99), "into": (10, 101), "within": (101, 110), "after": (130, 400), "outside": (136, 400)}
    lines = []
    for name, (begins, ends) in lives.items():
        about = {"node": "client-0", "operation": name, "kind": "produce", "topic": "t", "partition": 0}
        lines.append({**about, "event": "operation_invoked", "at_ms": begins, "value": name})
        lines.append({**about, "event": "operation_ended", "at_ms": ends, "outcome": "unknown", "offset": -1})
    lines.append({"node": "client-0", "operation": "r", "kind": "fetch", "event": "operation_invoked", "at_ms": 1})
    (tmp_path / "events").mkdir()
    text = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    (tmp_path / "events" / "client-0.1.jsonl").write_bytes(text + b'{"event":"operation_ended","at_')
    ledger = read_ledger(tmp_path, ["client-0"], [Cut("az-0", 100.0, 115.0, 5)], 20.0)
    assert (ledger.counts.sent, ledger.counts.unknown, ledger.open) == (5, 5, 0)
    assert (ledger.outside.operations, ledger.outside.unknown) == (2, 2)
    assert [text.split()[0] for text in ledger.outside.examples] == ["before", "outside"]
    unhealed = read_ledger(tmp_path, ["client-0"], [Cut("az-0", 100.0, None, 5)], 20.0)
    assert unhealed.outside.operations == 1


# --- what is asked --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (["--minutes", "0"], "--minutes 0"),
        (["--rate", "0.5"], "--rate 0.5"),
        (["--cut-for-s", "60"], "less than --cut-every-s 60"),
        (["--cut-for-s", "40"], "nothing would be outside the cuts"),
        (["--topology", "three-zz", "--minutes", "1"], "nearest: three-az"),
        (["--speed", "1000", "--minutes", "1"], "--speed 1000"),
    ],
)
def test_an_impossible_request_is_reported_in_a_line(
    words: list[str], output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    err = capsys.readouterr().err
    assert output in err and err.count("\n") == 1
