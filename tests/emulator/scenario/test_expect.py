"""Judging a run: each kind of expectation held, broken, and unknown."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from emulator.scenario.expect import judge
from emulator.scenario.load import load_scenario
from emulator.scenario.observations.observation_model import Observations
from emulator.scenario.observations.recording_files import load
from emulator.scenario.observations.recording_parsing import parse
from emulator.scenario.scenario_model import Expectation, ExpectedExit, ExpectedViolation, Scenario

ROOT = Path(__file__).parents[3]
RUN = load(ROOT / "tests" / "golden" / "az-isolated-leader@2.6" / "1.json")

REPLICA_OF_A = {"log": [[0, 0, "a"]], "leader_epochs": [[0, 0]], "high_watermark_checkpoint": 0}
REPLICA_OF_NOTHING = {"log": [], "leader_epochs": [], "high_watermark_checkpoint": 0}

CHECKS = {
    "lost-acknowledged": {"verdict": "violated", "count": 3},
    "duplicate": {"verdict": "held", "count": 0},
    "dual-controller": {"verdict": "unknown", "count": 0},
}
MEASURES = {"time_to_new_leader_ms": 4600, "unavailable_ms": {"az-0": 0, "az-1": 5000}}


def judged(of: str, what: dict[str, Any], o: Observations = RUN) -> tuple[object, object]:
    scenario = Scenario(
        id="x", title="x", kafka=("2.6",), steps=(), expectations=(Expectation(text="x", of=of, what=what),)
    )
    (one,) = judge(scenario, o, CHECKS, MEASURES)
    assert one["text"] == "x"
    return one["held"], one["seen"]


@pytest.mark.parametrize(
    ("of", "what", "held", "seen"),
    [
        ("attempts", {"values": ["x"], "error": "TimeoutError"}, True, [{"value": "x", "error": "TimeoutError"}]),
        ("attempts", {"values": ["x"], "error": 0}, False, [{"value": "x", "error": "TimeoutError"}]),
        ("attempts", {"values": ["c", "d"], "offsets": [2, 3], "tries": 1}, True,
         [{"value": "c", "tries": 1, "offset": 2}, {"value": "d", "tries": 1, "offset": 3}]),
        ("attempts", {"values": ["c", "d"], "offsets": [2]}, False, [{"value": "c", "offset": 2}, {"value": "d"}]),
        ("attempts", {"values": ["c"], "broker": 1, "error": 0}, False, [{"value": None, "error": None}]),
        ("fetch", {"broker": 0, "nth": 1, "values": ["a", "b"]}, True, {"values": ["a", "b"]}),
        ("fetch", {"broker": 0, "nth": 2, "values": ["a", "b"]}, False, {"values": None}),
        ("fetch", {"broker": 0, "error": 6}, True, {"error": 6}),
        ("fetch", {"broker": 0, "nth": 4, "error": 6}, False, None),
        ("fetch", {"broker": 2, "error": 6}, False, None),
        ("metadata", {"broker": 0, "leader": 0}, False, None),
        ("snapshot", {"label": "split", "replicas": ["broker-1"], "values": ["a", "b", "f", "g"]}, True,
         {"broker-1": {"values": ["a", "b", "f", "g"]}}),
        ("snapshot", {"label": "split", "replicas": ["broker-0"], "epochs": [[0, 0], [1, 2]]}, False,
         {"broker-0": {"epochs": [[0, 0]]}}),
        ("snapshot", {"label": "split", "replicas": ["broker-0"], "high_watermark": "none"}, False,
         {"broker-0": {"high_watermark": 2}}),
        ("snapshot", {"label": "split", "replicas": ["broker-7"], "epochs": []}, False, {"broker-7": None}),
        ("snapshot", {"label": "never", "replicas": ["broker-0"], "epochs": []}, False, None),
        ("state", {"leader": 1, "isr": [1, 2, 0]}, True, {"leader": 1, "isr": [1, 2, 0]}),
        ("state", {"nth": 1, "leader": 1}, False, {"leader": 0}),
        ("controller", {"controller": 2}, True, {"controller": 2}),
        ("isr_changes", {"broker": 1, "change": "expand", "at_least": 1, "at_most": 1}, True, 1),
        ("isr_changes", {"broker": 1, "change": "shrink", "at_least": 1}, False, 0),
        ("isr_changes", {"broker": 2, "change": "expand", "at_most": 0}, True, 0),
        ("check", {"name": "lost-acknowledged", "verdict": "violated", "count": 3}, True,
         {"verdict": "violated", "count": 3}),
        ("check", {"name": "lost-acknowledged", "verdict": "held"}, False, {"verdict": "violated"}),
        ("check", {"name": "dual-controller", "verdict": "held"}, "unknown", "unknown"),
        ("check", {"name": "dual-leader", "verdict": "held"}, "unknown",
         "dual-leader was not judged: this run's judge has no such check"),
        ("measure", {"name": "time_to_new_leader_ms", "at_most": 6000, "at_least": 0}, True, 4600),
        ("measure", {"name": "unavailable_ms.az-1", "at_most": 100}, False, 5000),
        ("measure", {"name": "unavailable_ms.az-7", "at_most": 100}, "unknown",
         "unavailable_ms.az-7 was not measured"),
    ],
)  # fmt: skip
def test_expectation(of: str, what: dict[str, Any], held: object, seen: object) -> None:
    assert judged(of, what) == (held, seen)


COUNTED = {
    "saw": "partitions", "t": 1.0, "partitions": 5, "led": 4, "preferred": 2, "in_sync": 3, "azs": 2,
    "leaders": {"broker-0": 0, "broker-1": 3, "broker-2": 1}, "replicas": {"broker-0": 4, "broker-1": 3, "broker-2": 3},
}  # fmt: skip


@pytest.mark.parametrize(
    ("what", "held", "seen"),
    [
        ({"partitions": 5, "led": 4, "azs": 2}, True, {"partitions": 5, "led": 4, "azs": 2}),
        ({"in_sync": 5}, False, {"in_sync": 3}),
        ({"leaders_apart": 3, "replicas_apart": 1}, True, {"leaders_apart": 3, "replicas_apart": 1}),
        ({"leaders_apart": 2}, False, {"leaders_apart": 3}),
        ({"not_led_by": [0]}, True, {"not_led_by": [0]}),
        ({"not_led_by": [0, 2]}, False, {"not_led_by": [0]}),
        ({"nth": 1, "led": 5}, True, {"led": 5}),
        ({"nth": 3, "led": 5}, False, None),
    ],
)
def test_counted_partitions(what: dict[str, Any], held: object, seen: object) -> None:
    """`_apart`: at most so many from the broker with the fewest to the one with the most."""
    o = copy.deepcopy(RUN)
    o.timeline.extend([{**COUNTED, "led": 5}, COUNTED])
    assert judged("partitions", what, o) == (held, seen)


@pytest.mark.parametrize(
    ("of", "what", "held", "seen"),
    [
        ("state", {"partition": "u-1", "leader": 2}, True, {"leader": 2}),
        ("state", {"leader": 1}, True, {"leader": 1}),
        ("state", {"partition": "t-0", "leader": 1}, True, {"leader": 1}),
        ("state", {"partition": "t-3", "leader": 1}, False, None),
        ("snapshot", {"label": "split", "replicas": ["broker-1"], "partition": "t-0", "values": ["a", "b", "f", "g"]},
         True, {"broker-1": {"values": ["a", "b", "f", "g"]}}),
        ("snapshot", {"label": "split", "replicas": ["broker-1"], "partition": "u-1", "values": ["z"]}, True,
         {"broker-1": {"values": ["z"]}}),
        ("snapshot", {"label": "split", "replicas": ["broker-1"], "values": ["a", "b", "f", "g"]}, True,
         {"broker-1": {"values": ["a", "b", "f", "g"]}}),
        ("snapshot", {"label": "split", "replicas": ["broker-1"], "partition": "t-3", "values": ["z"]}, False, None),
    ],
)  # fmt: skip
def test_which_partition_is_meant(of: str, what: dict[str, Any], held: object, seen: object) -> None:
    """Without a word the first one."""
    o = copy.deepcopy(RUN)
    o.partition_states.append({**o.partition_states[-1], "partition": "u-1", "leader": 2})
    replica = {"log": [[0, 0, "z"]], "leader_epochs": [], "high_watermark_checkpoint": None}
    snapshot = {"saw": "snapshot", "t": 99.0, "label": "split", "partition": "u-1", "replicas": {"broker-1": replica}}
    o.timeline.append(snapshot)
    assert judged(of, what, o) == (held, seen)


def broken(change: Callable[[Observations], None]) -> list[str]:
    """Texts of az-isolated-leader's expectations that a changed run does not meet."""
    o = copy.deepcopy(RUN)
    change(o)
    path = ROOT / "scenarios" / "az-isolated-leader.yaml"
    checks = {
        "lost-acknowledged": {"verdict": "violated", "count": 3},
        "dual-leader": {"verdict": "violated", "count": 1},
    }
    return [one["text"] for one in judge(load_scenario(path.read_text(), str(path)), o, checks) if not one["held"]]


def test_the_dual_leader_run_meets_everything() -> None:
    assert broken(lambda o: None) == []


def test_a_higher_leader_epoch_is_noticed() -> None:
    def article(o: Observations) -> None:
        o.partition_states[-1]["leader_epoch"] = 2

    assert broken(article) == ["leader 1 with leader epoch 1 (not 2), and broker-0 back in the ISR at the end"]


def test_a_violation_that_does_not_come_is_a_surprise() -> None:
    violation = ExpectedViolation(check="duplicate", because="it was retried")
    scenario = Scenario(id="x", title="x", kafka=("2.6",), steps=(), expects_violations=(violation,))
    assert judge(scenario, RUN, CHECKS) == [
        {"text": "duplicate is violated: it was retried", "held": False, "seen": {"verdict": "held"}}
    ]


def test_a_count_that_is_expected_must_be_the_count() -> None:
    violation = ExpectedViolation(check="lost-acknowledged", because="c, d, e and x", count=4)
    scenario = Scenario(id="x", title="x", kafka=("2.6",), steps=(), expects_violations=(violation,))
    (one,) = judge(scenario, RUN, CHECKS)
    assert (one["held"], one["seen"]) == (False, {"verdict": "violated", "count": 3})


@pytest.mark.parametrize(
    ("measures", "held", "seen"),
    [
        ({"exits": {"broker-1": 2}}, True, {"broker-1": 2}),
        ({"exits": {"broker-0": 1}}, False, {"broker-0": 1}),
        ({}, "unknown", None),
    ],
)
def test_a_node_that_is_expected_to_exit_must(measures: dict[str, Any], held: object, seen: object) -> None:
    ends = ExpectedExit(node="broker-1", because="it is ahead of its leader")
    scenario = Scenario(id="x", title="x", kafka=("2.6",), steps=(), expects_exits=(ends,))
    assert judge(scenario, RUN, {}, measures) == [
        {"text": "broker-1 exits: it is ahead of its leader", "held": held, "seen": seen}
    ]


GROUPS = parse(
    msgspec.json.encode(
        {
            "format": 2, "scenario": "x", "kafka": "2.6", "partition_states": [], "controllers": [], "truncations": [],
            "timeline": [
                {"do": "create-topic", "topic": "t"},
                {"saw": "consume", "group": "g", "committed": None, "resets": [], "records": [[0, 0, "a"]],
                 "position": 1, "error": "", "commit": 0},
                {"saw": "consume", "group": "g", "committed": 7, "resets": ["OffsetOutOfRangeException"], "records": [],
                 "position": 0, "error": "", "commit": 0, "partition": "t-1"},
                {"saw": "commit", "group": "g", "offset": 3, "error": "TimeoutException"},
                {"saw": "committed", "group": "g", "offset": None, "leader_epoch": None, "error": 0},
                {"saw": "committed", "group": "h", "offset": 3, "leader_epoch": 1, "error": 0},
                {"saw": "snapshot", "label": "end", "replicas": {"broker-0": REPLICA_OF_A}},
                {"saw": "snapshot", "label": "end", "replicas": {"broker-0": REPLICA_OF_NOTHING}, "partition": "t-1"},
            ],
        }
    ),
    "groups",
)  # fmt: skip


@pytest.mark.parametrize(
    ("of", "what", "held", "seen"),
    [
        ("consume", {"group": "g", "committed": "none", "values": ["a"], "commit": 0}, True,
         {"committed": "none", "values": ["a"], "commit": 0}),
        ("consume", {"group": "g", "partition": "t-0", "position": 1}, True, {"position": 1}),
        ("consume", {"group": "g", "partition": "t-1", "committed": 7, "resets": ["OffsetOutOfRangeException"]}, True,
         {"committed": 7, "resets": ["OffsetOutOfRangeException"]}),
        ("consume", {"group": "g", "nth": 2, "position": 0}, False, None),
        ("consume", {"group": "h", "position": 1}, False, None),
        ("commit", {"group": "g", "offset": 3, "error": "TimeoutException"}, True,
         {"offset": 3, "error": "TimeoutException"}),
        ("commit", {"group": "g", "error": 0}, False, {"error": "TimeoutException"}),
        ("committed", {"group": "g", "offset": "none"}, True, {"offset": "none"}),
        ("committed", {"group": "h", "offset": 3, "leader_epoch": 1, "error": 0}, True,
         {"offset": 3, "leader_epoch": 1, "error": 0}),
        ("committed", {"group": "h", "offset": "none"}, False, {"offset": 3}),
        ("snapshot", {"label": "end", "replicas": ["broker-0"], "values": ["a"]}, True,
         {"broker-0": {"values": ["a"]}}),
        ("snapshot", {"label": "end", "replicas": ["broker-0"], "partition": "t-1", "values": []}, True,
         {"broker-0": {"values": []}}),
    ],
)  # fmt: skip
def test_expectation_of_a_group_or_a_partition(of: str, what: dict[str, Any], held: object, seen: object) -> None:
    """Without a partition it is the scenario's first."""
    assert judged(of, what, GROUPS) == (held, seen)
