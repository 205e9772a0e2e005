"""Order of sessions that expire together from 4.0 on, as recorded and as in Java's maps."""

from controller.kraft.hash_order import registration_order, session_bucket
from protocol.ids import BrokerId

RECORDED = (("kraft-random-609", ((2, 71), (1, 54), (0, 30))), ("kraft-random-615", ((2, 74), (1, 174))))
"""(recording of 4.4, sessions in the order of their fencing after one claim)"""


def test_recorded_fencings_are_in_the_order_of_buckets() -> None:
    claimed = registration_order([BrokerId(0), BrokerId(1), BrokerId(2)])
    for name, sessions in RECORDED:
        places = [
            (session_bucket(BrokerId(broker), epoch, 3), claimed.index(BrokerId(broker))) for broker, epoch in sessions
        ]
        assert places == sorted(places), name


def test_buckets_and_slots() -> None:
    """Values of HashMap's spread and of a Fibonacci hash, calculated by hand."""
    assert session_bucket(BrokerId(0), 15, 3) == 15
    assert session_bucket(BrokerId(0), 16, 12) == 0
    assert session_bucket(BrokerId(0), 16, 13) == 16, "more than three quarters of 16: 32 buckets"
    assert session_bucket(BrokerId(0), 0x10000, 3) == 1, "the upper half counts"
    assert registration_order([BrokerId(0), BrokerId(1), BrokerId(2)]) == [2, 0, 1]
    assert registration_order([BrokerId(1)]) == [1]
