"""Kafka's own errors around truncation, fetching and the ISR (semantics 8).
Affected versions have them, mended versions do not.

One scenario of the catalogue each. Its expectations say what either version does; here the anomaly itself is looked
for as well, by the oracle and in what was observed, and the gate that the rule names is shown to be what makes the
difference.
"""

from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec
import pytest

from emulator.judging.judged import JudgedRun, play_and_judge
from emulator.judging.run_outcome import broken_in
from emulator.machines.node import specs
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from protocol.gates import Gates, gates_for

SEEDS = range(1, 6)

LOST, DIVERGED = "lost-acknowledged", "replica-divergence"
BACKWARDS, EXITS, REPEATS_REQUEST = (
    "offsets go backwards",
    "a broker exits",
    "an ISR change is asked for again and again",
)


class Bug(NamedTuple):
    """`affected`: the last version that has it; `mended`: the first that has not.
    `anomalies`: its visible effects.
    """

    scenario: str
    affected: str
    mended: str
    anomalies: frozenset[str]


BUGS = (
    Bug("kip101-case1", "0.10.2", "0.11", frozenset({LOST, DIVERGED})),
    Bug("kip101-case2", "0.10.2", "0.11", frozenset({DIVERGED})),
    Bug("kip101-case2-compressed", "0.10.2", "0.11", frozenset({DIVERGED, BACKWARDS})),
    Bug("unclean-alternating", "2.0.0", "2.0.1", frozenset({DIVERGED})),
    Bug("kafka-3410", "2.0.0", "2.0.1", frozenset({EXITS})),
    Bug("kafka-6361", "1.1", "2.0.0", frozenset({DIVERGED})),
    Bug("kafka-7415", "2.0.0", "2.0.1", frozenset({LOST})),
    Bug("kafka-7164", "2.0.0", "2.0.1", frozenset({DIVERGED})),
    Bug("kafka-6880", "2.0.1", "2.1", frozenset({LOST, DIVERGED})),
    Bug("kafka-7128", "2.0.0", "2.0.1", frozenset({LOST})),
    Bug("kafka-2729", "2.6", "2.7", frozenset({REPEATS_REQUEST})),
)


@cache
def play(scenario: str, version: str, seed: int) -> JudgedRun:
    return play_and_judge(resolve(find_scenario(scenario), version), seed, run=str(seed))


def replay(scenario: str, version: str, seed: int, *settings: str) -> str:
    more = "".join(f" --set {setting}" for setting in settings)
    return f"faultline run {scenario} --world sim --kafka-version {version} --seed {seed}{more}"


def anomalies(run: JudgedRun) -> set[str]:
    """Anomalies that a run shows."""
    found = {name for name, check in run.verdict.checks.items() if check.verdict == "violated"}
    if any(backwards(entry["a"]) for entry in run.observations.timeline if entry.get("saw") == "logs"):
        found.add(BACKWARDS)
    if run.verdict.measures["exits"]:
        found.add(EXITS)
    shrinks = [change for change in run.observations.isr_changes if len(change["now"]) < len(change["was"])]
    if len(shrinks) > 1:
        found.add(REPEATS_REQUEST)
    return found


def backwards(wrappers: list[tuple[int, list[str]]]) -> bool:
    """`wrappers`: (offset of the last record, values) in the order of the log."""
    spans = [(last - len(values) + 1, last) for last, values in wrappers]
    return any(first <= before for (_, before), (first, _) in pairwise(spans))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.scenario)
def test_the_last_affected_version_shows_it(bug: Bug, seed: int) -> None:
    run = play(bug.scenario, bug.affected, seed)
    command = replay(bug.scenario, bug.affected, seed)
    assert run.verdict.valid is True, f"{command}: {'; '.join(broken_in(run.verdict))}"
    assert bug.anomalies <= anomalies(run), command


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.scenario)
def test_the_first_mended_version_does_not(bug: Bug, seed: int) -> None:
    run = play(bug.scenario, bug.mended, seed)
    command = replay(bug.scenario, bug.mended, seed)
    assert run.verdict.valid is True, f"{command}: {'; '.join(broken_in(run.verdict))}"
    assert not bug.anomalies & anomalies(run), command


# --- what makes the difference ---


def play_with(monkeypatch: pytest.MonkeyPatch, scenario: str, version: str, changed: dict[str, Any]) -> JudgedRun:
    """Every broker is of `version`, but for the gates that are `changed`."""

    def gates(*versions: str) -> Gates:
        return msgspec.structs.replace(gates_for(*versions), **changed)

    monkeypatch.setattr(specs, "gates_for", gates)
    return play_and_judge(resolve(find_scenario(scenario), version), 1, run="1")


GATES = {
    "unclean-alternating": "epoch_entry_below_first_answered",
    "kafka-3410": "out_of_range_exits",
    "kafka-6361": "epoch_request_version",
    "kafka-7415": "assigns_epoch_on_election",
    "kafka-7164": "fetcher_restart",
    "kafka-6880": "fences_by_epoch",
    "kafka-7128": "expand_needs_epoch_start",
}
"""Scenario -> the gate that rule 8 names."""

MENDED_TWICE = ("kafka-3410",)
"""2.0.1 exits no more.
As its leader knows its epoch even if it holds nothing, a follower does not get that far.
"""

GATED = [(bug, GATES[bug.scenario]) for bug in BUGS if bug.scenario in GATES]


@pytest.mark.parametrize(("bug", "gate"), GATED, ids=lambda value: getattr(value, "scenario", value))
def test_the_gate_mends_the_affected_version(monkeypatch: pytest.MonkeyPatch, bug: Bug, gate: str) -> None:
    run = play_with(monkeypatch, bug.scenario, bug.affected, {gate: getattr(gates_for(bug.mended), gate)})
    assert not bug.anomalies & anomalies(run)


@pytest.mark.parametrize(
    ("bug", "gate"),
    [(bug, gate) for bug, gate in GATED if bug.scenario not in MENDED_TWICE],
    ids=lambda value: getattr(value, "scenario", value),
)
def test_the_gate_brings_it_back_to_the_mended_version(monkeypatch: pytest.MonkeyPatch, bug: Bug, gate: str) -> None:
    run = play_with(monkeypatch, bug.scenario, bug.mended, {gate: getattr(gates_for(bug.affected), gate)})
    assert bug.anomalies <= anomalies(run)


@pytest.mark.parametrize(
    ("scenario", "binary", "protocol", "shows"),
    [
        ("kip101-case1", "2.8", "0.10.2", {LOST, DIVERGED}),
        ("kip101-case2", "2.8", "0.10.2", {DIVERGED}),
        ("kafka-6361", "2.0.0", "1.1", {DIVERGED}),
        ("kafka-2729", "2.7", "2.6", {REPEATS_REQUEST}),
        ("kafka-2729", "2.8", "2.6", set()),
    ],
)
def test_the_protocol_between_brokers_decides(scenario: str, binary: str, protocol: str, shows: set[str]) -> None:
    """A newer binary with an older inter.broker.protocol.version has these errors as well.
    2.8 does not try a write again that was refused (semantics 1.6).
    """
    setting = f"inter.broker.protocol.version={protocol}"
    overrides = {"inter.broker.protocol.version": protocol}
    run = play_and_judge(resolve(find_scenario(scenario), binary, overrides), 1, run="1")
    of_scenario = {name for bug in BUGS if bug.scenario == scenario for name in bug.anomalies}
    assert anomalies(run) & of_scenario == shows, replay(scenario, binary, 1, setting)
