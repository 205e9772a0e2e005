"""How long things take in the simulated world: what a seed varies.

A frame's way: a base latency, a part that varies (exponential, as queues make it), and now and then a hiccup of the
receiving process (a garbage collection, a scheduling delay). The means are those of a LAN and a busy JVM.
"""

import random
from functools import lru_cache
from math import log
from typing import Literal

import msgspec

from protocol.machine import TimerKey


class Latencies(msgspec.Struct, frozen=True):
    """All in ms. `hiccup_share`: of inputs that meet a hiccup of up to `hiccup_max_ms`."""

    base_ms: float = 0.15
    mean_extra_ms: float = 0.25
    hiccup_share: float = 0.004
    hiccup_max_ms: float = 4.0
    timer_late_mean_ms: float = 1.0
    log_creation_ms: tuple[float, float] = (5.0, 60.0)
    """Creating a log stalls a broker (directories, files, the first use of code): which broker is ready first is a
    race."""
    first_leadership_ms: tuple[float, float] = (40.0, 260.0)
    """A broker's first LeaderAndIsr takes longer than all later ones (code that is used for the first time);
    meanwhile it answers others as before. So a follower may ask a leader that does not know yet, and wait its
    back-off."""
    first_leader_more_ms: float = 37.0
    """And that much longer where it makes the broker a leader: recorded, followers were ready 37 ms sooner, with a
    deviation of 95 ms, so that two of three asked too soon."""
    first_produce_ms: tuple[float, float] = (15.0, 60.0)
    """So does its first Produce: recorded 20 to 80 ms with acks=1, and less than 10 afterwards."""
    first_fetch_ms: tuple[float, float] = (30.0, 130.0)
    """And its first answer to a follower: recorded, what follows a first write with acks=all comes 4.05 to 4.4 s after
    a follower's first order, of which the back-off is one and the script's stillness three."""
    first_failover_ms: tuple[float, float] = (20.0, 120.0)
    """And its first term as controller: before it reads who is there. Recorded, 50 to 200 ms lie between a controller
    and its first state; brokers that register meanwhile are there from the beginning."""
    start_ms: tuple[float, float] = (900.0, 1_500.0)
    start_extra_mean_ms: float = 200.0
    """From the order to start a broker to its first input. Those started together share the first part, as they share a
    machine, and not the second (exponential): which is there first is a race. Recorded, half of them were registered
    within 130 ms of each other, one in ten 600 ms apart."""
    session_start_ms: float = 120.0
    session_late_share: float = 0.05
    session_late_ms: tuple[float, float] = (2_200.0, 2_600.0)
    """A session server starts in `session_start_ms`; now and then so late that the others have chosen a leader without
    it (emulator/machines/session/election.py). Recorded: in one of 19 ensembles the highest number did not lead."""


Bounded = Literal[
    "log_creation_ms", "first_leadership_ms", "first_produce_ms", "first_fetch_ms", "first_failover_ms", "start_ms"
]
"""What takes a time drawn between two bounds: fields of `Latencies`."""

CALM = Latencies()
ROUGH = Latencies(base_ms=0.2, mean_extra_ms=1.5, hiccup_share=0.03, hiccup_max_ms=60.0, timer_late_mean_ms=2.0)
"""A machine short of CPU, for schedules in which races abound."""


TABLE = 4096


@lru_cache(maxsize=16)
def _frame_table(lat: Latencies) -> tuple[float, ...]:
    """Quantiles of a frame's time, so that drawing one is a look-up: the last `hiccup_share` of them have a hiccup."""
    calm = round(TABLE * (1.0 - lat.hiccup_share))
    ways = [lat.base_ms - lat.mean_extra_ms * log(1.0 - (i % calm + 0.5) / calm) for i in range(TABLE)]
    return tuple(
        way if i < calm else way + (i - calm + 0.5) / (TABLE - calm) * lat.hiccup_max_ms for i, way in enumerate(ways)
    )


class Draws:
    """The world's only random source. It is told for whom it draws, though one stream serves all: a test may keep
    a stream for each, so that who draws next does not hang on the order of names."""

    __slots__ = ("_draw", "_frames", "_timer_late_mean_ms", "latencies", "random")

    def __init__(self, seed: int, latencies: Latencies = CALM) -> None:
        self.random = random.Random(seed)
        self._draw = self.random.random
        self.latencies = latencies
        self._timer_late_mean_ms = latencies.timer_late_mean_ms
        self._frames = _frame_table(latencies)

    def frame_ms(self, sender: str, receiver: str) -> float:
        """One way of one frame."""
        scaled = self._draw() * TABLE
        index = int(scaled)
        # What is left of the draw keeps two frames of the same quantile apart.
        return self._frames[index] + (scaled - index) * 0.01

    def takes_ms(self, node: str, what: Bounded) -> float:
        """How long something takes a node that has bounds in `Latencies`."""
        bounds: tuple[float, float] = getattr(self.latencies, what)
        return self.random.uniform(*bounds)

    def start_extra_ms(self, node: str) -> float:
        """Of a broker's start, the part that those started with it do not share."""
        return -self.latencies.start_extra_mean_ms * log(1.0 - self.random.random())

    def session_start_ms(self, node: str) -> float:
        """How long a session server's process takes to start."""
        share, (low, high) = self.latencies.session_late_share, self.latencies.session_late_ms
        drawn = self.random.random()
        if drawn >= share:
            return self.latencies.session_start_ms
        return low + (high - low) * drawn / share

    def timer_ms(self, node: str, key: TimerKey) -> float:
        """How late a timer fires."""
        return -self._timer_late_mean_ms * log(1.0 - self._draw())

    def life_seed(self, node: str) -> int:
        """What a machine's own chance comes from, for one life."""
        return self.random.getrandbits(48)

    def links_seed(self, node: str) -> int:
        """What jitter and loss at a node's gates come from."""
        return self.random.getrandbits(32)

    def survives_bytes(self, node: str, synced: int, written: int) -> int:
        """How much of a file survives a power loss."""
        return self.random.randint(synced, written)
