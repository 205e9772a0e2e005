"""Time limits of tests that wait for real processes; even a very slow machine stays below."""

from __future__ import annotations

PATIENCE_S = 600.0
"""Limit of one wait for an event within seconds; a longer wait is for a hanging process."""

HANGS_S = 1_800.0
"""Timeout of one test with real parts. The longest takes two minutes on two quiet cores."""
