"""docs/events.md, from protocol/events: lines, names of causes and connections, all events."""

from itertools import groupby
from pathlib import Path
from typing import Any

from docs.generate.markdown_tables import code, notice, table
from docs.generate.source import fields_of
from protocol.events import ENVELOPE, EVENT_FORMAT, EVENTS, LEVELS

_SOURCE = "protocol/events"

_HEAD = """# Events

Every process writes what it does as events: one JSON line each, in `events/` of the run's directory, one
file per life of a node. A line is the envelope and the event's own fields, flat. Format {format}.

A field name has one type everywhere, so that all events fit into one table; the audit's columns are made
from this package.

## The envelope

{envelope} `seq` grows by one within a node and incarnation, over all files of that life: a gap means that
events are missing, and the audit says *unknown* rather than *held*.

## Causes and connections

A connection is named by who opened it: `NODE.INCARNATION#ID`, such as `client-0.1#3`: the third connection
that the first life of client-0 opened. TCP keeps order, so the N-th frame sent on a connection in one
direction is the N-th received. That gives an edge from the event of the sender to that of the receiver, and
the checks order events of different nodes by these edges. Clocks only place events on a picture.

`cause` is the input that the machine was handling:

| cause | input |
|---|---|
| `CONNECTION/N` | the N-th frame received on that connection, such as `client-0.1#3/5` |
| `timer:NAME` | a timer of the machine |
| `start` | the first input of a life |
| others | a connection that was accepted, opened or lost; a request to stop; a command of the player |

## Levels

- *client*: operations, as the client saw them. Such a line is in the file before the frames of its step
  leave.
- *replica*: roles, logs, elections, sessions, faults.
- *wire*: every frame. In files of its own, `NODE.INCARNATION.wire.jsonl`, because frames are the majority
  of events and no check needs their fields.

A process that is killed leaves at most one line without its end. Lines that are no events (no JSON, a field of
their event missing or of another type, a number out of range, more than 8 MiB) are counted and kept in the run's
`quarantine.jsonl`; they make the verdict unknown. So are lines of another run than the others here (`run`), and lines
of another life than their file is named after. Only regular files are read.

A node in a container has a folder of its own, `events/NODE/`. A file in it that is named after another node is refused.

## What is owed

A verdict is never better than its evidence, so a run says what there must be:

- `processes` in settings.json: who may write events. In the network world the supervisor is one of them, `injector`.
- A `machine_fault` that says `start` names the `life` that begins: it owes a file, whose first event is `node_started`.
  The player (`observer`) and the injector owe one in any case.
- A life's last event is `node_stopped`, also at the run's end; or its death was told (kill, power loss, `died`), or it
  stands still (pause). In a run that goes on, or was cut short, a process that lives has told something shortly before,
  at least `timer_lateness`.
- Its numbers are 1, 2, 3, ... up to the last, each once, and its clock goes forward.

What is missing is named, the run is unknown, and a check that found nothing says *unknown* rather than *held*. One
that found that something did not happen says so, too, and any other tells with what it found that events are missing.

Lists of brokers are texts: `0,2,1`.
"""

_ENVELOPE_WORDS = {
    "format": "version of this schema",
    "run": "the run's name",
    "node": "who writes",
    "incarnation": "which life of that node, from 1",
    "seq": "number within that life",
    "cause": "the input that led to it, see below",
    "mono_ms": "that process's monotonic clock, scenario milliseconds",
    "wall_ms": "its wall clock",
    "at_ms": "scenario time, from the cluster's launch",
    "level": "client, replica or wire",
    "event": "the event's name",
}


def page(root: Path) -> str:
    assert set(_ENVELOPE_WORDS) == set(ENVELOPE), "every field of the envelope is explained"
    envelope = table(
        ("field", "type", "meaning"),
        [(code(name), kind.__name__, _ENVELOPE_WORDS[name]) for name, kind in ENVELOPE.items()],
    )
    parts = [notice(_SOURCE), _HEAD.format(format=EVENT_FORMAT, envelope=envelope)]
    in_order = sorted(EVENTS.values(), key=lambda event: LEVELS.index(event.LEVEL))
    for level, group in groupby(in_order, key=lambda event: event.LEVEL):
        parts.append(f"## Level {level}\n")
        parts += [_event(root, event) for event in group]
    return "\n".join(parts)


def _event(root: Path, event: type[Any]) -> str:
    source = root / _SOURCE / f"{event.__module__.rpartition('.')[2]}.py"
    text = " ".join((event.__dict__.get("__doc__") or "").split())
    rows = [(code(field.name), field.kind, field.text) for field in fields_of(source, event.__name__)]
    parts = [f"### {event.NAME}\n", *([text + "\n"] if text else [])]
    return "\n".join([*parts, table(("field", "type", "meaning"), rows)])
