"""How long things take in the simulated world: what a seed varies.

A frame's way: a base latency, a part that varies (exponential, as queues make it), and now and then a hiccup of the
receiving process (a garbage collection, a scheduling delay). The means are those of a LAN and a busy JVM.
"""

import random
from math import log

import msgspec


class Latencies(msgspec.Struct, frozen=True):
    """All in ms. `hiccup_share`: of inputs that meet a hiccup of up to `hiccup_max_ms`."""

    base_ms: float = 0.15
    mean_extra_ms: float = 0.25
    hiccup_share: float = 0.004
    hiccup_max_ms: float = 4.0
    timer_late_mean_ms: float = 0.3
    log_creation_ms: tuple[float, float] = (5.0, 60.0)
    """Creating a log stalls a broker (directories, files, the first use of code): which broker is ready first is a race."""


CALM = Latencies()
ROUGH = Latencies(base_ms=0.2, mean_extra_ms=1.5, hiccup_share=0.03, hiccup_max_ms=60.0, timer_late_mean_ms=2.0)
"""A machine short of CPU, for schedules in which races abound."""


class Draws:
    """The world's only random source."""

    __slots__ = ("_latencies", "random")

    def __init__(self, seed: int, latencies: Latencies = CALM) -> None:
        self.random = random.Random(seed)
        self._latencies = latencies

    def frame_ms(self) -> float:
        """One way of one frame."""
        lat = self._latencies
        draw = self.random.random
        way_ms = lat.base_ms - lat.mean_extra_ms * log(1.0 - draw())
        if draw() < lat.hiccup_share:
            way_ms += draw() * lat.hiccup_max_ms
        return way_ms

    def stall_ms(self) -> float:
        """How long the creation of a log takes."""
        low, high = self._latencies.log_creation_ms
        return low + (high - low) * self.random.random()

    def timer_ms(self) -> float:
        """How late a timer fires."""
        return -self._latencies.timer_late_mean_ms * log(1.0 - self.random.random())
