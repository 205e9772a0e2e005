"""A finished run as a recording that the page plays in one file, without a server.

The states are folded from the run's events at intervals of scenario time. So a simulated run has the page of a live
cluster. The findings are those of its verdict, at the run's end.
"""

from pathlib import Path
from typing import Any, Final

import msgspec

from emulator.cluster.cluster_status import as_json
from emulator.cluster.metrics.event_fold import EVENTS, EventFold
from emulator.cluster.page.log_fold import EVENTS as EVENTS_OF_LOGS
from emulator.cluster.page.log_fold import LogFold
from emulator.cluster.page.page_state import page_state
from emulator.cluster.page.saved_page import PLACEHOLDER, saved_page
from emulator.cluster.page.state_deltas import difference
from emulator.cluster.page.static_files import static_files
from emulator.cluster.page.story_steps import story_of_run
from emulator.regular_files import read_regular
from emulator.run_layout import OBSERVATIONS_FILE, VERDICT_FILE
from emulator.runs.finished import version_of
from emulator.runs.run_events import in_order_of_time
from emulator.runs.verdict_file import Verdict, from_json
from emulator.scenario.observations.recording_files import load

BYTES_MAX: Final = 12_000_000
"""Limit of the changes, as in `state_recording.js`, which shortens what is larger."""
FINDINGS_MAX: Final = 200
_UNSAFE: Final = {ord(one): f"\\u{ord(one):04x}" for one in "<>&\u2028\u2029"}
"""Characters that could end the element which has the recording."""


class TooLong(ValueError):
    """A recording above its limit."""


def run_page(run: Path, every_ms: float) -> str:
    """The page with the recording. Raises NoEvents, NoRun, TooLong."""
    text = msgspec.json.encode(recording_of(run, every_ms)).decode().translate(_UNSAFE)
    island = f'<script type="application/json" id="recording">{text}</script>'
    return saved_page(static_files()).replace(PLACEHOLDER, island, 1)  # the script names it, too


def recording_of(run: Path, every_ms: float) -> dict[str, Any]:
    """`at_ms`, `state`, and `changes` as the stream has them. Raises NoEvents, NoRun, TooLong."""
    cluster = {
        "name": run.resolve().name, "run": str(run), "kafka": version_of(run), "speed": 1.0, "engine": "recording",
        "ready": True, "lacking": "",
    }  # fmt: skip
    fold, logs, at_ms, size_bytes = EventFold(), LogFold(), 0.0, 0
    story = _story(run)
    first: dict[str, Any] | None = None
    before: dict[str, Any] = {}
    changes: list[dict[str, Any]] = []

    def look(findings: list[dict[str, Any]]) -> None:
        nonlocal first, before, size_bytes
        status = {**as_json(fold.status(at_ms)), "cluster": cluster}
        state = page_state(status, "", logs.logs(), findings, story)
        if first is None:
            first = before = state
            return
        delta = difference(before, state)
        if delta:
            size_bytes += len(msgspec.json.encode(delta))
            if size_bytes > BYTES_MAX:
                text = f"the recording is larger than {BYTES_MAX // 1_000_000} MB at {at_ms:.0f} ms"
                raise TooLong(f"{run}: {text}; choose a longer --every-ms than {every_ms:g}")
            changes.append({"at_ms": at_ms, "set": delta.set, "remove": delta.remove})
        before = state

    for event in in_order_of_time(run, EVENTS | EVENTS_OF_LOGS, wire=True):
        if event["event"] == "node_stopped" and not event["code"]:
            continue  # the run is over; a stop that a scenario or a user requested is a machine_fault, too
        while at_ms < event["at_ms"]:
            look([])
            at_ms += every_ms
        fold.add(event)
        logs.add(event)
    look(_findings(run, at_ms))
    return {"at_ms": 0.0, "state": first, "changes": [*changes, {"at_ms": at_ms}]}


def _story(run: Path) -> list[dict[str, Any]]:
    """Steps of the run's scenario; none: it has no observations."""
    path = run / OBSERVATIONS_FILE
    return story_of_run(load(path).timeline) if path.exists() else []


def _findings(run: Path, at_ms: float) -> list[dict[str, Any]]:
    """Violations of the run's verdict; none: it has no verdict."""
    path = run / VERDICT_FILE
    if not path.exists():
        return []
    verdict: Verdict = from_json(read_regular(path))
    found = [
        {"at_ms": at_ms, "finding": name, "partition": one.get("partition", ""), "violation": not check.expected,
         "lasts": False, "text": one["text"]}
        for name, check in verdict.checks.items() if check.verdict == "violated"
        for one in check.evidence
    ]  # fmt: skip
    return found[:FINDINGS_MAX]
