"""The ledger: the clients' events about every record against the brokers' logs on disk.

Shares no code with the audit, which judges the same run from all nodes' events.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from emulator.run_layout import DATA_FOLDER, EVENTS_FOLDER, event_paths
from emulator.storage.disk import DiskFiles
from emulator.storage.inspect import read_partition
from protocol.ids import topic_partition_text
from protocol.lateness import merged, share_ms
from verification.soak.soak_verdict import Counts, Cut, Kept, Outside

EXAMPLES_MAX = 10
ENDS = ("ok", "failed", "unknown")


class _Line(msgspec.Struct):
    event: str
    at_ms: float
    operation: str = ""
    kind: str = ""
    topic: str = ""
    partition: int = -1
    value: str = ""
    outcome: str = ""
    offset: int = -1
    buckets: str = ""
    max_ms: float = 0.0


class Acknowledged:
    """Of one partition: offsets and the values' hashes (of this process), side by side."""

    def __init__(self) -> None:
        self.offsets = array("q")
        self.values = array("q")

    def add(self, offset: int, value: str) -> None:
        self.offsets.append(offset)
        self.values.append(hash(value))


class Ledger:
    """Reads every line of the clients' event files. `cuts` with `margin_ms`: not outside."""

    def __init__(self, cuts: Sequence[Cut], margin_ms: float) -> None:
        self.counts = Counts()
        self.outside = Outside()
        self.acknowledged: dict[str, Acknowledged] = {}
        self.failed: set[int] = set()
        self._open: dict[str, tuple[str, float]] = {}
        self._windows = [
            (cut.applied_ms, float("inf") if cut.healed_ms is None else cut.healed_ms + margin_ms) for cut in cuts
        ]

    @property
    def open(self) -> int:
        """Produces that have not ended."""
        return len(self._open)

    def add(self, line: _Line) -> None:
        if line.kind != "produce":
            return
        if line.event == "operation_invoked":
            self.counts.sent += 1
            self._open[line.operation] = (line.value, line.at_ms)
        elif line.event == "operation_ended":
            value, invoked_ms = self._open.pop(line.operation)
            self._ended(line, value, invoked_ms)

    def _ended(self, line: _Line, value: str, invoked_ms: float) -> None:
        setattr(self.counts, line.outcome, getattr(self.counts, line.outcome) + 1)
        if line.outcome == "ok":
            topic_partition = topic_partition_text(line.topic, line.partition)
            self.acknowledged.setdefault(topic_partition, Acknowledged()).add(line.offset, value)
        elif line.outcome == "failed":
            self.failed.add(hash(value))
        if any(invoked_ms <= ends and line.at_ms >= begins for begins, ends in self._windows):
            return
        self.outside.operations += 1
        if line.outcome == "failed":
            self.outside.failed += 1
        elif line.outcome == "unknown":
            self.outside.unknown += 1
            if len(self.outside.examples) < EXAMPLES_MAX:
                self.outside.examples.append(
                    f"{line.operation} ({value.rstrip('.')}) of {invoked_ms / 1000:.1f} s, unknown at "
                    f"{line.at_ms / 1000:.1f} s"
                )


def read_ledger(run: Path, clients: Sequence[str], cuts: Sequence[Cut], margin_ms: float) -> Ledger:
    """All lives of these clients."""
    ledger = Ledger(cuts, margin_ms)
    for client in clients:
        for line in _lines(run, client, (b'"operation_invoked"', b'"operation_ended"')):
            ledger.add(line)
    return ledger


def lateness_of(run: Path, nodes: Sequence[str]) -> dict[str, float]:
    """{node: how late its timers were at p99.9 over the whole run, scenario ms}."""
    late: dict[str, float] = {}
    for node in nodes:
        reports = list(_lines(run, node, (b'"timer_lateness"',)))
        if reports:
            most_ms = max(report.max_ms for report in reports)
            late[node] = min(most_ms, share_ms(merged(report.buckets for report in reports), 0.999))
    return late


def event_bytes(run: Path) -> int:
    return sum(path.stat().st_size for path in event_paths(run / EVENTS_FOLDER))


def compare(ledger: Ledger, run: Path, in_sync: Mapping[str, Sequence[str]], idempotent: Sequence[str]) -> Kept:
    """Compare the ledger with the logs.

    `in_sync`: {partition: names of brokers}, the leader first. `idempotent`: prefix of the values of idempotent
    producers.
    """
    kept = Kept(replicas={partition: list(brokers) for partition, brokers in in_sync.items()})
    kept.acknowledged = sum(len(one.offsets) for one in ledger.acknowledged.values())
    for partition, acknowledged in sorted(ledger.acknowledged.items()):
        if partition not in in_sync:
            kept.missing[f"{partition}, on no replica"] = len(acknowledged.offsets)
        for number, broker in enumerate(in_sync.get(partition, ())):
            log = log_of(run, broker, partition)
            hold(kept, f"{partition} on {broker}", acknowledged, log)
            if number == 0:
                count_twice(kept, log, ledger.failed, tuple(idempotent))
    return kept


def log_of(run: Path, broker: str, partition: str) -> list[tuple[int, str]]:
    """(offset, value)"""
    files = DiskFiles(run / DATA_FOLDER / broker)
    try:
        return [(int(offset or 0), str(value)) for offset, _, value in read_partition(files, partition)["log"]]
    finally:
        files.close()


def hold(kept: Kept, where: str, acknowledged: Acknowledged, log: Sequence[tuple[int, str]]) -> None:
    """Check every acknowledged record at its offset; anywhere, if it has none."""
    at = {offset: hash(value) for offset, value in log}
    anywhere = set(at.values())
    for offset, value in zip(acknowledged.offsets, acknowledged.values, strict=True):
        if (at.get(offset) != value) if offset >= 0 else (value not in anywhere):
            kept.missing[where] = kept.missing.get(where, 0) + 1
            if len(kept.examples) < EXAMPLES_MAX:
                there = "nothing" if offset not in at else "another record"
                kept.examples.append(f"offset {offset} of {where} has {there}")


def count_twice(kept: Kept, log: Sequence[tuple[int, str]], failed: set[int], idempotent: tuple[str, ...]) -> None:
    """Values that are there more than once, and those that should not be there at all."""
    seen: set[int] = set()
    for _, value in log:
        hashed = hash(value)
        if hashed in failed:
            kept.failed_but_stored += 1
        if hashed in seen:
            kept.twice += 1
            kept.twice_idempotent += bool(idempotent) and value.startswith(idempotent)
        seen.add(hashed)


_decode = msgspec.json.Decoder(_Line).decode


def _lines(run: Path, node: str, wanted: tuple[bytes, ...]) -> Iterator[_Line]:
    """Whole lines with one of the texts. The wire level has none of them."""
    for path in event_paths(run / EVENTS_FOLDER, node):
        if path.name.endswith(".wire.jsonl"):
            continue
        with path.open("rb") as file:
            for line in file:
                if line.endswith(b"\n") and any(text in line for text in wanted):
                    yield _decode(line)
