"""Seeds by the causes of their results: the rarest first.
Each cause has its shortest run and its deciding event.
"""

from typing import Any

from emulator.judging.campaigns.row import CheckRow, Row
from emulator.judging.event_causes import cause_of, causes_of
from emulator.judging.timeline_text import LINES_MAX, listing_of
from protocol.events import ControllerChanged, Event, LogTruncated, MachineFault, OperationEnded, RoleChanged
from protocol.kinds import CutReason

LOST = (CheckRow("lost-acknowledged", "violated", False, 2, 9), CheckRow("duplicate", "held", False, 0, 9))


def result(seed: int, **given: Any) -> Row:
    return Row(
        scenario="s", kafka_version="2.8", number=seed, cell=0, seed=seed, settings={}, parameters={}, faults=(),
        valid="true", code=0, **given,
    )  # fmt: skip


def test_what_a_run_died_of_comes_before_what_it_broke() -> None:
    assert cause_of(result(1, error="StepFailed: no leader", broken=("x",))) == "StepFailed: no leader"
    assert cause_of(result(1, broken=("b is lost", "c is lost"), checks=LOST)) == "b is lost; c is lost"
    assert cause_of(result(1, checks=LOST)) == "lost-acknowledged violated"
    assert cause_of(result(1, races=("who is first",))) == "as expected, by race who is first"
    assert cause_of(result(1, differences=("1.json: no leader",))) == "as expected, equals no recording"


def test_the_rarest_is_first_and_each_has_its_shortest_run() -> None:
    results = [
        result(1, inputs=50), result(2, inputs=40), result(3, inputs=60),
        result(4, inputs=90, checks=LOST), result(5, inputs=70, checks=LOST),
        result(6, inputs=10, broken=("no leader",)),
    ]  # fmt: skip
    reported = [(one.cause, one.seeds, one.shortest) for one in causes_of(results)]
    assert reported == [
        ("no leader", [6], 6),
        ("lost-acknowledged violated", [4, 5], 5),
        ("as expected", [1, 2, 3], 2),
    ]


def happened(node: str, at_ms: float, event: Event) -> tuple[str, int, int, object, float, Event]:
    return (node, 1, 1, "", at_ms, event)


def test_what_decides_a_run_is_listed_once() -> None:
    role = RoleChanged("t", 0, "leader", 1, 2, 0, 1, 3, 3, "1,2")
    follows = RoleChanged("t", 0, "follower", 1, 2, 0, 1, 3, 3, "")
    events = [
        happened("broker-0", 1_000.0, MachineFault("kill", "broker-0")),
        happened("broker-1", 2_500.0, ControllerChanged(active=True, controller_epoch=2, reason="elected")),
        happened("broker-1", 2_600.0, role),
        happened("broker-2", 2_600.0, follows),
        happened("broker-2", 2_601.0, LogTruncated("t", 0, 3, 5, True, 3, CutReason.EPOCH)),
        happened("broker-0", 2_602.0, LogTruncated("t", 0, 5, 5, False, 3, CutReason.EPOCH)),
        happened("client-0", 3_000.0, OperationEnded("w.1", "produce", "failed", 19, "t", 0, -1, -1, 0, -1)),
        happened("client-0", 3_000.0, OperationEnded("w.1", "produce", "failed", 19, "t", 0, -1, -1, 0, -1)),
        happened("client-0", 3_100.0, OperationEnded("w.2", "produce", "ok", 0, "t", 0, 5, 2, 7, -1)),
    ]
    assert listing_of(events) == [
        "1.000 s broker-0: kill",
        "2.500 s broker-1: is the controller, epoch 2",
        "2.600 s broker-1: leads t-0 in epoch 2, from offset 3",
        "2.601 s broker-2: cuts t-0 from 5 to 3 (epoch)",
        "3.000 s client-0: w.1 ended as failed (NOT_ENOUGH_REPLICAS)",
    ]


def test_a_long_listing_keeps_its_beginning_and_its_end() -> None:
    events = [happened("broker-0", 1_000.0 * n, MachineFault("kill", f"broker-{n}")) for n in range(LINES_MAX + 5)]
    reported = listing_of(events)
    assert len(reported) == LINES_MAX + 1
    assert reported[LINES_MAX // 2] == "... and 5 more"
    assert reported[-1] == f"{LINES_MAX + 4}.000 s broker-{LINES_MAX + 4}: kill"
