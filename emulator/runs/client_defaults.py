"""Settings of a scenario for all clients (`producer.NAME`, `consumer.NAME`), put into steps.

A step's own settings win, and so do its keys `acks`, `retries`, `timeout_ms`, `idempotent`. Steps that use no client's
library (a produce at a named broker, a fetch) take no settings. A setting that a client ignores (`client.id`) does not
reach it.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from emulator.machines.client.client_versions import idempotent_by_default
from emulator.machines.client.workload_specs import producers_settings
from emulator.scenario import scenario_model as m
from emulator.settings.accounting import Everything
from emulator.settings.applied import Given
from emulator.settings.bearing import MODELLED
from emulator.settings.java_names import java_consumer, java_producer
from emulator.settings.setting import CONSUMER, PREFIXES, PRODUCER
from emulator.settings.setting_registry import GROUP_OF, REGISTRY

SET_BY_STEP = ("acks", "retries", "request.timeout.ms")
"""Settings that the keys of every produce set."""
IDEMPOTENCE = "enable.idempotence"
"""Setting that the key `idempotent` of a produce sets, if it has the key."""
OFFSETS_STORAGE = "offsets.storage"
OF_OLD_CONSUMERS = (OFFSETS_STORAGE, "zookeeper.session.timeout.ms")
"""Settings only of the consumer that keeps its offsets in the session service."""


def with_client_settings(
    steps: tuple[m.AnyStep, ...], settings: Mapping[str, Any], kafka_version: str
) -> tuple[m.AnyStep, ...]:
    """The steps with the clients' part of the scenario's `settings`, in the Java clients' names."""
    producer = {name: value for name, value in _of(PRODUCER, settings).items() if name not in SET_BY_STEP}
    consumer = _of(CONSUMER, settings)
    return tuple(_given(step, producer, consumer, _of(PRODUCER, settings), kafka_version) for step in steps)


def client_settings_of(settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """{PRODUCER, CONSUMER: {Kafka's name: value}} of the settings that a client uses."""
    return {scope: _of(scope, settings) for scope in (PRODUCER, CONSUMER)}


def _of(scope: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of that scope that a client uses, by Kafka's name."""
    known = ((REGISTRY.get(key), value) for key, value in settings.items())
    own = {one.name: value for one, value in known if one is not None and one.scope == scope}
    return {name: value for name, value in own.items() if _acts(scope, name)}


def _acts(scope: str, name: str) -> bool:
    group = GROUP_OF.get(PREFIXES[scope] + name)
    return group is not None and group.standing == MODELLED


def _given(
    step: m.AnyStep, producer: dict[str, Any], consumer: dict[str, Any], workload: dict[str, Any], kafka_version: str
) -> m.AnyStep:
    """`workload`: settings for a workload's producers, which set nothing by themselves."""
    match step:
        case m.Workload():
            acks = None if step.acks == m.ACKS_AS_SET else step.acks
            own = _own(PRODUCER, step.settings)
            settings: dict[str, Any] = {}
            if step.producers:
                settings = producers_settings(
                    workload,
                    acks=acks,
                    own=own,
                    retries=step.retries,
                    idempotent=step.idempotent,
                    kafka_version=kafka_version,
                    client_version=step.client_version,
                )
            given = {name: value for name, value in consumer.items() if name not in OF_OLD_CONSUMERS}
            return msgspec.structs.replace(
                step, settings=settings, consumer_settings=given | _own(CONSUMER, step.consumer_settings)
            )
        case m.Produce(broker=None):
            values = {name: value for name, value in producer.items() if step.idempotent is None or name != IDEMPOTENCE}
            values |= _own(PRODUCER, step.settings)
            idempotent = step.idempotent
            if idempotent is None and IDEMPOTENCE not in values and not step.transactional_id:
                own = {"acks": "all" if step.acks == m.ALL_ACKS else step.acks, "retries": step.retries} | values
                idempotent = idempotent_by_default(kafka_version, step.client_version, own)
            return msgspec.structs.replace(step, settings=values, idempotent=idempotent)
        case m.Consume() | m.Commit() | m.LookCommitted():
            given = {name: value for name, value in consumer.items() if step.old or name not in OF_OLD_CONSUMERS}
            return msgspec.structs.replace(step, settings=given | _own(CONSUMER, step.settings))
        case m.Background(step=inner):
            return msgspec.structs.replace(step, step=_given(inner, producer, consumer, workload, kafka_version))
        case m.Repeat(steps=inner_steps):
            return msgspec.structs.replace(
                step, steps=tuple(_given(one, producer, consumer, workload, kafka_version) for one in inner_steps)
            )
        case _:
            return step


def _own(scope: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The step's settings of its own client that a client uses."""
    acted_on = {name: value for name, value in settings.items() if _acts(scope, name)}
    return java_producer(acted_on) if scope == PRODUCER else java_consumer(acted_on)


# --- settings of clients as reported ---


def with_clients(everything: Everything, steps: Iterable[m.AnyStep]) -> Everything:
    """Add the steps' settings of their own clients."""
    return msgspec.structs.replace(everything, clients=tuple(_clients(steps)))


def _clients(steps: Iterable[m.AnyStep]) -> Iterator[tuple[str, dict[str, Given]]]:
    for step in m.plain_steps(steps):
        match step:
            case m.Produce(broker=None, settings=settings) if settings or step.idempotent:
                where = f"the produce of {', '.join(step.values[:3])}"
                values: dict[str, Any] = {"retries": step.retries, "request.timeout.ms": step.timeout_ms}
                if step.acks != m.ACKS_AS_SET:
                    values["acks"] = "all" if step.acks == m.ALL_ACKS else str(step.acks)
                if step.idempotent is not None:
                    values[IDEMPOTENCE] = step.idempotent
                yield PRODUCER, {name: Given(value, where) for name, value in (values | settings).items()}
            case m.Workload(name=name, settings=settings, consumer_settings=reading):
                load: dict[str, Any] = {} if step.acks == m.ACKS_AS_SET else {"acks": step.acks}
                load |= {"retries": step.retries} if step.retries is not None else {}
                load |= {} if step.idempotent is None else {IDEMPOTENCE: step.idempotent}
                for scope, own in ((PRODUCER, load | settings), (CONSUMER, reading)):
                    if own:
                        yield scope, {key: Given(value, f"workload {name}") for key, value in own.items()}
            case m.Consume(settings=settings) | m.Commit(settings=settings) | m.LookCommitted(settings=settings):
                if settings:
                    where = f"a consumer of {step.group}"
                    scala = {OFFSETS_STORAGE: "zookeeper"} if step.old else {}
                    yield CONSUMER, {name: Given(value, where) for name, value in (scala | settings).items()}
            case _:
                pass
