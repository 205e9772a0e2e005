"""Bounds and means of durations in the simulated world: those of a LAN and a busy JVM."""

from functools import lru_cache
from math import log
from typing import Literal

import msgspec

Bounded = Literal[
    "log_creation_ms", "first_leadership_ms", "first_produce_ms", "first_fetch_ms", "first_failover_ms",
    "first_heartbeat_ms", "resume_ms", "start_ms", "start_together_ms", "vote_ms",
    "metadata_ms", "link_fault_ms", "publish_ms", "first_append_ms",
]
"""Durations drawn between two bounds: fields of `Latencies`."""


class Latencies(msgspec.Struct, frozen=True):
    """All in ms. `hiccup_share`: of inputs that meet a hiccup of up to `hiccup_max_ms`."""

    base_ms: float = 0.15
    mean_extra_ms: float = 0.25
    hiccup_share: float = 0.004
    hiccup_max_ms: float = 4.0
    timer_late_mean_ms: float = 1.0
    timer_hiccup_share: float = 0.0
    """Share of timers that meet a hiccup, of up to `hiccup_max_ms`, instead."""
    log_creation_ms: tuple[float, float] = (5.0, 60.0)
    """Time of a broker's stall while it creates a log (directories, files, new code).

    The order in which brokers become ready is a race.
    """
    first_leadership_ms: tuple[float, float] = (40.0, 260.0)
    """Additional time of a broker's first LeaderAndIsr (code that is used for the first time).

    Meanwhile it answers other requests as before. So a follower may send a request to a leader that does not know its
    role yet, and wait its back-off.
    """
    first_leader_more_ms: float = 37.0
    """Further time if it makes the broker a leader.

    Recorded: followers were ready 37 ms sooner, with a deviation of 95 ms, so that two of three sent requests too soon.
    """
    first_produce_ms: tuple[float, float] = (15.0, 60.0)
    """Additional time of its first Produce.

    Recorded: 20 to 80 ms with acks=1, and less than 10 afterwards.
    """
    first_fetch_ms: tuple[float, float] = (30.0, 130.0)
    """Additional time of its first answer to a follower.

    Recorded: the step after a first write with acks=all comes 4.05 to 4.4 s after a follower's first request, of which
    the back-off is one and the script's stillness three.
    """
    first_append_ms: tuple[float, float] | None = None
    """Time from a broker's first append of fetched records to its next fetch.

    None: as later ones.
    """
    first_failover_ms: tuple[float, float] = (20.0, 120.0)
    """Time before a new controller reads the registered brokers in its first term.

    Recorded: 50 to 200 ms lie between a controller and its first state; brokers that register meanwhile are in it from
    the beginning.
    """
    start_ms: tuple[float, float] = (900.0, 1_500.0)
    start_extra_mean_ms: float = 200.0
    """Mean time from the order to start a broker to its first input, besides `start_ms`.

    Brokers started together share `start_ms`, as they share a machine, and not this part (exponential): their order is
    a race. Recorded: half of them were registered within 130 ms of each other, one in ten 600 ms apart.
    """
    start_together_ms: tuple[float, float] = (0.0, 0.0)
    """Further start time of brokers that are started together, the same for all of them.

    Their Java machines compete for the processors.
    """
    vote_ms: tuple[float, float] = (0.0, 0.0)
    """Additional time of each request for a vote.

    The candidate syncs its state, and opens connections.
    """
    metadata_ms: tuple[float, float] = (0.0, 0.0)
    """Additional time of each request for metadata.

    The recorder's client opens a connection for it.
    """
    link_fault_ms: tuple[float, float] = (0.0, 0.0)
    """Time from an order to cut or heal links to its effect.

    As much passes again until the script goes on.
    """
    outliving_share: float = 0.0
    """Share of an ended process' connections whose frames pass after a heal.

    Its kernel sends them again.
    """
    publish_ms: tuple[float, float] = (0.0, 0.0)
    """Time from committed metadata at a KRaft broker until it publishes them.

    Other threads do that, with code that is seldom used.
    """
    first_heartbeat_ms: tuple[float, float] = (10.0, 100.0)
    """Additional time of a KRaft broker's first heartbeat response: its start goes on meanwhile."""
    resume_ms: tuple[float, float] = (0.0, 0.0)
    """Time from a process' continuation until its open connections and timers go on.

    New connections do at once. Recorded: a leader that was paused for longer than its session served a write of a new
    client.
    """
    skewed: frozenset[Bounded] = frozenset()
    """Durations whose logarithm is uniform: most are short, few are long."""
    session_start_ms: float = 120.0
    session_late_share: float = 0.05
    session_late_ms: tuple[float, float] = (2_200.0, 2_600.0)
    """A session server starts in `session_start_ms`, rarely in `session_late_ms`.

    Then the others have chosen a leader without it (emulator/machines/session/election.py). Recorded: in one of 19
    ensembles the highest number did not lead.
    """


CALM = Latencies()
LOADED = Latencies(
    timer_late_mean_ms=60.0,
    start_ms=(3_000.0, 9_500.0),
    start_extra_mean_ms=600.0,
    first_leadership_ms=(40.0, 2_700.0),
    first_append_ms=(100.0, 900.0),
)
"""A machine on which Java starts slowly, as in the recordings of 3.9.

Recorded: a started broker registered after 4.5 to 9.2 s, and first answered up to 2.7 s later. A first write with
acks=all took 0.1 to 0.9 s. A cut found a broker after its first append and before its next fetch. Sessions ended up to
a ping earlier than with timers on time. Scripts that do not wait for a broker (random schedules) go on meanwhile.
"""
KRAFT = Latencies(
    mean_extra_ms=0.8,
    hiccup_share=0.03,
    hiccup_max_ms=80.0,
    timer_late_mean_ms=0.5,
    timer_hiccup_share=0.02,
    start_ms=(1_300.0, 2_000.0),
    start_extra_mean_ms=3_700.0,
    start_together_ms=(2_500.0, 7_500.0),
    vote_ms=(15.0, 70.0),
    metadata_ms=(0.0, 15.0),
    link_fault_ms=(10.0, 300.0),
    outliving_share=0.5,
    log_creation_ms=(20.0, 400.0),
    first_produce_ms=(20.0, 300.0),
    first_append_ms=(10.0, 700.0),
    publish_ms=(2.0, 60.0),
    skewed=frozenset({"link_fault_ms", "first_produce_ms", "first_append_ms", "publish_ms"}),
    first_heartbeat_ms=(300.0, 1_800.0),
    resume_ms=(60.0, 600.0),
)
"""The machine of KRaft's recordings.

Recorded, and in the logs of these brokers:

- From a broker's start to its first response 2.3 to 13 s, half of them within 5.3 s, one in ten more than 11 s. Two or
  three that were started together took 9 to 17 s.
- From its registration to its unfencing 0.4 to 2.1 s.
- The first state of a partition reached three brokers within 0.01 to 0.7 s, half of them within 0.2 s; a later one
  within 0.3 s, half of them within 0.03 s.
- No-op records of one controller followed each other after 500 ms, half of them at most 1 ms later, one in fifty 20 to
  80 ms later. So a fencing 9 s after a claim shares its batch with the 18th, and brokers of 3.9 learn of its commitment
  from the 19th.
- A first write with acks=all took 0.05 to 0.9 s, a quarter of them less than 0.16 s; or 1.1 to 1.5 s, if a follower had
  asked before the leader knew its role.
- Two followers of a lost leader end their fetches within 5 ms, and a request for a vote takes 15 to 80 ms. So until 3.9
  each becomes a candidate: all 12 lost leaders had a successor two epochs later, after 3.6 to 4.2 s.
- A cut or heal took 0.02 to 0.55 s, half of them more than 0.1 s, one in ten more than 0.35 s. A request for metadata
  took 0 to 40 ms.
- Two brokers were cut off, then killed, while their controller went on. A heartbeat of one of them reached it after
  the heal.
"""
ROUGH = Latencies(base_ms=0.2, mean_extra_ms=1.5, hiccup_share=0.03, hiccup_max_ms=60.0, timer_late_mean_ms=2.0)
"""A machine short of CPU, for schedules with many races."""


TABLE = 4096


@lru_cache(maxsize=16)
def frame_table(lat: Latencies) -> tuple[float, ...]:
    """Quantiles of a frame's time, so that drawing one is a look-up.

    The last `hiccup_share` of them have a hiccup.
    """
    calm = round(TABLE * (1.0 - lat.hiccup_share))
    ways = [lat.base_ms - lat.mean_extra_ms * log(1.0 - (i % calm + 0.5) / calm) for i in range(TABLE)]
    return tuple(
        way if i < calm else way + (i - calm + 0.5) / (TABLE - calm) * lat.hiccup_max_ms for i, way in enumerate(ways)
    )
