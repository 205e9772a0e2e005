"""Shared part of admin requests: work on ZooKeeper, and a response that waits for metadata.

The response waits until this broker's own metadata show the result, or until the request's time limit.
"""

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import TypeVar

from controller.session_calls import Procedure, Procedures, SessionLost
from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.broker_metadata import MetadataCache
from protocol.machine import Now
from protocol.outbox import Outbox

WAITING_MAX = 1_000
"""Bound of requests that wait for metadata; further ones get a response at once."""
R = TypeVar("R")
L = TypeVar("L")


class AdministrationWork:
    """Work of one kind of admin requests. `name`: its thread's name."""

    def __init__(self, name: str, context: BrokerContext, metadata: MetadataCache, procedures: Procedures) -> None:
        self._name = name
        self._context = context
        self._metadata = metadata
        self._procedures = procedures
        self._numbers = count(1)

    def begin(self, doing: Procedure[R], done: Callable[[R], None], lost: Callable[[], R]) -> None:
        """Begin work; `done` receives its result.

        `lost` makes the result if the session expired meanwhile: the outcome of the writes is unknown then.
        """

        def ended(now: Now, out: Outbox, result: R) -> None:
            self._context.now = now
            done(result)

        def failed(now: Now, out: Outbox, error: Exception) -> None:
            if not isinstance(error, SessionLost):
                raise error
            ended(now, out, lost())

        now, out = self._context.now, self._context.out
        self._procedures.task(now, out, self._name, "", doing, ended, failed).start()

    def wait(self, limit_ms: float, lacking: Callable[[], list[L]], answer: Callable[[list[L]], None]) -> None:
        """Wait until nothing is lacking, at most `limit_ms`; `answer` receives the rest."""
        metadata = self._metadata
        if not lacking() or limit_ms <= 0 or len(metadata.waiting) >= WAITING_MAX:
            answer(lacking())
            return
        key = (self._name, next(self._numbers))

        def look() -> None:
            if not lacking():
                self._context.out.cancel_timer(key)
                end()

        def end() -> None:
            metadata.waiting.remove(look)
            answer(lacking())

        metadata.waiting.append(look)
        self._context.set_timer(key, limit_ms, partial(end))

    def is_led(self, topic: str, partitions: int) -> bool:
        """Whether each partition has a live leader, by this broker's metadata."""
        metadata = self._metadata
        states = [metadata.partitions.get((topic, number)) for number in range(partitions)]
        return all(state is not None and state.leader in metadata.live for state in states)
