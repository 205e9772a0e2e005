"""Kafka's own errors around controller, session and disk (semantics 8).
Affected versions have them, mended versions do not. One scenario of the catalogue each, a handful of seeds on both
sides.

A scenario says what each version does; here it is held against the *other* side, too: what the last affected version
is expected to do must not be what the first mended one does.
"""

from functools import cache
from typing import NamedTuple

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from emulator.judging.judged import JudgedRun, play_and_judge
from emulator.judging.run_outcome import broken_in
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.scenario.expect import judge
from protocol.events import FetcherChanged

SEEDS = range(1, 5)


class Bug(NamedTuple):
    """`affected`: the last version that has it; `mended`: the first that has not.
    Of one that came with a version: the first that has it, and the last before.
    """

    scenario: str
    affected: str
    mended: str


MENDED = (
    Bug("kafka-7235-stop-replica", "2.1", "2.2"),
    Bug("kafka-7235-checkpoint", "2.1", "2.2"),
    Bug("kafka-7235-truncation", "0.10.2", "0.11"),
    Bug("kafka-6082", "2.0.1", "2.1"),
    Bug("kafka-3143", "2.2", "2.3"),
    Bug("kafka-7165", "2.1", "2.2"),
    Bug("kafka-3175", "0.8.2", "0.10.2"),
    Bug("kafka-6650", "1.1", "2.0.0"),
    Bug("kafka-9212", "2.3", "2.4"),
    Bug("kafka-7482", "2.0.1", "2.1"),
    Bug("kafka-5310", "0.10.2", "0.11"),
    Bug("kafka-6612", "1.1", "2.0.0"),
    Bug("kafka-9089", "2.3", "2.4"),
)

NEW_IN_1_1 = Bug("kafka-9307", "1.1", "1.0")
"""From 1.1 on what waits for the session service ends with the session."""
NEW_IN_2_1 = Bug("unsent-batch", "2.1", "2.0.1")
"""From 2.1 on a write of a controller of the past is refused.
What it has collected stays unsent.
"""

NEVER_MENDED = {
    "kip-903": ("0.10.2", "1.1", "2.6", "2.8"),
    "kip-966": ("0.10.2", "1.1", "2.0.0", "2.0.1", "2.6", "2.8"),
}
"""Scenario -> versions: each way of cutting logs, and both ways of changing an ISR."""


@cache
def played(scenario: str, version: str, seed: int) -> JudgedRun:
    return play_and_judge(resolve(find_scenario(scenario), version), seed, run=str(seed))


def replay(scenario: str, version: str, seed: int) -> str:
    return f"faultline run {scenario} --world sim --kafka-version {version} --seed {seed}"


def assert_as_expected(scenario: str, version: str, seed: int) -> None:
    verdict = played(scenario, version, seed).verdict
    assert verdict.valid is True, f"{replay(scenario, version, seed)}: {'; '.join(broken_in(verdict))}"


def report_of(bug: Bug, version: str) -> set[str]:
    """Expectations of the scenario for this one of the two versions alone."""
    scenario = find_scenario(bug.scenario)
    other = bug.mended if version == bug.affected else bug.affected
    return {e.text for e in scenario.expectations if version in e.kafka and other not in e.kafka}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("bug", (*MENDED, NEW_IN_1_1, NEW_IN_2_1), ids=lambda bug: bug.scenario)
def test_the_affected_version_next_to_a_sound_one_has_it(bug: Bug, seed: int) -> None:
    assert report_of(bug, bug.affected)
    assert_as_expected(bug.scenario, bug.affected, seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("bug", (*MENDED, NEW_IN_1_1, NEW_IN_2_1), ids=lambda bug: bug.scenario)
def test_the_sound_version_next_to_it_does_not(bug: Bug, seed: int) -> None:
    assert report_of(bug, bug.mended)
    assert_as_expected(bug.scenario, bug.mended, seed)
    run = played(bug.scenario, bug.mended, seed)
    wrong = report_of(bug, bug.affected)
    scenario = find_scenario(bug.scenario)
    as_affected = tuple(replace(e, kafka=()) for e in scenario.expectations if e.text in wrong)
    requested = replace(scenario, expectations=as_affected, expects_violations=())
    judged = judge(requested, run.observations, to_builtins(run.verdict.checks))
    held = {one["text"] for one in judged if one["held"] is True}
    assert held < wrong, f"{replay(bug.scenario, bug.mended, seed)}: as in {bug.affected}: {held}"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("scenario", "version"), [(s, v) for s, versions in NEVER_MENDED.items() for v in versions])
def test_an_error_never_mended_loses_records_in_every_version(scenario: str, version: str, seed: int) -> None:
    assert_as_expected(scenario, version, seed)
    assert played(scenario, version, seed).verdict.checks["lost-acknowledged"].verdict == "violated"


@pytest.mark.parametrize("seed", SEEDS)
def test_the_controller_of_the_past_writes_over_its_successor(seed: int) -> None:
    """KAFKA-6082: a state with an older controller epoch than that of the present controller."""
    for version, written in (("2.0.1", True), ("2.1", False)):
        observations = played("kafka-6082", version, seed).observations
        elected_at = next(c["t"] for c in observations.controllers if c["epoch"] == 2)
        late = [s for s in observations.partition_states if s["t"] > elected_at and s["controller_epoch"] == 1]
        assert bool(late) is written, replay("kafka-6082", version, seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_new_incarnation_follows_and_is_stopped_by_an_order_to_the_earlier_one(seed: int) -> None:
    """KAFKA-7235: both orders were for the earlier life; from 2.2 neither reaches the new one.
    (In 2.1 the leader may fence the fetcher off before it is stopped: the epoch that it was given is not the last.)
    """
    for version, changes in (("2.0.1", ["added", "removed"]), ("2.2", ["added"])):
        world = played("kafka-7235-stop-replica", version, seed).played.world
        found = [
            event.change
            for node, incarnation, _, _, _, event in world.trace.entries
            if (node, incarnation) == ("broker-1", 2)
            and isinstance(event, FetcherChanged)
            and event.change != "delayed"
        ]
        assert found == changes, replay("kafka-7235-stop-replica", version, seed)
