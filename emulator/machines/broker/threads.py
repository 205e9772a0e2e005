"""Kafka's threads, as far as they get into each other's way. Semantics 1.6.

What a thread does is *work* (protocol/work.py): a generator that reads like Kafka's blocking code, and yields what it
has to wait for: a partition's lock, the session service, a turn. All threads of a broker are one runner's
(`BrokerContext.threads`). What was waited for only notes that a thread can go on; the step that is under way lets all
of them go on at its end. A thread that waits does nothing else meanwhile: a request handler serves nobody, the one that
expires parked fetches expires none."""

from collections import deque

from protocol.work import Runner, Work


class SingleThread:
    """A thread of its own with a queue of work, each piece done when the one before is over."""

    __slots__ = ("_busy", "_name", "_queue", "_threads")

    def __init__(self, threads: Runner, name: str) -> None:
        self._threads = threads
        self._name = name
        self._queue: deque[tuple[str, Work[None]]] = deque()
        self._busy = False

    def do(self, does: str, work: Work[None]) -> None:
        """Now, or when its turn comes. Whoever asks bounds how much is queued."""
        if self._busy:
            self._queue.append((does, work))
            return
        self._busy = True
        self._threads.start(self._name, does, work, self._ended)

    @property
    def queued(self) -> int:
        return len(self._queue)

    def _ended(self, result: None) -> None:
        self._busy = False
        if self._queue:
            self._threads.ready.append(self._next)

    def _next(self) -> None:
        if not self._busy and self._queue:
            self._busy = True
            self._threads.start(self._name, *self._queue.popleft(), self._ended)
