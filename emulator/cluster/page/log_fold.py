"""The newest batches of each replica at any time of a run, folded from its events. Pure.

As `log_windows` reads them from the segments of a running cluster. A batch's text is that of the attempt with its
digest; a batch of no client's attempt, such as a marker of a transaction, has none.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from emulator.cluster.page.log_windows import BATCHES_MAX, REPLICAS_MAX, TEXT_CHARACTERS_MAX, Batch
from protocol.events.record_values import values_in
from protocol.ids import topic_partition_text

Event = Mapping[str, Any]
EVENTS: Final = {
    "batch_appended", "log_truncated", "log_deleted", "log_loaded", "operation_invoked", "attempt_sent",
}  # fmt: skip
"""Names of the events that a fold needs."""
TEXTS_MAX: Final = 100_000
"""Limit of the texts that are remembered; later batches have none."""


class LogFold:
    """`add` each event; `logs` then returns the batches at that time."""

    def __init__(self) -> None:
        self._logs: dict[tuple[str, str], deque[Batch]] = {}
        self._texts: dict[str, str] = {}
        """{operation: text}, of operations without an attempt yet."""
        self._by_digest: dict[int, str] = {}

    def add(self, event: Event) -> None:
        """Fold one event. Events come in their order of time."""
        match event["event"]:
            case "operation_invoked":
                if event["kind"] == "produce" and len(self._by_digest) < TEXTS_MAX:
                    self._texts[event["operation"]] = _text(event["value"], event.get("records", 1))
            case "attempt_sent":
                if text := self._texts.pop(event["operation"], ""):
                    self._by_digest[event["digest"]] = text
            case "batch_appended":
                text = self._by_digest.get(event["digest"], "")
                batch: Batch = [event["base_offset"], event["last_offset"], event["leader_epoch"], text]
                self._log(event).append(batch)
            case "log_truncated":
                self._cut(event, event["to"])
            case "log_loaded":
                self._cut(event, event["log_end"])
            case "log_deleted":
                self._logs.pop(_place(event), None)
            case _:
                pass

    def logs(self) -> dict[str, dict[str, list[Batch]]]:
        """{partition: {node: its newest batches}}."""
        found: dict[str, dict[str, list[Batch]]] = {}
        for place, node in sorted(self._logs)[:REPLICAS_MAX]:
            found.setdefault(place, {})[node] = list(self._logs[place, node])
        return found

    def _log(self, event: Event) -> deque[Batch]:
        return self._logs.setdefault(_place(event), deque(maxlen=BATCHES_MAX))

    def _cut(self, event: Event, end: int) -> None:
        """Leave out what begins at the log's end or behind it."""
        log = self._log(event)
        while log and int(log[-1][0]) >= end:
            log.pop()


def _place(event: Event) -> tuple[str, str]:
    return topic_partition_text(event["topic"], event["partition"]), event["node"]


def _text(value: str, records: int) -> str:
    values = values_in(value, records)
    first = values[0][:TEXT_CHARACTERS_MAX] if values else ""
    return first + (f" +{len(values) - 1}" if len(values) > 1 else "")
