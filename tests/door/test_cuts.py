"""Delivery reports of an application and a run's audit agree on the same records.

verification/door_cuts compares them.
"""

from typing import Any

import pytest

from verification.door_cuts.application import Reports
from verification.door_cuts.compare_answers import Sent, compare, produced_in
from verification.door_cuts.run_cuts import QUICK, SAFE, Witness, plan_of

LOGS = {QUICK: [(0, "a"), (1, "x")], SAFE: [(0, "s"), (1, "again")]}
REPORTED = {
    "b:1": Sent(QUICK, "a", "q", 1, "ok", 0),
    "b:2": Sent(QUICK, "b", "q", 1, "ok", 1),  # which the log lost to x
    "b:3": Sent(QUICK, "x", "q", 1, "ok", 1),
    "b:4": Sent(SAFE, "s", "s", -1, "ok", 0),
    "b:5": Sent(SAFE, "again", "s", -1, "unknown", -1),
}


def witness(logs: dict[str, list[tuple[int, str]]] = LOGS) -> Witness:
    quick = Reports("q", QUICK, 1, {"a": 0, "b": 1, "x": 1})
    safe = Reports("s", SAFE, -1, {"s": 0, "again": -1})
    return Witness(plan_of(0), [quick, safe], logs, settled=True)


def test_what_both_say_is_no_disagreement() -> None:
    compared = compare(witness(), REPORTED, ["b:2"])
    assert compared.disagreements == [] and compared.broken == []
    assert (compared.delivered, compared.lost, compared.concluded) == ({1: 3, -1: 2}, {1: 1}, 1)


@pytest.mark.parametrize(
    ("reported", "named", "why"),
    [
        (REPORTED, [], "'b' at quick-0 1: lost, by the client's reports; the audit does not name it"),
        (REPORTED, ["b:2", "b:1"], "'a' at quick-0 0: lost, by the audit; the client has it at 0"),
        (REPORTED | {"b:1": Sent(QUICK, "a", "q", 1, "unknown", 0)}, ["b:2"], "'a' at quick-0 0: the client was told"),
        (
            REPORTED | {"b:6": Sent(QUICK, "y", "q", 1, "ok", 2)},
            ["b:2"],
            "'y' at quick-0 2: acknowledged, by the events",
        ),
        (
            {name: one for name, one in REPORTED.items() if name != "b:5"},
            ["b:2"],
            "'again' at safe-0 -1: the client was",
        ),
    ],
)
def test_what_one_of_them_says_alone_is_named(reported: dict[str, Sent], named: list[str], why: str) -> None:
    (line,) = compare(witness(), reported, named).disagreements
    assert line.startswith(why)


def test_a_record_of_acks_all_that_is_gone_or_twice_there_is_broken_for_either_judge() -> None:
    gone = compare(witness(logs={**LOGS, SAFE: [(0, "s")]}), REPORTED, ["b:2", "b:5"])
    assert gone.broken == ["'again' at safe-0 -1: acks=all, and lost"]
    twice = compare(witness(logs={**LOGS, SAFE: [*LOGS[SAFE], (2, "s")]}), REPORTED, ["b:2"])
    assert twice.broken == ["s: idempotent, and 2 times in safe"]


def test_an_operation_is_what_its_events_say_in_any_order() -> None:
    about: dict[str, Any] = {"operation": "b:1", "kind": "produce", "topic": QUICK, "acks": 1}
    ended = about | {"event": "operation_ended", "outcome": "ok", "offset": 3}
    invoked = about | {"event": "operation_invoked", "value": "a", "client": "q"}
    assert produced_in([ended, invoked]) == {"b:1": Sent(QUICK, "a", "q", 1, "ok", 3)}
    several = [ended | {"records": 2}, invoked | {"value": '["a","b"]', "records": 2}]
    assert produced_in(several) == {
        "b:1": Sent(QUICK, "a", "q", 1, "ok", 3),
        "b:1+1": Sent(QUICK, "b", "q", 1, "ok", 4),
    }
