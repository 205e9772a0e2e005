"""Every named recording once with real processes at the default speed, but for those that tests/system plays.

In this process rather than by commands, and without Spark: seven seconds each. Ten times each is a command,
`python -m benchmarks.network_runs`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.network_runs import one_run, recorded, script_of
from emulator.commands.run import DEFAULT_SPEED
from emulator.runs.time_outs import timer_limit_ms
from tests.system.runs import SCENARIOS, VERSIONS

pytestmark = [pytest.mark.network, pytest.mark.if_time_is_left]

TRIES = 3
BY_COMMAND = {f"{scenario}@{version}" for scenario in SCENARIOS for version in VERSIONS}


@pytest.mark.parametrize("recording", [name for name in recorded() if name not in BY_COMMAND])
def test_a_recording_is_equalled_by_real_processes(tmp_path: Path, recording: str) -> None:
    """A run that differs and was late is unknown, and played again; one that was punctual fails."""
    resolved = script_of(recording)
    for number in range(1, TRIES + 1):
        kept = tmp_path / str(number)
        equals, late_ms = one_run(resolved, number, DEFAULT_SPEED, kept)
        if equals:
            assert equals.startswith(f"{recording}/")
            return
        assert number < TRIES and late_ms > timer_limit_ms(resolved), f"differs, {late_ms:.0f} ms late: see {kept}"
