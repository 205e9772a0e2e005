"""Late runs: the speeds at which a test replays them, and the skip where all were late.

A run whose timers were late is unknown, neither right nor wrong. It says something of the machine, nothing of the code.
"""

from __future__ import annotations

from typing import NoReturn

import pytest

NO_PUNCTUAL_TIMERS = "no punctual timers"
"""Capability that a machine lacks at times; the summary of a session counts these tests."""

SLOWER = (2.0, 1.0, 0.5, 0.2)
"""Speeds after the default one.

Lateness counts in the time of the scenario: at a tenth of the speed it is a tenth.
"""


def skip_late_test() -> NoReturn:
    """Skip the running test: its run was late at every speed."""
    pytest.skip(NO_PUNCTUAL_TIMERS)
