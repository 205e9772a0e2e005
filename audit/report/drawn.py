"""Partitions that a page draws, and the data for its scripts."""

from __future__ import annotations

from html import escape
from typing import Any

from audit.report.island import island
from audit.report.page_layout import WIDTH, Layout
from audit.report.report_logs import at_the_end, logs_of
from audit.report.report_messages import CHATTER, KINDS, MESSAGES_MAX, Messages
from audit.report.report_timeline import Span, Timeline
from audit.report.tables import table
from emulator.runs.verdict_file import Verdict
from protocol.ids import TopicPartition, topic_partition_text

PARTITIONS_MAX = 8
"""Maximum of drawn partitions: those of violations first, then the most active ones."""


def drawn_partitions(verdict: Verdict, timeline: Timeline) -> list[TopicPartition]:
    """Drawn partitions in the order of their names."""
    violated = {
        one.get("partition") for check in verdict.checks.values() if check.verdict == "violated"
        for one in check.evidence
    }  # fmt: skip
    activity = {
        one: (topic_partition_text(*one) in violated, sum(len(r.log_ends) for r in replicas.values()))
        for one, replicas in timeline.replicas.items()
    }
    ranked = sorted(sorted(activity), key=lambda one: activity[one], reverse=True)
    return sorted(ranked[:PARTITIONS_MAX])


def dual_windows(verdict: Verdict, timeline: Timeline, topic_partition: TopicPartition) -> list[Span]:
    """Windows with two leaders of this partition in the verdict."""
    check = verdict.checks.get("dual-leader")
    return [
        Span(one["from_ms"], one.get("to_ms") or timeline.end_ms, -1, one["text"])
        for one in (check.evidence if check else [])
        if one.get("partition") == topic_partition_text(*topic_partition)
    ]


def island_of(verdict: Verdict, timeline: Timeline, drawn: list[TopicPartition], messages: Messages) -> str:
    """Data for the scripts: positions of lanes, steps of logs, messages."""
    outside = {name for one in messages.kept for name in (one.sender, one.receiver)}
    of: list[TopicPartition | None] = list(drawn) or [None]
    layouts = [
        Layout(timeline, one, dual=bool(one and dual_windows(verdict, timeline, one)), outside=outside) for one in of
    ]
    values: dict[str, Any] = {
        "width": WIDTH,
        "end": timeline.end_ms,
        "lanes": [{node: list(place) for node, place in layout.places().items()} for layout in layouts],
        "logs": [logs_of(timeline, one) for one in drawn] if timeline.complete else [],
        "messages": _messages(messages),
        "rules": {band.rule: band.text for band in timeline.bands},
    }
    return island("run", values)


def _messages(messages: Messages) -> dict[str, Any]:
    """Messages as compact rows.

    `rows`: [sent, time in flight or -1, sender, receiver, name, response, stopped after, rule, at its receiver]; the
    last three only if a rule stopped it. Nodes, frames and rules are numbers.
    """
    nodes, apis, rules = _Numbers(), _Numbers(), _Numbers()
    rows = []
    for one in messages.kept:
        took_ms = -1.0 if one.received_ms is None else round(one.received_ms - one.sent_ms, 2)
        row = [round(one.sent_ms, 2), took_ms, nodes(one.sender), nodes(one.receiver), apis(one.api), int(one.response)]
        if one.stopped_ms is not None:
            row += [round(one.stopped_ms - one.sent_ms, 2), rules(one.rule), int(one.at_receiver)]
        rows.append(row)
    kinds = {api: kind for kind, names in KINDS.items() for api in names}
    return {
        "rows": rows,
        "nodes": nodes.names,
        "apis": [[kafka_name(api), kinds.get(api, "ensemble")] for api in apis.names],
        "rules": rules.names,
        "off": sorted(CHATTER),
        "note": _left_out(messages),
        "within": messages.within,
    }


def _left_out(messages: Messages) -> str:
    if not messages.recorded or (messages.within is None and messages.chatter):
        return ""
    few = f"{len(messages.kept):,}" + (f" of {messages.total:,}" if messages.total is not None else "")
    note = f"{few} messages are in this page"
    if not messages.chatter:
        note += "; none of sessions and the ensemble"
    if messages.within is not None:
        note += "; those within some time of faults, deaths and new leaders: shaded above where they are not"
    return f"{note} (a page has room for {MESSAGES_MAX:,})."


class _Numbers:
    """Numbers of names, in the order of their first use."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def __call__(self, name: str) -> int:
        return self._known.setdefault(name, len(self._known))

    @property
    def names(self) -> list[str]:
        return list(self._known)


def kafka_name(api: str) -> str:
    """Kafka's name of a frame: LeaderAndIsr is LEADER_AND_ISR, as in ApiKeys."""
    return "".join(f"_{c}" if c.isupper() and n else c for n, c in enumerate(api)).upper()


def logs_at_the_end(timeline: Timeline, drawn: list[TopicPartition]) -> str:
    rows = []
    for one in drawn:
        for node, replica in sorted(timeline.replicas[one].items()):
            log_end, high_watermark, epochs = at_the_end(replica)
            cut = "; ".join(mark.text for mark in replica.truncations[:4]) or "–"
            rows.append((escape(topic_partition_text(*one)), escape(node), str(log_end), str(high_watermark),
                         escape(epochs or "–"), escape(cut)))  # fmt: skip
    names = ("Partition", "Replica", "Log end", "High watermark", "Epochs (epoch@offset)", "Truncated")
    return table(names, rows)
