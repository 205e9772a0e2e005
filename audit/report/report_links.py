"""Links from a claim to its time in the picture, and the list of its events.

Without a script the list is visible, and the link leads to the picture."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from audit.report.claims import Claim
from audit.report.report_records import Event
from protocol.errors import error_name
from protocol.events import ENVELOPE
from protocol.ids import TopicPartition, topic_partition_text

FIELD_CHARS_MAX = 48
FIELDS_MAX = 14
SHOWN_ELSEWHERE = frozenset((*ENVELOPE, "topic", "partition"))
NAMES = {"leader_epoch": "epoch", "base_offset": "offset", "last_offset": "to offset", "as_leader": "as leader"}


class Links:
    """Links into the pictures of these partitions, in order."""

    def __init__(self, drawn: Sequence[TopicPartition]) -> None:
        self._pictures = {topic_partition_text(*one): number for number, one in enumerate(drawn)}

    def moment(self, at_ms: float | None, partition: str = "") -> str:
        """Link to a time; empty if unknown. Plain text for a partition that is not drawn."""
        if at_ms is None:
            return ""
        text = f"{at_ms / 1000:.2f} s"
        if partition and partition not in self._pictures:
            return f' <span class="when">{text}</span>'
        where = f' data-in="{self._pictures[partition]}"' if partition else ""
        return f' <a class="where" href="#happened" data-at="{at_ms:.2f}"{where}>{text}</a>'

    def of(self, claim: Claim) -> str:
        """Link to the claim's time, or to its check; then its events."""
        if claim.check:
            return f' <a href="#check-{escape(claim.check)}">the check</a>'
        return self.moment(claim.at_ms, claim.partition) + self._events(claim)

    def _events(self, claim: Claim) -> str:
        if not claim.events:
            return ""
        rows = "".join(
            f"<li>{self.moment(event['at_ms'], claim.partition)} <b>{escape(_short(event['node']))}</b> "
            f"<code>{escape(event['event'])}</code> {escape(fields_text(event))} {_place(event)}</li>"
            for event in claim.events
        )
        more = f"<li>and {claim.more} more</li>" if claim.more else ""
        count = len(claim.events) + claim.more
        return (
            f'<details class="events"><summary>{count} event{"s" if count != 1 else ""}</summary>'
            f"<ol>{rows}{more}</ol></details>"
        )


def fields_text(event: Event) -> str:
    """Fields of an event as text, without its place and empty values."""
    texts = []
    if event.get("topic") and isinstance(event.get("partition"), int):
        texts.append(f"{_short(event['topic'])}-{event['partition']}")
    for name, value in event.items():
        if name in SHOWN_ELSEWHERE or value in ("", -1, None) or (name == "error" and value == 0):
            continue
        if name == "error" and isinstance(value, int) and value > 0:
            value = error_name(value)
        texts.append(f"{NAMES.get(name, name.replace('_', ' '))} {_short(value)}")
    return ", ".join(texts[:FIELDS_MAX])


def _place(event: Event) -> str:
    """File and number of the event's line; results of the player have none."""
    if "seq" not in event:
        return ""
    place = f"{_short(event['node'])}.{event.get('incarnation', 0)}.jsonl, seq {event['seq']}"
    return f"<small>{escape(place)}</small>"


def _short(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = str(value)
    return text if len(text) <= FIELD_CHARS_MAX else f"{text[: FIELD_CHARS_MAX - 1]}…"
