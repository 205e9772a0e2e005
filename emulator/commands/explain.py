"""`faultline explain RUN VALUE|OFFSET`: a record's life as a chain of causes: sent, appended where, acknowledged,
truncated why."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from emulator.exit_codes import BROKEN, HELD, UNUSABLE
from emulator.runs.events import Line, NoEvents, TooManyEvents, read

FOLLOWED = (
    "operation_invoked", "attempt_sent", "attempt_ended", "operation_ended",
    "batch_appended", "log_truncated", "high_watermark_moved", "log_loaded", "log_created",
)  # fmt: skip
ACKS = {-1: "acks=all", 0: "acks=0", 1: "acks=1"}


class Batch:
    """One place where a record was: replica, partition and offsets."""

    def __init__(self, event: Line) -> None:
        self.node = str(event["node"])
        self.place = (event["topic"], event["partition"])
        self.base, self.last = event["base_offset"], event["last_offset"]


def explain_command(run: Path, subject: str) -> int:
    """Prints the chain; exit code 1 when nothing in the run is about `subject`."""
    try:
        events = sorted(read(run, FOLLOWED), key=lambda event: (event["at_ms"], event["node"], event["seq"]))
    except (NoEvents, TooManyEvents) as error:
        print(f"faultline explain: {error}", file=sys.stderr)
        return UNUSABLE
    by_value = {e["operation"] for e in events if e["event"] == "operation_invoked" and e["value"] == subject}
    if by_value:
        lines = list(life_of_value(events, by_value))
    elif subject.lstrip("-").isdigit():
        lines = list(life_of_offset(events, int(subject)))
    else:
        lines = []
    if not lines:
        print(f"faultline explain: nothing in {run} is about {subject!r}: no such value was sent", file=sys.stderr)
        return BROKEN
    print("\n".join(lines))
    return HELD


def life_of_value(events: list[Line], operations: set[str]) -> Iterable[str]:
    """`operations`: those that sent the value."""
    digests = {e["digest"] for e in events if e["event"] == "attempt_sent" and e["operation"] in operations}
    held: list[Batch] = []
    for event in events:
        text = ""
        if event.get("operation") in operations:
            text = _of_operation(event)
        elif event["event"] == "batch_appended" and event["digest"] in digests:
            held.append(Batch(event))
            text = _appended(event)
        else:
            text = _of_replica(event, held)
        if text:
            yield _line(event, text)


def life_of_offset(events: list[Line], offset: int) -> Iterable[str]:
    """Everything that ever lay at `offset`, on any replica of any partition."""
    produces = {e["operation"] for e in events if e["event"] == "operation_invoked" and e["kind"] == "produce"}
    held: list[Batch] = []
    for event in events:
        text = ""
        if event["event"] == "batch_appended" and event["base_offset"] <= offset <= event["last_offset"]:
            held.append(Batch(event))
            text = _appended(event) + f", digest {event['digest']:08x}"
        elif event["event"] == "attempt_ended" and event["offset"] == offset and event["operation"] in produces:
            text = _of_operation(event)
        else:
            text = _of_replica(event, held)
        if text:
            yield _line(event, text)


def _line(event: Line, text: str) -> str:
    return f"{event['at_ms'] / 1000:9.3f} s  {event['node']:<10} {text}  [{event['cause']}]"


def _appended(event: Line) -> str:
    how = "appends it as leader" if event["as_leader"] else "copies it from its leader"
    return (
        f"{how} at offset {event['base_offset']}, epoch {event['leader_epoch']} ({event['topic']}-{event['partition']})"
    )


def _of_operation(event: Line) -> str:
    match event["event"]:
        case "operation_invoked":
            return f"is about to write {event['value']!r}, {ACKS.get(event['acks'], event['acks'])}"
        case "attempt_sent":
            return f"sends attempt {event['attempt']} to broker-{event['broker']}"
        case "attempt_ended":
            answer = "acknowledged" if event["error"] == 0 else f"error {event['error']} {event['reason']}".rstrip()
            at = f" at offset {event['offset']}" if event["offset"] >= 0 else ""
            return f"attempt {event['attempt']}: {answer}{at}"
        case "operation_ended":
            return f"outcome: {event['outcome']}"
    return ""


def _of_replica(event: Line, held: list[Batch]) -> str:
    """What happens to a replica that holds the record. Takes what is cut out of `held`."""
    here = [b for b in held if b.node == event["node"] and b.place == (event.get("topic"), event.get("partition"))]
    if not here:
        return ""
    match event["event"]:
        case "log_truncated" if event["effective"]:
            cut = [batch for batch in here if batch.last >= event["to"]]
            for batch in cut:
                held.remove(batch)
            if cut:
                return f"cuts its log to {event['to']}: the record at offset {cut[0].base} is gone ({event['reason']})"
        case "high_watermark_moved":
            exposed = [b for b in here if event["previous"] <= b.last < event["high_watermark"]]
            if exposed:
                who = "consumers may read it" if event["leading"] else "knows it as committed"
                return f"high watermark {event['high_watermark']}: {who}"
        case "log_created":
            for batch in here:
                held.remove(batch)
            return "has a new, empty log: the record is gone"
        case "log_loaded":
            return _loaded(event, here, held)
    return ""


def _loaded(event: Line, here: list[Batch], held: list[Batch]) -> str:
    kept: list[Any] = [batch for batch in here if batch.last < event["log_end"]]
    for batch in here:
        if batch not in kept:
            held.remove(batch)
    if len(kept) == len(here):
        return "is back, and still has it"
    return f"is back with log end {event['log_end']}: the record did not survive"
