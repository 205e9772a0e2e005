"""The catalogue: each scenario's script is its recordings'.

Its expectation real Kafka's result.
"""

from pathlib import Path

import msgspec
import pytest

from emulator.judging.crash_testing.crash_plan import scenario_of
from emulator.scenario import scenario_model as m
from emulator.scenario.expect import judge
from emulator.scenario.observations.races import substituted
from emulator.scenario.observations.recording_comparison import compare
from emulator.scenario.observations.recording_files import load
from emulator.scenario.recorded import scenario_of_recording

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden"
CATALOGUE = sorted((ROOT / "scenarios").glob("*.yaml"))

RECORDED = [
    (path.stem, recording.relative_to(GOLDEN).as_posix())
    for path in CATALOGUE
    for recording in sorted(GOLDEN.glob(f"{path.stem}@*/*.json"))
]


@pytest.mark.parametrize("path", CATALOGUE, ids=lambda path: path.stem)
def test_a_file_is_called_after_its_scenario(path: Path) -> None:
    assert scenario_of(path.stem).id == path.stem


TWO_NAMES = {"new leader (neither broker-0 nor none)": "new leader"}


def one_name(step: m.AnyStep) -> m.AnyStep:
    if isinstance(step, m.Wait) and step.called in TWO_NAMES:
        return msgspec.structs.replace(step, called=TWO_NAMES[step.called])
    return step


@pytest.mark.parametrize(("name", "recording"), RECORDED)
def test_steps_and_settings_are_the_recordings(name: str, recording: str) -> None:
    """A wait's meaning counts.

    One of az-isolated-leader-and-controller has two names in the recordings.
    """
    recorded = scenario_of_recording(load(GOLDEN / recording))
    assert [one_name(step) for step in scenario_of(name).steps] == [one_name(step) for step in recorded.steps]
    assert scenario_of(name).settings == recorded.settings
    assert scenario_of(name).settings_by_broker == recorded.settings_by_broker


@pytest.mark.parametrize(("name", "recording"), RECORDED)
def test_what_is_expected_is_what_kafka_did(name: str, recording: str) -> None:
    """All that stands in observations; what the checks say is not in a recording."""
    s = scenario_of(name)
    version = recording.partition("@")[2].partition("/")[0]
    of_checks = sum(e.of in ("check", "measure") for e in s.expectations_for(version))
    judged = judge(s, load(GOLDEN / recording), {})
    surprises = [one for one in judged if one["held"] is False]
    assert surprises == []
    unknown = [one for one in judged if one["held"] == "unknown"]
    violations = sum(not one.sometimes for one in s.violations_expected(version).values())
    assert len(unknown) == of_checks + violations
    assert len(judged) > len(unknown)


WITH_RACES = [path.stem for path in CATALOGUE if "\nraces:" in path.read_text(encoding="utf-8")]
"""To read all scenarios here would cost every test process seconds."""


@pytest.mark.parametrize("name", WITH_RACES)
def test_a_race_is_about_a_recording(name: str, subtests: pytest.Subtests) -> None:
    """It applies to one at least, and makes another outcome of it."""
    recordings = [load(GOLDEN / recording) for of, recording in RECORDED if of == name]
    races = scenario_of(name).races
    assert races
    for race in races:
        with subtests.test(race.name):
            outcomes = [(o, outcome) for o in recordings if (outcome := substituted(o, race)) is not None]
            assert outcomes
            assert all(compare(outcome, o) for o, outcome in outcomes)


def test_the_elected_controller_is_the_race_that_was_recorded_on_2_8() -> None:
    """az-isolated-controller@2.8.

    The two recordings are each other's outcome by race, in every leaf.
    """
    one, two = (load(GOLDEN / "az-isolated-controller@2.8" / f"{n}.json") for n in (1, 2))
    races = {race.name: race for race in scenario_of("az-isolated-controller").races}
    other = substituted(one, races["broker-1 becomes controller"])
    assert other is not None
    assert compare(other, two) == []


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*/1.json")), ids=lambda path: path.parent.name)
def test_every_recording_is_a_scenario(path: Path) -> None:
    o = load(path)
    s = scenario_of_recording(o)
    assert s.id == path.parent.name.partition("@")[0]
    assert s.kafka == (path.parent.name.partition("@")[2],)
    assert s.settings.get("tickTime") == (500 if s.id.startswith("random-") else None)
    assert {str(b): v for b, v in s.settings_by_broker.items()} == o.settings_by_broker
