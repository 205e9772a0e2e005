"""Limits of a soak: figures that must be rejected, and those that must not."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import cast

import msgspec
import pytest
from rich.console import Console

from emulator.cluster.specification import LiveSpec
from verification.soak.__main__ import main
from verification.soak.ledger import Acknowledged, count_twice, hold, read_ledger
from verification.soak.process_memory import Sample, trend_of
from verification.soak.soak_output import document, show
from verification.soak.soak_plan import KafkaRequest, planned_cuts
from verification.soak.soak_run import Played
from verification.soak.soak_verdict import (
    MUST_HOLD,
    Counts,
    Cut,
    Judgement,
    Kept,
    Outside,
    exit_code,
    growth_allowed_mib,
    in_doubt,
    judge_accounts,
    judge_cuts,
    judge_disk,
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


def test_a_leak_is_seen_in_ten_minutes() -> None:
    assert judge_memory({"broker-0": trend_of(climbing(12.0, 6.9, minutes=10))}, 1 / 6).held is False


def test_growth_by_design_is_allowed_and_its_slope_is_reported() -> None:
    trend = trend_of(climbing(12.0, 0.05))
    assert trend is not None
    assert trend.slope_per_h == pytest.approx(3.0, abs=0.01)
    assert (trend.first, trend.last, trend.highest) == (12.5, 14.5, 15.0)
    judged = judge_memory({"broker-0": trend}, 1.0)
    assert judged.held is True and "+3.0 MiB/h" in judged.text
    assert trend.growth < growth_allowed_mib(1.0)


def test_too_few_samples_of_one_node_say_nothing_of_the_cluster() -> None:
    assert trend_of(climbing(12.0, 0.0)[:8]) is None
    judged = judge_memory({"broker-0": trend_of(climbing(12.0, 0.0)), "client-1": None}, 1.0)
    assert judged.held == "unknown" and "client-1" in judged.text


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


def test_a_record_without_a_reported_offset_may_be_anywhere_but_must_be() -> None:
    assert not kept_of({-1: "c"}, {7: "c"}).missing
    assert kept_of({-1: "c"}, {7: "d"}).missing == {"t-0 on broker-0": 1}


def test_the_audit_has_a_say_too() -> None:
    kept = kept_of({0: "a"}, {0: "a"})
    for name in MUST_HOLD:
        assert judge_kept(kept, HELD | {name: "violated"}).held is False
        assert judge_kept(kept, HELD | {name: "unknown"}).held == "unknown"
    assert judge_kept(kept, {}).held == "unknown"
    assert judge_kept(msgspec.structs.replace(kept, replicas={"t-0": []}), HELD).held == "unknown"
    assert judge_kept(Kept(), HELD).held == "unknown"


def test_records_twice_are_a_matter_of_idempotence() -> None:
    log = [(0, "i.1"), (1, "p.1"), (2, "p.1"), (3, "f.1")]
    kept = Kept(acknowledged=1, replicas={"t-0": ["broker-0"]})
    count_twice(kept, log, set(), ("i.",))
    assert (kept.twice, kept.twice_idempotent, kept.failed_but_stored) == (1, 0, 0)
    assert judge_kept(kept, HELD).held is True
    count_twice(kept, [*log, (4, "i.1")], {hash("f.1")}, ("i.",))
    assert (kept.twice_idempotent, kept.failed_but_stored) == (1, 1)
    assert judge_kept(kept, HELD).held is False


def test_accounts_must_add_up_and_agree() -> None:
    fine = Counts(sent=10, ok=8, failed=1, unknown=1, skipped=3)
    assert judge_accounts(fine, fine).held is True
    assert judge_accounts(Counts(sent=10, ok=8), Counts(sent=10, ok=8)).held is False
    assert judge_accounts(fine, Counts(sent=10, ok=9, failed=1)).held is False
    assert judge_accounts(fine, Counts(sent=9, ok=8, unknown=1)).held is False
    assert judge_accounts(Counts(), Counts()).held == "unknown"


# --- outcomes -------------------------------------------------------------------------------------------------------


def test_unknown_outcomes_outside_the_cuts_are_rejected_above_a_thousandth() -> None:
    assert judge_unknown(Outside(operations=10_000, unknown=10)).held is True
    judged = judge_unknown(Outside(operations=10_000, unknown=11, examples=["client-0.1:7 of 12.0 s"]))
    assert judged.held is False and "client-0.1:7" in judged.text
    assert judge_unknown(Outside()).held == "unknown"


def test_the_ledger_tells_what_a_cut_can_touch(tmp_path: Path) -> None:
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


def test_late_timers_put_in_doubt_what_time_outs_decide_and_nothing_else() -> None:
    broken = [judge_unknown(Outside(operations=10, unknown=5)), judge_kept(kept_of({0: "a"}, {}), HELD)]
    assert [one.held for one in in_doubt(broken, 100.0, 150.0)] == [False, False]
    assert [one.held for one in in_doubt(broken, 200.0, 150.0)] == ["unknown", False]


def test_cuts_must_have_been_felt() -> None:
    good = Cut("az-0", 1.0, 2.0, 9)
    assert judge_cuts([good], 1).held is True
    assert judge_cuts([good], 2).held == "unknown"
    assert judge_cuts([], 0).held == "unknown"
    assert judge_cuts([Cut("az-0", 1.0, 2.0, 0)], 1).held == "unknown"
    assert judge_cuts([Cut("az-0", 1.0, None, 9)], 1).held == "unknown"


def test_events_take_so_much_per_record() -> None:
    assert judge_disk(3_000_000, 1_000, 0.5).held is True
    assert judge_disk(9_000_000, 1_000, 0.5).held is False
    assert judge_disk(0, 0, 0.0).held == "unknown"


def test_the_exit_code_is_the_worst() -> None:
    good, bad, unsure = (Judgement("x", held, "") for held in (True, False, "unknown"))
    assert [exit_code(of) for of in ([good], [good, unsure], [unsure, bad])] == [0, 3, 1]


def test_the_outcome_as_json_and_as_a_table() -> None:
    """Of a run that failed early: no trend of one node, no rate."""
    played = Played(Path("run"), cast(LiveSpec, None), [], 9, {"broker-0": climbing(12.0, 1.0, minutes=10), "b": []})
    trends = {name: trend_of(samples) for name, samples in played.samples.items()}
    judgements = [judge_cuts([], 9)]
    requested, late_ms = KafkaRequest(out=Path("run")), {"broker-0": 17.5}
    found = document(requested, played, judgements, trends, late_ms, Outside(), {"ended": "down"})
    again = msgspec.json.decode(msgspec.json.encode(found))
    assert again["asked"]["margin_s"] == 21.0 and "out" not in again["asked"]
    assert again["memory_mib"]["b"] is None and len(again["series_mib"]["broker-0"]) <= 75
    out = Console(width=120, file=StringIO())
    show(judgements, trends, late_ms, out)
    text = out.file.getvalue()  # type: ignore[attr-defined]
    assert "0 of 9 were made" in text and "18 ms" in text


# --- what is asked --------------------------------------------------------------------------------------------------


def test_cuts_take_turns_and_the_last_is_over_before_the_end() -> None:
    requested = KafkaRequest(minutes=4.0)
    cuts = list(planned_cuts(requested, ["az-0", "az-1", "az-2"]))
    assert [(cut.az, cut.begins_s) for cut in cuts] == [("az-0", 30), ("az-1", 90), ("az-2", 150)]
    assert all(cut.ends_s + requested.margin_s <= 240 for cut in cuts)
    assert len(list(planned_cuts(KafkaRequest(), ["az-0"]))) == 59


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
