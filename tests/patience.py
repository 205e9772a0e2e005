"""How long a test waits for what comes at once: almost for ever. What is promised to be quick has its own limit."""

from __future__ import annotations

PATIENCE_S = 200.0
"""Whoever waits longer waits for what hangs. A machine of many may stand still for half a minute, and no test is about
that; pytest's own limit for a test is three times this."""
