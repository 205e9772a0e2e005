"""A broker's events as lines of Kafka's log, in the layout of each incarnation's version."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from emulator.run_layout import DATA_FOLDER
from emulator.runs.finished import brokers_of, check_part
from emulator.runs.kafka_log.pattern import LogLine
from emulator.runs.kafka_log.rendering import Broker, Rendering, Written
from emulator.runs.run_events import Line, event_files, events_in, read
from emulator.topology import identifier_named
from protocol.events import EVENTS, ConnectionChanged, Event, NodeStarted
from protocol.gates import gates_for

WALL_MS_MAX = 2.5e14
"""The last year that a date has."""


class UnreadableEvent(ValueError):
    """A line of events that is JSON, but not of this format."""


def kafka_lines(run: Path, node: str) -> Iterator[LogLine]:
    """Log lines of a broker, or of a dedicated controller, in the order of its incarnations.

    Raises NoRun, NoSuchPart, NoEvents, TooManyEvents, UnreadableEvent, UnknownVersion, UnusableProtocolVersion.
    """
    brokers = brokers_of(run)
    check_part("broker", node, list(brokers), run)
    versions = brokers[node]
    number = identifier_named(node)
    directory = f"{DATA_FOLDER}/{node}"
    gates = gates_for(versions.binary, versions.inter_broker_protocol)
    rendering = Rendering(Broker(number, gates, directory, node))
    lines = sorted(
        (*read(run, rendering.rendered, node, broken=True), *_connections(run, node)),
        key=lambda line: (line["incarnation"], line["seq"]),
    )
    for line in lines:
        event = _typed(line)
        if isinstance(event, NodeStarted) and event.kafka_version:
            gates = gates_for(event.kafka_version, event.protocol_version or None)
            rendering.begin_life(Broker(number, gates, directory, node))
        step = (line["incarnation"], str(line.get("cause", "")))
        yield from rendering.lines([Written(event, _wall_ms(line), step)])


def _connections(run: Path, node: str) -> Iterator[Line]:
    """Ends and beginnings of a node's connections; none of a run without events of level wire."""
    for path in event_files(run, wire=True, node=node):
        yield from events_in(path, (ConnectionChanged.NAME,), broken=True)


def _typed(line: Line) -> Event:
    try:
        return msgspec.convert(line, EVENTS[line["event"]])
    except msgspec.ValidationError as error:
        which = f"event {line['seq']} of {line['node']}.{line['incarnation']}"
        raise UnreadableEvent(f"{which}, {line['event']}: {error}") from error


def _wall_ms(line: Line) -> float:
    wall_ms = line.get("wall_ms")
    if isinstance(wall_ms, int | float) and 0 <= wall_ms <= WALL_MS_MAX:
        return wall_ms
    raise UnreadableEvent(f"event {line['seq']} of {line['node']}.{line['incarnation']}: no time of day: {wall_ms!r}")
