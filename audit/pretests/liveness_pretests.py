"""Pre-tests of checks that judge in quiescent periods."""

from __future__ import annotations

import re

from audit.pretests.pretest_registry import pretest
from audit.pretests.pretested_run import PretestedRun
from audit.settled_tables import DISTURBING

_SLACK_MS = 1.0
_SESSION_MS, _FENCED_MS, _LAG_MS = 6_000, 9_000, 10_000
"""Least defaults of the settings below, of any version."""
_DIGITS_MAX = 18
"""Spark reads no longer number, and takes the default."""


@pretest("violations", "no-leader", "under-replicated", "unanswered-request", "too-few-copies")
@pretest("counted", "no-leader", "under-replicated", "unanswered-request", "too-few-copies")
@pretest("table", "waiting", "promised")
def quiescent(run: PretestedRun) -> bool:
    """Whether the time since the last disturbance may exceed the least bound of these checks.

    Each bound is at least the sum of the longest session timeout of any broker and either itself or the longest lag.
    """
    since_ms = max((row["at_ms"] for row in run.of(*DISTURBING)), default=None)
    brokers = [row for row in run.of("node_started") if "broker" in row["roles"]]
    controllers = [row for row in run.of("node_started") if "controller" in row["roles"]]
    if since_ms is None or not brokers:
        return False
    end_ms = max(row["at_ms"] for row in run.all())
    if run.has("quorum_state_changed"):
        session_ms = max(
            (_given(row.get("settings"), "broker.session.timeout.ms", _FENCED_MS) for row in controllers), default=0
        )
    else:
        session_ms = max(_given(row.get("settings"), "zookeeper.session.timeout.ms", _SESSION_MS) for row in brokers)
    lag_ms = max(_given(row.get("settings"), "replica.lag.time.max.ms", _LAG_MS) for row in brokers)
    return bool(end_ms - since_ms + _SLACK_MS > session_ms + min(session_ms, lag_ms))


def _given(settings: str | None, name: str, default_ms: int) -> int:
    """Value of a broker's setting, or its least default."""
    found = re.search(rf"(?:^| ){re.escape(name)}=([0-9]+)", settings or "")
    return int(found[1]) if found and len(found[1]) < _DIGITS_MAX else default_ms
