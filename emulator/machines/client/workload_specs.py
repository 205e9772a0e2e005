"""Specs of a load in each AZ: a producer at a rate, and a consumer of everything. Pure.

Live commands and steps of a scenario use the same.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from emulator.machines.client.client_versions import IDEMPOTENCE, idempotent_by_default, producer_defaults
from protocol.ids import FIRST_OFFSET
from protocol.messages.workload_messages import WorkloadSpec

UNBOUNDED: Final = 1_000_000_000_000
UNFINISHED_S: Final = 60.0
UNFINISHED_RANGE: Final = (1_000, 10_000)
"""Bounds of a producer's unfinished records.

The number is that of UNFINISHED_S, so that it writes on through a partition.
"""
ALL_ACKS: Final = -1
PRODUCE, CONSUME = "produce", "consume"


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """Load of a topic.

    `partitions` of `topic`, written in turn; or, with `keys`, the partitioner chooses by so many keys in turn.
    `settings`, `consumer_settings`: of the clients, by Kafka's names. `client_version`: of the producers, "" the
    newest. `group`: its consumers are its members.
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


def specs_of(load: Load, prefix: str) -> list[WorkloadSpec]:
    """Specs of the producer, then the consumer, as far as the load has them."""
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
    return [producing] * load.producers + [consuming] * load.consumers
