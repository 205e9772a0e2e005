"""Steps that break a machine whose state does not allow it; or that create a topic twice."""

import pytest

from emulator.faults import actions as act
from emulator.scenario.load import ScenarioErrors, load_scenario

HEAD = "id: x\ntitle: x\nkafka: [2.6]\nsteps:\n"
ENDED = "does not run: a step before has ended it, and none has started it again"
MAKE = "create-topic: {topic: t, assignment: [0]}"
THERE = "is there: a step before has created it, and none has deleted it"


def problems(*steps: str) -> list[str]:
    text = HEAD + "".join(f"  - {step}\n" for step in steps)
    try:
        load_scenario(text, "x.yaml")
    except ScenarioErrors as errors:
        return str(errors).splitlines()
    return []


@pytest.mark.parametrize(
    ("steps", "line", "why"),
    [
        (("start: 0", "kill: 1"), 6, "broker-1 does not run yet: no step before has started it"),
        (("start: 0", "kill: 0", "kill: 0"), 7, f"broker-0 {ENDED}"),
        (("start: 0", "stop: 0", "resume: 0"), 7, f"broker-0 {ENDED}"),
        (("start: 0", "power-loss: {node: 0}", "stop: 0"), 7, f"broker-0 {ENDED}"),
        (("kill: session-0", "disk-full: session-0"), 6, f"session-0 {ENDED}"),
        (("start: 0", "resume: 0"), 6, "broker-0 is not paused"),
        (("pause: client-1", "pause: client-1"), 6, "client-1 is paused already"),
        (("pause: client-1", "stop: client-1"), 6, "client-1 is paused; resume it first"),
        ((MAKE, "create-topic: {topic: t, partitions: 2}"), 6, f"t {THERE}"),
        ((MAKE, "delete-topic: t", MAKE, MAKE), 8, f"t {THERE}"),
    ],
)
def test_it_is_a_fault_of_the_file_with_its_line(steps: tuple[str, ...], line: int, why: str) -> None:
    assert problems(*steps) == [f"x.yaml:{line}:5: {why}"]


@pytest.mark.parametrize(
    "steps",
    [
        ("start: 0", "kill: 0", "start: 0", "kill: 0"),
        ("start: 0", "start: 0"),  # it may have died by itself
        ("start: 0", "disk-full: 0", "stop: 0"),
        ("start: 0", "kill: 0", "power-loss: {node: 0}", "lose-disk: 0", "start: 0"),
        ("pause: client-1", "kill: client-1", "start: client-1"),
        ("repeat: {times: 2, steps: [{start: 0}, {kill: 0}]}", "kill: 0"),
        ("start: 0", "{kill: 0, background: k}", "stop: 0", "await: k"),
        (MAKE, "create-topic: {topic: u, assignment: [1]}", "delete-topic: t", MAKE),
        ("repeat: {times: 2, steps: [{create-topic: {topic: t, assignment: [0]}}, {delete-topic: t}]}", MAKE),
        (MAKE, "{delete-topic: t, background: d}", "await: d", MAKE),
    ],
)
def test_what_may_make_sense_is_let_through(steps: tuple[str, ...]) -> None:
    assert problems(*steps) == []


def test_both_worlds_refuse_alike() -> None:
    dead, runs = {"alive": False, "paused": False}, {"alive": True, "paused": False}
    paused = {"alive": True, "paused": True}
    for action in (act.Stop("n"), act.PauseNode("n"), act.ResumeNode("n"), act.DiskFull("n")):
        assert act.unfit(action, **dead) == "n does not run"
    assert act.unfit(act.Start("n"), **runs) == "n runs already"
    assert act.unfit(act.ResumeNode("n"), **runs) == "n is not paused"
    assert act.unfit(act.PauseNode("n"), **paused) == "n is paused already"
    assert act.unfit(act.Stop("n"), **paused) == "n is paused and receives nothing; resume it first"
    assert act.unfit(act.LoseDisk("n"), **runs) == "n runs: its disk cannot be lost under it"
    assert not any(act.unfit(to(node="n"), **dead) for to in (act.Kill, act.PowerLoss, act.LoseDisk, act.Start))
