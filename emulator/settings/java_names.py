"""Settings of Scala clients and old Java producers (before 0.11) under today's Java names.

The Java producer plays a producer with settings of the Scala one, with the Scala producer's defaults: acks=0, three
retries, one request at a time (ProducerConfig, SyncProducerConfig, AsyncProducerConfig of 0.8.2 to 1.1).
"""

from collections.abc import Mapping
from typing import Any, Final

from emulator.settings.setting import CONSUMER, LONG_MAX, PRODUCER, Value
from emulator.settings.setting_registry import BY_SCOPE

SCALA_PRODUCER: Final[dict[str, Value]] = {
    "acks": "0",
    "retries": 3,
    "request.timeout.ms": 10_000,
    "max.in.flight.requests.per.connection": 1,
    "metadata.max.age.ms": 600_000,
}
ASYNC_LINGER_MS: Final = 5000
CODECS: Final = {"0": "none", "1": "gzip", "2": "snappy", "3": "lz4"}
RESETS: Final = {"smallest": "earliest", "largest": "latest"}


def is_scala(scope: str, names: Mapping[str, Any]) -> bool:
    """Whether one of them belongs only to a Scala client."""
    return any(BY_SCOPE[scope][name].scala for name in names)


def java_producer(given: Mapping[str, Value]) -> dict[str, Value]:
    """Settings of a producer, by Kafka's names, as the Java producer's of today."""
    known = BY_SCOPE[PRODUCER]
    values = {name: value for name, value in given.items() if not known[name].java}
    if is_scala(PRODUCER, given):
        values = SCALA_PRODUCER | values
        values["linger.ms"] = ASYNC_LINGER_MS if values.pop("producer.type", "sync") == "async" else 0
    for name, value in given.items():
        match name:
            case "queue.buffering.max.ms" if given.get("producer.type", "sync") != "async":
                pass
            case "request.required.acks":
                values["acks"] = str(value)
            case "compression.codec":
                values["compression.type"] = CODECS.get(str(value), value)
            case _ if known[name].java:
                values[known[name].java] = value
    # KafkaProducer of 0.9: with block.on.buffer.full it blocks for ever.
    if values.pop("block.on.buffer.full", False):
        values["max.block.ms"] = LONG_MAX
    return values


def java_consumer(given: Mapping[str, Value]) -> dict[str, Value]:
    """The same for consumers. Settings of only the old consumer (`offsets.storage`) stay."""
    known = BY_SCOPE[CONSUMER]
    values = {name: value for name, value in given.items() if not known[name].java}
    values |= {known[name].java: value for name, value in given.items() if known[name].java}
    if "auto.offset.reset" in values:
        values["auto.offset.reset"] = RESETS.get(str(values["auto.offset.reset"]), values["auto.offset.reset"])
    return values
