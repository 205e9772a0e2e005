"""Versions of Kafka's Java clients: the ladder's, and newer ones with other defaults.

A client has a version of its own. A workload or a producer may name it (`client_version`). Defaults and behaviour
are that version's then, as far as the brokers' record format permits. Otherwise the defaults are the newest
client's (KIP-679, Kafka 3.0: acks=all, enable.idempotence=true), and the behaviour is that of the cluster's
version.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from protocol.gates import gates_for
from protocol.versions import LADDER, UnknownVersion, ladder_name, since

NEWER: Final = ("3.0", "3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9")
CLIENT_VERSIONS: Final = (*LADDER, *NEWER)
IN_FLIGHT_MAX_OF_IDEMPOTENT: Final = 5
_NEWER = re.compile(r"(3\.\d)(\.\d+)?")
RETRIES_MAX: Final = (1 << 31) - 1
DELIVERY_TIMEOUT_MS: Final = 120_000
IDEMPOTENCE: Final = "enable.idempotence"


def client_version_named(version: str) -> str:
    """The version's name in CLIENT_VERSIONS; patch releases are their minor release's.

    Raises UnknownVersion.
    """
    newer = _NEWER.fullmatch(version)
    if newer and newer[1] in NEWER:
        return newer[1]
    try:
        return ladder_name(version)
    except UnknownVersion as unknown:
        raise UnknownVersion(
            f"unknown version of a Kafka client {version!r}; one of: {', '.join(CLIENT_VERSIONS)}"
        ) from unknown


def ways_of(client_version: str, kafka_version: str) -> str:
    """The ladder's version whose client behaves alike. Raises UnknownVersion."""
    if not client_version:
        return kafka_version
    named = client_version_named(client_version)
    return LADDER[-1] if named in NEWER else named


def producer_defaults(kafka_version: str, client_version: str) -> dict[str, Any]:
    """Defaults of a producer beyond those of `ways_of`, idempotence excepted.

    Raises UnknownVersion.
    """
    if client_version and client_version_named(client_version) not in NEWER:
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
    if client_version and client_version_named(client_version) not in NEWER:
        return False
    in_flight = int(given.get("max.in.flight.requests.per.connection", 1))
    return (
        gates_for(kafka_version).idempotence
        and str(given.get("acks", "all")) in ("all", "-1")
        and int(given.get("retries", 1)) > 0
        and in_flight <= min(IN_FLIGHT_MAX_OF_IDEMPOTENT, gates_for(kafka_version).remembered_batches)
    )
