"""Other values in the places of a scenario's file."""

import pytest

from emulator.scenario.load import load_scenario
from emulator.scenario.parameters import UnusableParameter, with_parameters
from emulator.scenario.scenario_model import CreateTopic, Cut, Produce, Repeat, Scenario, Sleep

FILE = """\
id: it
title: t
kafka: [2.8]
topology: {brokers: 3}
steps:
  - start: 2  # the controller
  - start: 0
  - create-topic: {topic: t, assignment: [0, 1]}
  - sleep: 1
  - cut: az-0
  - repeat:
      times: 2
      steps:
        - sleep: 3
  - produce: {broker: 0, values: [a, b], acks: 1}
  - wait:
      until: {isr: [0, 1]}
      called: both
  - heal
"""


def loaded(*words: str) -> Scenario:
    return load_scenario(with_parameters(FILE, words), "it.yaml")


def test_a_value_of_one_of_several_steps() -> None:
    """Counted as they are written, those that are repeated, too."""
    repeated = loaded("sleep#2=7", "repeat.times=5").steps[5]
    assert isinstance(repeated, Repeat) and (repeated.times, repeated.steps) == (5, (Sleep(seconds=7),))
    assert loaded("sleep#1=0.5").steps[3] == Sleep(seconds=0.5)


def test_a_key_of_a_verb_and_one_beside_it_that_was_not_there() -> None:
    steps = loaded("create-topic.assignment=[1, 0]", "produce.retries=3", "produce.values.1=c", "cut.at_s=12").steps
    assert isinstance(steps[2], CreateTopic) and steps[2].assignment == ((1, 0),)
    assert isinstance(steps[4], Cut) and steps[4].at_s == 12
    assert isinstance(steps[6], Produce) and (steps[6].retries, steps[6].values) == (3, ("a", "c"))


def test_of_the_cluster() -> None:
    assert len(loaded("topology.brokers=5").topology.with_role("broker")) == 5
    assert loaded("network.latency_ms=4").network.latency_ms == 4


def test_lines_stay_where_they_are() -> None:
    """So an error names the place in the file as it stands."""
    changed = with_parameters(FILE, ["create-topic.assignment=[1,0]", "network.latency_ms=4", "wait.limit_s=9"])
    assert changed.splitlines()[5] == "  - start: 2  # the controller"
    assert [line for line in FILE.splitlines() if line not in changed.splitlines()] == [
        "  - create-topic: {topic: t, assignment: [0, 1]}"
    ]


@pytest.mark.parametrize(
    ("word", "output"),
    [
        ("pause=1", r"pause: which of them\? sleep#1 \(line 9: 1\), sleep#2 \(line 14: 3\)"),
        ("sleep#3=1", r"sleep#3: there are 2: sleep#1"),
        ("slepe=1", "slepe: no verb 'slepe' here; nearest: sleep"),
        ("kill=1", "kill: no step 'kill' here"),
        ("produce.valeus.0=x", "produce.valeus.0: no 'valeus' there; nearest: values"),
        ("produce.values.7=x", "produce.values.7: no '7' there"),
        ("sleep#1.seconds=3", "sleep#1.seconds: sleep has no keys in line 9"),
        ("heal=az-0", "heal: heal has no value in line 19"),
        ("wait=3", "wait: has lines of its own; name one of until, called"),
        ("sleep#1=1, x: 2", "sleep#1: '1, x: 2' is not one value of YAML"),
        ("sleep#1=1}", "is not one value of YAML"),
        ("sleep#1=", "expected NAME=VALUE"),
        ("pause", "expected NAME=VALUE"),
        ("Pause 1=2", "Pause 1: expected VERB, VERB#NUMBER or VERB.KEY"),
    ],
)
def test_what_is_not_there_is_one_line_with_the_nearest(word: str, output: str) -> None:
    with pytest.raises(UnusableParameter, match=output) as error:
        with_parameters(FILE, [word])
    assert "\n" not in str(error.value)


def test_two_of_one_place_are_refused() -> None:
    with pytest.raises(UnusableParameter, match="the same place"):
        with_parameters(FILE, ["sleep#1=2", "sleep#1=3"])


def test_a_file_that_is_no_yaml_is_left_to_its_reader() -> None:
    assert with_parameters("[", ["pause=1"]) == "["
