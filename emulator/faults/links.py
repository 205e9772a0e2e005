"""Links: what faults do to one direction of one connection. Pure; both worlds ask it.

A rule stops traffic between nodes. Nothing is reset: bytes vanish, and TCP sends them again with its back-off, so
that after a heal data flows again only at the sender's next retransmission (`recovery: rto`), 0.2 s, 0.4 s, 0.8 s,
1.7 s, 3.3 s, 6.7 s, 13.3 s, 26.7 s, ... after the first byte that was lost. An opening connection repeats its SYN
after 1, 2, 3, 4, 5, 7, 11, 19, ... seconds. `recovery: instant` lets it flow at the heal.

So it is measured of a Linux 6.18 between two network namespaces. Two things of TCP are in it. What is sent last is
first sent again as a tail loss probe, which does not count as a retransmission (net/ipv4/tcp_output.c,
`tcp_schedule_loss_probe`): after as long as the first retransmission takes if it is one segment, at once if it is
more. A fetch's answer with records is more, for Kafka sends its head and then its records from the file:
retransmissions come after 0.2 s, 0.6 s, 1.5 s, 3.1 s, 6.5 s, 13.2 s, 26.5 s, and so an ISR is whole again 13.19 to
13.35 s, or 26.44 to 26.73 s, after the first record was lost, in the recordings that tell. And since Linux 6.5 the
first SYNs come a second apart (`tcp_syn_linear_timeouts`, 4): in link-broker-controller a leader learns of its
leadership 3.3 s after the first try, one segment, and its follower reaches it 4.1 s after its first SYN.

Each wait ends late: a kernel keeps its timers in a wheel whose slots are the wider the longer a wait is, and a timer
fires at the end of its slot (kernel/time/timer.c, `calc_wheel_index`; here with 250 ticks a second). A slot's end is a
multiple of its width from time 0, for all nodes, as in machines that share a kernel.

Picture: a road with a gate. While the gate is shut, the sender knocks less and less often; opening the gate helps
only at the next knock.
"""

from collections.abc import Iterator
from functools import reduce
from itertools import islice
from typing import NamedTuple

from protocol.messages.base import Message
from protocol.messages.replication import FetchResponse

TICK_MS = 4.0
SLOTS = 63
"""A wheel's level takes waits of fewer slots than these."""
SLOT_GROWS = 8.0
"""A level's slots are so many times as wide as those of the level below."""


class Retransmission(NamedTuple):
    """How a kernel repeats what nobody acknowledges."""

    before_ms: tuple[float, ...]
    """The waits before those that double."""
    first_ms: float
    """The first of those that double: each further one is twice the last."""
    tries: int
    """After these, and one more wait, the connection is given up."""

    def waits_ms(self) -> Iterator[float]:
        """From the first send on, without an end."""
        yield from self.before_ms
        wait_ms = self.first_ms
        while True:
            yield wait_ms
            wait_ms = min(wait_ms * 2.0, RTO_MAX_MS)


RTO_MAX_MS = 120_000.0
RTO_FIRST_MS = 204.0
"""TCP_RTO_MIN (200 ms) and the round trip, in whole ticks: what `ss -i` shows as `rto:204`."""
SEGMENT_BYTES = 1_448
"""What one segment holds where frames of a network have 1,500 bytes."""

DATA = Retransmission((RTO_FIRST_MS,), RTO_FIRST_MS, tries=16)
"""Of one segment: a tail loss probe, and tcp_retries2 = 15. Given up after 929 to 940 s."""
SEGMENTS = Retransmission((8.0,), RTO_FIRST_MS, tries=16)
"""Of several: the probe comes after two round trips and two ticks."""
ORPHAN_TRIES = 9
"""Of what a process left behind when it closed: the probe and 8 more (tcp_orphan_retries = 0 stands for 8). Given up
after 104 to 108 s."""
SYN = Retransmission((1_000.0,) * 4, 1_000.0, tries=10)
"""tcp_syn_linear_timeouts = 4 and tcp_syn_retries = 6. Given up after 133.2 to 135.4 s."""


def retransmission_of(message: Message, size_bytes: int) -> Retransmission:
    """How that frame of `size_bytes` is repeated."""
    with_records = isinstance(message, FetchResponse) and any(one.records for one in message.partitions)
    return SEGMENTS if with_records or size_bytes > SEGMENT_BYTES else DATA


def fires_at(now_ms: float, wait_ms: float) -> float:
    """When a kernel's timer fires that is set at `now_ms`: the first end of a slot after `now_ms + wait_ms`."""
    slot_ms = TICK_MS
    while wait_ms >= SLOTS * slot_ms:
        slot_ms *= SLOT_GROWS
    return ((now_ms + wait_ms) // slot_ms + 1.0) * slot_ms


def retransmission_at(first_lost_ms: float, not_before_ms: float, of: Retransmission = DATA) -> float:
    """When the sender of what was first lost at `first_lost_ms` tries again, at or after `not_before_ms`."""
    attempt_ms = first_lost_ms
    waits_ms = of.waits_ms()
    while attempt_ms < not_before_ms:
        attempt_ms = fires_at(attempt_ms, next(waits_ms))
    return attempt_ms


def given_up_at(first_lost_ms: float, of: Retransmission = DATA) -> float:
    """When TCP gives the connection up if nothing gets through."""
    return reduce(fires_at, islice(of.waits_ms(), of.tries + 1), first_lost_ms)
