"""Rules that Kafka's clients check in their constructors.

Java: KafkaProducer, ProducerConfig, KafkaConsumer, ConsumerConfig, Heartbeat. Scala: kafka.consumer.ConsumerConfig,
kafka.common.Config.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from protocol.gates import gates_for
from protocol.versions import since

Problem = tuple[tuple[str, ...], str]
"""(settings it is about, by Kafka's names; the rule in words)"""

RESET, STRATEGY = "auto.offset.reset", "partition.assignment.strategy"
JAVA_RESETS: Final = ("latest", "earliest", "none")
SCALA_RESETS: Final = ("smallest", "largest")
SCALA_STRATEGIES: Final = ("range", "roundrobin")
_LEGAL_ID: Final = re.compile(r"[a-zA-Z0-9._-]*")
"""kafka.common.Config.validateChars."""


def broken_of_producer(version: str, values: Mapping[str, Any], given: Collection[str]) -> Iterator[Problem]:
    """Broken rules of a producer. `values`: in force; `given`: explicitly set names.

    Idempotence by default, from 3.0 on, gives way to settings that contradict it
    (ProducerConfig.postProcessAndValidateIdempotenceConfigs).
    """
    gates = gates_for(version)
    idempotent = "enable.idempotence" in given and bool(values.get("enable.idempotence"))
    if given_text(values, "transactional.id") and "enable.idempotence" in given and not idempotent:
        yield ("transactional.id", "enable.idempotence"), "transactional.id needs enable.idempotence=true"
        return
    if idempotent or given_text(values, "transactional.id"):
        why = "enable.idempotence=true" if idempotent else "transactional.id"
        about = "enable.idempotence" if idempotent else "transactional.id"
        if not gates.idempotence:
            yield (about,), f"{about} needs Kafka 0.11 or later, not {version}"
        if "acks" in given and str(values["acks"]) not in ("all", "-1"):
            yield ("acks", about), f"{why} needs acks=all"
        if "retries" in given and values["retries"] == 0:
            yield ("retries", about), f"{why} needs retries above 0"
        in_flight = "max.in.flight.requests.per.connection"
        if in_flight in given and values[in_flight] > gates.remembered_batches:
            most = gates.remembered_batches
            yield (in_flight, about), f"{why} needs {in_flight} of at most {most} on {version}"
    if since(version, "2.1") and "delivery.timeout.ms" in given:
        least = values["linger.ms"] + values["request.timeout.ms"]
        if values["delivery.timeout.ms"] < least:
            names = ("delivery.timeout.ms", "linger.ms", "request.timeout.ms")
            less = f"delivery.timeout.ms {values['delivery.timeout.ms']:g} is less than linger.ms + request.timeout.ms"
            yield names, f"{less}, {least:g}"


def broken_of_consumer(version: str, values: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[Problem]:
    """Broken rules of a consumer. `given`: values by configured names.

    0.8.2 had no usable Java consumer.
    """
    if not gates_for(version).group_coordinator:
        return
    yield from _words_of_java_consumer(given)
    session = values["session.timeout.ms"]
    if problem := too_rare_heartbeats(session, values["heartbeat.interval.ms"]):
        yield ("heartbeat.interval.ms", "session.timeout.ms"), problem
    if not since(version, "2.0.0"):
        request, wait = values["request.timeout.ms"], values["fetch.max.wait.ms"]
        if request <= session or request <= wait:
            limits = f"session.timeout.ms={session} and fetch.max.wait.ms={wait}"
            about = ("request.timeout.ms", "session.timeout.ms", "fetch.max.wait.ms")
            yield about, f"request.timeout.ms={request} must be more than {limits}"


def _words_of_java_consumer(given: Mapping[str, Any]) -> Iterator[Problem]:
    if RESET in given and given[RESET] not in JAVA_RESETS:
        expected = f"the Java consumer takes {', '.join(JAVA_RESETS)}"
        yield (RESET,), f"{RESET}={given[RESET]} is of the Scala consumer; {expected}"
    if STRATEGY in given:
        named = [part.strip() for part in str(given[STRATEGY]).split(",")]
        for name in (one for one in named if one in SCALA_STRATEGIES):
            expected = "the Java consumer takes class names, such as org.apache.kafka.clients.consumer.RangeAssignor"
            yield (STRATEGY,), f"{STRATEGY}={name} is of the Scala consumer; {expected}"


def broken_of_scala_consumer(version: str, given: Mapping[str, Any]) -> Iterator[Problem]:
    """Broken rules of a Scala consumer. `given`: by its own names.

    It validates the strategy since 0.9.
    """
    for name in ("client.id", "group.id"):
        if not _LEGAL_ID.fullmatch(str(given.get(name, ""))):
            yield (name,), f"{name}={given[name]!r}: the Scala consumer takes only letters, digits, '.', '_' and '-'"
    if RESET in given and given[RESET] not in SCALA_RESETS:
        expected = f"the Scala consumer takes {' or '.join(SCALA_RESETS)}"
        yield (RESET,), f"{RESET}={given[RESET]} is of the Java consumer; {expected}"
    if STRATEGY in given and since(version, "0.9") and given[STRATEGY] not in SCALA_STRATEGIES:
        expected = f"the Scala consumer takes {' or '.join(SCALA_STRATEGIES)}"
        yield (STRATEGY,), f"{STRATEGY}={given[STRATEGY]} is of the Java consumer; {expected}"


def too_rare_heartbeats(session_timeout_ms: float, heartbeat_interval_ms: float) -> str:
    """Of a member of a group; "": they are not."""
    if heartbeat_interval_ms < session_timeout_ms:
        return ""
    return f"heartbeat.interval.ms={heartbeat_interval_ms} must be less than session.timeout.ms={session_timeout_ms}"


def given_text(values: Mapping[str, Any], name: str) -> str:
    return str(values.get(name) or "")
