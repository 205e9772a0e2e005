"""TCP's retransmissions while faults stop one direction of a connection. Pure.

Both worlds use it.

A rule stops traffic between nodes. Nothing is reset: bytes vanish, and TCP sends them again with its back-off. After a
heal data flows again only at the sender's next retransmission (`recovery: rto`), 0.2 s, 0.4 s, 0.8 s, 1.7 s, 3.3 s, 6.7
s, 13.3 s, 26.7 s, ... after the first byte that was lost. An opening connection repeats its SYN after 1, 2, 3, 4, 5, 7,
11, 19, ... seconds. With `recovery: instant` data flows at the heal.

These times were measured on a Linux 6.18 between two network namespaces. Two properties of TCP explain them:

- TCP first repeats what it sent last as a tail loss probe, which does not count as a retransmission
  (net/ipv4/tcp_output.c, `tcp_schedule_loss_probe`). One segment: after as long as the first retransmission takes.
  Several segments: at once. A fetch response with records is several, for Kafka sends its head and then its records
  from the file. Its retransmissions come after 0.2 s, 0.6 s, 1.5 s, 3.1 s, 6.5 s, 13.2 s, 26.5 s. So an ISR is whole
  again 13.19 to 13.35 s, or 26.44 to 26.73 s, after the first record was lost, in the recordings that show it.
- Since Linux 6.5 the first SYNs come a second apart (`tcp_syn_linear_timeouts`, 4). In link-broker-controller a leader
  learns of its leadership 3.3 s after the first try, one segment, and its follower reaches it 4.1 s after its first
  SYN.

Each wait ends late. A kernel keeps its timers in a wheel; the longer the wait, the wider the wheel's slots. A timer
fires at the end of its slot (kernel/time/timer.c, `calc_wheel_index`; here with 250 ticks a second). A slot's end is a
multiple of its width from time 0, for all nodes, as in machines that share a kernel.
"""

from collections.abc import Iterator
from functools import reduce
from itertools import islice
from typing import NamedTuple

from protocol.messages.message_base import Message
from protocol.messages.replication_messages import FetchResponse

TICK_MS = 4.0
SLOTS = 63
"""Slots of a wheel's level; longer waits go to the next level."""
SLOT_GROWS = 8.0
"""Width of a level's slots as a multiple of the level below."""


class Retransmission(NamedTuple):
    """The kernel's schedule for repeating what is not acknowledged."""

    before_ms: tuple[float, ...]
    """The waits before those that double."""
    first_ms: float
    """The first of those that double: each further one is twice the last."""
    tries: int
    """After these, and one more wait, the connection is given up."""

    def waits_ms(self) -> Iterator[float]:
        """Waits in ms from the first send on, without an end."""
        yield from self.before_ms
        wait_ms = self.first_ms
        while True:
            yield wait_ms
            wait_ms = min(wait_ms * 2.0, RTO_MAX_MS)


RTO_MAX_MS = 120_000.0
RTO_FIRST_MS = 204.0
"""TCP_RTO_MIN (200 ms) and the round trip, in whole ticks: what `ss -i` shows as `rto:204`."""
SEGMENT_BYTES = 1_448
"""Bytes in one segment on a network with frames of 1,500 bytes."""

DATA = Retransmission((RTO_FIRST_MS,), RTO_FIRST_MS, tries=16)
"""Of one segment: a tail loss probe, and tcp_retries2 = 15. Given up after 929 to 940 s."""
SEGMENTS = Retransmission((8.0,), RTO_FIRST_MS, tries=16)
"""Of several segments: the probe comes after two round trips and two ticks."""
ORPHAN_TRIES = 9
"""Tries after a close of what a process left behind. Given up after 104 to 108 s.

The probe and 8 more (tcp_orphan_retries = 0 stands for 8).
"""
SYN = Retransmission((1_000.0,) * 4, 1_000.0, tries=10)
"""tcp_syn_linear_timeouts = 4 and tcp_syn_retries = 6. Given up after 133.2 to 135.4 s."""


def retransmission_of(message: Message, size_bytes: int) -> Retransmission:
    """The retransmission schedule of a frame of `size_bytes`."""
    with_records = isinstance(message, FetchResponse) and any(one.records for one in message.partitions)
    return SEGMENTS if with_records or size_bytes > SEGMENT_BYTES else DATA


def fires_at(now_ms: float, wait_ms: float) -> float:
    """Time when a kernel timer set at `now_ms` fires.

    It is the first end of a slot after `now_ms + wait_ms`.
    """
    slot_ms = TICK_MS
    while wait_ms >= SLOTS * slot_ms:
        slot_ms *= SLOT_GROWS
    return ((now_ms + wait_ms) // slot_ms + 1.0) * slot_ms


def retransmission_at(first_lost_ms: float, not_before_ms: float, of: Retransmission = DATA) -> float:
    """Time of the next try at or after `not_before_ms` for a loss at `first_lost_ms`."""
    attempt_ms = first_lost_ms
    waits_ms = of.waits_ms()
    while attempt_ms < not_before_ms:
        attempt_ms = fires_at(attempt_ms, next(waits_ms))
    return attempt_ms


def given_up_at(first_lost_ms: float, of: Retransmission = DATA) -> float:
    """Time when TCP gives the connection up if nothing gets through."""
    return reduce(fires_at, islice(of.waits_ms(), of.tries + 1), first_lost_ms)
