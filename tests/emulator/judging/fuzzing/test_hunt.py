"""Finds of a cause are one find, made small.
a hunt is the same however many play it, and goes on where it was.
"""

import random
from collections.abc import Callable
from hashlib import sha256
from itertools import islice
from pathlib import Path

import pytest

from emulator.faults.link_fault_kinds import LINK_FAULTS
from emulator.judging.fuzzing.execute import Broken, Trial, tried
from emulator.judging.fuzzing.fault_generator import SPACE
from emulator.judging.fuzzing.finding_files import read, readable
from emulator.judging.fuzzing.fuzz_search import GENERATION, Drawer, Ended, Find, Hunt, HuntOptions, Kept, hunted, small
from emulator.judging.fuzzing.generator import drawn
from emulator.judging.fuzzing.kraft_generator import kraft_drawn
from emulator.judging.fuzzing.mutation import mutated
from emulator.judging.fuzzing.shrinking import shrunk
from emulator.judging.judged import play_and_judge
from emulator.runs.resolve import resolve
from emulator.scenario.scenario_model import LinkFault, Reset, Scenario, Sleep, plain_steps

pytestmark = pytest.mark.slow

OLD = HuntOptions("0.10.2")
STEPS_MAX = 12
EXITS = 51
"""A run that shows KAFKA-3410 in 0.10.2, of seed 1."""
TRIALS = 40


@pytest.fixture(scope="module")
def exits() -> Find:
    """KAFKA-3410, made small."""
    scenario = OLD.scenario(EXITS)
    new = Hunt(runs=EXITS).add(Ended(EXITS, tried(scenario, EXITS)), scenario)
    return small(next(find for find in new if find.what == "exit"), TRIALS)


def test_a_find_is_made_small_and_replays(exits: Find) -> None:
    assert "(KAFKA-3410)" in exits.rule and exits.broken.known
    assert exits.steps <= STEPS_MAX
    replayed = read(exits.file, exits.name)
    assert replayed is not None and len(replayed.steps) == exits.steps
    assert tried(replayed, EXITS).has(exits.broken.cause)


def test_what_it_shows_is_mended_in_later_versions(exits: Find) -> None:
    mended = read(exits.file.replace('kafka: ["0.10.2"]', 'kafka: ["2.8"]'), "")
    assert mended is not None and mended.kafka == ("2.8",)
    assert not [one for one in tried(mended, EXITS).broken if one.what == "exit"]


def test_a_bug_of_ours_is_a_find_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each find can be played again.
    The origin of a run's draws does not change.
    """
    scenario = OLD.scenario(0)

    def broken(*_: object) -> None:
        raise AssertionError("broker-0 is alive")

    monkeypatch.setattr("emulator.judging.fuzzing.execute.truth_of", broken)
    hunt = Hunt()
    (find,) = hunt.add(Ended(0, tried(scenario, 0)), scenario)
    assert hunt.bugs == {"0": "AssertionError: broker-0 is alive"}
    assert (find.what, find.broken.known, find.text) == ("bug", False, "AssertionError: broker-0 is alive")
    least = small(find, TRIALS)
    assert 0 < least.steps < len(scenario.steps)
    replayed = read(least.file, find.name)
    assert replayed is not None and tried(replayed, 0).bug == find.text


LOST = """id: lost-27
title: t
kafka: ["0.8.2"]
topology: {brokers: 2, sessions: 1, clients: 1, azs: 1}
settings:
  zookeeper.session.timeout.ms: 6000
  min.insync.replicas: 2
  unclean.leader.election.enable: false
  auto.create.topics.enable: false
  offsets.topic.replication.factor: 1
  producer.retry.backoff.ms: 1000
steps:
  - start: [broker-0, broker-1]
  - create-topic: {topic: t, assignment: [0, 1]}
  - workload: {name: w, rate: 0.5, topic: t, consumers: false}
  - {kill: 0, at_s: 3}
  - power-loss: 1
  - start: 1
"""
"""KIP-966: broker-1 leads without what it has lost.
As the last step ends it has not loaded its log yet.
"""


def test_a_find_shows_when_played_again() -> None:
    """A hunt looks on behind the last step, and `faultline run` does not.
    So the file has the time that it takes.
    """
    scenario = read(LOST, "lost-27")
    assert scenario is not None
    (broken,) = (one for one in tried(scenario, 27).broken if one.what == "lost")
    assert not play_and_judge(resolve(scenario), 27, run="27").verdict.checks["lost-acknowledged"].count
    least = small(Find(broken.what, broken.rule, broken.text, 27, LOST), TRIALS)
    again = read(least.file, least.name)
    assert again is not None and tried(again, 27).has(broken.cause) and least.steps == len(again.steps)
    assert play_and_judge(resolve(again), 27, run="27").verdict.checks["lost-acknowledged"].verdict == "violated"
    assert isinstance(again.steps[-1], Sleep) and again.steps[-1].seconds <= 10


@pytest.mark.slow
def test_a_find_is_not_made_so_small_that_brokers_have_to_be_started_again() -> None:
    """A hunt restarts brokers that came back before their sessions had expired.
    `faultline run` does not.
    """
    requested = HuntOptions("2.0.0", seed=3)
    scenario = requested.scenario(51)
    (broken,) = (one for one in tried(scenario, 51).broken if one.what == "lost")
    least = small(Find(broken.what, broken.rule, broken.text, 51, readable(scenario)), 120)
    again = read(least.file, least.name)
    assert again is not None and least.steps < len(scenario.steps)
    assert play_and_judge(resolve(again), 51, run="51").verdict.checks["lost-acknowledged"].verdict == "violated"


def test_what_does_not_settle_is_waited_for_as_long_as_a_hunt_does() -> None:
    text = (Path(__file__).parent / "found" / "kafka-1367.yaml").read_text()
    scenario = read(text, "kafka-1367")
    assert scenario is not None
    (broken,) = (one for one in tried(scenario, 0).broken if one.what == "settled")
    least = small(Find(broken.what, broken.rule, broken.text, 0, text), TRIALS)
    again = read(least.file, least.name)
    assert again is not None and isinstance(again.steps[-1], Sleep) and again.steps[-1].seconds >= 150


def test_a_cause_is_one_find_however_often_it_is_found() -> None:
    hunt, lost, scenario = Hunt(), Broken("lost", "8 (KIP-101): cut", "m1 is gone"), OLD.scenario(0)
    assert hunt.add(Ended(0, Trial()), scenario) == []
    assert [find.number for find in hunt.add(Ended(1, Trial((lost,))), scenario)] == [1]
    again = Trial((Broken("lost", "8 (KIP-101): cut", "m2 is gone"),))
    assert hunt.add(Ended(2, again), scenario) == []
    assert [(find.number, find.count, find.text) for find in hunt.finds] == [(1, 2, "m1 is gone")]
    assert hunt.runs == 3


def test_two_causes_of_one_promise_in_one_run_are_two_files() -> None:
    """Else the second is written over the first, whose command then plays another find."""
    hunt, scenario = Hunt(), OLD.scenario(0)
    deaf, stale = Broken("settled", "1.6 (KAFKA-1367): deaf", "a"), Broken("settled", "8 (KAFKA-7235): stale", "b")
    hunt.add(Ended(0, Trial((deaf, stale, Broken("lost", "8 (KIP-101): cut", "c")))), scenario)
    hunt.add(Ended(1, Trial((Broken("settled", "8 (KAFKA-9254): forgotten", "d"),))), scenario)
    assert [find.name for find in hunt.finds] == ["settled-0", "settled-0-2", "lost-0", "settled-1"]


def test_what_reaches_something_new_is_kept() -> None:
    hunt, scenario = Hunt(), OLD.scenario(3)
    seen = (frozenset({"a"}), frozenset({"a"}), frozenset({"a", "a > b"}), frozenset({"c"}))
    for number, reached in enumerate(seen):
        hunt.add(Ended(number, Trial(reached=reached)), scenario)
    assert [(kept.number, kept.kind) for kept in hunt.kept] == [(0, True), (2, False), (3, True)]
    assert read(hunt.kept[0].file, "") == scenario


def test_runs_are_drawn_out_of_those_of_earlier_generations_alone() -> None:
    """The run of a number does not depend on the order of ends, or on an interruption."""
    early = [Kept(number, readable(OLD.scenario(number)), kind=True) for number in (3, 40)]
    late = Kept(GENERATION + 5, readable(OLD.scenario(5)), kind=True)
    numbers = range(GENERATION, GENERATION + 30)
    before = [Drawer(OLD, Hunt(kept=early)).task(number) for number in numbers]
    after = [Drawer(OLD, Hunt(kept=[*early, late])).task(number) for number in numbers]
    assert before == after
    changed = [task.scenario for task in before if task.scenario is not None]
    assert 5 < len(changed) < 25
    assert all(read(readable(scenario), scenario.id) == scenario for scenario in changed)
    assert all(task.scenario is None for task in (Drawer(OLD, Hunt(kept=early)).task(n) for n in range(GENERATION)))


def test_a_hunt_that_is_cut_short_goes_on_as_if_it_had_not_been() -> None:
    whole, parts = Hunt(runs=18), Hunt(runs=18)
    once = [ended for ended, _ in hunted(OLD, whole, 21, processes=1)]
    again = [ended for ended, _ in islice(hunted(OLD, parts, 21, processes=1), 2)]
    again += [ended for ended, _ in hunted(OLD, parts, 21, processes=1)]
    assert [ended.number for ended in once] == [18, 19, 20]
    assert once == again and whole == parts


@pytest.mark.parametrize("number", range(40))
def test_what_is_drawn_can_be_written_and_read(number: int) -> None:
    scenario = drawn(7, number, "2.8", {"min.insync.replicas": 1})
    assert scenario.settings["min.insync.replicas"] == 1
    assert read(readable(scenario), scenario.id) == scenario
    assert drawn(7, number, "2.8", {"min.insync.replicas": 1}) == scenario


DIGESTS = {
    1: "0d9e6edf45dc82cb0defb22f7711819bb52efb3caabf5129458da39d906737d5",
    2: "e5d92558b8f00ee722e6f64c9b17e6ed5e89a0a160b656bfe5bcd950240048cf",
    3: "e5d92558b8f00ee722e6f64c9b17e6ed5e89a0a160b656bfe5bcd950240048cf",
}
"""Of drawn and mutated scenarios, by version of the table of fault types."""
KRAFT_DIGESTS = {
    1: "8bc54925b7de0bde5ec19ade5ced8f4571814931276440432f535ab57c40ce8d",
    2: "8bc54925b7de0bde5ec19ade5ced8f4571814931276440432f535ab57c40ce8d",
    3: "802e42cba0adb233e967d0d547335e7653856efc3bac0f3a2590f5bc610862e8",
}
"""The same of KRaft clusters."""


@pytest.mark.parametrize(
    ("version", "draws", "space", "expected"),
    [("2.8", drawn, *one) for one in DIGESTS.items()] + [("4.4", kraft_drawn, *one) for one in KRAFT_DIGESTS.items()],
)
def test_a_version_of_the_table_of_fault_types_draws_the_same_for_ever(
    version: str, draws: Callable[..., Scenario], space: int, expected: str
) -> None:
    """A search that was begun earlier goes on with its table.
    A new fault type, weight or amount needs a new version.
    """
    digest = sha256()
    for number in range(20):
        scenario = draws(7, number, version, {}, None, space)
        changed = mutated(scenario, random.Random(number), [scenario], frozenset(), space)
        digest.update(readable(scenario).encode() + readable(changed).encode())
    assert digest.hexdigest() == expected
    assert max(DIGESTS) == max(KRAFT_DIGESTS) == SPACE


def test_every_fault_on_links_is_drawn_by_the_present_table_and_no_reset_by_the_first() -> None:
    def kinds(space: int) -> set[str]:
        scenarios = (HuntOptions("2.8", space=space).scenario(number) for number in range(400))
        return {s.VERB for one in scenarios for s in plain_steps(one.steps) if isinstance(s, LinkFault)}

    assert kinds(SPACE) == set(LINK_FAULTS)
    assert kinds(1) == set(LINK_FAULTS) - {"reset"}


def test_a_reset_at_an_age_is_reduced_to_one_reset() -> None:
    scenario = next(
        scenario
        for scenario in map(HuntOptions("2.8", space=SPACE).scenario, range(400))
        if any(isinstance(step, Reset) and step.every_ms for step in scenario.steps)
    )
    least = shrunk(scenario, lambda candidate: any(isinstance(step, Reset) for step in candidate.steps))
    (step,) = least.steps
    assert isinstance(step, Reset) and step.every_ms == 0
