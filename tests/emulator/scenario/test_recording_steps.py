"""Every recording's script becomes typed steps and comes back as the same `do` entries."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from emulator.scenario import scenario_model as m
from emulator.scenario.conditions import IsrRestored, Leader, NewLeader, SessionsExpired
from emulator.scenario.observations.observation_model import Observations
from emulator.scenario.observations.recording_files import load
from emulator.scenario.recorded_conditions import MEANING, STABLE_OFFSET, Context, UnknownText, meaning
from emulator.scenario.recording import ACTIVE_CONTROLLER, RECORDED, do_entry, steps_of_recording
from protocol.ids import BrokerId, Offset
from tests.ids import brokers

GOLDEN = Path(__file__).parents[2] / "golden"
FILES = sorted(path.relative_to(GOLDEN).as_posix() for path in GOLDEN.glob("*/*.json"))


@cache
def recording(name: str) -> Observations:
    return load(GOLDEN / name)


def once(timeline: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The timeline without requests that were repeated after a retriable answer.

    Producer ids are numbered as they appear.
    """
    request: dict[str, Any] = {}
    numbers: dict[int, int] = {-1: -1}
    retriable = False
    for entry in timeline:
        if "do" in entry:
            again = retriable and entry.get("repeat") and {**entry, "t": 0} == {**request, "t": 0}
            request, retriable = entry, False
            if again:
                continue
        elif request.get("repeat"):
            errors = list(entry["errors"].values()) if "errors" in entry else [entry.get("error")]
            retriable = any(error in (14, 15, 16, 51) or isinstance(error, str) for error in errors)
        if isinstance(entry.get("pid"), int):
            number = numbers.setdefault(entry["pid"], len(numbers) - 1)
            entry = {**entry, "pid": number}
        yield entry


@pytest.mark.parametrize("name", FILES)
def test_the_script_comes_back_as_it_was(name: str) -> None:
    o = recording(name)
    script = [{k: v for k, v in entry.items() if k != "t"} for entry in once(o.timeline) if "do" in entry]
    assert [entry for step in steps_of_recording(o) if (entry := do_entry(step)) is not None] == script


@pytest.mark.parametrize("name", FILES)
def test_unrequested_results_become_steps_in_their_place(name: str) -> None:
    """The order of scripted steps and recorded states is the timeline's."""
    o = recording(name)
    kinds = (*RECORDED, ACTIVE_CONTROLLER)
    expected = [e.get("do") or e["saw"] for e in once(o.timeline) if "do" in e or e["saw"] in kinds]
    made = [
        ACTIVE_CONTROLLER
        if isinstance(step, m.RequireController)
        else step.what
        if isinstance(step, m.Record)
        else (do_entry(step) or {"do": None})["do"]
        for step in steps_of_recording(o)
        if not isinstance(step, m.Await)
    ]
    assert made == expected


def test_every_wait_of_every_recording_has_a_meaning() -> None:
    texts = {e["until"] for name in FILES for e in recording(name).timeline if e.get("do") == "wait"}
    assert {text for text in texts if not STABLE_OFFSET.fullmatch(text)} <= set(MEANING)


def test_an_unknown_wait_is_refused() -> None:
    with pytest.raises(UnknownText, match="until 'the end of days': not a wait of the recordings"):
        meaning("the end of days", Context(frozenset()))


def steps(name: str) -> tuple[m.AnyStep, ...]:
    return steps_of_recording(recording(name))


def test_the_dual_leader_script() -> None:
    """az-isolated-leader, up to the first write on both sides."""
    assert steps("az-isolated-leader@2.6/1.json")[:14] == (
        m.Start(node="broker-2"),
        m.Start(node="broker-1"),
        m.Start(node="broker-0"),
        m.CreateTopic(topic="t", assignment=(brokers(0, 1, 2),)),
        m.Record(what="partition-state"),
        m.Record(what="controller"),
        m.Produce(broker=BrokerId(0), values=("a", "b"), acks=-1),
        m.Sleep(seconds=2.5),
        m.TakeSnapshot(label="before"),
        m.Cut(links=m.AzLinks("az-0")),
        m.Wait(until=NewLeader(), called="new leader", limit_s=90),
        m.Record(what="partition-state"),
        m.Record(what="controller"),
        m.Produce(broker=BrokerId(0), values=("c", "d", "e"), acks=1),
    )


def test_a_write_that_comes_back_during_a_wait_ran_in_the_background() -> None:
    """min-insync: b is parked until the ISR has shrunk.

    Its answer came before or after the wait's.
    """
    produce = m.Produce(broker=BrokerId(0), values=("b",), acks=-1, timeout_ms=30000, socket_timeout_s=40)
    for name in ("min-insync@2.8/1.json", "min-insync@2.8/2.json"):
        found = steps(name)
        at = found.index(m.Background(name="produce b", step=produce))
        assert isinstance(found[at + 1], m.Wait)
        assert found[at + 2 : at + 4] == (m.Await(name="produce b"), m.Record(what="partition-state"))
    assert steps("min-insync@2.8/1.json") == steps("min-insync@2.8/2.json")


def test_all_sessions_means_those_of_the_dead() -> None:
    waits = [step for step in steps("power-loss-before-sync@2.8/1.json") if isinstance(step, m.Wait)]
    assert [wait.until for wait in waits] == [SessionsExpired(frozenset({0, 1, 2})), Leader(1), IsrRestored()]


def test_a_wait_that_the_recording_did_not_reach_need_not_be_reached() -> None:
    o = load(GOLDEN / "power-loss-before-sync@2.8/1.json")
    entries = [e for e in o.timeline if e.get("saw") == "reached"]
    entries[1]["saw"] = "not-reached"
    waits = [step for step in steps_of_recording(o) if isinstance(step, m.Wait)]
    assert [wait.may_time_out for wait in waits] == [False, True, False]


@pytest.mark.parametrize(
    ("step", "entry"),
    [
        (m.Kill(node="session-1"), {"do": "kill", "node": "session-1"}),
        (
            m.Together(steps=(m.DiskFull(node="broker-1"), m.DiskFull(node="session-0"))),
            {"do": "disk-full", "nodes": ["broker-1", "session-0"]},
        ),
        (m.Cut(links=m.OneWayLinks("broker-0", "az-1")), {"do": "cut", "from": 0, "to": "az-1"}),
        (
            m.Cut(links=m.AzLinks("az-0"), purposes=("session",), apis=("Fetch",), expects_traffic=False),
            {"do": "cut", "az": 0, "only": ["session", "Fetch"], "expects_traffic": False},
        ),
        (m.Heal(links=m.PairLinks(("broker-0", "session-1"))), {"do": "heal", "link": [0, "session-1"]}),
        (m.Heal(links=m.AzLinks("az-1"), kind="cut"), {"do": "heal", "az": 1, "kind": "cut"}),
        (
            m.Delay(links=m.AzLinks("az-1"), delay_ms=5),
            {"do": "delay", "az": 1, "delay_ms": 5, "jitter_ms": 0.0},
        ),
        (m.Loss(links=m.AzLinks("az-1"), share=0.1), {"do": "loss", "az": 1, "rate": 0.1}),
        (m.Hold(links=m.AzLinks("az-1")), {"do": "hold", "az": 1}),
        (
            m.PowerLoss(node="broker-1", batches_kept=1),
            {"do": "power-loss", "broker": 1, "batches_kept": 1},
        ),
        (m.DiskFull(node="broker-1"), {"do": "disk-full", "broker": 1}),
        (
            m.CreateTopic(topic="t", assignment=(brokers(0, 1), brokers(1, 2))),
            {"do": "create-topic", "topic": "t", "assignment": [[0, 1], [1, 2]], "configs": {}},
        ),
        (
            m.Fetch(broker=BrokerId(0), offset=Offset(3), client="client-1", partition="t-1"),
            {"do": "fetch", "broker": 0, "offset": 3, "client": "client-1", "partition": "t-1"},
        ),
        (m.Repeat(times=2, steps=()), None),
    ],
)
def test_steps_that_no_recording_has_are_entries_too(step: m.AnyStep, entry: dict[str, object] | None) -> None:
    assert do_entry(step) == entry
