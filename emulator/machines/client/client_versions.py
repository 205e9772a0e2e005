"""Versions of Kafka's Java clients: all that are emulated.

A client has a version of its own. A workload or a producer may name it (`client_version`). Defaults and behaviour
are that version's then, as far as the brokers' record format permits. Otherwise the defaults are the newest
client's (KIP-679, Kafka 3.0: acks=all, enable.idempotence=true), and the behaviour is that of the cluster's
version.
"""

from collections.abc import Mapping
from typing import Any, Final

from protocol.gates import gates_for
from protocol.versions import VERSIONS, UnknownVersion, ladder_name, since

SAFE_SINCE: Final = "3.0"
"""First version of clients whose producers are idempotent, with acks=all, by default.

Effectively 3.0.1 (KAFKA-13598).
"""
IN_FLIGHT_MAX_OF_IDEMPOTENT: Final = 5
RETRIES_MAX: Final = (1 << 31) - 1
DELIVERY_TIMEOUT_MS: Final = 120_000
IDEMPOTENCE: Final = "enable.idempotence"


def client_version_named(version: str) -> str:
    """The version's name on the ladder; patch releases are their minor release's.

    Raises UnknownVersion.
    """
    try:
        return ladder_name(version)
    except UnknownVersion as unknown:
        raise UnknownVersion(
            f"unknown version of a Kafka client {version!r}; one of: {', '.join(VERSIONS)}"
        ) from unknown


def ways_of(client_version: str, kafka_version: str) -> str:
    """The ladder's version whose client behaves alike. Raises UnknownVersion."""
    return client_version_named(client_version) if client_version else kafka_version


def has_old_defaults(client_version: str) -> bool:
    """Whether that client's producers need acks=all and idempotence explicitly.

    Raises UnknownVersion.
    """
    return bool(client_version) and not since(client_version_named(client_version), SAFE_SINCE)


def producer_defaults(kafka_version: str, client_version: str) -> dict[str, Any]:
    """Defaults of a producer beyond those of `ways_of`, idempotence excepted.

    Raises UnknownVersion.
    """
    if has_old_defaults(client_version):
        return {}
    defaults: dict[str, Any] = {"acks": "all"}
    if not since(ways_of(client_version, kafka_version), "2.1"):
        defaults |= {"retries": RETRIES_MAX, "delivery.timeout.ms": DELIVERY_TIMEOUT_MS}
    return defaults


def idempotent_by_default(kafka_version: str, client_version: str, given: Mapping[str, Any]) -> bool:
    """Whether a producer without an explicit setting is idempotent. Raises UnknownVersion.

    `given`: its explicit settings, by Kafka's names; contradicting ones disable it
    (ProducerConfig.postProcessAndValidateIdempotenceConfigs).
    """
    if has_old_defaults(client_version):
        return False
    in_flight = int(given.get("max.in.flight.requests.per.connection", 1))
    return (
        gates_for(kafka_version).idempotence
        and str(given.get("acks", "all")) in ("all", "-1")
        and int(given.get("retries", 1)) > 0
        and in_flight <= min(IN_FLIGHT_MAX_OF_IDEMPOTENT, gates_for(kafka_version).remembered_batches)
    )
