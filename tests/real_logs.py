"""Logs and data of ten runs of real brokers, with the truth about each (`real-logs.tar.xz`).

`truth.json` of a run has the faults that were made and the cluster's real states. It was recorded beside the brokers,
and no import reads it.
"""

import tarfile
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

ARCHIVE = Path(__file__).parent / "real-logs.tar.xz"
DIGEST = "a9481f7334a9ec73a646e41d46c99a8a3348db6c2dfdfaa3206cb52673410a1e"
RUNS = (
    "az-isolated-leader@2.8",
    "az-isolated-leader@3.9",
    "incident-unclean-restart@0.10.2",
    "kraft-az-flapping@3.9",
    "kraft-az-isolated-leader-combined@3.9",
    "kraft-az-isolated-leader@3.9",
    "kraft-az-isolated-leader@4.4",
    "kraft-controller-quorum-lost@3.9",
    "kraft-last-replica-standing@4.4",
    "kraft-unclean-election@3.9",
)


def unpacked(folder: Path) -> Path:
    """Unpack the archive into a folder, once. Returns the folder of the runs."""
    marker = folder / "README.md"
    if not marker.exists():
        assert sha256(ARCHIVE.read_bytes()).hexdigest() == DIGEST, f"{ARCHIVE} is not as recorded"
        with tarfile.open(ARCHIVE) as archive:
            archive.extractall(folder, filter="data")
    return folder


@lru_cache(maxsize=len(RUNS))
def truth_of(run: Path) -> dict[str, Any]:
    """The truth about a run."""
    truth: dict[str, Any] = msgspec.json.decode((run / "truth.json").read_bytes())
    return truth
