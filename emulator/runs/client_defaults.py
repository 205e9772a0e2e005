"""Settings of clients that a scenario gives for all of them (`producer.NAME`, `consumer.NAME`), put into its steps.

A step's own settings win, and so does what its keys say: `acks`, `retries`, `timeout_ms`, `idempotent`. Steps that
use no client's library (a produce at a named broker, a fetch) have no settings to be given.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from emulator.scenario import model as m

PRODUCER = "producer."
CONSUMER = "consumer."
SAID_BY_STEP = ("acks", "retries", "request.timeout.ms")
"""What every produce says by its keys."""
IDEMPOTENCE = "enable.idempotence"
"""What one says by its key `idempotent`, if it has it."""


def with_client_settings(steps: tuple[m.AnyStep, ...], settings: Mapping[str, Any]) -> tuple[m.AnyStep, ...]:
    """`settings`: the scenario's, of which those of clients are taken."""
    producer = {name: value for name, value in _of(PRODUCER, settings).items() if name not in SAID_BY_STEP}
    consumer = _of(CONSUMER, settings)
    return tuple(_given(step, producer, consumer) for step in steps)


def _of(prefix: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name.removeprefix(prefix): value for name, value in settings.items() if name.startswith(prefix)}


def _given(step: m.AnyStep, producer: dict[str, Any], consumer: dict[str, Any]) -> m.AnyStep:
    match step:
        case m.Produce(broker=None):
            given = {name: value for name, value in producer.items() if not (step.idempotent and name == IDEMPOTENCE)}
            return msgspec.structs.replace(step, settings=given | step.settings)
        case m.Consume() | m.Commit() | m.LookCommitted():
            return msgspec.structs.replace(step, settings=consumer | step.settings)
        case m.Background(step=inner):
            return msgspec.structs.replace(step, step=_given(inner, producer, consumer))
        case m.Repeat(steps=inner_steps):
            return msgspec.structs.replace(step, steps=tuple(_given(one, producer, consumer) for one in inner_steps))
        case _:
            return step
