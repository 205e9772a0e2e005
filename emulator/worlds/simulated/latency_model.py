"""Random durations of the simulated world, drawn from the seed.

A frame's time: a base latency, a part that varies (exponential, as queues make it), and now and then a hiccup of the
receiving process (a garbage collection, a scheduling delay). The means are those of a LAN and a busy JVM.
"""

import random
from math import log

from emulator.worlds.simulated.latencies import CALM, TABLE, Bounded, Latencies, frame_table
from protocol.machine import TimerKey

START_EXTRA_MAX_MS = 24_000.0
"""Bound of a start's own part: a script that waits for the broker waits half a minute."""


class Draws:
    """The world's only random source.

    Each draw names its node, though one stream serves all: a test may keep a stream for each node, so that the result
    does not depend on the order of names.
    """

    __slots__ = ("_draw", "_frames", "_timer_hiccup_share", "_timer_late_mean_ms", "latencies", "random")

    def __init__(self, seed: int, latencies: Latencies = CALM) -> None:
        self.random = random.Random(seed)
        self._draw = self.random.random
        self.latencies = latencies
        self._timer_late_mean_ms = latencies.timer_late_mean_ms
        self._timer_hiccup_share = latencies.timer_hiccup_share
        self._frames = frame_table(latencies)

    def frame_ms(self, sender: str, receiver: str) -> float:
        """Time of one frame in one direction."""
        scaled = self._draw() * TABLE
        index = int(scaled)
        # The rest of the draw keeps two frames of the same quantile apart.
        return self._frames[index] + (scaled - index) * 0.01

    def takes_ms(self, node: str, what: Bounded) -> float:
        """Duration of an action that has bounds in `Latencies`."""
        low_ms, high_ms = getattr(self.latencies, what)
        if what in self.latencies.skewed:
            ratio: float = high_ms / low_ms
            return float(low_ms * ratio ** self.random.random())
        return self.random.uniform(low_ms, high_ms)

    def start_extra_ms(self, node: str) -> float:
        """Part of a broker's start time that brokers started with it do not share."""
        extra_ms = -self.latencies.start_extra_mean_ms * log(1.0 - self.random.random())
        return min(extra_ms, START_EXTRA_MAX_MS)

    def session_start_ms(self, node: str) -> float:
        """Start time of a session server's process."""
        share, (low, high) = self.latencies.session_late_share, self.latencies.session_late_ms
        drawn = self.random.random()
        if drawn >= share:
            return self.latencies.session_start_ms
        return low + (high - low) * drawn / share

    def outlives(self, node: str) -> bool:
        """Whether an ended process' frames on a connection pass after a heal."""
        share = self.latencies.outliving_share
        return share > 0.0 and self.random.random() < share

    def timer_ms(self, node: str, key: TimerKey) -> float:
        """Lateness of a timer."""
        drawn = self._draw()
        if drawn < self._timer_hiccup_share:
            return drawn / self._timer_hiccup_share * self.latencies.hiccup_max_ms
        return -self._timer_late_mean_ms * log(1.0 - drawn)

    def life_seed(self, node: str) -> int:
        """Seed of a machine for one incarnation."""
        return self.random.getrandbits(48)

    def links_seed(self, node: str) -> int:
        """Seed of jitter and loss at a node's gates."""
        return self.random.getrandbits(32)

    def survives_bytes(self, node: str, synced: int, written: int) -> int:
        """Bytes of a file that survive a power loss."""
        return self.random.randint(synced, written)
