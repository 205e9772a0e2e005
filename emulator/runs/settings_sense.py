"""Warnings about requested settings that Kafka accepts and that make no sense together."""

from collections.abc import Iterable, Iterator
from typing import Any

from emulator.machines.node.specs import RunSpec
from emulator.runs.client_defaults import SET_BY_STEP
from emulator.runs.run_settings import created
from emulator.scenario import scenario_model as m
from emulator.scenario.scenario_model import Scenario
from emulator.settings.accounting import Everything
from emulator.settings.applied import values_of
from emulator.settings.in_force import brokers_in_force, topics_in_force
from emulator.settings.java_names import is_scala, java_consumer, java_producer
from emulator.settings.setting import BROKER, CONSUMER, LONG_MAX, PRODUCER, TOPIC
from protocol.gates import gates_for

NAMED_MAX = 3


def warnings_about(scenario: Scenario, spec: RunSpec, everything: Everything) -> tuple[str, ...]:
    """One line per warning, each once."""
    cluster = brokers_in_force(everything.version, values_of(everything.of(BROKER)))
    warnings = [
        *_replicas(scenario, spec, everything, cluster),
        *_brokers(spec, everything, cluster),
        *_clients(scenario, everything, cluster),
    ]
    return tuple(dict.fromkeys(warnings))


def _replicas(scenario: Scenario, spec: RunSpec, everything: Everything, cluster: dict[str, Any]) -> Iterator[str]:
    brokers = len(spec.topology.with_role("broker"))
    requested = everything.of(BROKER)
    for name in ("default.replication.factor", "offsets.topic.replication.factor"):
        gates = gates_for(everything.version)
        fails = name != "offsets.topic.replication.factor" or gates.offsets_topic_needs_all_brokers
        if name in requested and cluster[name] > brokers and fails:
            yield f"{name}={cluster[name]}: there are {brokers} brokers, so such a topic cannot be created"
    small: dict[tuple[int, int], list[str]] = {}
    for step in created(scenario.steps):
        own = values_of(everything.of(TOPIC)) | dict(step.configs)
        least = int(topics_in_force(everything.version, own, cluster)["min.insync.replicas"])
        replicas = min((len(set(one)) for one in step.assignment), default=step.replicas or 1)
        if least > replicas and ("min.insync.replicas" in own or "min.insync.replicas" in requested):
            small.setdefault((least, replicas), []).append(step.topic)
    for (least, replicas), topics in small.items():
        few = ", ".join(sorted(topics)[:NAMED_MAX]) + (" and others" if len(topics) > NAMED_MAX else "")
        yield f"min.insync.replicas={least} of {few} with {replicas} replicas: nothing is ever written with acks=all"


def _brokers(spec: RunSpec, everything: Everything, cluster: dict[str, Any]) -> Iterator[str]:
    for node in spec.topology.with_role("broker"):
        requested = everything.of_broker(node.number)
        own = brokers_in_force(everything.version, values_of(requested))
        looks_ms, flush_ms = own["log.flush.scheduler.interval.ms"], own["log.flush.interval.ms"]
        if "log.flush.interval.ms" in requested and flush_ms < looks_ms:
            when = "never does" if looks_ms >= LONG_MAX else f"looks every {looks_ms} ms only"
            yield f"log.flush.interval.ms={flush_ms}: the flusher {when} (log.flush.scheduler.interval.ms)"
    least, most = cluster.get("group.min.session.timeout.ms"), cluster.get("group.max.session.timeout.ms")
    if least is not None and most is not None and least > most:
        yield f"group.min.session.timeout.ms={least} is above group.max.session.timeout.ms={most}: no member can join"


def _clients(scenario: Scenario, everything: Everything, cluster: dict[str, Any]) -> Iterator[str]:
    producer, consumer = everything.of(PRODUCER), everything.of(CONSUMER)
    if is_scala(PRODUCER, producer):
        java = java_producer({name: given.value for name, given in producer.items()})
        shown = ", ".join(f"{name}={java[name]}" for name in ("acks", "retries", "request.timeout.ms", "linger.ms"))
        yield f"the Java producer replaces the Scala producer, with the equivalent settings: {shown}"
    session = values_of(consumer).get("session.timeout.ms")
    if session is not None and "group.min.session.timeout.ms" in cluster:
        least, most = cluster["group.min.session.timeout.ms"], cluster["group.max.session.timeout.ms"]
        if not least <= session <= most:
            limits = f"group.min and group.max.session.timeout.ms are {least} and {most}"
            yield f"consumer.session.timeout.ms={session}: {limits}, so brokers would refuse such a member"
    in_java = java_consumer({name: given.value for name, given in consumer.items()})
    wait, request = float(in_java.get("fetch.max.wait.ms", 500)), in_java.get("request.timeout.ms")
    if request is not None and float(request) <= wait:
        yield f"consumer.request.timeout.ms={request} is not above fetch.max.wait.ms={wait:g}: an idle fetch times out"
    produces, by_client, as_set = _produces(scenario.steps)
    spoken = java_producer({name: given.value for name, given in producer.items()})
    overridden = [name for name in SET_BY_STEP if name in spoken and not (name == "acks" and as_set)]
    if overridden and produces:
        names = ", ".join(f"producer.{name}" for name in overridden)
        yield f"{names}: every produce of this scenario sets its own (`acks: producer.acks` leaves it to the setting)"
    if spoken and produces and not by_client and set(spoken) - set(SET_BY_STEP):
        yield "settings of producers: every produce of this scenario names its broker, and uses no client's library"


def _produces(steps: Iterable[m.AnyStep]) -> tuple[int, int, int]:
    """(produces, those by a client's own producer, those with the configured acks)."""
    found = [step for step in m.plain_steps(steps) if isinstance(step, m.Produce | m.ProduceMessageSet)]
    by_client = sum(isinstance(step, m.Produce) and step.broker is None for step in found)
    return len(found), by_client, sum(step.acks == m.ACKS_AS_SET for step in found)
