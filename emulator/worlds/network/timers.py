"""One heap for the machine's timers and the shell's own deadlines, and their lateness.

Lateness is counted when the input is handled, not when the clock rang: that is what a machine experiences.
The time for which the injector stopped the process, or a disk that it made slow held it, is no lateness: exactly that
time, as the injector tells it. A stop by others is lateness.
"""

import ctypes
import heapq
import os
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Final

import trio

from protocol.events import TimerLateness
from protocol.lateness import buckets_text
from protocol.machine import TimerKey

SAMPLES_MAX = 100_000
"""Lateness samples kept between two reports; further ones only move the maximum."""
EXCUSED_MAX = 100_000
"""Intervals kept: a slow disk makes one at each step."""


_libc = ctypes.CDLL(None, use_errno=True)
_CLOCK_MONOTONIC: Final = 1
_TFD_TIMER_ABSTIME: Final = 1


class _TimerSpec(ctypes.Structure):
    """struct itimerspec: interval, then the first expiration, each as seconds and nanoseconds."""

    _fields_ = (
        ("every_s", ctypes.c_long),
        ("every_ns", ctypes.c_long),
        ("at_s", ctypes.c_long),
        ("at_ns", ctypes.c_long),
    )


class Alarm:
    """The kernel's timer.

    An event loop's own deadlines are rounded up to whole milliseconds, which at ten times the speed would make every
    timer 10 ms late.
    """

    def __init__(self) -> None:
        self._fd = _libc.timerfd_create(_CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")

    def ring_at(self, monotonic_s: float) -> None:
        """Move the alarm; a time that is past rings at once."""
        whole_s = int(monotonic_s)
        spec = _TimerSpec(0, 0, whole_s, max(1, int((monotonic_s - whole_s) * 1e9)))
        if _libc.timerfd_settime(self._fd, _TFD_TIMER_ABSTIME, ctypes.byref(spec), None) != 0:
            raise OSError(ctypes.get_errno(), "timerfd_settime")

    async def wait(self) -> None:
        """Wait until it rings."""
        while True:
            await trio.lowlevel.wait_readable(self._fd)
            try:
                os.read(self._fd, 8)
            except BlockingIOError:  # moved after it rang
                continue
            return

    def close(self) -> None:
        os.close(self._fd)


class TimerHeap:
    """Due times in scenario ms.

    A machine's timers have keys, the shell's deadlines are callbacks.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, TimerKey | None, Callable[[], None] | None]] = []
        self._live: dict[TimerKey, int] = {}
        self._number = 0

    @property
    def next_ms(self) -> float | None:
        """The next due time, ms; None without a timer.

        A cancelled timer wakes no process: each parked request has a timer, and most are answered before it.
        """
        heap = self._heap
        while heap:
            due_ms, number, key, _ = heap[0]
            if key is None or self._live.get(key) == number:
                return due_ms
            heapq.heappop(heap)
        return None

    def set(self, key: TimerKey, due_ms: float) -> None:
        """Set or move the machine's timer `key`."""
        self._number += 1
        self._live[key] = self._number
        heapq.heappush(self._heap, (due_ms, self._number, key, None))
        if len(self._heap) > 64 and len(self._heap) > 4 * len(self._live):
            self._heap = [entry for entry in self._heap if entry[2] is None or self._live.get(entry[2]) == entry[1]]
            heapq.heapify(self._heap)

    def cancel(self, key: TimerKey) -> None:
        self._live.pop(key, None)

    def call_at(self, due_ms: float, callback: Callable[[], None]) -> None:
        """A deadline of the shell."""
        self._number += 1
        heapq.heappush(self._heap, (due_ms, self._number, None, callback))

    def due(self, now_ms: float) -> list[tuple[TimerKey, int, float]]:
        """Run the shell's due callbacks; return the machine's due timers: (key, number, due ms)."""
        rung = []
        while self._heap and self._heap[0][0] <= now_ms:
            due_ms, number, key, callback = heapq.heappop(self._heap)
            if callback is not None:
                callback()
            elif key is not None and self._live.get(key) == number:
                rung.append((key, number, due_ms))
        return rung

    def claim(self, key: TimerKey, number: int) -> bool:
        """Claim a timer just before TimerFired; False if it was cancelled or moved since it rang."""
        if self._live.get(key) != number:
            return False
        del self._live[key]
        return True


class ExcusedTime:
    """Intervals of scenario time in which the injector stopped the process: pauses, a slow disk.

    It keeps the latest EXCUSED_MAX disjoint intervals. An addition costs O(intervals that it touches).
    """

    def __init__(self) -> None:
        self._starts: list[float] = []
        self._ends: list[float] = []
        self._until: list[float] = []
        """For each interval: excused ms up to its end."""

    def add(self, from_ms: float, to_ms: float) -> None:
        """Add an interval; it may overlap earlier ones. An empty one changes nothing."""
        if to_ms <= from_ms:
            return
        first, after = bisect_left(self._ends, from_ms), bisect_right(self._starts, to_ms)
        if first < after:
            from_ms, to_ms = min(from_ms, self._starts[first]), max(to_ms, self._ends[after - 1])
        self._starts[first:after], self._ends[first:after] = [from_ms], [to_ms]
        del self._until[first:]
        for start_ms, end_ms in zip(self._starts[first:], self._ends[first:], strict=True):
            self._until.append((self._until[-1] if self._until else 0.0) + end_ms - start_ms)
        if len(self._starts) > EXCUSED_MAX:
            for column in (self._starts, self._ends, self._until):
                del column[: EXCUSED_MAX // 2]

    def within(self, from_ms: float, to_ms: float) -> float:
        """Excused ms of [from_ms, to_ms]."""
        return self._up_to(to_ms) - self._up_to(from_ms)

    def _up_to(self, at_ms: float) -> float:
        """Up to `at_ms`, since the first known interval."""
        begun = bisect_right(self._starts, at_ms)
        if not begun:
            return self._until[0] - (self._ends[0] - self._starts[0]) if self._until else 0.0
        return self._until[begun - 1] - max(0.0, self._ends[begun - 1] - at_ms)


class Lateness:
    """Lateness of timers since the last report, scenario ms, without what the injector stopped.

    The process sees neither end of its own pause: the injector tells both ends afterwards (`paused`). From its
    announcement until then timers wait to be counted, so that a stop by others, however close, is lateness."""

    def __init__(self) -> None:
        self._samples: list[float] = []
        self._count = 0
        self._max_ms = 0.0
        self._excused = ExcusedTime()
        self._waiting: list[tuple[float, float]] = []
        self._pause_announced = False

    def announce_pause(self) -> None:
        """The injector is about to stop this process."""
        self._pause_announced = True

    def paused(self, from_ms: float, to_ms: float) -> None:
        """The announced pause lasted from `from_ms` to `to_ms`."""
        self._pause_announced = False
        self._excused.add(from_ms, to_ms)
        waiting, self._waiting = self._waiting, []
        for due_ms, now_ms in waiting:
            self.add(due_ms, now_ms)

    def held(self, from_ms: float, to_ms: float) -> None:
        """A disk that is slow on purpose held the machine."""
        self._excused.add(from_ms, to_ms)

    def add(self, due_ms: float, now_ms: float) -> None:
        """Count a timer that was due at `due_ms` and is handled at `now_ms`."""
        if self._pause_announced:
            if len(self._waiting) < SAMPLES_MAX:
                self._waiting.append((due_ms, now_ms))
            return
        late_ms = max(0.0, now_ms - due_ms - self._excused.within(due_ms, now_ms))
        self._count += 1
        self._max_ms = max(self._max_ms, late_ms)
        if len(self._samples) < SAMPLES_MAX:
            self._samples.append(late_ms)

    def report(self) -> TimerLateness | None:
        """The event since the last report; None if no timer fired."""
        if not self._count:
            return None
        samples = sorted(self._samples)
        report = TimerLateness(
            timers=self._count,
            p50_ms=round(samples[len(samples) // 2], 3),
            p999_ms=round(samples[min(len(samples) - 1, int(len(samples) * 0.999))], 3),
            max_ms=round(self._max_ms, 3),
            buckets=buckets_text(samples),
        )
        self._samples, self._count, self._max_ms = [], 0, 0.0
        return report
