"""Generated Kafka frames to a listener without sockets.

`tests/door/test_strangers.py` has them over sockets.
"""

import pytest

from verification.attack.kafka_frames import Doorway, KafkaFrames
from verification.attack.listener_attack import SLOWEST_S

FRAMES = 6_000
LARGE_FRAMES = 120
PATIENCE = 4
"""Factor by which a machine may be slower than the budget's.

Frames that froze a broker took minutes.
"""
AT_THE_DOOR = frozenset({17, 18, 29, 30, 31, 48, 49, 50, 51})
"""APIs that no machine answers: SaslHandshake, ApiVersions, ACLs, quotas, SCRAM credentials."""


@pytest.mark.parametrize("version", ["0.10.2", "1.1", "2.8"])
def test_kafka_frames_are_understood_or_refused_and_nothing_else_comes_of_them(version: str) -> None:
    frames = KafkaFrames(1, version)
    doorway = Doorway(frames)
    for _ in range(FRAMES):
        doorway.hear()
    assert doorway.became.total() >= FRAMES and doorway.events > 100
    assert all(doorway.became[what] > 150 for what in ("refused", "asked the machine", "answered at the door"))
    assert set(doorway.apis) == set(frames.spoken) - AT_THE_DOOR


@pytest.mark.parametrize("version", ["0.10.2", "2.8"])
def test_large_frames_are_read_or_refused_each_in_bounded_time(version: str) -> None:
    doorway = Doorway(KafkaFrames(2, version))
    for _ in range(LARGE_FRAMES):
        doorway.hear(doorway.large())
    assert doorway.became.total() == LARGE_FRAMES and doorway.became["refused"] > LARGE_FRAMES / 4
    assert doorway.slowest_s < SLOWEST_S * PATIENCE


def test_a_seed_says_the_same_again() -> None:
    one, other = KafkaFrames(7), KafkaFrames(7)
    assert [one.framed(one.payload()) for _ in range(500)] == [other.framed(other.payload()) for _ in range(500)]
