"""Every named recording once with real processes at the default speed.

Those that tests/system plays are left out.

Without commands and without Spark: seven seconds each, most of it spent waiting, so two are played at a time. Ten times
each is a command, `python -m verification.network_runs`.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import pytest

from emulator.cli.commands.run_scenario import DEFAULT_SPEED
from emulator.runs.timeout_limits import timer_limit_ms
from tests.first_tries import AT_ONCE, first_tries
from tests.punctual import SLOWER, skip_late_test
from tests.system.runs import SCENARIOS, VERSIONS
from verification.network_runs import one_run, recorded, script_of

pytestmark = [pytest.mark.network, pytest.mark.slow]

BY_COMMAND = {f"{scenario}@{version}" for scenario in SCENARIOS for version in VERSIONS}

Tries = dict[tuple[str], Future[tuple[str, float]]]


def _played(recording: str, folder: Path) -> tuple[str, float]:
    return one_run(script_of(recording), 1, DEFAULT_SPEED, folder / recording)


@pytest.fixture(scope="module")
def tries(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tries]:
    """In processes: Trio listens for signals in a main thread."""
    pool = ProcessPoolExecutor(AT_ONCE, mp_context=get_context("spawn"))
    play = partial(_played, folder=tmp_path_factory.mktemp("differ"))
    with first_tries(request, test_a_recording_is_equalled_by_real_processes.__name__, pool, play) as begun:
        yield begun


@pytest.mark.parametrize("recording", [name for name in recorded() if name not in BY_COMMAND])
def test_a_recording_is_equalled_by_real_processes(tries: Tries, tmp_path: Path, recording: str) -> None:
    """A run that differs and was late is unknown, and played again, slower.

    A punctual one that differs fails.
    """
    resolved = script_of(recording)
    equals, late_ms = tries[recording,].result()
    for number, speed in enumerate(SLOWER, start=2):
        if equals:
            break
        assert late_ms > timer_limit_ms(resolved), f"differs, and was punctual ({late_ms:.0f} ms)"
        equals, late_ms = one_run(resolved, number, speed, tmp_path / str(number))
    if not equals and late_ms > timer_limit_ms(resolved):
        skip_late_test()
    assert equals.startswith(f"{recording}/"), f"differs, and was punctual ({late_ms:.0f} ms): see {tmp_path}"
