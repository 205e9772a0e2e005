"""Steps that change the voters of KRaft's quorum, and the topology's first voters."""

import pytest

from emulator.judging.judged import play_and_judge
from emulator.runs.resolve import resolve
from emulator.scenario import scenario_model as m
from emulator.scenario.load import ScenarioErrors, load_scenario
from emulator.scenario.write import written

HEAD = "id: x\ntitle: x\nkafka: ['3.9', '4.4']\nmetadata: kraft\n"
TOPOLOGY = "topology: {controllers: 4, initial_controllers: [0, 1, 2]}\n"
REPLACED = """steps:
  - start: 0
  - start: 1
  - start: 2
  - wait: active controller
  - sleep: 4
  - create-topic: {topic: t, assignment: [0, 1, 2]}
  - add-controller: 3
  - remove-controller: {controller: 0, may_fail: true}
  - add-controller: {controller: 2, may_fail: true}
  - kill: controller-0
  - kill: controller-1
  - sleep: 8
  - wait: active controller
  - create-topic: {topic: u, assignment: [1, 2]}
"""


def test_the_steps_and_the_first_voters_are_read_and_written() -> None:
    loaded = load_scenario(HEAD + TOPOLOGY + "steps: [{add-controller: 3}, {remove-controller: 0}]\n", "x.yaml")
    assert loaded.steps == (m.AddController(controller=3), m.RemoveController(controller=0))
    assert loaded.topology.initial_controllers == ("controller-0", "controller-1", "controller-2")
    assert load_scenario(written(loaded), "x.yaml") == loaded


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (HEAD + "steps: [{add-controller: 0}]", "the voters are static; give the topology `initial_controllers`"),
        (HEAD + TOPOLOGY + "steps: [{add-controller: 9}]", "there is no controller 9; one of: 0, 1, 2, 3"),
        (HEAD + "topology: {initial_controllers: [7]}\nsteps: []", "there is no controller 7; one of: 0, 1, 2"),
        (HEAD.replace("'3.9', '4.4'", "'3.8'") + TOPOLOGY + "steps: []", "voters change from Kafka 3.9 on"),
        (HEAD.replace("'3.9', '4.4'", "'3.8'").replace("kraft", "zookeeper") + TOPOLOGY + "steps: []", "of KRaft's"),
    ],
)
def test_errors(text: str, problem: str) -> None:
    with pytest.raises(ScenarioErrors, match=problem):
        load_scenario(text, "x.yaml")


@pytest.mark.parametrize("version", ["3.9", "4.4"])
def test_a_voter_is_replaced_and_the_others_die(version: str) -> None:
    played = play_and_judge(resolve(load_scenario(HEAD + TOPOLOGY + REPLACED, "x.yaml"), version), 1, run="x")
    assert played.verdict.exit_code == 0, played.verdict
    noted = [entry for entry in played.observations.timeline if entry.get("saw") == "admin"]
    assert [(one["verb"], one["topic"], one["reason"]) for one in noted] == [
        ("remove-controller", "controller-0", ""), ("add-controller", "controller-2", "DUPLICATE_VOTER"),
    ]  # fmt: skip


LOST = """topology: {controllers: 3}
steps:
  - start: [0, 1, 2]
  - create-topic: {topic: t, assignment: [0, 1, 2]}
  - disk-error: controller-2
  - kill: controller-2
  - sleep: 8
  - lose-disk: controller-2
  - start: controller-2
  - kill: controller-1
  - sleep: 8
  - wait: active controller
  - create-topic: {topic: u, assignment: [1, 2]}
"""


def test_a_controller_loses_its_disk_and_is_of_the_majority_again() -> None:
    """Other controllers have elected a leader meanwhile.
    A former leader that returns earlier hears that it leads, knows nothing of it, and exits (hasConsistentLeader).
    """
    loaded = load_scenario(HEAD + LOST, "x.yaml")
    assert m.LoseDisk(node="controller-2") in loaded.steps
    assert play_and_judge(resolve(loaded, "4.4"), 1, run="x").verdict.exit_code == 0


def test_with_zookeeper_a_controller_has_no_disk() -> None:
    text = HEAD.replace("kraft", "zookeeper").replace(", '4.4'", "") + LOST
    with pytest.raises(ScenarioErrors, match="unknown broker 'controller-2'"):
        load_scenario(text, "x.yaml")
