"""The incident of an imported run's directory: its page, its recovered records."""

import base64
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from emulator.html_file import html_file
from emulator.regular_files import write_whole
from emulator.run_layout import DATA_FOLDER
from emulator.runs.importing.import_record import ImportRecord, read_record
from emulator.runs.importing.incident import Incident, LostRecord, incident_of
from emulator.runs.importing.incident_facts import EVENTS_READ, Line
from emulator.runs.importing.incident_scenario import scenario_text
from emulator.runs.importing.replica_contents import ReplicaContents, contents_of, data_folder
from emulator.runs.run_events import read
from protocol.ids import topic_partition_text
from protocol.records.errors import RecordsError

PAGE_FILE: Final = "incident.html"
REPORT_FILE: Final = "report.html"
"""Written by `faultline audit`; the page has a link to it if it is there."""
_STYLE: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;"
    "background:#fff}table{border-collapse:collapse;width:100%;margin:1rem 0}td,th{border-bottom:1px solid #999;"
    "padding:.3rem .6rem;text-align:left;vertical-align:top}code{font-size:90%}h2{margin-top:2rem}"
    "@media(prefers-color-scheme:dark){body{color:#eee;background:#161616}}"
)


class ImportedIncident(NamedTuple):
    """An incident and what it was made from."""

    record: ImportRecord
    incident: Incident
    events: Sequence[Line]


def read_incident(run: Path) -> ImportedIncident:
    """The incident of a run. Raises NoImportRecord, NoEvents, TooManyEvents."""
    record = read_record(run)
    names = (*EVENTS_READ, "operation_invoked", "operation_ended", "batch_appended")
    events = sorted(read(run, names), key=lambda one: (one["at_ms"], one["node"], one["seq"]))
    of_facts = [one for one in events if one["event"] in EVENTS_READ]
    return ImportedIncident(record, incident_of(record, of_facts, lost_sends(run, events)), events)


def lost_sends(run: Path, events: Sequence[Line]) -> list[LostRecord]:
    """Acknowledged sends whose batch the last leader's collected log does not have."""
    leaders: dict[str, tuple[int, str]] = {}
    for one in events:
        if one["event"] == "role_changed" and one["role"] == "leader":
            place = topic_partition_text(one["topic"], one["partition"])
            leaders[place] = max(leaders.get(place, (-1, "")), (one["leader_epoch"], one["node"]))
    digests: dict[str, set[int] | None] = {}
    values = {one["operation"]: one["value"] for one in events if one["event"] == "operation_invoked"}
    found = []
    for one in events:
        if one["event"] != "operation_ended" or one["outcome"] != "ok" or one["kind"] != "produce":
            continue
        place = topic_partition_text(one["topic"], one["partition"])
        if place not in digests:
            digests[place] = _digests_of(run, leaders.get(place, (-1, ""))[1], place)
        held = digests[place]
        if held is not None and one["digest"] not in held:
            found.append(LostRecord(place, one["offset"], values.get(one["operation"], ""), one["acks"]))
    return found


def _digests_of(run: Path, node: str, partition: str) -> set[int] | None:
    """Digests of a replica's batches; None: its log was not collected."""
    folder = data_folder(run / DATA_FOLDER / node) if node else None
    if folder is None or partition not in folder.partitions:
        return None
    return {batch.digest for batch in contents_of(folder, partition).batches}


def recovered(run: Path, incident: Incident) -> Iterator[bytes]:
    """JSON lines of the removed records that copies have. Raises RecordsError."""
    for one in incident.recoveries:
        folder = data_folder((run / one.folder).parent)
        if folder is None or one.partition not in folder.partitions:
            continue
        contents = contents_of(folder, one.partition)
        for batch in contents.batches:
            if batch.last_offset < one.first or batch.base_offset > one.last:
                continue
            for record in contents.records_of(batch):
                if not one.first <= record.offset <= one.last:
                    continue
                row = {
                    "node": one.node, "partition": one.partition, "offset": record.offset, "leader_epoch": batch.epoch,
                    "timestamp_ms": record.timestamp_ms, "key_base64": _base64(record.key),
                    "value_base64": _base64(record.value), "value": _text(record.value),
                }  # fmt: skip
                yield msgspec.json.encode(row) + b"\n"


def _base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "backslashreplace")


def write_page(run: Path, found: ImportedIncident) -> Path:
    """Write incident.html. Raises OSError."""
    path = run / PAGE_FILE
    write_whole(path, page_of(run.name, found, has_report=(run / REPORT_FILE).is_file()).encode())
    return path


def page_of(name: str, found: ImportedIncident, *, has_report: bool = False) -> str:
    """The page: the lines, then what they rest on. All text of the logs is escaped."""
    incident, record = found.incident, found.record
    parts = [f"<main><h1>{escape(incident.what)}</h1><ul>"]
    parts += [f"<li>{escape(line)}</li>" for line in incident.lines]
    link = f'<p><a href="{REPORT_FILE}">Report of the audit, with the timeline</a></p>' if has_report else ""
    parts.append(f"</ul>{link}<h2>Nodes</h2>")
    rows = [
        (node.name, node.version or "unknown", node.roles, str(node.incarnations), str(len(node.deaths)))
        for node in record.nodes
    ]
    parts.append(_table(("node", "Kafka", "roles", "starts", "without a clean end"), rows))
    if incident.lost:
        parts.append("<h2>Acknowledged records that are lost</h2>")
        lost = [(one.partition, str(one.offset), str(one.acks), one.value) for one in incident.lost[:1_000]]
        parts.append(_table(("partition", "offset", "acks", "value"), lost))
    if record.gaps or record.problems:
        parts.append("<h2>Not complete</h2><ul>")
        parts += [f"<li>{escape(one)}</li>" for one in (*record.gaps, *record.problems)]
        parts.append("</ul>")
    parts.append("</main>")
    return html_file(f"incident: {name}", "".join(parts), style=_STYLE, script="")


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(one)}</th>" for one in columns)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def scenario_of(run: Path, found: ImportedIncident) -> str:
    """A scenario that plays the incident again. Raises NotPlayable."""
    values: dict[int, list[str]] = {}
    for replica in _collected(run, found.record):
        for batch in replica.batches[:10_000]:
            if batch.digest in values:
                continue
            try:
                records = replica.records_of(batch)
            except (RecordsError, OSError):
                continue
            values[batch.digest] = [(record.value or b"").decode("utf-8", "replace") for record in records]
    events = [one for one in found.events if one["event"] in ("role_changed", "batch_appended")]
    return scenario_text(run.name, found.record, found.incident, events, values)


def _collected(run: Path, record: ImportRecord) -> Iterator[ReplicaContents]:
    for one in record.replicas:
        if one.partition.startswith("__"):
            continue
        folder = data_folder((run / one.folder).parent)
        if folder is not None and one.partition in folder.partitions:
            yield contents_of(folder, one.partition)
