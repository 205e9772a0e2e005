"""Import of collected files: a run's directory for audit, report, explain, sql and log.

    RUN/events/NODE.INCARNATION.jsonl     neutral events; `cause` is FILE:LINE, or FILE@BYTE of a segment
    RUN/data/NODE/...                     the collected log directories (hard links, or copies)
    RUN/copies/NODE-N/...                 earlier copies of them
    RUN/settings.json                     versions, settings of the nodes, and what the audit lacks
    RUN/import.json                       what was read, with what was noticed (`emulator.runs.importing.import_record`)
    RUN/import-quarantine.jsonl           lines that are no whole entries, the first of each file

Two passes, node by node. The first reads the lines into a spool and solves for the clocks; the second adds the batches
of the segments at their places and writes the events.
"""

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Final

import msgspec

from emulator.run_layout import DATA_FOLDER, EVENTS_FOLDER, SETTINGS_FILE
from emulator.runs.directory import write_json
from emulator.runs.importing import evidence_limits as limits
from emulator.runs.importing.append_places import Marker, marker_of, place_batches
from emulator.runs.importing.client_events import ClientEvents
from emulator.runs.importing.clients_file import Sent
from emulator.runs.importing.clock_offsets import ClockMarks, registrations, starts
from emulator.runs.importing.collected_nodes import CollectedNode
from emulator.runs.importing.event_files import EventFiles
from emulator.runs.importing.event_spool import EventSpool
from emulator.runs.importing.folder_copies import copy_folder
from emulator.runs.importing.import_record import (
    QUARANTINE_FILE,
    RECORD_FILE,
    ClockOffset,
    FileRead,
    ImportRecord,
    NodeRecord,
    Noticed,
    ReplicaRecord,
)
from emulator.runs.importing.line_events import NodeEvent, Notice
from emulator.runs.importing.metadata_states import committed_events, longest_metadata_log
from emulator.runs.importing.node_lines import FileReport, NodeLines
from emulator.runs.importing.node_story import NodeStory
from emulator.runs.importing.replica_contents import (
    BATCHES_MAX,
    DataFolder,
    ReplicaContents,
    contents_of,
    is_metadata_log,
)
from emulator.runs.importing.replica_events import appended, final_epochs
from protocol import events as e
from protocol.ids import TopicPartition

IMPORTER: Final = "importer"
"""Name under which the import writes what it infers: the end of a process that logged none."""
METADATA_TOPIC: Final = "__cluster_metadata"
COPIES_FOLDER: Final = "copies"
QUARANTINED_MAX: Final = 200
"""Lines of each file in the quarantine; the record has their number."""


class _Node:
    """One node between the passes."""

    def __init__(self, collected: CollectedNode, spool: EventSpool) -> None:
        self.collected = collected
        self.spool = spool
        self.markers: defaultdict[TopicPartition, list[Marker]] = defaultdict(list)
        self.held: set[TopicPartition] = set()
        self.replicas: list[ReplicaContents] = []
        self.copies: list[ReplicaContents] = []
        self.story = NodeStory(collected.number, collected.roles, collected.version, _settings_text(collected))
        self.reports: list[FileReport] = []
        self.last_ms = float("-inf")
        self.last_incarnation = 1
        self.counts: defaultdict[str, int] = defaultdict(int)
        self.places: dict[Path, Path] = {}


class RunImport:
    """One import. `progress` receives bytes of log files as they are read."""

    def __init__(self, out: Path, nodes: Sequence[CollectedNode], progress: Callable[[int], None]) -> None:
        self._out = out
        self._progress = progress
        self._marks = ClockMarks()
        self._nodes = [_Node(node, self._spool(node)) for node in nodes]
        self._committed: list[NodeEvent] = []
        self._metadata_node = ""

    def _spool(self, node: CollectedNode) -> EventSpool:
        (self._out / EVENTS_FOLDER).mkdir(parents=True, exist_ok=True)
        return EventSpool(self._out / f".{node.name}.spool")

    def run(self, sent: Iterator[Sent] | None, unread: Sequence[tuple[str, str]]) -> ImportRecord:
        """Do all of it. Raises OSError, BadClientsFile."""
        try:
            for node in self._nodes:
                self._read_data(node)
            self._read_metadata()
            for node in self._nodes:
                self._read_lines(node)
            record = self._write(sent, unread)
        finally:
            for node in self._nodes:
                node.spool.remove()
        return record

    # --- the first pass ---

    def _read_data(self, node: _Node) -> None:
        left = BATCHES_MAX
        for folders, found in ((node.collected.data, node.replicas), (node.collected.copies, node.copies)):
            for folder in folders:
                for partition in folder.partitions:
                    contents = contents_of(folder, partition, left)
                    left -= len(contents.batches)
                    found.append(contents)
                    node.held.add(contents.place)
        for folder in node.collected.data:
            self._take(node, folder, Path(DATA_FOLDER, node.collected.name))
        for number, folder in enumerate(node.collected.copies, start=1):
            self._take(node, folder, Path(COPIES_FOLDER, f"{node.collected.name}-{number}"))

    def _take(self, node: _Node, folder: DataFolder, target: Path) -> None:
        copy_folder(folder.path, self._out / target, folder.partitions)
        node.places |= {folder.path / name: target / name for name in folder.partitions}

    def _read_metadata(self) -> None:
        logs = [
            (node.collected.name, contents)
            for node in self._nodes if "controller" in node.collected.roles
            for contents in node.replicas if is_metadata_log(contents.name)
        ]  # fmt: skip
        found = longest_metadata_log(logs)
        if found is not None:
            self._metadata_node, log = found
            self._committed = list(committed_events(log))

    def _read_lines(self, node: _Node) -> None:
        lines = NodeLines(node.collected.logs, self._progress)
        for one in lines:
            for timed in node.story.step(one.found, one.file):
                self._keep(node, timed)
        node.reports = lines.reports
        last_ms = max((report.last_ms for report in lines.reports if report.last_ms is not None), default=None)
        if last_ms is not None:
            node.last_ms = max(node.last_ms, last_ms)
        node.last_incarnation = max(node.story.incarnation, 1)
        for mark in registrations(node.collected.name, node.story.notices):
            self._marks.add(mark)

    def _keep(self, node: _Node, timed: NodeEvent) -> None:
        marker = marker_of(node.spool.length, timed.wall_ms, timed.incarnation, timed.event)
        if marker is not None and isinstance(timed.event, e.OfPartition):
            place = (timed.event.topic, timed.event.partition)
            markers = node.markers[place]
            if place in node.held or not markers or (_removes(marker) and not any(map(_removes, markers))):
                markers.append(marker)
        node.counts[timed.event.NAME] += 1
        self._marks.note(node.collected.name, timed)
        node.spool.append(timed)
        node.last_ms = max(node.last_ms, timed.wall_ms)

    # --- the second pass ---

    def _write(self, sent: Iterator[Sent] | None, unread: Sequence[tuple[str, str]]) -> ImportRecord:
        active = self._metadata_clock()
        for timed in self._committed:
            self._marks.note_committed(timed, active(timed))
        for node in self._nodes:
            registered = [
                (active(timed), timed.wall_ms) for timed in self._committed
                if isinstance(timed.event, e.BrokerRegistrationCommitted) and timed.event.change == "registered"
                and timed.event.broker == node.collected.number and "broker" in node.collected.roles
            ]  # fmt: skip
            for mark in starts(node.collected.name, node.story.starts, registered):
                self._marks.add(mark)
        offsets, contradictions = self._marks.offsets(node.collected.name for node in self._nodes)
        ahead = {one.node: one.ahead_ms for one in offsets}
        began = [
            report.first_ms - ahead.get(node.collected.name, 0.0)
            for node in self._nodes for report in node.reports if report.first_ms is not None
        ]  # fmt: skip
        batches = [batch.at_ms for node in self._nodes for one in node.replicas for batch in one.batches[:1]]
        first_ms = min(began, default=float(min(batches, default=0)))
        files = EventFiles(self._out / EVENTS_FOLDER, self._out.name, first_ms, ahead)
        deaths = []
        for node in self._nodes:
            deaths += [(at, node.collected.name, life) for at, life in node.story.deaths]
            self._write_node(node, files)
        files.write_deaths(IMPORTER, deaths)
        clients = ClientEvents([*self._all_replicas()])
        if sent is not None:
            files.write_clients(clients.events(sent))
        files.close()
        lacking = limits.lacking(self._evidence(sent is not None))
        record = self._record(first_ms, unread, contradictions)
        record.clocks = [ClockOffset(one.node, one.ahead_ms, one.reference, one.pairs) for one in offsets]
        record.clients = clients.counts
        self._write_settings(lacking, record, files.processes)
        self._write_quarantine()
        (self._out / RECORD_FILE).write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")
        return record

    def _metadata_clock(self) -> Callable[[NodeEvent], str]:
        """The node whose clock a batch of the metadata log has: the active controller of its epoch."""
        leaders: dict[int, str] = {}
        for node in self._nodes:
            for timed in node.spool:
                if isinstance(timed.event, e.QuorumStateChanged) and timed.event.state == "leader":
                    leaders[timed.event.epoch] = node.collected.name

        def clock(timed: NodeEvent) -> str:
            assert isinstance(timed.event, e.PartitionStateCommitted | e.BrokerRegistrationCommitted)
            return leaders.get(timed.event.epoch, "")

        return clock

    def _write_node(self, node: _Node, files: EventFiles) -> None:
        """Merge the node's events with its batches, its leader epochs, and the committed states."""
        name = node.collected.name
        end = (node.last_ms if node.last_ms > float("-inf") else _last_batch_ms(node), node.last_incarnation)
        behind: defaultdict[int, list[NodeEvent]] = defaultdict(list)
        copied: defaultdict[TopicPartition, list[ReplicaContents]] = defaultdict(list)
        for copy in node.copies:
            copied[copy.place].append(copy)
        for replica in node.replicas:
            if is_metadata_log(replica.name):
                continue
            others = [batch for copy in copied[replica.place] for batch in copy.batches]
            for placed in place_batches(node.markers[replica.place], replica.batches, others, end):
                behind[placed.after].append(appended(replica, placed))
        has_start = node.spool.length > 0
        if not has_start and (behind or node.replicas):
            files.begin(name, node.collected.roles, node.collected.version, end[0])
        committed = iter(self._committed if name == self._metadata_node else ())
        files.write(name, self._merged(node, behind, end, committed))

    def _merged(
        self, node: _Node, behind: dict[int, list[NodeEvent]], end: tuple[float, int], committed: Iterator[NodeEvent]
    ) -> Iterator[NodeEvent]:
        waiting: list[tuple[float, int, NodeEvent]] = []
        count = 0
        incarnation = 1

        def due(until_ms: float) -> Iterator[NodeEvent]:
            while waiting and waiting[0][0] <= until_ms:
                yield heapq.heappop(waiting)[2]

        for state in committed:
            count += 1
            heapq.heappush(waiting, (state.wall_ms, count, state))
        for index, timed in enumerate(chain((None,), node.spool), start=-1):
            if timed is not None:
                for one in due(timed.wall_ms):
                    yield one._replace(incarnation=incarnation)
                incarnation = timed.incarnation
                yield timed
            for one in behind.pop(index, ()):
                count += 1
                heapq.heappush(waiting, (one.wall_ms, count, one))
        for one in due(float("inf")):
            yield one._replace(incarnation=incarnation)
        for replica in node.replicas:
            yield from final_epochs(replica, end)
        stopped = e.NodeStopped(0, "the lines end here", "asked")
        yield NodeEvent(end[0], end[1], stopped, "end of the lines")

    # --- the record ---

    def _all_replicas(self) -> Iterator[tuple[str, ReplicaContents, bool]]:
        for node in self._nodes:
            for replica in node.replicas:
                yield node.collected.name, replica, False
            for replica in node.copies:
                yield node.collected.name, replica, True

    def _evidence(self, clients: bool) -> frozenset[str]:
        """The kinds of evidence that are there (`evidence_limits`)."""
        counts: defaultdict[str, int] = defaultdict(int)
        for node in self._nodes:
            for name, count in node.counts.items():
                counts[name] += count
        held = {(node.collected.name, one.place) for node in self._nodes for one in node.replicas}
        reported = {
            (node.collected.name, place) for node in self._nodes for place, markers in node.markers.items() if markers
        }
        present = {limits.CLIENTS} if clients else set()
        if held and reported <= held and not any(self._problems()):
            present.add(limits.SEGMENTS)
        epochs = [
            one for node in self._nodes for one in node.replicas
            if not is_metadata_log(one.name) and any(batch.epoch >= 0 for batch in one.batches)
        ]  # fmt: skip
        if epochs and all(one.leader_epochs for one in epochs):
            present.add(limits.EPOCHS)
        for name, evidence in (
            ("role_changed", limits.ROLES),
            ("controller_changed", limits.CONTROLLERS),
            ("quorum_state_changed", limits.QUORUM),
        ):
            if counts[name]:
                present.add(evidence)
        if self._committed:
            present.add(limits.STATES)
        if all(_has_removed(node) for node in self._nodes):
            present.add(limits.REMOVED)
        return frozenset(present)

    def _problems(self) -> list[str]:
        return [problem for _, one, _ in self._all_replicas() for problem in one.problems]

    def _gaps(self) -> list[str]:
        """Reasons why lines are missing: a check may hold only because of that."""
        gaps = []
        for node in self._nodes:
            name = node.collected.name
            for report in node.reports:
                damaged = sum(report.damaged.values())
                if damaged:
                    gaps.append(f"{damaged} lines of {report.file} are no whole entries; {QUARANTINE_FILE} has some")
                if report.backwards:
                    gaps.append(f"the times of {report.file} go back {report.backwards} times")
                if report.error:
                    gaps.append(f"{report.file} was not read to its end: {report.error}")
            if node.story.repeated:
                gaps.append(f"{node.story.repeated} lines of {name} are there twice")
            if not node.collected.logs:
                gaps.append(f"no log lines of {name} were collected")
        return gaps

    def _record(self, first_ms: float, unread: Sequence[tuple[str, str]], contradictions: list[str]) -> ImportRecord:
        notices = [(node, notice) for node in self._nodes for notice in node.story.notices]
        return ImportRecord(
            began_ms=first_ms,
            nodes=[_node_record(node) for node in self._nodes],
            files=[
                FileRead(node.collected.name, report.file, report.lines, report.entries, report.first_ms or 0.0,
                         report.last_ms or 0.0, report.damaged, report.backwards, list(report.silences)[:16],
                         list(report.full_disk_at)[:16], report.error)
                for node in self._nodes for report in node.reports
            ],
            unread=[list(one) for one in unread],
            gaps=[*self._gaps(), *contradictions],
            problems=self._problems(),
            notices=[_noticed(node, notice) for node, notice in notices],
            replicas=[
                ReplicaRecord(node.collected.name, one.name, str(node.places[one.folder]), one.log_start, one.log_end,
                              is_copy, one.high_watermark if one.high_watermark is not None else -1)
                for node in self._nodes
                for is_copy, replicas in ((False, node.replicas), (True, node.copies))
                for one in replicas
            ],
        )  # fmt: skip

    def _write_settings(self, lacking: dict[str, str], record: ImportRecord, processes: list[str]) -> None:
        versions = [node.collected.version for node in self._nodes if node.collected.version]
        nodes = {
            node.collected.name: {**node.collected.properties, "kafka.version": node.collected.version or "unknown"}
            for node in self._nodes
        }
        settings = {
            "world": "imported",
            "kafka": max(set(versions), key=versions.count) if versions else "unknown",
            "processes": processes,
            "nodes": nodes,
            "imported": {"lacking": lacking, "gaps": [*record.gaps, *record.problems]},
        }
        write_json(self._out / SETTINGS_FILE, settings)

    def _write_quarantine(self) -> None:
        with (self._out / QUARANTINE_FILE).open("wb") as file:
            for node in self._nodes:
                for report in node.reports:
                    for one in report.damage[:QUARANTINED_MAX]:
                        text = one.text.decode("utf-8", "backslashreplace")
                        row = {"node": node.collected.name, "file": report.file, "line": one.line, "what": one.what}
                        file.write(msgspec.json.encode({**row, "text": text}) + b"\n")


def _removes(marker: Marker) -> bool:
    return marker.cut is not None and marker.log_end > marker.cut


def _has_removed(node: _Node) -> bool:
    """Whether copies have all records that the node truncated."""
    return all(
        any(copy.place == place and copy.log_end >= marker.log_end for copy in node.copies)
        for place, markers in node.markers.items() for marker in markers
        if _removes(marker) and place[0] != METADATA_TOPIC
    )  # fmt: skip


def _last_batch_ms(node: _Node) -> float:
    return float(max((batch.at_ms for one in node.replicas for batch in one.batches), default=0))


def _settings_text(node: CollectedNode) -> str:
    shown = ("min.insync.replicas", "unclean.leader.election.enable", "replica.lag.time.max.ms")
    return " ".join(f"{name}={node.properties[name]}" for name in shown if name in node.properties)


def _node_record(node: _Node) -> NodeRecord:
    return NodeRecord(
        node.collected.name, node.collected.number, node.collected.roles, node.collected.version,
        node.collected.properties, node.story.incarnation, [[at, life] for at, life in node.story.deaths],
        dict(node.counts),
    )  # fmt: skip


def _noticed(node: _Node, notice: Notice) -> Noticed:
    return Noticed(node.collected.name, notice.wall_ms, notice.incarnation, notice.what, notice.fields, notice.source)
