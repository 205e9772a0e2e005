"""`faultline explain RUN VALUE|OFFSET`: a record's history as a chain of causes.

The chain has the record's sends, appends, acknowledgements and truncations, and its transaction; in KRaft mode also
elections, ISR changes and fenced brokers between the first and the last of them.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from emulator.cli.commands.command_errors import CommandFailed, reports_errors
from emulator.cli.commands.explain_metadata import METADATA, committed_states, registrations
from emulator.cli.commands.explain_transactions import TRANSACTIONS, with_transactions
from emulator.exit_codes import HELD
from emulator.runs.run_events import LeftOut, Line, NoEvents, TooManyEvents, by_topic_partition, left_out_lines, read
from protocol.errors import error_name
from protocol.events.record_values import cut_value, values_in
from protocol.ids import topic_partition_text
from protocol.numbers import number_in

FOLLOWED = (
    "operation_invoked", "attempt_sent", "attempt_ended", "operation_ended",
    "batch_appended", "duplicate_answered", "log_truncated", "high_watermark_moved",
    "log_loaded", "log_created", "log_deleted", *METADATA, *TRANSACTIONS,
)  # fmt: skip
NODE_WIDTH = 10
NO_ANSWER = -2
"""Error code in events for an attempt without a response."""
ACKS = {-1: "acks=all", 0: "acks=0", 1: "acks=1"}


class Batch:
    """Offsets of a batch on one replica."""

    def __init__(self, event: Line) -> None:
        self.node = str(event["node"])
        self.base, self.last = event["base_offset"], event["last_offset"]


class Moment(msgspec.Struct, frozen=True):
    """One line of a record's history."""

    partition: str
    at_ms: float
    node: str
    text: str
    cause: str


@reports_errors("explain", NoEvents, TooManyEvents)
def explain_command(run_directory: Path, subject: str, /, *, partition: str | None = None, json: bool = False) -> int:
    """Print the chain of each partition that had the record; 2 without events about `subject`.

    Parameters
    ----------
    run_directory
        A run's directory.
    subject
        A record's value, or an offset.
    partition
        Only events of this partition, such as t-0; by default each partition in turn.
    json
        Print the chain as JSON.
    """
    left_out = LeftOut()
    events = list(read(run_directory, FOLLOWED, left_out=left_out))
    for line in left_out_lines(left_out):
        print(f"faultline explain: {line}", file=sys.stderr)
    events.sort(key=lambda event: (event["at_ms"], event["node"], event["seq"]))
    lives = lives_of(events, subject)
    if not lives:
        raise CommandFailed(f"no event of {run_directory} is about {subject!r}; no such value was sent")
    if partition is not None:
        if partition not in lives:
            raise CommandFailed(f"{subject!r} was never in {partition}; it was in {', '.join(lives)}")
        lives = {partition: lives[partition]}
    if json:
        moments = [moment for life in lives.values() for moment in life]
        print(msgspec.json.format(msgspec.json.encode(moments), indent=2).decode())
        return HELD
    width = max(NODE_WIDTH, *(len(moment.node) for life in lives.values() for moment in life))
    for number, (name, life) in enumerate(lives.items()):
        if len(lives) > 1:
            print(("\n" if number else "") + name)
        for moment in life:
            print(f"{moment.at_ms / 1000:9.3f} s  {moment.node:<{width}} {moment.text}  [{moment.cause}]")
    return HELD


def lives_of(events: list[Line], subject: str) -> dict[str, list[Moment]]:
    """{partition: events about a value, or about an offset}, in order; values come first."""
    of_each = by_topic_partition(events)
    sent = {operation for operation, values in _produced(events) if _is_among(subject, values)}
    if sent:
        lives = {topic_partition: _life_of_value(there, sent) for topic_partition, there in of_each.items()}
    elif (offset := number_in(subject)) is not None:
        lives = {topic_partition: _life_of_offset(there, offset) for topic_partition, there in of_each.items()}
    else:
        return {}
    of_brokers = list(registrations(events))
    named = {
        name: [
            Moment(name, event["at_ms"], event["node"], text, event["cause"])
            for event, text in _with_metadata(
                with_transactions(list(lives[topic_partition]), of_each[topic_partition], events),
                of_each[topic_partition],
                of_brokers,
            )
        ]
        for topic_partition in sorted(lives)
        if (name := _partition_name(*topic_partition))
    }
    return {name: life for name, life in named.items() if life}


def _with_metadata(
    life: list[tuple[Line, str]], events: list[Line], of_brokers: list[tuple[Line, str]]
) -> list[tuple[Line, str]]:
    """A record's history with the states and registrations that were committed meanwhile."""
    if not life:
        return []
    first_ms, last_ms = life[0][0]["at_ms"], life[-1][0]["at_ms"]
    states = list(committed_states(events))
    replicas = {f"broker-{number}" for state, _ in states for number in state["replicas"].split(",")}
    fencing = [(event, text) for event, text in of_brokers if f"broker-{event['broker']}" in replicas]
    meanwhile = [one for one in (*states, *fencing) if first_ms <= one[0]["at_ms"] <= last_ms]
    return sorted((*life, *meanwhile), key=lambda one: one[0]["at_ms"])


def _is_among(subject: str, values: list[str]) -> bool:
    """Whether a value is in a batch. Values of Kafka clients are cut, more so in large batches."""
    return subject in values or cut_value(subject, len(values)) in values


def _produced(events: list[Line]) -> Iterator[tuple[str, list[str]]]:
    """(operation, values of its records) of each produce; reads and commits have no values."""
    for event in events:
        if event["event"] == "operation_invoked" and event["kind"] == "produce":
            yield event["operation"], values_in(event["value"], event.get("records", 1))


def _partition_name(topic: str, partition: int) -> str:
    return topic_partition_text(topic, partition) if partition >= 0 else f"{topic}, no partition chosen"


def _life_of_value(events: list[Line], sent: set[str]) -> Iterator[tuple[Line, str]]:
    """Events of one partition about a value. `sent`: the operations that sent the value."""
    digests = {e["digest"] for e in events if e["event"] == "attempt_sent" and e["operation"] in sent}
    held: list[Batch] = []
    for event in events:
        if "operation" in event:
            text = _of_operation(event) if event["operation"] in sent else ""
        elif event["event"] == "batch_appended" and event["digest"] in digests:
            held.append(Batch(event))
            text = _appended(event)
        elif event["event"] == "duplicate_answered":
            text = _answered_as_duplicate(event) if event["digest"] in digests else ""
        else:
            text = _of_replica(event, held)
        if text:
            yield event, text


def _life_of_offset(events: list[Line], offset: int) -> Iterator[tuple[Line, str]]:
    """Appends at `offset` of one partition, on any replica, and responses to its producers."""
    produces = {operation: len(values) for operation, values in _produced(events)}
    held: list[Batch] = []
    for event in events:
        text = ""
        if "operation" in event:
            first, records = event.get("offset", -1), produces.get(event["operation"], 0)
            if event["event"] == "attempt_ended" and 0 <= first <= offset < first + records:
                text = _of_operation(event)
        elif event["event"] == "batch_appended" and _covers(event, offset):
            held.append(Batch(event))
            text = _appended(event) + f", digest {event['digest']:08x}"
        elif event["event"] == "duplicate_answered":
            text = _answered_as_duplicate(event) if _covers(event, offset) else ""
        else:
            text = _of_replica(event, held)
        if text:
            yield event, text


def _covers(appended: Line, offset: int) -> bool:
    return bool(appended["base_offset"] <= offset <= appended["last_offset"])


def _appended(event: Line) -> str:
    how = "appends it as leader" if event["as_leader"] else "copies it from its leader"
    return (
        f"{how} at offset {event['base_offset']}, epoch {event['leader_epoch']} ({event['topic']}-{event['partition']})"
    )


def _answered_as_duplicate(event: Line) -> str:
    if event["digest"] == event["written_digest"]:
        return f"has it already, at offset {event['base_offset']}: answers the retry with that, and appends nothing"
    return (
        f"appends nothing: producer {event['producer_id']} had used sequence number {event['base_sequence']} for other "
        f"records, at offset {event['base_offset']}, and is answered with that"
    )


def _of_operation(event: Line) -> str:
    match event["event"]:
        case "operation_invoked":
            values = values_in(event["value"], event.get("records", 1))
            what = repr(values[0]) + (f" and {len(values) - 1} more records in one batch" if len(values) > 1 else "")
            return f"is about to write {what}, {ACKS.get(event['acks'], event['acks'])}"
        case "attempt_sent":
            return f"sends attempt {event['attempt']} to broker-{event['broker']}"
        case "attempt_ended":
            answer = "acknowledged" if event["error"] == 0 else _refused(event)
            at = f" at offset {event['offset']}" if event["offset"] >= 0 else ""
            return f"attempt {event['attempt']}: {answer}{at}"
        case "operation_ended":
            return f"outcome: {event['outcome']}"
    return ""


def _refused(ended: Line) -> str:
    """Kafka's name of an error, or the reason for a missing response (-2)."""
    name = [error_name(ended["error"])] if ended["error"] != NO_ANSWER else []
    return ", ".join([*name, *([ended["reason"]] if ended["reason"] else [])]) or "no answer"


def _of_replica(event: Line, held: list[Batch]) -> str:
    """Event of a replica that holds the record. Removes truncated batches from `held`."""
    here = [batch for batch in held if batch.node == event["node"]]
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
                effect = "consumers may read it" if event["leading"] else "knows it as committed"
                return f"high watermark {event['high_watermark']}: {effect}"
        case "log_created":
            for batch in here:
                held.remove(batch)
            return "has a new, empty log: the record is gone"
        case "log_deleted":
            for batch in here:
                held.remove(batch)
            return f"deletes its log: the record is gone ({event['reason']})"
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
