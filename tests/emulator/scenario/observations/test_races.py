"""Races add the outcomes written down, all or nothing, and accept no others."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

from emulator.scenario.observations.observation_model import Observations
from emulator.scenario.observations.races import Addition, Race, Substitution, nearest_with_races, substituted
from emulator.scenario.observations.recording_files import load

GOLDEN = Path(__file__).parents[3] / "golden"
RECORDING = load(GOLDEN / "az-isolated-leader@2.6" / "1.json")

X = {"saw": "attempt", "value": "x"}

ANSWERED = Race(
    name="x-answered",
    rule="semantics 1.6",
    allows=(
        Substitution(of="timeline", where=X, leaf="error", recorded="TimeoutError", instead=0),
        Substitution(of="timeline", where=X, leaf="offset", recorded=None, instead=5),
        Substitution(
            of="timeline",
            where={"saw": "snapshot", "label": "before heal"},
            leaf="replicas.broker-0.leader_epochs.0.1",
            recorded=0,
            instead=1,
        ),
    ),
)
OTHER = Race(
    name="late-controller",
    rule="semantics 3.3",
    allows=(Substitution(of="controllers", where={"epoch": 1}, leaf="controller", recorded=2, instead=1),),
)


def run(change: Callable[[list[dict[str, Any]]], None]) -> Observations:
    o = copy.deepcopy(RECORDING)
    change(o.timeline)
    return o


def entry(timeline: list[dict[str, Any]], **keys: object) -> dict[str, Any]:
    return next(e for e in timeline if all(e.get(key) == value for key, value in keys.items()))


def answered(timeline: list[dict[str, Any]]) -> None:
    entry(timeline, **X).update(error=0, offset=5)
    entry(timeline, saw="snapshot", label="before heal")["replicas"]["broker-0"]["leader_epochs"][0][1] = 1


def matched(o: Observations, *races: Race) -> tuple[bool, tuple[str, ...], list[str]]:
    match = nearest_with_races(o, {"1": RECORDING}, races)
    return match.equal, tuple(race.name for race in match.races), [d.where for d in match.differences]


def test_the_recorded_outcome_needs_no_race() -> None:
    assert matched(RECORDING, ANSWERED) == (True, (), [])


def test_the_other_outcome_is_equal_by_race() -> None:
    assert matched(run(answered), OTHER, ANSWERED) == (True, ("x-answered",), [])


def test_without_the_race_it_differs() -> None:
    assert matched(run(answered), OTHER)[0] is False


def test_half_of_an_outcome_is_no_outcome() -> None:
    equal, races, differences = matched(run(lambda t: entry(t, **X).update(error=0, offset=5)), ANSWERED)
    assert (equal, races) == (False, ())
    assert differences == ["timeline[39].error"]


def test_another_value_than_the_one_written_down_differs() -> None:
    def otherwise(timeline: list[dict[str, Any]]) -> None:
        answered(timeline)
        entry(timeline, **X)["error"] = 6

    assert matched(run(otherwise), ANSWERED)[0] is False


def test_another_difference_beside_the_race_differs() -> None:
    def more(timeline: list[dict[str, Any]]) -> None:
        answered(timeline)
        entry(timeline, saw="attempt", value="a")["offset"] = 9

    assert matched(run(more), ANSWERED)[0] is False


def test_two_races_at_once() -> None:
    o = run(answered)
    o.controllers[0]["controller"] = 1
    assert matched(o, OTHER, ANSWERED) == (True, ("late-controller", "x-answered"), [])


def test_a_substitution_that_finds_nothing_allows_nothing() -> None:
    nowhere = Substitution(of="timeline", where={"saw": "attempt", "value": "q"}, leaf="error", recorded=0, instead=6)
    wrong = Substitution(of="timeline", where=X, leaf="error", recorded=0, instead=6)
    deep = Substitution(of="timeline", where=X, leaf="error.code.3", recorded=0, instead=6)
    for substitution in (nowhere, wrong, deep):
        assert substituted(RECORDING, Race(name="r", rule="r", allows=(substitution,))) is None


BETWEEN = {"leader": -1, "leader_epoch": 1, "isr": [1, 2], "controller_epoch": 1, "zk_version": 9}
TICK_APART = Race(
    name="tick-apart",
    rule="semantics 5.2",
    adds=(Addition(of="partition_states", after={"zk_version": 0}, entry=BETWEEN),),
)


def test_an_entry_that_a_race_adds_may_be_there_at_its_place() -> None:
    o = copy.deepcopy(RECORDING)
    o.partition_states.insert(1, {"t": 0.0, **BETWEEN})
    assert matched(o)[0] is False
    assert matched(o, TICK_APART) == (True, ("tick-apart",), [])
    assert matched(RECORDING, TICK_APART) == (True, (), [])
    o.partition_states.append(o.partition_states.pop(1))
    assert matched(o, TICK_APART)[0] is False


def test_another_entry_than_the_one_written_down_differs() -> None:
    o = copy.deepcopy(RECORDING)
    o.partition_states.insert(1, {"t": 0.0, **BETWEEN, "leader": 2})
    assert matched(o, TICK_APART)[0] is False


def test_an_addition_without_its_place_allows_nothing() -> None:
    lost = Addition(of="partition_states", after={"zk_version": 77}, entry=BETWEEN)
    assert substituted(RECORDING, Race(name="r", rule="r", adds=(lost,))) is None


def test_the_recording_itself_is_left_alone() -> None:
    before = copy.deepcopy(RECORDING.timeline)
    assert substituted(RECORDING, ANSWERED) is not None
    assert RECORDING.timeline == before
