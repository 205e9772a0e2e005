"""Kafka's threads, as far as they block each other. Semantics 1.6.

A thread executes *work* (protocol/work.py): a generator that reads like Kafka's blocking code, and yields its
waits: a partition's lock, ZooKeeper, a turn. All threads of a broker belong to one runner
(`BrokerContext.threads`). The end of a wait only notes that a thread can go on; all of them go on at the end of the
current step. A waiting thread does nothing else: a waiting request handler serves no request, a waiting expiry
thread expires no fetch.
"""

from collections import deque

from protocol.work import Runner, Work


class SingleThread:
    """A thread with a queue of work, each piece done after the one before."""

    __slots__ = ("_busy", "_name", "_queue", "_threads")

    def __init__(self, threads: Runner, name: str) -> None:
        self._threads = threads
        self._name = name
        self._queue: deque[tuple[str, Work[None]]] = deque()
        self._busy = False

    def do(self, does: str, work: Work[None]) -> None:
        """Execute work now, or in its turn. The caller bounds the queue."""
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
