"""Links: what faults do to one direction of one connection. Pure; both worlds ask it.

A rule stops traffic between nodes. Nothing is reset: bytes vanish, and TCP sends them again with its back-off, so
that after a heal data flows again only at the sender's next retransmission (`recovery: rto`), 200 ms, 600 ms, 1.4 s,
3 s, 6.2 s, 12.6 s, ... after the first byte that was lost. An opening connection repeats its SYN after 1, 3, 7, 15,
... seconds. `recovery: instant` lets it flow at the heal.

Picture: a road with a gate. While the gate is shut, the sender knocks less and less often; opening the gate helps
only at the next knock.
"""

RTO_FIRST_MS = 200.0
RTO_MAX_MS = 120_000.0
SYN_FIRST_MS = 1_000.0
TCP_RETRIES = 15
"""Linux tcp_retries2: after these the connection is given up (about 924 s)."""
SYN_RETRIES = 6


def retransmission_at(first_lost_ms: float, not_before_ms: float, first_ms: float = RTO_FIRST_MS) -> float:
    """When the sender of data first lost at `first_lost_ms` tries again, at or after `not_before_ms`."""
    attempt = first_lost_ms
    wait = first_ms
    while attempt < not_before_ms:
        attempt += wait
        wait = min(wait * 2, RTO_MAX_MS)
    return attempt


def given_up_at(first_lost_ms: float, first_ms: float = RTO_FIRST_MS, retries: int = TCP_RETRIES) -> float:
    """When TCP gives the connection up if nothing gets through."""
    end = first_lost_ms
    wait = first_ms
    for _ in range(retries + 1):
        end += wait
        wait = min(wait * 2, RTO_MAX_MS)
    return end
