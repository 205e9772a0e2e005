"""`faultline import DIR...`: real brokers' log files and data folders become a run."""

import sys
from pathlib import Path

import msgspec
from rich.console import Console

from emulator.cli.command_options import IMPORT, ImportOptions
from emulator.cli.commands.command_errors import CommandFailed, reports_errors
from emulator.cli.commands.progress import BytesRead, Progress
from emulator.exit_codes import HELD
from emulator.runs.directory import ForeignDirectory, NotEmpty, fresh, prepare
from emulator.runs.importing.clients_file import BadClientsFile, read_clients
from emulator.runs.importing.collected_nodes import CollectedNode, NothingCollected, collect
from emulator.runs.importing.import_record import ImportRecord
from emulator.runs.importing.imported_run import RunImport
from emulator.runs.importing.incident_run import read_incident, write_page
from emulator.runs.importing.line_layouts import UnknownZone, UnusablePattern, zone_named
from emulator.runs.importing.log_reader import known_layouts
from protocol.versions import UnknownVersion, rank

SHOWN_MAX = 8
INCIDENT_EVENTS_MAX = 100_000


@reports_errors(
    "import", NothingCollected, BadClientsFile, UnusablePattern, UnknownZone, UnknownVersion, NotEmpty, ForeignDirectory
)
def import_command(*folders: Path, options: ImportOptions = IMPORT) -> int:
    """Import collected files as a run.

    Parameters
    ----------
    folders
        Folders of brokers' files, one for all or one for each broker.
    """
    if not folders:
        raise CommandFailed("no folder given; name folders with brokers' server.log and data")
    if options.kafka_version is not None:
        rank(options.kafka_version)
    if options.clients is not None and not options.clients.is_file():
        raise CommandFailed(f"{options.clients}: is no file; --clients takes JSON lines or CSV")
    layouts = known_layouts(options.pattern, zone_named(options.tz))
    collected = collect(folders, layouts)
    out = options.out if options.out is not None else fresh("import")
    prepare(out)
    nodes = [_with_version(node, options.kafka_version) for node in collected.nodes]
    total = sum(file.size_bytes for node in nodes for file in node.logs)
    with Progress(Console(file=sys.stderr), text="reading") as shown:
        progress = BytesRead(shown, total)
        sent = read_clients(options.clients) if options.clients is not None else None
        record = RunImport(out, nodes, progress).run(sent, collected.unread)
    if options.json:
        print(msgspec.json.encode({"run": str(out), "record": record}).decode())
        return HELD
    for line in summary(out, record):
        print(line)
    for line in _incident(out, record):
        print(line.encode(errors="backslashreplace").decode())
    return HELD


def _incident(out: Path, record: ImportRecord) -> list[str]:
    """Lines about the incident, unless the run is large; then `faultline incident` has them."""
    events = sum(count for node in record.nodes for count in node.events.values())
    if events > INCIDENT_EVENTS_MAX:
        return [f"the incident: faultline incident {out}"]
    found = read_incident(out)
    return [*found.incident.lines, f"page: {write_page(out, found)}"]


def summary(out: Path, record: ImportRecord) -> list[str]:
    """Lines about what was imported."""
    lines = sum(file.lines for file in record.files)
    events = sum(count for node in record.nodes for count in node.events.values())
    found = [f"{len(record.nodes)} nodes, {lines} lines of {len(record.files)} files, {events} events: {out}"]
    for node in record.nodes:
        version = f"Kafka {node.version}" if node.version else "an unknown version"
        deaths = f", {len(node.deaths)} without a clean end" if node.deaths else ""
        found.append(f"  {node.name}: {version}, {node.roles}, {node.incarnations} starts{deaths}")
    for one in record.clocks:
        side = "ahead of" if one.ahead_ms > 0 else "behind"
        found.append(f"  the clock of {one.node} is {abs(one.ahead_ms):.0f} ms {side} that of {one.reference}")
    reasons = [*(f"{name}: {why}" for name, why in record.unread), *record.gaps, *record.problems]
    found += [f"  not complete: {one}" for one in reasons[:SHOWN_MAX]]
    if len(reasons) > SHOWN_MAX:
        found.append(f"  not complete: {len(reasons) - SHOWN_MAX} more reasons are in import.json")
    return found


def _with_version(node: CollectedNode, version: str | None) -> CollectedNode:
    return node._replace(version=version) if version is not None and not node.version else node
