"""Semantics 11.16: the times of a kernel's timers, and of TCP: late by the rest of a slot."""

import pytest

from emulator.faults.links import (
    DATA,
    RTO_MAX_MS,
    SEGMENTS,
    SYN,
    Retransmission,
    fires_at,
    given_up_at,
    retransmission_at,
    retransmission_of,
)  # fmt: skip
from protocol.messages.replication_messages import FetchedPartition, FetchResponse

STARTS = tuple(1_000.0 + 1.37 * number for number in range(2_000))
"""All phases of a slot of 256 ms, many times."""


@pytest.mark.parametrize(
    ("wait_ms", "slot_ms"),
    [(4, 4), (204, 4), (248, 4), (252, 32), (408, 32), (2_012, 32), (2_016, 256), (16_124, 256), (16_128, 2_048),
     (RTO_MAX_MS, 2_048)],
)  # fmt: skip
def test_a_timer_fires_at_the_end_of_a_slot_never_early(wait_ms: float, slot_ms: float) -> None:
    late_ms = set()
    for now_ms in STARTS:
        at_ms = fires_at(now_ms, wait_ms)
        assert at_ms % slot_ms == 0.0, "a whole number of slots since time 0"
        late_ms.add(at_ms - now_ms - wait_ms)
    assert min(late_ms) > 0.0 and max(late_ms) <= slot_ms, "a timer that is due at a slot's edge waits for the next"
    assert max(late_ms) - min(late_ms) > 0.8 * slot_ms, "every phase is there"


def test_a_slot_is_the_same_for_all_senders_that_wait_for_it() -> None:
    assert fires_at(10_000.0, 3_264.0) == fires_at(10_040.0, 3_264.0) == 13_312.0


@pytest.mark.parametrize(("heal_ms", "earliest_ms", "latest_ms"), [(7_000, 13_190, 13_350), (14_000, 26_440, 26_730)])
def test_data_flows_when_the_recordings_saw_an_isr_whole_again(
    heal_ms: float, earliest_ms: float, latest_ms: float
) -> None:
    """From a write that is the first loss to the state that shows the follower back.

    Of a fetch's answer, this is the sixth retransmission in random-101, -117, -207, -307, -404 and -406, the seventh in
    link-follower-leader, random-201 and -207. The observation is up to 100 ms later than the arrival: a fetch, a write
    to ZooKeeper, a sample every 50 ms.
    """
    found = [retransmission_at(start, start + heal_ms, SEGMENTS) - start for start in STARTS]
    assert min(found) <= earliest_ms <= max(found) + 100.0
    assert min(found) <= latest_ms <= max(found) + 100.0
    assert max(found) - min(found) < 300.0


def test_a_connection_and_a_syn_are_given_up() -> None:
    for start in STARTS[::100]:
        assert 924_600.0 < given_up_at(start) - start < 940_000.0, "tcp_retries2 = 15"
        assert 133_200.0 < given_up_at(start, SYN) - start < 135_400.0, "tcp_syn_retries = 6, and 4 linear ones"


MEASURED_S = (
    (DATA, (0.206, 0.418, 0.826, 1.658, 3.322, 6.682, 13.338, 26.65, 53.53)),
    (DATA, (0.205, 0.413, 0.849, 1.685, 3.345, 6.801, 13.457, 26.769, 53.393)),
    (DATA, (0.207, 0.415, 0.839, 1.675, 3.336, 6.663, 13.319, 26.631, 53.255)),
    (DATA, (0.206, 0.414, 0.835, 1.662, 3.326, 6.786, 13.438, 26.75, 53.118)),
    (SEGMENTS, (0.010, 0.218, 0.654, 1.489, 3.15, 6.67, 13.322, 26.634)),
    (SEGMENTS, (0.009, 0.221, 0.645, 1.473, 3.137, 6.533, 13.185, 26.497)),
    (SEGMENTS, (0.012, 0.224, 0.66, 1.5, 3.16, 6.648, 13.3, 26.616)),
    (SYN, (1.016, 2.04, 3.064, 4.088, 5.112, 7.128, 11.384, 19.576, 35.704)),
    (SYN, (1.019, 2.038, 3.062, 4.09, 5.11, 7.126, 11.322, 19.51, 35.642, 68.15, 133.69)),
)
"""Retransmission times of Linux 6.18 after the first send, with a round trip of 2 ms.

A packet filter dropped the segments at the receiver. The segments had 100 bytes, or 60 and 100; the last time of the
SYN is when it gave up.
"""


@pytest.mark.parametrize(("of", "measured_s"), MEASURED_S)
def test_a_kernel_sends_again_when_it_was_seen_to(of: Retransmission, measured_s: tuple[float, ...]) -> None:
    for began_s, ended_s, wait_ms in zip((0.0, *measured_s), measured_s, of.waits_ms(), strict=False):
        lasted_ms = [fires_at(start, wait_ms) - start for start in STARTS]
        assert min(lasted_ms) - 5.0 <= (ended_s - began_s) * 1_000.0 <= max(lasted_ms) + 5.0, wait_ms


def test_a_fetch_with_records_is_more_than_one_segment() -> None:
    empty = FetchedPartition(topic="t", partition=0)
    full = FetchedPartition(topic="t", partition=0, records=b"r")
    assert retransmission_of(FetchResponse(partitions=[empty]), 80) is DATA
    assert retransmission_of(FetchResponse(partitions=[empty]), 1_449) is SEGMENTS
    assert retransmission_of(FetchResponse(partitions=[empty, full]), 80) is SEGMENTS


def test_a_leader_receives_data_after_3_3_s_and_has_its_follower_after_4_1_s() -> None:
    """link-broker-controller on 2.6 and 2.8: healed 3.2 and 3.3 s after the first try.

    The leader received data 0.2 s later.
    """
    for start in STARTS:
        assert 3_300.0 < retransmission_at(start, start + 3_230.0, DATA) - start < 3_410.0
        assert 4_072.0 <= retransmission_at(start, start + 3_500.0, SYN) - start <= 4_104.0
