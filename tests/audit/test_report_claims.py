"""Every claim of a verdict leads to its moment and its events.

No record's data becomes markup.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from audit.report import write_report
from audit.report.about import About
from audit.report.claims import EVENTS_MAX, Claim, Claims
from audit.report.island import island
from audit.report.report_links import Links, fields_text
from audit.report.report_page import render
from audit.report.report_records import Event
from audit.report.report_timeline import Timeline
from emulator.runs.verdict_file import CheckVerdict, ExpectationVerdict, FaultVerdict, Verdict
from tests.audit.trace import Trace, dual_leader

HOSTILE = "</script><script>document.title='hit'</script>\u2028\u2029\"'<img src=x onerror=alert(1)>&amp;"


def events_of(trace: Trace) -> list[Event]:
    events = [msgspec.json.decode(line) for lines in trace.files.values() for line in lines]
    return sorted(events, key=lambda event: event["at_ms"])


def claims_of(trace: Trace, run: Path | None = None) -> Claims:
    return Claims(events_of(trace), run)


def names(claim: Claim) -> list[str]:
    return [event["event"] for event in claim.events]


def test_a_lost_record_leads_to_its_write_its_batches_and_the_cut() -> None:
    claims = claims_of(dual_leader())
    ended = next(e for e in events_of(dual_leader()) if e["event"] == "operation_ended" and e["offset"] == 2)
    claim = claims.of_evidence(
        {"partition": "t-0", "offset": 2, "operation": ended["operation"], "digest": ended["digest"]}
    )
    assert claim.at_ms == ended["at_ms"]
    assert {"operation_invoked", "operation_ended", "batch_appended", "log_truncated"} <= set(names(claim))
    assert {event["digest"] for event in claim.events if event["event"] == "batch_appended"} == {ended["digest"]}


def test_a_window_leads_to_the_leader_elected_in_it() -> None:
    claim = claims_of(dual_leader()).of_evidence(
        {"partition": "t-0", "stale": "broker-0", "newer": "broker-1", "from_ms": 0.0, "to_ms": None}
    )
    assert claim.at_ms == 0.0 and set(names(claim)) == {"role_changed"}
    assert {event["node"] for event in claim.events} == {"broker-0", "broker-1"}


def test_a_fault_leads_to_its_events() -> None:
    from protocol import events as e

    trace = dual_leader()
    trace.emit("broker-0", e.FaultInForce("rule-1", "cut az-0"), at_ms=20.0)
    trace.emit("broker-0", e.FaultHealed("rule-1", "cut az-0", 7), at_ms=60.0)
    trace.emit("broker-0", e.FaultHealed("rule-2", "cut az-1", 7), at_ms=61.0)
    claim = claims_of(trace).of_fault(FaultVerdict("cut az-0", 19.0, 20.0, 60.0, 7, True, True, "rule-1"))
    assert (claim.at_ms, names(claim)) == (20.0, ["fault_in_force", "fault_healed"])


def test_an_expectation_leads_to_what_came_back_or_to_the_writes_or_to_the_check(tmp_path: Path) -> None:
    text = """id: x
title: x
steps: []
expectations:
  - {text: is read, fetch: {broker: 0, nth: 2, values: [a]}}
  - {text: is written, attempts: {values: [a], error: NONE}}
  - {text: agree, check: {name: replica-divergence, verdict: held}}
  - {text: never seen, controller: {controller: 1}}
"""
    (tmp_path / "scenario.yaml").write_text(text, encoding="utf-8")
    saw = [{"t": 1.5, "saw": "fetch", "broker": 0, "records": []}, {"t": 2.5, "saw": "fetch", "broker": 1},
           {"t": 3.5, "saw": "fetch", "broker": 0, "high_watermark": 2}, {"saw": "fetch"}, 7]  # fmt: skip
    (tmp_path / "observations.json").write_bytes(msgspec.json.encode({"timeline": saw}))
    claims = claims_of(dual_leader(), tmp_path)

    def of(text: str) -> Claim:
        return claims.of_expectation(ExpectationVerdict(text, True), ("dual-leader",))

    assert (of("is read").at_ms, names(of("is read"))) == (3500.0, ["saw fetch"])
    assert {"operation_invoked", "operation_ended"} <= set(names(of("is written")))
    assert of("agree").check == "replica-divergence"
    assert of("dual-leader is violated: because").check == "dual-leader"
    assert of("never seen") == of("of another scenario") == Claim()


def test_a_claim_lists_a_bounded_number_of_events() -> None:
    trace = Trace().cluster().leader(0, epoch=0)
    for offset in range(30):
        trace.produce("v", at=offset, followers=())
    events = [event for event in events_of(trace) if event["event"] == "batch_appended"]
    claims = Claims([event | {"digest": 7} for event in events])
    claim = claims.of_evidence({"partition": "t-0", "digest": 7})
    assert len(claim.events) == EVENTS_MAX and claim.more == 30 - EVENTS_MAX
    assert "30 events" in Links([("t", 0)]).of(claim) and f"and {claim.more} more" in Links([]).of(claim)


@pytest.mark.parametrize("evidence", [{"text": "x"}, {"text": "x", "partition": ["t"], "offset": "2", "operation": {},
                                       "from_ms": "soon", "at_ms": 1e300, "digest": [], "stale": 3}])  # fmt: skip
def test_evidence_of_ones_own_check_may_be_anything(evidence: dict[str, object]) -> None:
    claim = claims_of(dual_leader()).of_evidence(evidence)
    assert (claim.at_ms, claim.events) == (None, [])


def test_of_a_partition_that_is_not_drawn_the_moment_is_text() -> None:
    assert "<a" not in Links([]).moment(10.0, "t-0")
    assert 'data-in="1"' in Links([("s", 0), ("t", 0)]).moment(10.0, "t-0")
    assert "data-in" not in Links([]).moment(10.0) and Links([]).moment(None) == ""


def test_fields_are_named_as_kafka_names_them() -> None:
    event = {"at_ms": 1.0, "node": "n", "event": "e", "topic": "t", "partition": 0, "error": 6, "leader_epoch": 1,
             "offset": -1, "reason": "", "as_leader": True}  # fmt: skip
    assert fields_text(event) == "t-0, error NOT_LEADER_OR_FOLLOWER, epoch 1, as leader yes"


# --- what is hostile ---


class _Elements(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)


def test_values_in_an_island_cannot_leave_it() -> None:
    reported = island("run", {HOSTILE: [HOSTILE]})
    assert reported.count("<") == 2 and "\u2028" not in reported and "\u2029" not in reported
    inner = reported.removeprefix('<script type="application/json" id="run">').removesuffix("</script>")
    assert msgspec.json.decode(inner) == {HOSTILE: [HOSTILE]}


def test_what_clients_wrote_is_nowhere_part_of_the_page(tmp_path: Path) -> None:
    """In values, topics, reasons, evidence, titles."""
    trace = Trace(run="run").cluster().leader(0, epoch=0)
    trace.produce(HOSTILE, at=0, followers=())
    run = trace.write(tmp_path)
    lost = CheckVerdict("violated", False, 1, [{"partition": "t-0", "text": HOSTILE, "offset": 0}], subject=HOSTILE)
    verdict = Verdict(run=HOSTILE, scenario=HOSTILE, world=HOSTILE, valid=False,
                      expectations=[ExpectationVerdict(HOSTILE, False, {"values": [HOSTILE]})],
                      faults=[FaultVerdict(HOSTILE, 1.0, 1.0, None, 0, False, None)],
                      checks={"lost-acknowledged": lost, HOSTILE: lost}, measures={HOSTILE: HOSTILE},
                      unknown_because=[HOSTILE])  # fmt: skip
    page = write_report(run, verdict).read_text(encoding="utf-8")
    elements = _Elements(page).tags
    assert elements.count("script") == 2 and "img" not in elements
    assert "hit" in page


def test_the_pages_own_script_is_the_only_one_that_a_browser_runs() -> None:
    from base64 import b64encode
    from hashlib import sha256

    page = render(Verdict(run="r", scenario="", world="sim", valid=True, expectations=[], faults=[], checks={},
                          measures={}), Timeline(), About())  # fmt: skip
    [script] = re.findall("<script>(.*?)</script>", page, re.DOTALL)
    [style] = re.findall("<style>(.*?)</style>", page, re.DOTALL)
    for kind, text in (("script", script), ("style", style)):
        assert f"{kind}-src 'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" in page
    assert "default-src 'none'" in page and "style=" not in page
