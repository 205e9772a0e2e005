"""Time limits of tests that wait for real processes; a machine many times slower than usual stays below them."""

from __future__ import annotations

PATIENCE_S = 600.0
"""Limit of one wait for something that usually comes within seconds; a longer wait is for a process that hangs."""

HANGS_S = 1_800.0
"""Timeout of one test with real parts. The longest takes two minutes on two quiet cores."""
