"""A scenario as the text of a file, which `load_scenario` reads back as the same scenario.

For a run's `scenario.yaml` (as resolved) and for recordings that become scenarios. One line per step; values are
written as JSON, which is YAML.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from emulator.faults.link_rule_building import MESSAGE_WORDS
from emulator.old_names import current, renamed_verb
from emulator.scenario import scenario_model as m
from emulator.scenario.recording import do_entry
from emulator.scenario.waits import written as written_condition
from emulator.topology import KRAFT

MACHINE_VERBS = frozenset(step.VERB for step in m.MACHINE_STEPS)

API_WORDS = {api: word for word, api in MESSAGE_WORDS.items()}


def written(scenario: m.Scenario) -> str:
    """The whole file."""
    lines = [f"{key}: {_json(getattr(scenario, key))}" for key in ("id", "title", "article", "kafka")]
    if scenario.topology.metadata == KRAFT:
        lines.append(f"metadata: {KRAFT}")
    lines.append("topology:\n  nodes:")
    lines += [
        f"    {node.name}: {_json({'az': node.az, 'process.roles': node.roles})}"
        for node in scenario.topology.nodes
        if "observer" not in node.roles
    ]
    if scenario.topology.initial_controllers:
        numbers = [scenario.topology.node(name).number for name in scenario.topology.initial_controllers]
        lines.append(f"  initial_controllers: {_json(numbers)}")
    lines += _block("settings", scenario.settings)
    if scenario.settings_by_broker:
        lines.append(f"settings_by_broker: {_json(scenario.settings_by_broker)}")
    if scenario.settings_by_version:
        lines.append(f"settings_by_version: {_json(scenario.settings_by_version)}")
    if scenario.controller_settings:
        lines.append(f"controller_settings: {_json(scenario.controller_settings)}")
    if scenario.settings_files:
        lines.append(f"settings_files: {_json(scenario.settings_files)}")
    lines.append(f"network: {_json(_without_none(msgspec.to_builtins(scenario.network)))}")
    if scenario.speed is not None:
        lines.append(f"speed: {_json(scenario.speed)}")
    lines += _list("steps", (written_step(step) for step in scenario.steps))
    lines += _list("expectations", map(_expectation, scenario.expectations))
    lines += _list("expects_violations", map(_written_violation, scenario.expects_violations))
    if scenario.expects_exits:
        lines += _list("expects_exits", (_without_none(msgspec.to_builtins(e)) for e in scenario.expects_exits))
    lines += _list("races", map(msgspec.to_builtins, scenario.races))
    if scenario.as_recorded:
        lines.append("as_recorded: true")
    if scenario.first_controller is not None:
        lines.append(f"first_controller: {scenario.first_controller}")
    return "\n".join(lines) + "\n"


def _written_violation(violation: m.ExpectedViolation) -> dict[str, Any]:
    written = _without_none(msgspec.to_builtins(violation))
    return {name: value for name, value in written.items() if name != "sometimes" or value}


def written_step(step: m.AnyStep) -> Any:
    """A step as in a file, in plain values."""
    at = {} if step.at_s is None else {"at_s": step.at_s}
    match step:
        case m.Background(name=name, step=inner):
            return {**at, "background": name, **written_step(inner)}
        case m.Await(name=name):
            return {**at, "await": name}
        case m.Repeat(times=times, steps=steps):
            return {**at, "repeat": {"times": times, "steps": [written_step(one) for one in steps]}}
        case m.RequireController(controller=controller):
            return {**at, step.VERB: _without_none({"controller": controller})}
        case m.Record():
            return {**at, "record": _without_none({"what": step.what, "partition": step.partition})}
        case m.Wait(until=until, called=called, limit_s=limit_s):
            may = {"may_time_out": True} if step.may_time_out else {}
            return {**at, "wait": {"until": written_condition(until), "called": called, "limit_s": limit_s, **may}}
    if isinstance(step, m.TransactionStep):
        return {**at, step.VERB: step.keys()}
    entry = do_entry(step)
    assert entry is not None, f"{type(step).__name__} has no verb"
    recorded = entry.pop("do")
    entry.pop("note", None)
    renamed = renamed_verb("scenario", recorded, entry)
    verb = recorded if renamed is None else renamed.name
    entry, _ = current("scenario", verb, entry)
    if verb in MACHINE_VERBS and "broker" in entry:
        entry["node"] = entry.pop("broker")
    if verb in MACHINE_VERBS and "controller" in entry:
        entry["node"] = f"controller-{entry.pop('controller')}"
    if verb in MACHINE_VERBS and "nodes" in entry:
        entry["node"] = entry.pop("nodes")
    if "only" in entry:
        entry["only"] = [API_WORDS.get(word, word) for word in entry["only"]]
    return {**at, verb: _without_none(entry)}


def _expectation(expectation: m.Expectation) -> dict[str, Any]:
    kafka = {"kafka": expectation.kafka} if expectation.kafka else {}
    return {"text": expectation.text, **kafka, expectation.of: expectation.what}


def _without_none(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None and value != ()}


def _block(key: str, values: dict[str, Any]) -> list[str]:
    return [f"{key}:", *(f"  {name}: {_json(value)}" for name, value in values.items())] if values else []


def _list(key: str, items: Iterable[Any]) -> list[str]:
    lines = [f"  - {_json(item)}" for item in items]
    return [f"{key}:", *lines] if lines else [f"{key}: []"]


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
