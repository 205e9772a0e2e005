"""Timers: one heap for the machine's timers and the shell's own deadlines, and how late they were.

Lateness is counted when the input is handled, not when the clock rang: that is what a machine experiences.
A process that the injector paused is late by intent; what was due before it went on counts from then. One that
somebody else stopped is late.
"""

import ctypes
import heapq
import os
from collections.abc import Callable
from typing import Final

import trio

from protocol.events import TimerLateness
from protocol.lateness import buckets_text
from protocol.machine import TimerKey

SAMPLES_MAX = 100_000
"""Lateness samples kept between two reports; further ones only move the maximum."""


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
    """The kernel's timer. An event loop's own deadlines are rounded up to whole milliseconds, which at ten
    times the speed would make every timer 10 ms late."""

    def __init__(self) -> None:
        self._fd = _libc.timerfd_create(_CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")

    def ring_at(self, monotonic_s: float) -> None:
        """Moves the alarm; a time that is past rings at once."""
        whole_s = int(monotonic_s)
        spec = _TimerSpec(0, 0, whole_s, max(1, int((monotonic_s - whole_s) * 1e9)))
        if _libc.timerfd_settime(self._fd, _TFD_TIMER_ABSTIME, ctypes.byref(spec), None) != 0:
            raise OSError(ctypes.get_errno(), "timerfd_settime")

    async def wait(self) -> None:
        """Until it rings."""
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
    """Due times in scenario ms. A machine's timers have keys, the shell's deadlines are callbacks."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, TimerKey | None, Callable[[], None] | None]] = []
        self._live: dict[TimerKey, int] = {}
        self._number = 0

    @property
    def next_ms(self) -> float | None:
        """When something is due next. Cancelled timers ring no alarm: a parked request has one, and most are answered
        before it."""
        heap = self._heap
        while heap:
            due_ms, number, key, _ = heap[0]
            if key is None or self._live.get(key) == number:
                return due_ms
            heapq.heappop(heap)
        return None

    def set(self, key: TimerKey, due_ms: float) -> None:
        """Sets or moves the machine's timer `key`."""
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
        """Runs the shell's callbacks that are due; returns the machine's timers that are: (key, number, due
        ms)."""
        rung = []
        while self._heap and self._heap[0][0] <= now_ms:
            due_ms, number, key, callback = heapq.heappop(self._heap)
            if callback is not None:
                callback()
            elif key is not None and self._live.get(key) == number:
                rung.append((key, number, due_ms))
        return rung

    def claim(self, key: TimerKey, number: int) -> bool:
        """Just before TimerFired: False if the timer was cancelled or moved since it rang."""
        if self._live.get(key) != number:
            return False
        del self._live[key]
        return True


class Lateness:
    """How late timers were since the last report, scenario ms."""

    def __init__(self) -> None:
        self._samples: list[float] = []
        self._count = 0
        self._max_ms = 0.0
        self._resumed_ms = 0.0
        self._pause_announced = False

    def announce_pause(self) -> None:
        """The injector is about to stop this process."""
        self._pause_announced = True

    def resumed(self, now_ms: float) -> None:
        """The process was stopped and goes on: if that was announced, nothing before now counts."""
        if self._pause_announced:
            self._pause_announced = False
            self._resumed_ms = now_ms

    def held_until(self, now_ms: float) -> None:
        """A disk that is slow on purpose has held the machine until now: nothing before counts."""
        self._resumed_ms = now_ms

    def add(self, due_ms: float, now_ms: float) -> None:
        late_ms = now_ms - max(due_ms, self._resumed_ms)
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
