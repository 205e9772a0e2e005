"""Looks at a live cluster for the stream of its states."""

from typing import Any

import msgspec

from emulator.cluster.http.access_tokens import run_id
from emulator.cluster.live_cluster import LiveCluster
from emulator.cluster.newest_findings import FOLLOWING_FILE, read_newest
from emulator.cluster.page.log_windows import LogWindows
from emulator.cluster.page.page_state import page_state, replicas_in


class LivePageState:
    """The page's state, of a cluster's status, its replicas' files and a live audit's findings."""

    def __init__(self, live: LiveCluster) -> None:
        self._live = live
        self._run_id = run_id(live.cluster.token.encode())
        self._windows = LogWindows(live.cluster.run_dir)
        self._findings: list[dict[str, Any]] = []
        self._findings_seen = -1

    async def look(self) -> tuple[dict[str, Any], float]:
        """(state, scenario ms)."""
        status = await self._live.status()
        logs = self._windows.look(replicas_in(status))
        state = page_state(status, self._run_id, logs, self._newest_findings(), self._live.spec.story)
        return state, float(status["at_ms"])

    def _newest_findings(self) -> list[Any]:
        run = self._live.cluster.run_dir
        try:
            seen = (run / FOLLOWING_FILE).stat().st_mtime_ns
        except OSError:
            seen = -1  # no live audit runs
        if seen != self._findings_seen:
            newest = read_newest(run)
            self._findings = [] if newest is None else msgspec.to_builtins(newest.newest)
            self._findings_seen = seen
        return self._findings
