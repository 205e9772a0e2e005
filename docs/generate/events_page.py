"""docs/events.md, from protocol/events: lines, names of causes and connections, all events."""

from itertools import groupby
from pathlib import Path
from typing import Any

from docs.generate.markdown_tables import code, notice, table
from docs.generate.source import Field, fields_of
from protocol.events import ENVELOPE, EVENT_FORMAT, EVENTS, LEVELS

_SOURCE = "protocol/events"
_PACKAGE = "protocol.events."

_HEAD = """# Events

Every process writes events: one JSON line each, in `events/` of the run's directory, one file per incarnation of a
node. A line has the fields of the envelope and of the event, flat. Format {format}.

A field name has one type everywhere, so that all events fit into one table. The audit derives its columns from
`protocol/events`.

## The envelope

{envelope}
`seq` grows by one within an incarnation of a node, over all of its files. A gap means that events are missing; the
audit then returns *unknown* instead of *held*.

## Causes and connections

A connection's name contains its opener: `NODE.INCARNATION#ID`. `client-0.1#3` is the third connection that the first
incarnation of client-0 opened. TCP keeps the order, so the N-th frame sent on a connection in one direction is the
N-th received. That is an edge from an event of the sender to an event of the receiver. The checks order events of
different nodes by these edges. Clocks only place events on a picture.

`cause` is the input that the machine was handling:

| cause | input |
|---|---|
| `CONNECTION/N` | the N-th frame received on that connection, such as `client-0.1#3/5` |
| `timer:NAME` | a timer of the machine |
| `start` | the first input of an incarnation |
| others | a connection that was accepted, opened or lost; a request to stop; a command of the player |

## Levels

- *client*: operations of clients. Such a line is in the file before the frames of its step leave.
- *replica*: roles, logs, elections, sessions, faults.
- *wire*: every frame. These lines have their own files, `NODE.INCARNATION.wire.jsonl`, because most events are frames
  and no check needs them.

A killed process leaves at most one incomplete line. The audit moves lines that are no valid events into the run's
`quarantine.jsonl` and counts them; they make the verdict unknown. A line is not valid if

- it is no JSON, or larger than 8 MiB;
- a field is missing, of another type, or out of range;
- it belongs to another run (`run`), or to another incarnation than its file.

The audit reads only regular files. A node in a container has a folder of its own, `events/NODE/`; the audit rejects a
file in it that has another node's name.

## Required evidence

A verdict is never better than its evidence. So a run lists the events that have to exist:

- `processes` in settings.json: the processes that write events. In the network world the supervisor is one of them,
  `injector`.
- A `machine_fault` of kind `start` has the incarnation that begins (`life`). It requires a file whose first event is
  `node_started`. The player (`observer`) and the injector always have a file.
- The last event of an incarnation is `node_stopped`, also at the run's end. Exceptions: an event reports its death
  (kill, power loss, `died`), or it is paused. In a run that goes on, or was interrupted, a live process has written an
  event shortly before, at least `timer_lateness`.
- The numbers of an incarnation are 1, 2, 3, ... up to the last, each once, and its clock goes forward.

If evidence is missing, the verdict names it, and the run is unknown. A check without a finding is *unknown* instead of
*held*. So is a check whose finding is that something did not happen. Other findings stay, with a note that events are
missing.

Lists of brokers are texts: `0,2,1`.

## Identity

- *Topic*: a topic with the name of a deleted one is another topic, and has another `topic_id`. This is the transaction
  that created the topic's znode, in hexadecimal. The controller sends it to brokers with its orders, and leaders send
  it with their responses to clients. Brokers do not compare it: Kafka's own ids (2.8) are
  [not modelled](not-modelled.md). It is empty where the writer does not know it, as of a log that a broker has found on
  its disk, and of an operation without a response.
- *Incarnation of a node*: `node` and `incarnation` of the envelope; `life` where an event is about another node.
- *Version of a partition's state*: `zk_version`, of the state's znode, on which a decision, a role or a broker's
  metadata rests; with `controller_epoch` and `leader_epoch`.
- *Rule*: `rule` is the name of a link fault in the run, the same in its request, at every node, and in its heal.

## Formats

The tools read runs of format 1 too. Its events have no `topic_id`. If a topic was deleted in such a run, the audit
gives its events the number of the topic's incarnation as id, by the time of the removal
(`emulator/runs/former_format.py`).
"""

_ENVELOPE_WORDS = {
    "format": "version of this schema",
    "run": "the run's name",
    "node": "the node that wrote it",
    "incarnation": "the node's incarnation, from 1",
    "seq": "number within that incarnation",
    "cause": "the input that led to it, see below",
    "mono_ms": "the process's monotonic clock, in scenario milliseconds",
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
    text = " ".join((event.__dict__.get("__doc__") or "").split())
    fields = {field.name: field for base in event.__mro__ if base is not object for field in _fields_of(root, base)}
    rows = [(code(name), fields[name].kind, fields[name].text) for name in event.__struct_fields__]
    parts = [f"### {event.NAME}\n", *([text + "\n"] if text else [])]
    return "\n".join([*parts, table(("field", "type", "meaning"), rows)])


def _fields_of(root: Path, event: type[Any]) -> list[Field]:
    """The fields that a class of events adds to those of its base."""
    module = event.__module__.rpartition(".")[2]
    return fields_of(root / _SOURCE / f"{module}.py", event.__name__) if event.__module__.startswith(_PACKAGE) else []
