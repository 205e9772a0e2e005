"""Generated Kafka frames to a listener without sockets.

`tests/kafka_clients/test_strangers.py` has them over sockets.
"""

import pytest

from verification.attack.kafka_frames import HostileListener, KafkaFrames
from verification.attack.listener_attack import SLOWEST_S

FRAMES = 6_000
LARGE_FRAMES = 120
PATIENCE = 4
"""Factor by which a machine may be slower than the budget's.

Frames that froze a broker took minutes.
"""
ANSWERED_BY_LISTENER = frozenset({17, 18, 29, 30, 31, 48, 49, 50, 51})
"""APIs that no machine answers: SaslHandshake, ApiVersions, ACLs, quotas, SCRAM credentials."""


@pytest.mark.parametrize("version", ["0.10.2", "1.1", "2.8"])
def test_kafka_frames_are_understood_or_refused_and_nothing_else_comes_of_them(version: str) -> None:
    frames = KafkaFrames(1, version)
    listener = HostileListener(frames)
    for _ in range(FRAMES):
        listener.hear()
    assert listener.became.total() >= FRAMES and listener.events > 100
    assert all(listener.became[what] > 150 for what in ("refused", "asked the machine", "answered at the listener"))
    assert set(listener.apis) == set(frames.spoken) - ANSWERED_BY_LISTENER


@pytest.mark.parametrize("version", ["0.10.2", "2.8"])
def test_large_frames_are_read_or_refused_each_in_bounded_time(version: str) -> None:
    listener = HostileListener(KafkaFrames(2, version))
    for _ in range(LARGE_FRAMES):
        listener.hear(listener.large())
    assert listener.became.total() == LARGE_FRAMES and listener.became["refused"] > LARGE_FRAMES / 4
    assert listener.slowest_s < SLOWEST_S * PATIENCE


def test_a_seed_repeats_itself() -> None:
    one, other = KafkaFrames(7), KafkaFrames(7)
    assert [one.framed(one.payload()) for _ in range(500)] == [other.framed(other.payload()) for _ in range(500)]
