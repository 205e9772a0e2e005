"""Specs of a load in each AZ: a producer at a rate, and a consumer of everything. Pure.

Live commands and steps of a scenario use the same.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from emulator.machines.client.client_versions import IDEMPOTENCE, idempotent_by_default, producer_defaults
from protocol.ids import FIRST_OFFSET
from protocol.messages.workload_messages import RECORDS_PER_TRANSACTION, WorkloadSpec

TRANSACTIONAL_ID: Final = "transactional.id"
UNBOUNDED: Final = 1_000_000_000_000
UNFINISHED_S: Final = 60.0
UNFINISHED_RANGE: Final = (1_000, 10_000)
"""Bounds of a producer's unfinished records.

The number is that of UNFINISHED_S, so that it writes on through a partition.
"""
ALL_ACKS: Final = -1
PRODUCE, CONSUME, TRANSFORM = "produce", "consume", "transform"


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """Load of a topic.

    `partitions` of `topic`, written in turn; or, with `keys`, the partitioner chooses by so many keys in turn.
    `settings`, `consumer_settings`: of the clients, by Kafka's names. `client_version`: of the producers, "" the
    newest. `group`: its consumers are its members.

    `transactional_id`: its producers write in transactions; the client's name is appended. With `output`, a topic of
    `output_partitions`, its consumers transform into it instead, and only they have transactions.
    """

    name: str
    topic: str
    partitions: list[int]
    rate_per_s: float
    settings: Mapping[str, Any]
    consumer_settings: Mapping[str, Any] = {}
    keys: int = 0
    value_bytes: int = 0
    producers: bool = True
    consumers: bool = True
    group: str = ""
    client_version: str = ""
    transactional_id: str = ""
    records_per_transaction: int = RECORDS_PER_TRANSACTION
    abort_ratio: float = 0.0
    output: str = ""
    output_partitions: list[int] = []
    group_metadata: bool = True


def producers_settings(
    given: Mapping[str, Any],
    *,
    acks: int | None,
    own: Mapping[str, Any],
    retries: int | None,
    idempotent: bool | None,
    kafka_version: str,
    client_version: str,
) -> dict[str, Any]:
    """Settings of producers, by precedence. Raises UnknownVersion.

    The client's defaults < `given` to all producers < acks < `own` < retries, idempotence. None: as given, else the
    client's default. `kafka_version`: of the cluster; `client_version`: "" the newest.
    """
    settings: dict[str, Any] = dict(given)
    if acks is not None:
        settings["acks"] = "all" if acks == ALL_ACKS else str(acks)
    settings |= own
    if retries is not None:
        settings["retries"] = retries
    if idempotent is not None:
        settings[IDEMPOTENCE] = idempotent
    elif IDEMPOTENCE not in settings and idempotent_by_default(kafka_version, client_version, settings):
        settings[IDEMPOTENCE] = True
    return {**producer_defaults(kafka_version, client_version), **settings}


def value_prefix(client: str, began_ms: float) -> str:
    """Prefix of the values of a client's producer; it is unique."""
    return f"{client}.{began_ms:.0f}."


def has_transactions(spec: WorkloadSpec) -> bool:
    """Whether a workload writes in transactions."""
    return spec.kind == TRANSFORM or bool(spec.transactional_id or spec.settings.get(TRANSACTIONAL_ID))


def specs_of(load: Load, prefix: str) -> list[WorkloadSpec]:
    """Specs of the producer, then of the consumer or transform, as far as the load has them."""
    producing = WorkloadSpec(
        name=f"{load.name}:{PRODUCE}",
        kind="produce",
        topic=load.topic,
        partitions=load.partitions,
        settings=dict(load.settings),
        client_version=load.client_version,
        rate_per_s=load.rate_per_s,
        value_prefix=prefix,
        value_bytes=load.value_bytes,
        keys=load.keys,
        limit=UNBOUNDED,
        unfinished_max=int(min(max(load.rate_per_s * UNFINISHED_S, UNFINISHED_RANGE[0]), UNFINISHED_RANGE[1])),
        transactional_id="" if load.output else load.transactional_id,
        records_per_transaction=load.records_per_transaction,
        abort_ratio=load.abort_ratio,
    )
    consuming = WorkloadSpec(
        name=f"{load.name}:{CONSUME}",
        kind="consume",
        topic=load.topic,
        partitions=load.partitions,
        settings=dict(load.consumer_settings),
        offset=FIRST_OFFSET,
        group=load.group,
    )
    transforming = WorkloadSpec(
        name=f"{load.name}:{TRANSFORM}",
        kind="transform",
        topic=load.topic,
        partitions=load.partitions,
        settings=dict(load.consumer_settings),
        group=load.group,
        client_version=load.client_version,
        transactional_id=load.transactional_id,
        records_per_transaction=load.records_per_transaction,
        output=load.output,
        output_partitions=load.output_partitions,
        output_settings={name: value for name, value in load.settings.items() if name != TRANSACTIONAL_ID},
        group_metadata=load.group_metadata,
    )
    reading = transforming if load.output else consuming
    return [producing] * load.producers + [reading] * load.consumers
