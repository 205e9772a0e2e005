"""Builds a timeline of a bounded part of a run's events (`report_records`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from audit.input import RunDirectory
from audit.report.report_records import kept_events
from audit.report.report_timeline import Band, LogStep, Mark, Node, Operation, Replica, Span, Timeline
from emulator.faults.machine_fault_kinds import KILLING
from emulator.topology import broker_name
from protocol.events.fault_events import START_REFUSED
from protocol.events.record_values import values_in
from protocol.ids import TopicPartition
from protocol.kinds import CutReason


def read_timeline(run: RunDirectory) -> Timeline:
    """The timeline of a run."""
    events, complete = kept_events(run)
    return timeline_of(events, complete=complete)


def timeline_of(events: Iterable[dict[str, Any]], *, complete: bool) -> Timeline:
    """The timeline of `events`, which are in order of time."""
    reader = _Reader()
    reader.timeline.complete = complete
    for event in events:
        reader.take(event)
    return reader.finished()


QUORUM_STATES = {"leader": "leading", "follower": "following"}
"""Names of states that a ZooKeeper server has, too."""


class _Reader:
    """Builder of a timeline; takes events in order, each by the method of its name."""

    def __init__(self) -> None:
        self.timeline = Timeline()
        self.operations: dict[str, Operation] = {}
        self.bands: dict[str, tuple[str, float, list[float]]] = {}
        self.committed: set[int] = set()
        """Offsets of records of the metadata log that a controller has read."""

    def take(self, event: dict[str, Any]) -> None:
        timeline = self.timeline
        timeline.end_ms = max(timeline.end_ms, event["at_ms"])
        timeline.events += 1
        take = getattr(self, f"_{event.get('event')}", None)
        if take is not None:
            take(event, event["at_ms"])

    def finished(self) -> Timeline:
        timeline = self.timeline
        for rule, (text, from_ms, healed) in self.bands.items():
            timeline.bands.append(Band(text, from_ms, max(healed, default=timeline.end_ms), bool(healed), rule))
        timeline.operations = [one for one in self.operations.values() if one.outcome]
        _find_lost(timeline)
        for node in timeline.nodes.values():
            _forget_the_end(node, timeline.end_ms)
            _close(node.alive + node.controls + node.ensemble, timeline.end_ms)
        for replicas in timeline.replicas.values():
            _close([span for replica in replicas.values() for span in replica.leads], timeline.end_ms)
        _close([span for spans in timeline.isr.values() for span in spans], timeline.end_ms)
        return timeline

    def node(self, name: str) -> Node:
        return self.timeline.nodes.setdefault(name, Node(name))

    def replica(self, event: dict[str, Any]) -> Replica:
        topic_partition = event["topic"], event["partition"]
        return self.timeline.replicas.setdefault(topic_partition, {}).setdefault(event["node"], Replica())

    # --- processes ---

    def _node_started(self, event: dict[str, Any], at_ms: float) -> None:
        self._dies(event["node"], at_ms)
        node = self.node(event["node"])
        node.roles, node.az = event["roles"], event["az"]
        node.alive.append(Span(at_ms, _OPEN, 0, f"incarnation {event['incarnation']}"))
        if event["incarnation"] > 1:
            node.marks.append(Mark(at_ms, "start", "started again"))

    def _node_stopped(self, event: dict[str, Any], at_ms: float) -> None:
        code = event["code"]
        self._dies(event["node"], at_ms)
        kind, text = ("death", f"died by itself, code {code}: {event['reason']}") if code else ("stop", "stopped")
        self.node(event["node"]).marks.append(Mark(at_ms, kind, text))

    def _machine_fault(self, event: dict[str, Any], at_ms: float) -> None:
        if event["what"] in ("start", START_REFUSED):  # the node's own events show it
            return
        self.node(event["target"]).marks.append(Mark(at_ms, "machine", event["what"]))
        if event["what"] in KILLING:
            self._dies(event["target"], at_ms)

    def _dies(self, name: str, at_ms: float) -> None:
        node = self.node(name)
        _end(node.alive, at_ms)
        _end(node.controls, at_ms)
        _end(node.ensemble, at_ms)
        for replicas in self.timeline.replicas.values():
            if name in replicas:
                _end(replicas[name].leads, at_ms)

    # --- logs ---

    def _batch_appended(self, event: dict[str, Any], at_ms: float) -> None:
        replica = self.replica(event)
        replica.log_ends.append((at_ms, event["last_offset"] + 1))
        replica.batches.append((event["base_offset"], event["last_offset"], event["digest"]))
        replica.steps.append(
            LogStep(at_ms, "append", event["base_offset"], event["last_offset"], event["leader_epoch"], event["digest"])
        )

    def _log_truncated(self, event: dict[str, Any], at_ms: float) -> None:
        if not event["effective"]:
            return
        replica, to = self.replica(event), event["to"]
        cut = event["log_end"] - to
        replica.truncations.append(
            Mark(at_ms, "truncation", f"truncated to {to}: {cut} records cut ({event['reason']})")
        )
        replica.log_ends.append((at_ms, to))
        full = event["reason"] == CutReason.FULL
        replica.batches = [b for b in replica.batches if b[1] < to and not full]
        replica.steps.append(LogStep(at_ms, "cut", 0 if full else to))

    def _log_loaded(self, event: dict[str, Any], at_ms: float) -> None:
        replica = self.replica(event)
        replica.log_ends.append((at_ms, event["log_end"]))
        replica.high_watermarks.append((at_ms, event["high_watermark"]))
        replica.batches = [b for b in replica.batches if b[1] < event["log_end"]]
        replica.steps.append(LogStep(at_ms, "load", event["log_end"]))

    def _log_created(self, event: dict[str, Any], at_ms: float) -> None:
        replica = self.replica(event)
        replica.log_ends.append((at_ms, 0))
        replica.batches = []
        replica.steps.append(LogStep(at_ms, "create"))

    def _log_deleted(self, event: dict[str, Any], at_ms: float) -> None:
        replica = self.replica(event)
        replica.steps.append(LogStep(at_ms, "delete"))
        _end(replica.leads, at_ms)

    def _high_watermark_moved(self, event: dict[str, Any], at_ms: float) -> None:
        self.replica(event).high_watermarks.append((at_ms, event["high_watermark"]))

    # --- leaders, controllers, ISRs, ensemble, sessions ---

    def _role_changed(self, event: dict[str, Any], at_ms: float) -> None:
        replica = self.replica(event)
        _end(replica.leads, at_ms)
        if event["role"] == "leader":
            epoch = event["leader_epoch"]
            replica.leads.append(Span(at_ms, _OPEN, epoch, f"leads in epoch {epoch}"))

    def _controller_changed(self, event: dict[str, Any], at_ms: float) -> None:
        node, epoch = self.node(event["node"]), event["controller_epoch"]
        _end(node.controls, at_ms)
        if event["active"]:
            node.controls.append(Span(at_ms, _OPEN, epoch, f"controller, epoch {epoch}"))

    def _state_decided(self, event: dict[str, Any], at_ms: float) -> None:
        text = f"leader {event['leader']}, epoch {event['leader_epoch']}, ISR {event['isr']} ({event['reason']})"
        self._isr(event, at_ms, event["isr"], text)

    def _isr_change_ended(self, event: dict[str, Any], at_ms: float) -> None:
        if event["result"] == "done":
            self._isr(event, at_ms, event["isr"], f"ISR {event['isr']}, requested by {event['node']}")
        else:
            self.node(event["node"]).marks.append(
                Mark(at_ms, "isr", f"ISR change to {event['isr']}: {event['result']}")
            )

    def _isr(self, event: dict[str, Any], at_ms: float, isr: str, text: str) -> None:
        spans = self.timeline.isr.setdefault((event["topic"], event["partition"]), [])
        if spans and spans[-1].text.partition("|")[0] == isr:
            return
        _end(spans, at_ms)
        spans.append(Span(at_ms, _OPEN, event.get("leader_epoch", -1), f"{isr}|{text}"))

    def _ensemble_changed(self, event: dict[str, Any], at_ms: float) -> None:
        node, role = self.node(event["node"]), event["role"]
        _end(node.ensemble, at_ms)
        node.ensemble.append(
            Span(at_ms, _OPEN, event["peer_epoch"], role if event["serving"] else f"{role}, not serving")
        )

    def _session_changed(self, event: dict[str, Any], at_ms: float) -> None:
        if event["state"] in ("expired", "disconnected"):
            self.node(event["node"]).marks.append(Mark(at_ms, event["state"], f"session {event['state']}"))

    # --- the quorum of KRaft ---

    def _quorum_state_changed(self, event: dict[str, Any], at_ms: float) -> None:
        if event["state"] == "observer":
            return
        spans, text = self.node(event["node"]).ensemble, QUORUM_STATES.get(event["state"], event["state"])
        if spans and spans[-1].to_ms == _OPEN and (spans[-1].text, spans[-1].epoch) == (text, event["epoch"]):
            return
        _end(spans, at_ms)
        spans.append(Span(at_ms, _OPEN, event["epoch"], text))

    def _partition_state_committed(self, event: dict[str, Any], at_ms: float) -> None:
        """Each controller reads each record; the first one counts."""
        if event["offset"] not in self.committed:
            self.committed.add(event["offset"])
            text = f"leader {event['leader']}, epoch {event['leader_epoch']}, ISR {event['isr']} (metadata log)"
            self._isr(event, at_ms, event["isr"], text)

    def _broker_registration_committed(self, event: dict[str, Any], at_ms: float) -> None:
        if event["offset"] not in self.committed:
            self.committed.add(event["offset"])
            if event["change"] == "fenced":
                mark = Mark(at_ms, "expired", f"fenced, broker epoch {event['broker_epoch']}")
                self.node(broker_name(event["broker"])).marks.append(mark)

    # --- faults and steps ---

    def _fault_in_force(self, event: dict[str, Any], at_ms: float) -> None:
        self.bands.setdefault(event["rule"], (event["what"], at_ms, []))

    def _fault_healed(self, event: dict[str, Any], at_ms: float) -> None:
        if event["rule"] in self.bands:
            self.bands[event["rule"]][2].append(at_ms)

    def _scenario_step(self, event: dict[str, Any], at_ms: float) -> None:
        self.timeline.steps.append(Mark(at_ms, "step", event["text"]))

    # --- clients ---

    def _operation_invoked(self, event: dict[str, Any], at_ms: float) -> None:
        if event["kind"] == "produce":
            topic_partition = event["topic"], event["partition"]
            name, values = event["operation"], values_in(event["value"], event.get("records", 1))
            operation = Operation(
                name, values, event["acks"], event["broker"], at_ms, event["node"], topic_partition=topic_partition
            )
            self.operations[name] = operation

    def _attempt_sent(self, event: dict[str, Any], at_ms: float) -> None:
        if event["operation"] in self.operations:
            self.operations[event["operation"]].broker = event["broker"]

    def _operation_ended(self, event: dict[str, Any], at_ms: float) -> None:
        operation = self.operations.get(event["operation"])
        if operation is not None:
            operation.at_ms, operation.outcome, operation.error = at_ms, event["outcome"], event["error"]
            operation.offset, operation.digest = event["offset"], event["digest"]
            operation.topic_partition = event["topic"], event["partition"]  # the partitioner may have chosen it


_OPEN = float("inf")


def _end(spans: list[Span], at_ms: float) -> None:
    if spans and spans[-1].to_ms == _OPEN:
        spans[-1].to_ms = at_ms


def _close(spans: list[Span], end_ms: float) -> None:
    for span in spans:
        span.to_ms = min(span.to_ms, end_ms)


def _forget_the_end(node: Node, end_ms: float) -> None:
    """Remove the marks of nodes' stops at the run's end."""
    last_start_ms = max((span.from_ms for span in node.alive), default=0.0)
    node.marks = [m for m in node.marks if m.kind != "stop" or m.at_ms < max(last_start_ms, 0.9 * end_ms)]


def _find_lost(timeline: Timeline) -> None:
    """Mark acknowledged records that the last leader's log lacks, as the verdict does.

    Only if the timeline has all events.
    """
    if not timeline.complete:
        return
    kept: defaultdict[TopicPartition, dict[int, list[tuple[int, int]]]] = defaultdict(dict)
    for topic_partition, replicas in timeline.replicas.items():
        last = max(((span.epoch, name) for name, replica in replicas.items() for span in replica.leads), default=None)
        for base, end, digest in replicas[last[1]].batches if last else []:
            kept[topic_partition].setdefault(digest, []).append((base, end))
    for operation in timeline.operations:
        if operation.outcome == "ok" and operation.topic_partition in kept:
            copies = kept[operation.topic_partition].get(operation.digest, [])
            operation.lost = not any(operation.offset < 0 or base <= operation.offset <= end for base, end in copies)
