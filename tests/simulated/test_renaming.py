"""A renamed scenario gives the same events at the same times, but for the names.
Ids of brokers are others, too. The catalogue's clusters with ZooKeeper are played, each scenario on the newest of its
versions in each era of truncation (semantics, "Versions").

What an id may decide is what it decides in Kafka. Session servers with equal histories vote for the highest server id
(semantics 5.3): the order of theirs is kept here. Where the order of brokers' ids counts, `TIES` says by which rule.
"""

import re
from collections.abc import Collection, Sequence

import msgspec
import pytest

from controller import elections
from emulator.judging.run_outcome import outcome_of
from emulator.runs.resolve import resolve
from emulator.runs.simulated import play
from emulator.scenario.expect import judge
from emulator.scenario.observations.comparable import Comparable, comparable
from emulator.scenario.observations.recording_parsing import parse, plain
from emulator.scenario.scenario_model import Scenario
from emulator.topology import ZOOKEEPER
from protocol.ids import BrokerId
from protocol.versions import LADDER
from protocol.znodes import Leadership
from tests.emulator.scenario.test_catalogue_plays import CATALOGUE
from tests.simulated.renaming import SAME, DrawsByRole, Renaming, odd

pytestmark = pytest.mark.slow

SEED = 1

ERAS = (
    ("0.8.2", "0.10.2"),
    ("0.11", "1.0", "1.1"),
    ("2.0.0", "2.0.1"),
    ("2.1", "2.2", "2.3", "2.4", "2.5", "2.6"),
    ("2.7", "2.8"),
    ("3.0", "3.1", "3.2"),
    ("3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9"),
)
WITH_ZOOKEEPER = {name: one for name, one in CATALOGUE.items() if one.topology.metadata == ZOOKEEPER}
ERA_PLAYS = [
    (name, max(versions, key=LADDER.index))
    for name, scenario in WITH_ZOOKEEPER.items()
    for era in ERAS
    if (versions := {*era} & {*scenario.kafka})
]
_NEWEST = dict(ERA_PLAYS)
"""{scenario: its version of the newest era}"""
IN_ORDER = [
    pytest.param(name, version, marks=[] if _NEWEST[name] == version else [pytest.mark.slow])
    for name, version in ERA_PLAYS
]

FIRST_CONTACT = "semantics 6: a client draws whom it asks for the leader, from a list in order of ids"
PLACED = "semantics 4.4: replicas are placed over racks and brokers in order of their names and ids"
LEAVE_BY_ID = "semantics 11.4: replicas that leave the ISR together leave one after the other, by id"
ENDS_BY_NAME = "semantics 11.16: what waits at a link that is healed goes on peer by peer, in order of their names"
TIES = {
    "az-isolated-controller": ENDS_BY_NAME,
    "az-isolated-dedicated-controller": ENDS_BY_NAME,
    "kafka-4893": LEAVE_BY_ID,
    "kafka-6612": LEAVE_BY_ID,
    "kafka-7313": LEAVE_BY_ID,
    "kafka-9212": LEAVE_BY_ID,
    "unsent-batch": LEAVE_BY_ID,
    "many-partitions": PLACED,
    "leader-balance": PLACED,
    "partitions-move": f"{PLACED}; {LEAVE_BY_ID}",
    "min-insync": LEAVE_BY_ID,
    "topic-recreated": LEAVE_BY_ID,
    "topic-recreated-over-stray": LEAVE_BY_ID,
    "topic-deleted-while-replica-down": LEAVE_BY_ID,
    "kafka-6082": "semantics 11.13: who resigns waits for its senders one after the other, by id",
    "incident-remedies": f"{FIRST_CONTACT}; {LEAVE_BY_ID}",
    "group-coordinator-isolated": FIRST_CONTACT,
    "workload-az-cut": FIRST_CONTACT,
    "follower-reads-az-cut": FIRST_CONTACT,
    "rolling-restart": FIRST_CONTACT,
    "retry-duplicates": FIRST_CONTACT,
    "retry-duplicates-idempotent": FIRST_CONTACT,
    "txn-coordinator-cut-off": PLACED,
    "txn-coordinator-dies": PLACED,
    "txn-delayed-end": PLACED,
    "txn-late-produce": PLACED,
    "txn-leader-killed": PLACED,
    "txn-log-too-few-replicas": PLACED,
    "txn-marker-offline": PLACED,
    "txn-times-out": PLACED,
    "txn-transform-zombie": PLACED,
    "txn-zombie": PLACED,
}
"""{scenario: the rule by which the order of brokers' ids counts}.
These get other ids in the same order.
"""

IDS = frozenset({"broker", "controller", "leader", "replica", "source"})
"""Fields of events that are ids of brokers.
One that is missing here shows as a number that is another in each run.
"""
IN_ORDER_OF_IDS = re.compile(r'"(live|live_brokers|brokers|added|removed)":("[\d,]*"|\[[\d,]*\])')
"""Lists that go by id, as Kafka's do; which ids are in them is what counts."""


NUMBERED = {"digest": "digest", "written_digest": "digest", "session": "session", "producer_id": "producer"}
"""{field: kind} of values that come from names and times.
They are numbered as they first appear.
"""


class Seen(msgspec.Struct, frozen=True):
    """A run in the old names.
    `events`: one line for each, node by node, with its time. `observed`: what must match a recording. `held`: of each
    expectation.
    """

    events: dict[str, list[str]]
    observed: Comparable
    held: list[object]

    @property
    def outcome(self) -> str:
        return outcome_of(self.observed)


def seen(scenario: Scenario, version: str, renaming: Renaming, seed: int = SEED) -> Seen:
    """One run under the new names, told in the old ones."""
    resolved = resolve(renaming.scenario(scenario), version)
    played = play(resolved, seed, draws=DrawsByRole(seed, renaming))
    numbers: dict[tuple[str, int], int] = {}
    lines: dict[str, list[bytes]] = {}
    for node, incarnation, _, _, at_ms, event in played.world.trace.entries:
        fields = msgspec.structs.asdict(event)
        for name, kind in NUMBERED.items():
            if name in fields:
                fields[name] = numbers.setdefault((kind, fields[name]), len(numbers))
        reported = {name: value if name in IDS else marked(value) for name, value in fields.items()}
        lines.setdefault(node, []).append(msgspec.json.encode((repr(at_ms), incarnation, event.NAME, reported)))
    old = {node: brought_back(b"\n".join(reported).decode(), renaming).split("\n") for node, reported in lines.items()}
    observations = plain(played.observations)
    judged = judge(resolved.scenario, observations, {})
    text = brought_back(msgspec.json.encode(observations).decode(), renaming)
    return Seen(
        {renaming.back(node): reported for node, reported in old.items()},
        comparable(parse(text, "observations")),
        [one["held"] for one in judged],
    )


def marked(value: object) -> object:
    """A number that is no id: "n17"."""
    return f"n{value}" if isinstance(value, int) and not isinstance(value, bool) else value


def brought_back(text: str, renaming: Renaming) -> str:
    def sorted_ids(found: re.Match[str]) -> str:
        ids = re.findall(r"\d+", found[2])
        return f'"{found[1]}":{sorted(ids, key=int)}'.replace("'", "").replace(" ", "")

    return IN_ORDER_OF_IDS.sub(sorted_ids, renaming.back(text))


def parting(one: Seen, other: Seen) -> str:
    """The first difference between two runs, node by node; "" without one."""
    assert one.events.keys() == other.events.keys()
    found = []
    for node in one.events:
        for was, now in zip([*one.events[node], ""], [*other.events[node], ""], strict=False):
            if was != now:
                found.append(f"{node}:\n    {was}\n    {now}")
                break
    return "\n".join(found)


@pytest.mark.parametrize(("name", "version"), IN_ORDER)
def test_under_other_names_the_same_happens(name: str, version: str) -> None:
    scenario = CATALOGUE[name]
    old, new = seen(scenario, version, SAME), seen(scenario, version, odd(scenario, ids_in_order=name in TIES))
    assert not (parts := parting(old, new)), f"seed {SEED}:\n{parts}"
    assert new.outcome == old.outcome
    assert new.held == old.held


def test_the_order_of_ids_decides_only_which_of_two_dead_leaves_the_isr_first() -> None:
    """Semantics 11.4: one state in between, if the controller sees both deaths in one event.
    All responses are the same.
    """
    scenario = CATALOGUE["min-insync"]
    found = []
    for seed in range(1, 11):
        old, new = seen(scenario, "2.8", SAME, seed), seen(scenario, "2.8", odd(scenario), seed)
        assert old.observed.timeline == new.observed.timeline
        assert old.observed.truncations == new.observed.truncations
        (one,), (other,) = old.observed.states.values(), new.observed.states.values()
        differ = [(was.entry, now.entry) for was, now in zip(one, other, strict=True) if was != now]
        found += [(tuple(was["isr"]), tuple(now["isr"])) for was, now in differ]
    assert set(found) == {((0, 2), (0, 1))}


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("group-coordinator-isolated", "2.8"),
        ("retry-duplicates", "2.6"),
        ("retry-duplicates-idempotent", "2.6"),
        ("incident-remedies", "0.10.2"),
        ("incident-remedies", "1.1"),
        ("incident-remedies", "2.8"),
    ],
)
def test_the_broker_that_a_client_tries_first_changes_no_outcome(name: str, version: str) -> None:
    """Semantics 6; nor does who of two dead leaves first (11.4)."""
    scenario = CATALOGUE[name]
    assert seen(scenario, version, SAME).outcome == seen(scenario, version, odd(scenario)).outcome


def test_a_rule_that_looked_at_ids_would_be_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutant in which the lowest id leads, in the place of the first of the assignment."""
    offline = elections.offline

    def lowest_id(
        assignment: Sequence[BrokerId],
        state: Leadership,
        live: Collection[BrokerId],
        unclean: bool,
        marks_recovery: bool = False,
    ) -> Leadership | None:
        return offline(sorted(assignment), state, live, unclean, marks_recovery=marks_recovery)

    monkeypatch.setattr(elections, "offline", lowest_id)
    scenario = CATALOGUE["az-isolated-leader"]
    old, new = seen(scenario, "2.6", SAME), seen(scenario, "2.6", odd(scenario))
    assert old.outcome != new.outcome
    assert "leader" in parting(old, new)


def test_every_version_is_of_one_era() -> None:
    assert [version for era in ERAS for version in era] == list(LADDER)
    assert {name for name, _ in ERA_PLAYS} == {*WITH_ZOOKEEPER}
