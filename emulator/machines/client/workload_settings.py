"""Effective settings of the clients of workloads and of single commands."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from emulator.machines.client.client_settings import (
    ConsumerSettings,
    ProducerSettings,
    UnusableSetting,
    consumer_settings,
    librdkafka_settings,
    producer_settings,
)
from emulator.machines.client.client_versions import IDEMPOTENCE, SAFE_SINCE, ways_of
from emulator.machines.client.transaction_behaviour import transaction_behaviour
from emulator.machines.client.workload_specs import TRANSACTIONAL_ID
from protocol.gates import gates_for
from protocol.messages.workload_messages import RATE_MAX, READ_COMMITTED_LEVEL, WorkloadSpec
from protocol.versions import UnknownVersion, since

AUTO_COMMIT: Final = "enable.auto.commit"


def library_settings(
    library: str, kafka_version: str, settings: Mapping[str, Any], client_version: str = ""
) -> ProducerSettings:
    """Settings of a producer of that library. Raises UnusableSetting.

    `client_version`: of Java's, "": as the cluster's. It writes no record format that the cluster does not have.
    Without `enable.idempotence` it is not idempotent: the caller has decided that (`idempotent_by_default`).
    """
    if library == "librdkafka":
        return librdkafka_settings(settings)
    try:
        ways = ways_of(client_version, kafka_version)
    except UnknownVersion as unknown:
        raise UnusableSetting(str(unknown)) from unknown
    by_default = {IDEMPOTENCE: bool(settings.get(TRANSACTIONAL_ID))} if since(ways, SAFE_SINCE) else {}
    made = producer_settings(ways, {**by_default, **settings})
    if made.transactional_id:
        made = msgspec.structs.replace(made, transaction_behaviour=transaction_behaviour(ways, kafka_version))
    if made.enable_idempotence and not gates_for(kafka_version).idempotence:
        raise UnusableSetting(f"enable.idempotence needs Kafka 0.11 or later, not {kafka_version}")
    return msgspec.structs.replace(made, magic=min(made.magic, gates_for(kafka_version).record_magic))


def settings_of(spec: WorkloadSpec, kafka_version: str) -> ProducerSettings | ConsumerSettings:
    """Effective settings of a workload. Raises UnusableSetting, as starting it does."""
    match spec.kind:
        case "produce":
            return producing_settings(spec, kafka_version)
        case "transform":
            transforming_settings(spec, kafka_version)
    return consuming_settings(spec, kafka_version)


def producing_settings(spec: WorkloadSpec, kafka_version: str, node: str = "") -> ProducerSettings:
    """Settings of the producer of a workload. Raises UnusableSetting."""
    if not 0 < spec.rate_per_s <= RATE_MAX:
        raise UnusableSetting(f"{spec.rate_per_s:g} records per second; allowed are more than 0, up to {RATE_MAX:g}")
    settings = dict(spec.settings)
    if spec.transactional_id:
        settings[TRANSACTIONAL_ID] = f"{spec.transactional_id}-{node}"
    return library_settings(spec.library, kafka_version, settings, spec.client_version)


def transforming_settings(
    spec: WorkloadSpec, kafka_version: str, node: str = ""
) -> tuple[ConsumerSettings, ProducerSettings]:
    """Settings of the two clients of a transform. Raises UnusableSetting."""
    if not spec.group:
        raise UnusableSetting("a transform needs a group: its offsets are part of the transactions")
    producer = dict(spec.output_settings)
    if spec.transactional_id:
        producer[TRANSACTIONAL_ID] = f"{spec.transactional_id}-{node}"
    if not producer.get(TRANSACTIONAL_ID):
        raise UnusableSetting("a transform needs a transactional_id")
    producing = library_settings("java", kafka_version, producer, spec.client_version)
    reading = {"isolation.level": READ_COMMITTED_LEVEL, **spec.settings, AUTO_COMMIT: False}
    return consuming_settings(msgspec.structs.replace(spec, settings=reading), kafka_version, node), producing


def consuming_settings(spec: WorkloadSpec, kafka_version: str, node: str = "") -> ConsumerSettings:
    """Settings of the consumer of a workload. Raises UnusableSetting."""
    settings = dict(spec.settings)
    if spec.group:
        settings["group.id"] = spec.group
        if settings.get("group.instance.id"):
            settings["group.instance.id"] = f"{settings['group.instance.id']}-{node}"
    return consumer_settings(kafka_version, settings)
