"""The stream of a cluster's states: one sampler, a bounded history, and its readers.

The sampler runs while there are readers, at most five times a second. A reader is its connection and the number of its
last event. One that takes no bytes within the time limit of a connection is dropped; it resumes with its last event's
id.
"""

import sys
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Final

import trio

from emulator.cluster.page.stream_history import StreamHistory

SAMPLE_S: Final = 0.2
READERS_MAX: Final = 64
State = tuple[dict[str, Any], float]
"""A state, and its scenario time in ms."""


class StateStream:
    """`look` returns the cluster's state now. `run` samples until cancelled."""

    def __init__(self, run_id: str, look: Callable[[], Awaitable[State]]) -> None:
        self.history = StreamHistory(run_id)
        self.readers = 0
        self._look = look
        self._changed = trio.Event()
        self._ended = False

    async def run(self) -> None:
        """Sample while there are readers. A failed look is logged once, and tried again."""
        failed = ""
        while True:
            if not self.readers:
                await self._changed.wait()
                continue
            began_s = trio.current_time()
            try:
                state, at_ms = await self._look()
                if self.history.add(state, at_ms):
                    self._notify()
            except Exception as error:  # a bug of ours, or a node that ended meanwhile: the stream goes on
                if repr(error) != failed:
                    traceback.print_exc(file=sys.stderr)
                failed = repr(error)
            await trio.sleep_until(began_s + SAMPLE_S)

    async def events(self, last_event_id: str = "") -> AsyncGenerator[bytes, None]:
        """Events after that of the id; first a snapshot, if the history does not have them."""
        number = self.history.number_of(last_event_id)
        self.readers += 1
        self._notify()
        try:
            while True:
                changed = self._changed
                events, number = self.history.since(number)
                if events:
                    yield events
                elif self._ended:
                    yield self.history.end()
                    return
                else:
                    await changed.wait()
        finally:
            self.readers -= 1
            self._notify()

    def end(self) -> None:
        """End each reader's stream, with its last event."""
        self._ended = True
        self._notify()

    async def drained(self) -> None:
        """Wait until the last reader has left."""
        while self.readers:
            await self._changed.wait()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = trio.Event()
