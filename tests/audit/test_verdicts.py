"""Spark's findings become a verdict: expectations, broken and torn lines, missing events.

`test_run` has the pure parts.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from audit.audited_run import write_verdict
from audit.commands import verdict_text
from emulator.runs.verdict_file import from_json
from protocol.events import FrameSent
from tests.audit.conftest import Audit
from tests.audit.trace import Trace, dual_leader, healthy

pytestmark = pytest.mark.spark
TOGETHER = True

BROKER_1 = ("broker-1", 1, False)


def test_an_expected_violation_is_as_expected(audit: Audit) -> None:
    verdict = audit(dual_leader(), violations={"lost-acknowledged": 3, "dual-leader": True})
    assert (verdict.valid, verdict.exit_code) == (True, 0)
    assert verdict.checks["lost-acknowledged"].expected


def test_a_violation_that_does_not_come_is_a_surprise(audit: Audit) -> None:
    verdict = audit(healthy(), violations={"lost-acknowledged": True})
    assert (verdict.valid, verdict.exit_code) == (False, 1)
    assert verdict.expectations[0].seen == "held, 0"


@pytest.mark.parametrize(("trace", "comes"), [(dual_leader, True), (healthy, False)])
def test_a_violation_that_may_come_is_as_expected_with_it_and_without(
    audit: Audit, trace: Callable[[], Trace], comes: bool
) -> None:
    verdict = audit(trace(), sometimes=frozenset({"lost-acknowledged", "dual-leader"}))
    assert (verdict.exit_code, verdict.expectations) == (0, [])
    assert verdict.checks["lost-acknowledged"].expected is comes


def test_an_unexpected_violation_breaks_the_verdict(audit: Audit) -> None:
    assert audit(dual_leader()).exit_code == 1


def test_a_broken_line_is_kept_counted_and_makes_the_verdict_unknown(audit: Audit) -> None:
    broken = {
        '{"format":1,"node":"x"': "no JSON object of the schema's types",
        '{"format":3,"event":"node_started","node":"a","incarnation":1,"seq":1,"at_ms":1.0}': "unknown format 3",
        '{"format":1,"event":"node_fell_over","node":"a","incarnation":1,"seq":1,"at_ms":1.0}': (
            "unknown event node_fell_over"
        ),
        '{"format":1,"event":"node_started","incarnation":1,"seq":1,"at_ms":1.0}': "no node",
        '{"format":1,"event":"node_started","node":7,"incarnation":"one"}': "no JSON object of the schema's types",
    }
    trace = healthy()
    trace.files[BROKER_1][1:1] = [line.encode() + b"\n" for line in broken]
    verdict = audit(trace)
    assert (verdict.valid, verdict.exit_code, verdict.quarantine.lines) == ("unknown", 3, 5)
    assert sum(verdict.quarantine.reasons.values()) == 5
    kept = [msgspec.json.decode(line) for line in (trace.path / "quarantine.jsonl").read_bytes().splitlines()]
    assert {one["line"]: one["reason"] for one in kept} == broken
    assert {one["file"] for one in kept} == {"broker-1.1.jsonl"}


def test_a_line_torn_by_a_death_is_counted_apart(audit: Audit) -> None:
    trace = healthy()
    trace.files[BROKER_1].append(b'{"format":1,"run":"healthy","node":"bro')
    verdict = audit(trace)
    assert (verdict.quarantine.torn, verdict.quarantine.lines, verdict.valid) == (1, 0, True)
    assert not (trace.path / "quarantine.jsonl").exists()


def test_a_last_line_that_lacks_only_its_end_is_an_event(audit: Audit) -> None:
    trace = healthy()
    trace.files[BROKER_1].append(trace.files[BROKER_1].pop().rstrip(b"\n"))
    verdict = audit(trace)
    assert (verdict.quarantine.torn, verdict.valid) == (0, True)


def _in_another_order(lines: list[bytes]) -> list[bytes]:
    return lines[::-1]


def _with_windows_ends(lines: list[bytes]) -> list[bytes]:
    return [line.replace(b"\n", b"\r\n") for line in lines]


def _behind_a_mark(lines: list[bytes]) -> list[bytes]:
    return [b"\xef\xbb\xbf" + lines[0], *lines[1:]]


@pytest.mark.parametrize("change", [_in_another_order, _with_windows_ends, _behind_a_mark])
def test_an_equivalent_file_of_other_bytes_is_judged_alike(
    audit: Audit, change: Callable[[list[bytes]], list[bytes]]
) -> None:
    trace = healthy()
    trace.files[BROKER_1] = change(trace.files[BROKER_1])
    verdict = audit(trace)
    assert (verdict.valid, verdict.quarantine.lines) == (True, 0)


def test_a_duplicate_file_is_reported(audit: Audit) -> None:
    trace = healthy()
    trace.files[BROKER_1] *= 2
    verdict = audit(trace)
    assert verdict.valid == "unknown"
    assert "6 events of broker-1, incarnation 1, are there twice" in verdict.unknown_because


def test_a_run_without_events_is_unknown(audit: Audit) -> None:
    verdict = audit(Trace())
    assert (verdict.valid, verdict.unknown_because) == ("unknown", ["the run has no events"])


def test_a_played_run_that_was_cut_short_is_unknown(audit: Audit) -> None:
    verdict = audit(healthy(), unfinished="there is no observations.json")
    assert verdict.exit_code == 3


def test_events_that_are_missing_make_the_run_unknown(audit: Audit) -> None:
    trace = healthy()
    del trace.files["client-0", 1, False][2]
    assert audit(trace).exit_code == 3


def test_an_acknowledged_record_without_an_append_makes_the_run_unknown(audit: Audit) -> None:
    verdict = audit(healthy().ended("d", at=3))
    assert verdict.unknown_because == [
        "1 records were acknowledged, but no event has a replica that appended them, such as at offset 3 of t-0"
    ]


def test_the_wire_level_counts_towards_the_sequence(audit: Audit) -> None:
    trace = healthy()
    trace.emit("broker-0", FrameSent("broker-0.1#1", "broker-1", "fetcher", 1, "FETCH", "request", 1, 10))
    trace.append(0, "d", at=3, epoch=0, as_leader=True)
    verdict = audit(trace)
    assert verdict.valid is True
    assert ("broker-0", 1, True) in trace.files


def test_verdict_json_follows_the_contract(audit: Audit) -> None:
    trace = dual_leader()
    verdict = audit(trace)
    path = write_verdict(verdict, trace.path)
    written = msgspec.json.decode(path.read_bytes())
    assert {"format", "run", "scenario", "world", "valid", "expectations", "faults", "checks", "measures"} <= set(
        written
    )
    assert {"verdict", "expected", "count", "evidence"} <= set(written["checks"]["dual-leader"])
    assert {"events", "wall_s", "audit_s", "unavailable_ms", "time_to_new_leader_ms"} <= set(written["measures"])
    assert (written["format"], written["valid"]) == (1, False)
    assert from_json(path.read_bytes()) == verdict


COMPACTED = {
    "name": "log.cleanup.policy", "value": "compact", "checks": ["duplicate", "lost-acknowledged"],
    "why": "logs keep everything", "where": "server.properties:3",
}  # fmt: skip


@pytest.mark.parametrize("from_ms", [0.0, 1e9])
def test_checks_that_a_setting_could_change_which_is_not_modelled_are_unknown(audit: Audit, from_ms: float) -> None:
    """Checks are unknown if an unmodelled setting could change them.

    Settings are in the run's settings.json, also of a live cluster; one may matter only in a longer run.
    """
    trace = dual_leader()
    reported = {"not_modelled": [COMPACTED | {"from_ms": from_ms}], "without_bearing": ["num.network.threads"]}
    trace.beside["settings.json"] = msgspec.json.encode({"settings": reported})
    verdict = audit(trace)
    assert verdict.settings.without_bearing == ("num.network.threads",)
    if from_ms:
        assert (verdict.valid, verdict.checks["lost-acknowledged"].verdict) == (False, "violated")
        return
    assert (verdict.valid, verdict.exit_code) == ("unknown", 3)
    unknown = {name for name, check in verdict.checks.items() if check.verdict == "unknown"}
    assert unknown == {"duplicate", "lost-acknowledged"}
    assert verdict.checks["duplicate"].reason == "log.cleanup.policy=compact could change it, and is not modelled"
    reason = "log.cleanup.policy=compact (server.properties:3) is not modelled: logs keep everything"
    assert verdict.unknown_because == [reason]
    text = verdict_text(verdict)
    assert f"unknown because {reason}" in text
    assert "settings: without bearing on replication: num.network.threads" in text


def test_the_text_of_a_verdict_names_what_was_found(audit: Audit) -> None:
    reported = verdict_text(audit(dual_leader(), violations={"lost-acknowledged": True}))
    text = " ".join(reported.split())
    assert "lost-acknowledged violated 3 (acks=1: 3) of 7 acknowledged records (expected)" in text
    assert "'c' of client-0.1:3 was acknowledged" in text
    assert "dual-leader violated 1" in text
