"""The story of a scenario: its steps, one after the other, for a reader of the page. Pure.

Of a running cluster each step has the command that does it, and the equal request over HTTP. A step that only looks or
waits has none, and so has one that no command can do. Of a finished run each step has its time.
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from emulator.cluster.http.request_exchange import encoded
from emulator.cluster.page.story_requests import request_of
from emulator.scenario import scenario_model as m
from emulator.scenario.recording import do_entry
from emulator.topology import Topology
from protocol.ids import topic_partition_text

STEPS_MAX: Final = 200
_UNSAID: Final = ("do", "t", "note", "timeout_ms", "socket_timeout_s", "limit_s")
LOOK: Final = "look at the nodes' own views"
_EMPTY: Final[tuple[Any, ...]] = (None, "", [], {}, ())


def story_of(scenario: m.Scenario) -> list[dict[str, Any]]:
    """Steps for a running cluster: `text`, `command`, `method`, `path` and `body`.

    The last four are "" or null without a command. The starts at the beginning are left out, because all nodes run.
    """
    first = _first_partition(scenario.steps)
    steps = list(_unfolded(scenario.steps))
    while steps and _only_starts(steps[0]):
        del steps[0]
    shown = [one for step in steps if (one := _step_shown(step, scenario.topology, first)) is not None]
    return _bounded(shown)


def story_of_run(timeline: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Steps of a finished run, each with `at_ms`. `timeline`: of its observations."""
    return _bounded([{"text": entry_text(one), "at_ms": one["t"] * 1000.0} for one in timeline if "do" in one])


def entry_text(entry: Mapping[str, Any]) -> str:
    """A `do` entry of a timeline in words: `cut az-0`, `produce broker-0, values a,b, acks all`."""
    match entry["do"]:
        case "wait":
            return f"wait until {entry['until']}"
        case "pause" if "s" in entry:
            return f"wait {entry['s']:g} s"
        case "settle":
            return f"wait until nothing has changed for {entry['quiet_s']:g} s"
        case "snapshot":
            return f"look at the logs: {entry['label']}"
        case "metadata" | "describe-quorum":
            return LOOK
        case does:
            keys = [key for key, value in entry.items() if key not in _UNSAID and value not in _EMPTY]
            texts = [_key_text(key, entry[key]) for key in keys if (key, entry[key]) != ("retries", 0)]
            return f"{does} {', '.join(texts)}".rstrip()


def _key_text(key: str, value: Any) -> str:
    if key in ("broker", "az", "controller") and isinstance(value, int):
        return f"{key}-{value}"
    if key == "acks" and value == m.ALL_ACKS:
        return "acks all"
    return str(value) if key in ("node", "topic", "az") else f"{key} {_plain(value)}"


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{name}={_plain(of)}" for name, of in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ",".join(map(_plain, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _step_shown(step: m.AnyStep, topology: Topology, first: str) -> dict[str, Any] | None:
    entry = do_entry(step)
    if entry is None:
        return None
    shown = {"text": entry_text(entry), "command": "", "method": "", "path": "", "body": None}
    request = request_of(step, topology, first)
    if request is not None:
        words, ask = request
        method, target, body = encoded(ask, 0.0)
        command = shlex.join(["faultline", *words])
        shown |= {"command": command, "method": method, "path": target.partition("?")[0]}
        shown["body"] = msgspec.json.decode(body) if body else None
    return shown


def _unfolded(steps: Iterable[m.AnyStep]) -> Iterator[m.AnyStep]:
    """Steps in order, those in the background in their place, repeated ones as often."""
    for step in steps:
        match step:
            case m.Background(step=inner):
                yield from _unfolded([inner])
            case m.Repeat(times=times, steps=several):
                for _ in range(min(times, STEPS_MAX + 1)):
                    yield from _unfolded(several)
            case _:
                yield step


def _only_starts(step: m.AnyStep) -> bool:
    return all(isinstance(one, m.Start) for one in (step.steps if isinstance(step, m.Together) else (step,)))


def _first_partition(steps: Iterable[m.AnyStep]) -> str:
    """The partition that a step means without naming one."""
    created = (step.topic for step in _unfolded(steps) if isinstance(step, m.CreateTopic))
    return topic_partition_text(next(created, "t"), 0)


def _bounded(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The steps up to the limit; to look again at once is no step."""
    before = ["", *(one["text"] for one in steps)]
    shown = [one for one, text in zip(steps, before, strict=False) if one["text"] != text or text != LOOK]
    if len(shown) <= STEPS_MAX:
        return shown
    more = {**shown[STEPS_MAX], "text": f"{len(shown) - STEPS_MAX} more steps are not shown"}
    return [*shown[:STEPS_MAX], {**more, "command": "", "method": "", "path": "", "body": None}]
