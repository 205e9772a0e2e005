"""A scenario's steps on the page: texts, and commands that are the shown requests."""

from __future__ import annotations

import shlex
from functools import cache
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from emulator.cli.app import app
from emulator.cluster import control_requests as r
from emulator.cluster.http.request_exchange import encoded
from emulator.cluster.http.request_parsing import read_request
from emulator.cluster.page.story_steps import LOOK, STEPS_MAX, entry_text, story_of, story_of_run
from emulator.judging.crash_testing.crash_plan import scenario_of
from emulator.runs.scenario_sources import catalogue
from emulator.scenario import scenario_model as m
from emulator.scenario.conditions import NewLeader

CALLS = "emulator.cli.commands.control_calls"


@cache
def commanded() -> tuple[dict[str, Any], ...]:
    """A step of the catalogue for each command with other options or another number of places."""
    steps = (one for name in catalogue() for one in story_of(scenario_of(name)) if one["command"])
    return tuple({_form(one["command"]): one for one in steps}.values())


def _form(command: str) -> tuple[str, ...]:
    _, verb, *words = shlex.split(command)
    return verb, str(len(words)), *sorted({word for word in words if word.startswith("--") or not word[0].isalnum()})


def request_sent_by(command: str, monkeypatch: pytest.MonkeyPatch) -> r.ControlRequest:
    """The request that a command line sends."""
    sent: list[r.ControlRequest] = []

    def ask(_at: object, what: r.ControlRequest, _wait_s: float) -> r.Answer:
        sent.append(what)
        return r.unknown("asked")

    monkeypatch.setattr(f"{CALLS}.choose", lambda _name: SimpleNamespace(registration=None))
    monkeypatch.setattr(f"{CALLS}.ask", ask)
    assert app(shlex.split(command)[1:], exit_on_error=False, result_action="return_value") == 3, command
    (what,) = sent
    return what


@pytest.mark.slow
def test_each_command_of_the_catalogue_is_the_shown_request(
    monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    verbs = set()
    for one in commanded():
        with subtests.test(one["command"]):
            method, target, body = encoded(request_sent_by(one["command"], monkeypatch), 0.0)
            sent = msgspec.json.decode(body) if body else None
            assert (method, target.partition("?")[0], sent) == (one["method"], one["path"], one["body"])
            assert read_request(method, target, body).ask is not None
            verbs.add(shlex.split(one["command"])[1])
    assert verbs >= {"cut", "heal", "kill", "start", "pause", "resume", "topic", "produce", "consume", "workload"}


def test_a_story_has_the_steps_behind_the_starts_in_words() -> None:
    story = story_of(scenario_of("az-isolated-leader"))
    texts = [one["text"] for one in story]
    assert texts[0] == "create-topic t, assignment 0,1,2"
    assert "cut az-0" in texts and "wait until new leader" in texts
    (cut,) = (one for one in story if one["text"] == "cut az-0")
    assert (cut["command"], cut["method"], cut["path"]) == ("faultline cut az-0", "POST", "/v1/faults")
    (waits, *_) = (one for one in story if one["text"].startswith("wait until"))
    assert (waits["command"], waits["method"], waits["path"], waits["body"]) == ("", "", "", None)


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ({"do": "pause", "s": 2.0}, "wait 2 s"),
        ({"do": "settle", "quiet_s": 3, "limit_s": 45}, "wait until nothing has changed for 3 s"),
        ({"do": "kill", "broker": 2}, "kill broker-2"),
        ({"do": "cut", "az": 0}, "cut az-0"),
        ({"do": "snapshot", "label": "after the heal"}, "look at the logs: after the heal"),
        ({"do": "produce", "broker": 0, "values": ["a", "b"], "note": "x"}, "produce broker-0, values a,b"),
    ],
)
def test_texts_of_entries(entry: dict[str, Any], text: str) -> None:
    assert entry_text(entry) == text


def test_steps_of_a_finished_run_have_their_times() -> None:
    timeline = [{"t": 0.5, "do": "start", "broker": 1}, {"t": 0.7, "saw": "controller"}, {"t": 2.0, "do": "heal"}]
    assert story_of_run(timeline) == [
        {"text": "start broker-1", "at_ms": 500.0},
        {"text": "heal", "at_ms": 2000.0},
    ]
    looks = [{"t": at, "do": "metadata", "broker": broker} for at, broker in ((1.0, 0), (1.1, 1), (1.2, 2))]
    assert story_of_run([*looks, timeline[0], looks[0]])[::2] == [
        {"text": LOOK, "at_ms": 1000.0},
        {"text": LOOK, "at_ms": 1000.0},
    ]


def test_repeated_steps_come_as_often_and_a_long_story_ends() -> None:
    def scenario(times: int) -> m.Scenario:
        repeated = m.Repeat(times=times, steps=(m.Cut(links=m.AzLinks("az-0")), m.Heal()))
        return m.Scenario(id="x", title="x", kafka=("2.8",), steps=(m.Start("broker-0"), repeated))

    assert [one["text"] for one in story_of(scenario(2))] == ["cut az-0", "heal", "cut az-0", "heal"]
    long = story_of(scenario(10**9))
    assert len(long) == STEPS_MAX + 1 and long[-1]["text"].endswith("more steps are not shown")


def test_what_no_command_does_has_none() -> None:
    steps = (
        m.PowerLoss("broker-0", partition="t-0"),
        m.ElectController(),
        m.Produce(broker=None, values=("a",), acks=1, transactional_id="x"),
        m.Wait(until=NewLeader("t-0"), called="a new leader"),
    )
    story = story_of(m.Scenario(id="x", title="x", kafka=("2.8",), steps=steps))
    assert len(story) == 4 and not any(one["command"] or one["path"] for one in story)
