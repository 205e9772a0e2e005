"""`faultline log --as-kafka NODE`: a broker's events as Kafka's log lines."""

import sys
from pathlib import Path

import msgspec

from emulator.cli.commands.command_errors import reports_errors
from emulator.exit_codes import HELD
from emulator.runs.finished import ANOTHER, NoRun, NoSuchPart, find_run
from emulator.runs.kafka_lines import UnreadableEvent, kafka_lines
from emulator.runs.kafka_log.pattern import clock
from emulator.runs.run_events import NoEvents, TooManyEvents
from protocol.versions import UnknownVersion, UnusableProtocolVersion

UNUSABLE_INPUT = (
    NoRun,
    NoSuchPart,
    NoEvents,
    TooManyEvents,
    UnreadableEvent,
    UnknownVersion,
    UnusableProtocolVersion,
)


@reports_errors("log", *UNUSABLE_INPUT)
def as_kafka_command(node: str, run: Path | None, file: str | None, json: bool) -> int:
    """Print the lines of `file` (server, controller, state-change), by default of all, in order."""
    found = find_run(run)
    lines = [line for line in kafka_lines(found, node) if file in (None, line.file)]
    if run is None:
        print(f"faultline log: {node} in {found}, the newest run ({ANOTHER})", file=sys.stderr)
    if json:
        fields = [{**msgspec.structs.asdict(line), "clock": clock(line.wall_ms)} for line in lines]
        print(msgspec.json.encode(fields).decode())
    else:
        print("".join(f"{line}\n" for line in lines), end="")
    return HELD
