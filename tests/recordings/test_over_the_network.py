"""A core of the named recordings with real processes; simulation plays all of them.

The one that tests/system plays by a user's commands is left out. Seven seconds each, most of it spent waiting, so two
are played at a time. Every named recording, ten times each, is a command, `python -m verification.network_runs`.

A recording of KRaft mode is one outcome of races between voters, so one of a few runs has to equal it.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from emulator.cli.commands.run_scenario import DEFAULT_SPEED
from emulator.run_layout import OBSERVATIONS_FILE
from emulator.runs.timeout_limits import timer_limit_ms
from emulator.scenario.observations.recording_files import load
from protocol.versions import rank
from tests.punctual import SLOWER, skip_late_test
from verification.network_runs import KRAFT, TRANSACTIONS, one_run, recorded, script_of
from verification.recording_seeds import SeededRecording

pytestmark = [pytest.mark.network, pytest.mark.slow]

BY_COMMAND = "az-isolated-leader@2.6"
SEED_CASE = "az-isolated-leader"
"""Scenario whose recordings are all played."""
AT_ONCE = 2
KRAFT_CORE = (
    "kraft-az-all-isolated@3.9",
    "kraft-az-isolated-follower@4.4",
    "kraft-az-isolated-leader-and-controller@4.4",
    "kraft-az-isolated-leader-acks-all@3.9",
    "kraft-az-isolated-leader@3.9",
    "kraft-az-isolated-leader@4.4",
    "kraft-controlled-shutdown@3.9",
    "kraft-controller-paused@4.4",
    "kraft-controller-quorum-lost@3.9",
    "kraft-unclean-election@3.9",
)
KRAFT_TRIES = 5
"""Maximum of punctual runs of a recording of KRaft mode."""


def core() -> list[str]:
    """The newest recording of each scenario with ZooKeeper, and all of the seed's case.

    Of KRaft KRAFT_CORE is played. Seeds are compared with the others, and with transactions
    (tests/test_recording_seeds.py).
    """
    with_zookeeper = [name for name in recorded() if not name.startswith((KRAFT, TRANSACTIONS))]
    by_version = sorted(with_zookeeper, key=lambda name: rank(name.partition("@")[2]))
    newest = {name.partition("@")[0]: name for name in by_version}
    return [
        name
        for name in with_zookeeper
        if name in newest.values() or name.startswith(f"{SEED_CASE}@")
        if name != BY_COMMAND
    ]


Tries = dict[str, Future[tuple[str, float, Path]]]


def _played(recording: str, folder: Path) -> tuple[str, float, Path]:
    kept = folder / recording
    return *one_run(script_of(recording), 1, DEFAULT_SPEED, kept), kept


def differences_but_of_elections(run: Path, recording: str) -> list[str]:
    """Differences except who leads the quorum: a race of the first election."""
    found = map(str, SeededRecording(recording).compared(load(run / OBSERVATIONS_FILE)))
    return [one for one in found if ".leads (quorum as " not in one]


@pytest.fixture(scope="module")
def tries(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tries]:
    """The first try of each chosen recording, begun in their order.

    In processes: Trio listens for signals in a main thread. Those that have not begun at the end are not played.
    """
    here = [item for item in request.session.items if isinstance(item, pytest.Function) and item.path == request.path]
    chosen = [str(item.callspec.params["recording"]) for item in here]
    pool = ProcessPoolExecutor(AT_ONCE, mp_context=get_context("spawn"))
    folder = tmp_path_factory.mktemp("differ")
    try:
        yield {recording: pool.submit(_played, recording, folder) for recording in chosen}
    finally:
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("recording", core())
def test_a_recording_is_equalled_by_real_processes(tries: Tries, tmp_path: Path, recording: str) -> None:
    """A run that differs and was late is unknown, and played again, slower.

    A punctual one that differs fails.
    """
    resolved = script_of(recording)
    equals, late_ms, _ = tries[recording].result()
    for number, speed in enumerate(SLOWER, start=2):
        if equals:
            break
        assert late_ms > timer_limit_ms(resolved), f"differs, and was punctual ({late_ms:.0f} ms)"
        equals, late_ms = one_run(resolved, number, speed, tmp_path / str(number))
    if not equals and late_ms > timer_limit_ms(resolved):
        skip_late_test()
    assert equals.startswith(f"{recording}/"), f"differs, and was punctual ({late_ms:.0f} ms): see {tmp_path}"


@pytest.mark.parametrize("recording", KRAFT_CORE)
def test_one_of_a_few_runs_equals_a_recording_of_kraft(tries: Tries, tmp_path: Path, recording: str) -> None:
    """A run equals it but for the leader of the quorum. Late runs show nothing."""
    resolved = script_of(recording)
    equals, late_ms, kept = tries[recording].result()
    was_late, differ = False, [""]
    for number in range(2, KRAFT_TRIES + 2):
        was_late = was_late or late_ms > timer_limit_ms(resolved)
        differ = [] if equals else differences_but_of_elections(kept, recording)
        if not differ or number > KRAFT_TRIES:
            break
        kept = tmp_path / str(number)
        equals, late_ms = one_run(resolved, number, DEFAULT_SPEED, kept)
    if differ and was_late:
        skip_late_test()
    assert not differ, f"{KRAFT_TRIES} punctual runs differ: see {kept}"
