"""A scenario, a version and overrides become what a run is told: settings in force per node, topology, steps."""

from typing import Any

import msgspec

from emulator.node.specs import RunSpec
from emulator.runs.client_defaults import with_client_settings
from emulator.scenario import model as m
from emulator.scenario.model import Scenario
from emulator.scenario.settings import resolve_settings
from protocol.versions import gates_for, ladder_name

SESSION_SETTINGS = {"tickTime": "tick_time_ms", "initLimit": "init_limit", "syncLimit": "sync_limit"}


class Resolved(msgspec.Struct, frozen=True):
    """What a world needs. `record_magic`: the format the player's client writes."""

    scenario: Scenario
    spec: RunSpec
    record_magic: int


def resolve(scenario: Scenario, kafka_version: str | None = None, overrides: dict[str, Any] | None = None) -> Resolved:
    """Raises UnknownVersion, UnusableSetting, UnusableProtocolVersion."""
    version = ladder_name(kafka_version or scenario.default_version)
    scenario = as_played(scenario, version, overrides or {})
    steps = with_client_settings(tuple(as_set(step, scenario.settings) for step in scenario.steps), scenario.settings)
    scenario = msgspec.structs.replace(scenario, steps=steps)
    cluster = dict(scenario.settings)
    session = {name: int(cluster.pop(name)) for name in SESSION_SETTINGS if name in cluster}
    settings: dict[str, dict[str, Any]] = {}
    for node in scenario.topology.with_role("broker"):
        own = scenario.settings_by_broker.get(node.number, {})
        settings[node.name] = dict(resolve_settings(version, cluster, own))
    for node in scenario.topology.with_role("controller"):
        settings.setdefault(node.name, dict(resolve_settings(version, cluster, {})))
    limits = {SESSION_SETTINGS[name]: value for name, value in session.items()}
    spec = RunSpec(scenario.topology, version, settings, **limits)
    return Resolved(scenario, spec, gates_for(version, cluster.get("inter.broker.protocol.version")).record_magic)


def as_set(step: m.AnyStep, settings: dict[str, Any]) -> m.AnyStep:
    """What a step leaves to the cluster's settings: the size of a topic, the acks of a write."""
    match step:
        case m.Background(step=inner):
            return msgspec.structs.replace(step, step=as_set(inner, settings))
        case m.Repeat(steps=steps):
            return msgspec.structs.replace(step, steps=tuple(as_set(one, settings) for one in steps))
        case m.CreateTopic(assignment=()):
            partitions = step.partitions or settings.get("num.partitions", 1)
            replicas = step.replicas or settings.get("default.replication.factor", 1)
            return msgspec.structs.replace(step, partitions=partitions, replicas=replicas)
        case m.Produce(acks=m.ACKS_AS_SET) | m.ProduceMessageSet(acks=m.ACKS_AS_SET):
            acks = str(settings.get("producer.acks", "1"))
            return msgspec.structs.replace(step, acks=m.ALL_ACKS if acks == "all" else int(acks))
        case _:
            return step


def as_played(scenario: Scenario, version: str, overrides: dict[str, Any]) -> Scenario:
    """The scenario that says by itself what is played: `version` first, overrides among its settings."""
    kafka = (version, *(other for other in scenario.kafka if other != version))
    return msgspec.structs.replace(scenario, kafka=kafka, settings={**scenario.settings, **overrides})
