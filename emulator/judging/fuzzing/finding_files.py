"""A drawn scenario as a readable file that `faultline run` plays."""

import re
from typing import Any

import msgspec

from emulator.old_names import renamed_verb
from emulator.scenario import scenario_model as m
from emulator.scenario.document import ScenarioErrors
from emulator.scenario.load import load_scenario
from emulator.scenario.observations.observation_model import COMBINED, SEPARATE
from emulator.scenario.topology_reading import FIRST_VOTERS
from emulator.scenario.write import written_step
from emulator.topology import KRAFT

PLAIN = re.compile(r"[A-Za-z][\w./-]*( [\w./-]+)*")
WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})
"""Words that YAML does not take for text."""
ONLY = frozenset({"node", "s"})
"""Keys that a verb takes without their name."""


def readable(scenario: m.Scenario, comment: str = "") -> str:
    """The file of a scenario. `comment`: its first lines, each without the comment mark."""
    topology = scenario.topology
    placed = topology.nodes if topology.metadata == KRAFT else topology.with_role("broker")
    azs = len({node.az for node in placed if node.az})
    kraft = topology.metadata == KRAFT
    roles = ("broker", "controller" if kraft else "session", "client")
    counts = {f"{role}s": len(topology.with_role(role)) for role in roles}
    lines = [f"# {line}" for line in comment.splitlines()]
    lines += [f"id: {scenario.id}", f"title: {_flow(scenario.title)}", f"kafka: {_flow(list(scenario.kafka))}"]
    if kraft:
        combined = any({"broker", "controller"} <= set(node.roles) for node in topology.nodes)
        lines += [f"metadata: {KRAFT}", f"nodes: {COMBINED if combined else SEPARATE}"]
    first = [topology.node(name).number for name in topology.initial_controllers]
    voters = {FIRST_VOTERS: first} if first else {}
    lines.append(f"topology: {_flow({**counts, 'azs': azs, **voters})}")
    if scenario.settings:
        lines += ["settings:", *(f"  {name}: {_flow(value)}" for name, value in scenario.settings.items())]
    if scenario.settings_by_broker:
        lines.append("settings_by_broker:")
        lines += [f"  {broker}: {_flow(own)}" for broker, own in scenario.settings_by_broker.items()]
    lines += ["steps:", *(f"  - {_line(_short(written_step(step)))}" for step in scenario.steps)]
    return "\n".join(lines) + "\n"


def read(text: str, name: str) -> m.Scenario | None:
    """The scenario of a file; None where it is refused, such as a step of a dead node."""
    try:
        return load_scenario(text, name)
    except ScenarioErrors:
        return None


def _short(step: dict[str, Any]) -> dict[str, Any]:
    """A step without empty values, its moment last; a verb's only key (node, s) has no name."""
    plain: dict[str, Any] = msgspec.to_builtins(step)
    short = {}
    for verb, keys in plain.items():
        short[verb] = keys
        if isinstance(keys, dict):
            short[verb] = keys = {key: value for key, value in keys.items() if value not in ({}, [], ())}
            if len(keys) == 1 and (keys.keys() & ONLY):
                alone = next(iter(keys.values()))
                if renamed_verb("scenario", verb, alone) is None:  # `pause: 0` is still a sleep
                    short[verb] = alone
    if "at_s" in short:
        short["at_s"] = short.pop("at_s")
    return short


def _line(step: dict[str, Any]) -> str:
    """A step in one line: `kill: 2`, `{kill: 2, at_s: 14}`, `heal`."""
    if len(step) > 1:
        return _flow(step)
    verb, keys = next(iter(step.items()))
    return verb if keys == {} else f"{verb}: {_flow(keys)}"


def _flow(value: Any) -> str:
    """A value in one line of YAML, quoted where necessary."""
    match value:
        case dict():
            return "{" + ", ".join(f"{_flow(key)}: {_flow(one)}" for key, one in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(_flow, value)) + "]"
        case float() if value == int(value):
            return str(int(value))
        case str() if PLAIN.fullmatch(value) and value.lower() not in WORDS:
            return value
    return msgspec.json.encode(value).decode()
