"""Resolution of a scenario, a version, settings files and overrides into the input of a run.

The result has settings in force per node, topology, steps, and the remarks on the settings.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from emulator.machines.broker.settings import HANDLERS
from emulator.machines.client.client_versions import producer_defaults
from emulator.machines.node.specs import RunSpec
from emulator.runs.client_defaults import with_client_settings, with_clients
from emulator.runs.run_limits import bounded
from emulator.runs.run_settings import AllGiven, given_for
from emulator.runs.settings_files import read_settings_files
from emulator.runs.settings_sense import warnings_about
from emulator.runs.starts import changes_of, with_accounts
from emulator.scenario import scenario_model as m
from emulator.scenario.scenario_model import Scenario
from emulator.settings.account import Account, InForce
from emulator.settings.accounting import Everything, account, check
from emulator.settings.applied import Given, values_of
from emulator.settings.bearing import MODELLED, WITHOUT_BEARING
from emulator.settings.in_force import brokers_in_force, resolve_settings
from emulator.settings.java_names import java_consumer, java_producer
from emulator.settings.properties_files import SettingsFile
from emulator.settings.setting import BROKER, CONSUMER, ENSEMBLE, PREFIXES, PRODUCER, TOPIC
from emulator.settings.setting_registry import BY_SCOPE, GROUP_OF, REGISTRY
from emulator.topology import KRAFT, Topology, metadata_of
from protocol.gates import gates_for
from protocol.versions import ladder_name

SESSION_SETTINGS = {
    "tickTime": "tick_time_ms",
    "initLimit": "init_limit",
    "syncLimit": "sync_limit",
    "minSessionTimeout": "min_session_timeout_ms",
    "maxSessionTimeout": "max_session_timeout_ms",
}

Altering = TypeVar("Altering", m.AlterTopic, m.AlterBroker)


class Resolved(msgspec.Struct, frozen=True):
    """Input of a world. `record_magic`: the format of the player's client.

    `account`: of the settings.
    """

    scenario: Scenario
    spec: RunSpec
    record_magic: int
    account: Account = Account()


def resolve(
    scenario: Scenario,
    kafka_version: str | None = None,
    overrides: dict[str, Any] | None = None,
    settings_files: Sequence[SettingsFile] = (),
) -> Resolved:
    """Resolve the scenario. `settings_files`: those of the command line.

    Raises UnknownVersion, NoSuchMode, UnusableSetting, UnusableFile, UnusableProtocolVersion.
    """
    version = ladder_name(kafka_version or scenario.default_version)
    metadata_of(version, scenario.topology.metadata)
    own_files = read_settings_files(scenario.settings_files)
    given = given_for(scenario, version, overrides or {}, own_files, settings_files)
    everything = with_clients(given.everything, scenario.steps)
    check(everything)
    return resolved(scenario, everything, given)


def resolved(scenario: Scenario, everything: Everything, given: AllGiven) -> Resolved:
    """Resolve with settings that contradict each other nowhere.

    Raises UnusableSetting, UnusableProtocolVersion.
    """
    spec = run_spec(scenario.topology, everything)
    changes = changes_of(spec, scenario.steps)
    remarks = with_accounts(account(everything, given.ignored, given.dropped), changes)
    remarks = msgspec.structs.replace(
        remarks,
        in_force=bounded_values(spec, everything),
        warnings=(*remarks.warnings, *warnings_about(scenario, spec, everything)),
    )
    spoken = everything.of(BROKER).get("inter.broker.protocol.version")
    in_kraft = scenario.topology.metadata == KRAFT
    protocol = str(spoken.value) if spoken is not None and spoken.value and not in_kraft else None
    magic = gates_for(everything.version, protocol).record_magic
    return Resolved(as_played(scenario, everything), spec, magic, remarks)


def run_spec(topology: Topology, everything: Everything) -> RunSpec:
    """Specification of the nodes. Raises UnusableSetting."""
    version = everything.version
    cluster = _kept(everything, everything.of(BROKER))
    given: dict[str, dict[str, Any]] = {}
    for node in topology.with_role("broker"):
        given[node.name] = cluster | _kept(everything, everything.by_broker.get(node.number, {}))
    for node in topology.with_role("controller"):
        given.setdefault(node.name, cluster | _kept(everything, everything.by_controller.get(node.name, {})))
    settings = {name: dict(resolve_settings(version, own, metadata=topology.metadata)) for name, own in given.items()}
    harmless = {node.name: _harmless(everything.of_broker(node.number)) for node in topology.with_role("broker")}
    session = values_of(everything.of(ENSEMBLE))
    limits: dict[str, Any] = {field: int(session[name]) for name, field in SESSION_SETTINGS.items() if name in session}
    return RunSpec(topology, version, settings, given=given, harmless=harmless, **limits)


def bounded_values(spec: RunSpec, everything: Everything) -> tuple[InForce, ...]:
    """Values in force that differ from the requested ones."""
    found: dict[InForce, None] = {}
    for node in spec.topology.with_role("broker"):
        requested = everything.of_broker(node.number)
        for name, (value, because) in bounded(spec, node.name).items():
            if name in requested:
                found[InForce(name, requested[name].value, value, because, requested[name].where)] = None
    return tuple(found)


# --- the scenario with every default filled in ---


def as_played(scenario: Scenario, everything: Everything) -> Scenario:
    """The scenario with its version first, and only settings with an effect or a possible one."""
    version = everything.version
    settings = _settings(everything)
    as_set = tuple(_as_set(step, settings, everything) for step in scenario.steps)
    steps = with_client_settings(as_set, settings, version)
    return msgspec.structs.replace(
        scenario,
        kafka=(version, *(other for other in scenario.kafka if other != version)),
        settings=settings,
        settings_by_broker={
            broker: kept for broker, own in everything.by_broker.items() if (kept := _kept(everything, own))
        },
        settings_by_version={},
        settings_files=(),
        steps=steps,
    )


def _settings(everything: Everything) -> dict[str, Any]:
    """Settings by name with its kind; those of clients by the Java clients' names."""
    kept: dict[str, Any] = {}
    clients: dict[str, dict[str, Any]] = {PRODUCER: {}, CONSUMER: {}}
    for key, given in everything.cluster.items():
        setting, standing = REGISTRY[key], GROUP_OF[key].standing
        if setting.scope in clients and standing == MODELLED:
            clients[setting.scope][setting.name] = given.value
        elif everything.acts(key):
            kept[key] = given.value
    for scope, java in ((PRODUCER, java_producer), (CONSUMER, java_consumer)):
        kept |= {PREFIXES[scope] + name: value for name, value in java(clients[scope]).items()}
    return kept


def _kept(everything: Everything, given: Mapping[str, Given]) -> dict[str, Any]:
    """Settings of one scope by Kafka's names, without those that only Kafka's own rules use."""
    return {key: one.value for key, one in given.items() if everything.acts(key)}


def _harmless(given: Mapping[str, Given]) -> dict[str, Any]:
    """Settings without effect, which only DescribeConfigs returns."""
    return {key: one.value for key, one in given.items() if GROUP_OF[key].standing == WITHOUT_BEARING}


def _as_set(step: m.AnyStep, settings: Mapping[str, Any], everything: Everything) -> m.AnyStep:
    """The step with the cluster's defaults: a topic's size and configuration, a write's acks."""
    match step:
        case m.Background(step=inner):
            return msgspec.structs.replace(step, step=_as_set(inner, settings, everything))
        case m.Repeat(steps=steps):
            return msgspec.structs.replace(step, steps=tuple(_as_set(one, settings, everything) for one in steps))
        case m.CreateTopic():
            configs = _topic_configs(step, everything)
            if step.assignment:
                return msgspec.structs.replace(step, configs=configs)
            partitions = step.partitions or settings.get("num.partitions", 1)
            replicas = step.replicas or settings.get("default.replication.factor", 1)
            return msgspec.structs.replace(step, partitions=partitions, replicas=replicas, configs=configs)
        case m.AlterTopic():
            return _altering(step, TOPIC, everything.version)
        case m.AlterBroker(broker=broker):
            first = min(everything.brokers) if broker is None else broker
            meant = everything.brokers if isinstance(first, str) else (first,)
            counts = {
                brokers_in_force(everything.version, values_of(everything.of_broker(one)))[HANDLERS] for one in meant
            }
            handlers = counts.pop() if len(counts) == 1 else 0
            return msgspec.structs.replace(_altering(step, BROKER, everything.version), handlers=handlers)
        case m.Produce(acks=m.ACKS_AS_SET) | m.ProduceMessageSet(acks=m.ACKS_AS_SET):
            version = step.client_version if isinstance(step, m.Produce) else ""
            safe = settings.get("producer.enable.idempotence") or settings.get("producer.transactional.id")
            default = "all" if safe else producer_defaults(everything.version, version).get("acks", "1")
            acks = str(settings.get("producer.acks", default))
            return msgspec.structs.replace(step, acks=m.ALL_ACKS if acks == "all" else int(acks))
        case _:
            return step


def _altering(step: Altering, scope: str, version: str) -> Altering:
    """The step without the settings that cannot be altered in that version."""
    known = {name for name, one in BY_SCOPE[scope].items() if one.can_be_altered_in(version)}
    kept = {name: value for name, value in step.configs.items() if name in known}
    return msgspec.structs.replace(step, configs=kept, remove=tuple(name for name in step.remove if name in known))


def _topic_configs(step: m.CreateTopic, everything: Everything) -> dict[str, Any]:
    """The configuration of every topic, then the topic's own, as far as the version knows it."""
    common = {
        name: given.value
        for name, given in everything.of(TOPIC).items()
        if GROUP_OF[PREFIXES[TOPIC] + name].standing == MODELLED
    }
    known = everything.topics.get(step.topic, {})
    return common | {name: value for name, value in step.configs.items() if name in known}
