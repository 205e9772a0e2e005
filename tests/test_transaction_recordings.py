"""Simulated runs against the recordings of transactions (tests/golden/README-kraft.md).

As `test_kraft_recordings`: a recording is reached by some seed, and `REACHED` has the first one. Those that no seed
reaches have a reason in `DIFFERS`.
"""

import pytest

from emulator.packaged import GOLDEN
from tests.test_kraft_recordings import reaches

SEEDS = 3
"""Seeds that are tried at least."""

REACHED: dict[str, int] = {
    "kraft-txn-commit-abort-tv2@4.4": 1,
    "kraft-txn-commit-abort@3.9": 1,
    "kraft-txn-concurrent-tv2@4.4": 4,
    "kraft-txn-coordinator-isolated-takeover@3.9": 1,
    "kraft-txn-coordinator-isolated-tv2@4.4": 1,
    "kraft-txn-coordinator-isolated@3.9": 1,
    "kraft-txn-coordinator-killed-tv2@4.4": 1,
    "kraft-txn-coordinator-killed@3.9": 1,
    "kraft-txn-late-write-hangs@3.9": 3,
    "kraft-txn-log-below-min-isr@3.9": 2,
    "kraft-txn-marker-lost-tv2@4.4": 3,
    "kraft-txn-offsets@3.9": 1,
    "kraft-txn-partition-leader-isolated-tv2@4.4": 1,
    "kraft-txn-partition-leader-isolated@3.9": 10,
    "kraft-txn-partition-leader-killed-tv2@4.4": 1,
    "kraft-txn-partition-leader-killed@3.9": 1,
    "kraft-txn-timed-out-tv2@4.4": 1,
    "kraft-txn-write-without-adding-tv2@4.4": 1,
    "kraft-txn-write-without-adding@3.9": 1,
    "kraft-txn-zombie-fenced-tv2@4.4": 1,
    "kraft-txn-zombie-fenced@3.9": 1,
    "txn-commit-abort@1.1": 1,
    "txn-commit-abort@2.8": 1,
    "txn-concurrent@2.8": 1,
    "txn-coordinator-isolated@2.8": 1,
    "txn-coordinator-killed@1.1": 1,
    "txn-coordinator-killed@2.8": 1,
    "txn-late-write-hangs@1.1": 1,
    "txn-late-write-hangs@2.8": 1,
    "txn-log-below-min-isr@2.8": 1,
    "txn-marker-lost@2.8": 1,
    "txn-offsets@2.8": 1,
    "txn-partition-leader-killed@1.1": 5,
    "txn-partition-leader-killed@2.8": 3,
    "txn-timed-out@1.1": 1,
    "txn-timed-out@2.8": 1,
    "txn-zombie-fenced@2.8": 1,
}
"""{recording's folder: the first seed that reaches it}"""

DIFFERS: dict[str, str] = {
    "kraft-txn-late-write-hangs-tv2@4.4": "the recording's dump of the metadata log is empty; all else is equal",
}
"""{recording's folder: what no seed reaches}"""

FOLDERS = sorted(path.name for prefix in ("txn", "kraft-txn") for path in GOLDEN.glob(f"{prefix}-*"))


def test_every_recording_is_in_one_table() -> None:
    assert sorted((*REACHED, *DIFFERS)) == FOLDERS


@pytest.mark.parametrize("folder", sorted(REACHED))
def test_a_seed_reaches_the_recording(folder: str) -> None:
    first = REACHED[folder]
    seed, found = reaches(folder, [first, *(seed for seed in range(1, SEEDS + 1) if seed != first)])
    listed = "\n    ".join(map(str, found[:10]))
    assert not found, f"faultline run {folder}/1.json --world sim --seed {seed}:\n    {listed}"


@pytest.mark.slow
@pytest.mark.parametrize("folder", sorted(DIFFERS))
def test_a_recording_that_differs_is_not_reached(folder: str) -> None:
    """A rule that has been mended: move the recording into `REACHED`."""
    seed, found = reaches(folder, range(1, SEEDS + 1))
    assert found, f"seed {seed} reaches {folder}"
