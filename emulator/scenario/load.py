"""A scenario file to a `Scenario`, fully validated.

Every error is reported with line, column and nearest word.
"""

from collections.abc import Callable, Iterable
from typing import Any

from ruamel.yaml.nodes import MappingNode, Node

from emulator.scenario import scenario_model as m
from emulator.scenario.document import ScenarioErrors, shown
from emulator.scenario.expectations import read_exits, read_expectations, read_races, read_version, read_violations
from emulator.scenario.step_reader import StepReader
from emulator.scenario.topology_reading import read_topology
from emulator.scenario.verbs import MAX_STEPS, controller_number, read_script
from emulator.settings.setting_registry import found as known_setting
from emulator.topology import KRAFT, broker_name
from protocol.ids import ID_CHARACTERS_MAX, can_be_id
from protocol.versions import DEFAULT_VERSION

KEYS = (
    "id",
    "title",
    "article",
    "kafka",
    "metadata",
    "nodes",
    "topology",
    "settings",
    "settings_by_broker",
    "settings_by_version",
    "controller_settings",
    "settings_files",
    "network",
    "speed",
    "steps",
    "expectations",
    "expects_violations",
    "expects_exits",
    "races",
    "as_recorded",
    "first_controller",
)

REQUIRED = ("id", "title", "steps")

__all__ = ["ScenarioErrors", "load_scenario"]


def load_scenario(text: str, name: str, notice: Callable[[str], None] = lambda _: None) -> m.Scenario:
    """A scenario from its file's text. Raises ScenarioErrors with every error of the file.

    `name`: prefix of each line of an error. `notice`: receives a line for each old name.
    """
    reader = StepReader()
    root = reader.document(text)
    scenario = None if root is None else _scenario(reader, root)
    if reader.problems:
        raise ScenarioErrors(name, reader.problems)
    for line, column, what in reader.notices.values():
        notice(f"{name}:{line}:{column}: {what}")
    assert scenario is not None, "an error that is not reported"
    return scenario


def _scenario(reader: StepReader, root: Node) -> m.Scenario | None:
    fields = reader.fields(root, "a scenario", KEYS, REQUIRED)
    if not isinstance(root, MappingNode):
        return None
    kafka = _kafka(reader, fields.get("kafka"))
    reader.topology = read_topology(reader, fields, kafka[0])
    settings = _settings(reader, fields["settings"]) if "settings" in fields else {}
    by_broker = _by_broker(reader, fields.get("settings_by_broker"))
    by_version = _by_version(reader, fields.get("settings_by_version"))
    _check_lifetimes(reader, fields.get("settings"), kafka)
    reader.num_partitions = settings.get("num.partitions", 1)
    reader.log_dirs = {broker_name(broker): own["log.dirs"] for broker, own in by_broker.items() if "log.dirs" in own}
    reader.log_dirs[""] = settings.get("log.dirs", "")
    # Names first: whatever is wrong with the steps, expectations are judged by the right versions and nodes.
    steps = read_script(reader, fields["steps"]) if "steps" in fields else ()
    if unrolled(steps) > MAX_STEPS:
        reader.problem(fields["steps"], f"more than {MAX_STEPS} steps, repeats counted")
    expectations = read_expectations(reader, fields["expectations"], kafka) if "expectations" in fields else ()
    violations, exits = fields.get("expects_violations"), fields.get("expects_exits")
    return m.Scenario(
        id=_id(reader, fields.get("id")),
        title=_text(reader, fields.get("title")),
        article=_text(reader, fields.get("article")),
        kafka=kafka,
        topology=reader.topology,
        settings=settings,
        settings_by_broker=by_broker,
        settings_by_version=by_version,
        controller_settings=_controller_settings(reader, fields.get("controller_settings")),
        settings_files=reader.each(fields["settings_files"], "settings files", reader.label, single=True)
        if "settings_files" in fields
        else (),
        steps=steps,
        expectations=expectations,
        expects_violations=read_violations(reader, violations, kafka) if violations is not None else (),
        expects_exits=read_exits(reader, exits, kafka) if exits is not None else (),
        races=read_races(reader, fields["races"]) if "races" in fields else (),
        as_recorded="as_recorded" in fields and bool(reader.truth(fields["as_recorded"], "as_recorded")),
        first_controller=controller_number(reader, fields["first_controller"])
        if "first_controller" in fields
        else None,
        speed=reader.number(fields["speed"], "speed", low=0.01, high=1000) if "speed" in fields else None,
        network=_network(reader, fields["network"]) if "network" in fields else m.Network(),
    )


def unrolled(steps: Iterable[m.AnyStep]) -> int:
    """Number of steps, with repetitions."""
    return sum(step.times * unrolled(step.steps) if isinstance(step, m.Repeat) else 1 for step in steps)


def _id(reader: StepReader, node: Node | None) -> str:
    """Runs are called after it: it is part of a path."""
    before = len(reader.problems)
    given = _text(reader, node)
    if node is not None and len(reader.problems) == before and not can_be_id(given):
        of = f"letters, digits, '.', '_' and '-', at most {ID_CHARACTERS_MAX}"
        reader.problem(node, f"an id is of {of}, got {shown(given)}")
    return given


def _text(reader: StepReader, node: Node | None) -> str:
    return " ".join((reader.text(node) or "").split()) if node is not None else ""


def _kafka(reader: StepReader, node: Node | None) -> tuple[str, ...]:
    if node is None:
        return (DEFAULT_VERSION,)
    versions = reader.each(node, "versions", lambda n: read_version(reader, n), single=True)
    return versions or (DEFAULT_VERSION,)


def _settings(reader: StepReader, node: Node) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, key, value in reader.pairs(node, "settings"):
        found.update(reader.setting(name, key, value))
    return found


def _by_broker(reader: StepReader, node: Node | None) -> dict[int, dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    for _, key, value in reader.pairs(node, "settings by broker") if node is not None else ():
        broker = reader.broker(key)
        settings: dict[str, Any] = {}
        for name, name_key, given in reader.pairs(value, "settings"):
            settings.update(reader.brokers_setting(name, name_key, given))
        if broker is not None:
            found[broker] = settings
    return found


def _by_version(reader: StepReader, node: Node | None) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for _, key, value in reader.pairs(node, "settings by version") if node is not None else ():
        version = read_version(reader, key)
        settings: dict[str, Any] = {}
        for name, name_key, given in reader.pairs(value, "settings"):
            settings.update(reader.setting(name, name_key, given, version))
        if version is not None:
            found[version] = settings
    return found


def _controller_settings(reader: StepReader, node: Node | None) -> dict[str, Any]:
    if node is None:
        return {}
    if reader.topology.metadata != KRAFT:
        reader.problem(node, "controller_settings are of KRaft's controllers; this cluster's metadata are in ZooKeeper")
    return _settings(reader, node)


def _check_lifetimes(reader: StepReader, node: Node | None, kafka: tuple[str, ...]) -> None:
    """A setting that none of the scenario's versions has would be dropped always."""
    for name, key, _ in reader.pairs(node, "settings") if isinstance(node, MappingNode) else ():
        setting = known_setting(name)
        if setting is not None and not any(setting.exists_in(version) for version in kafka):
            versions = ", ".join(kafka)
            reader.problem(key, f"{setting.key} is not a setting of Kafka {versions}: {setting.lifetime}")


def _network(reader: StepReader, node: Node) -> m.Network:
    fields = reader.fields(node, "network", ("latency_ms", "recovery"))
    latency = reader.number(fields["latency_ms"], "latency_ms") if "latency_ms" in fields else None
    recovery = reader.word(fields["recovery"], "recovery", ("rto", "instant")) if "recovery" in fields else None
    return m.Network(latency_ms=latency, recovery=recovery or "rto")
