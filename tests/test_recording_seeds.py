"""Simulated runs against recordings of KRaft and of transactions (golden/README-kraft.md).

Who wins an election, and in which phase heartbeats come, are races. So a recording, named or random, is reached by some
seed. `python -m verification.recording_seeds` searches it; here each recording is played with the seed that it found.
"""

import pytest

from verification.recording_seeds import SeededRecording, results, seeded_recordings

EARLY = 12
"""Number of seeds that are tried if machines have changed since."""
NOT_REACHED: dict[str, str] = {
    "kraft-az-flapping@3.9": "four elections, and the ISR at one look",
    "kraft-az-isolated-controller@3.9": "two elections, and the ISR shrinks 13 s after the cut at the earliest",
    "kraft-random-503@3.9": "three elections, and the ISR at one look",
    "kraft-random-609@4.4": "both live brokers are fenced after an election, in one order",
}
"""{recording: what the searched seeds do not show together}"""


def test_every_recording_has_been_searched() -> None:
    assert tuple(results()) == seeded_recordings()
    assert {name for name, one in results().items() if not one.reached} == {*NOT_REACHED}


@pytest.mark.parametrize("name", [name for name in seeded_recordings() if name not in NOT_REACHED])
def test_a_seed_reaches_the_recording(name: str) -> None:
    """The seed that was found, or an early one if machines have changed since.

    Those of transactions judge the coordinator, markers and offsets of groups (semantics 12.1, 12.3, 12.5).
    """
    recording, first = SeededRecording(name), results()[name].reached[0]
    seeds = [first, *(seed for seed in range(1, EARLY + 1) if seed != first)]
    tries = ((seed, recording.differences(seed)) for seed in seeds)
    assert any(not found for _, found in tries), f"search it again: python -m verification.recording_seeds {name}"
