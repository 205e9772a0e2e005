"""The scenario of a run, from its directory; a cache serves many runs of one scenario."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from emulator.regular_files import read_regular
from emulator.run_layout import SCENARIO_FILE

if TYPE_CHECKING:
    from emulator.scenario.scenario_model import Scenario

KNOWN_MAX = 16
TEXT_BYTES_MAX = 1 << 20


def scenario_of(run: Path) -> Scenario | None:
    """The run's scenario; None: missing or unreadable, which the audit has reported."""
    try:
        return _scenario(read_regular(run / SCENARIO_FILE, TEXT_BYTES_MAX).decode())
    except (OSError, UnicodeDecodeError):
        return None


@lru_cache(KNOWN_MAX)
def _scenario(text: str) -> Scenario | None:
    from emulator.scenario.load import ScenarioErrors, load_scenario

    try:
        return load_scenario(text, SCENARIO_FILE)
    except ScenarioErrors:
        return None
