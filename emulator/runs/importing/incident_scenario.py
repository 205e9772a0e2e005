"""A scenario of an imported incident: the same version, settings, faults and records. Pure.

Steps are in the order of the lines' times, with the times between them. Nodes have the emulator's names: brokers 0, 1,
... in the order of their ids, each in an AZ of its own.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from emulator.runs.importing.import_record import ImportRecord, NodeRecord
from emulator.runs.importing.incident import Incident
from emulator.runs.importing.incident_facts import Line, Window
from emulator.topology import KRAFT, ZOOKEEPER
from protocol.ids import topic_partition_text
from protocol.versions import UnknownVersion, has_kraft_mode, has_zookeeper_mode, ladder_name

RECORDS_MAX: Final = 200
"""Records that the scenario sends; of more, the first."""
SLEEP_MAX_S: Final = 120.0
SETTLE_S: Final = 10.0
ID_CHARACTERS_MAX: Final = 100
PLAYED_SETTINGS: Final = (
    "acks", "auto.leader.rebalance.enable", "broker.session.timeout.ms", "broker.heartbeat.interval.ms",
    "controlled.shutdown.enable", "controller.socket.timeout.ms", "default.replication.factor",
    "inter.broker.protocol.version", "log.flush.interval.messages", "min.insync.replicas",
    "replica.high.watermark.checkpoint.interval.ms", "replica.lag.time.max.ms", "replica.socket.timeout.ms",
    "unclean.leader.election.enable", "zookeeper.session.timeout.ms",
)  # fmt: skip
"""Settings of the brokers that decide what happens in an incident."""


class NotPlayable(ValueError):
    """An incident that no scenario can play; the message says why."""


class _Step(NamedTuple):
    """A step at a time. `lasts_ms`: of the real cluster, until the next one may begin."""

    at_ms: float
    text: str


class Value(NamedTuple):
    """A record's value, of the batch with this digest."""

    digest: int
    text: str


def scenario_text(
    name: str, record: ImportRecord, incident: Incident, events: Sequence[Line], values: Mapping[int, Sequence[str]]
) -> str:
    """The YAML of a scenario.

    `events`: role changes and appends, by time. `values`: of batches, by digest.

    Raises NotPlayable.
    """
    version, metadata = _version(record)
    brokers = sorted((node for node in record.nodes if "broker" in node.roles), key=lambda node: node.number)
    numbers = {node.name: index for index, node in enumerate(brokers)}
    place = _place(events)
    replicas = _replicas(events, place, numbers)
    settings = _settings(brokers)
    began = next(one["at_ms"] for one in events if one["event"] == "role_changed" and _name(one) == place)
    steps = [
        *_faults(record, incident, events, numbers, began),
        *_sends(events, place, numbers, values),
    ]
    topic, partition = place.rpartition("-")[0], int(place.rpartition("-")[2])
    replicas_text = f"[{', '.join([str(replicas)] * (partition + 1))}]" if partition else str(replicas)
    lines = [
        f"# The incident of {name}, as its lines say it. Written by `faultline incident --scenario`.",
        f"id: {_identifier(name)}",
        f"title: {_quoted('Again: ' + incident.what)}",
        f"kafka: [{version}]",
        f"metadata: {metadata}",
        *(["nodes: combined"] if metadata == KRAFT and _is_combined(record) else []),
        f"topology: {{brokers: {max(len(brokers), 1)}, azs: {max(len(brokers), 3)}}}",
        "",
        "settings:",
        *(f"  {key}: {_scalar(value)}" for key, value in settings.items()),
        "",
        "steps:",
        *(f"  - {step}" for step in _starts(brokers, numbers, metadata, record)),
        f"  - create-topic: {{topic: {topic}, assignment: {replicas_text}}}",
        "  - wait: a leader",
    ]
    at_ms = began
    for step in sorted(steps, key=lambda one: one.at_ms):
        pause_s = min((step.at_ms - at_ms) / 1000, SLEEP_MAX_S)
        if pause_s >= 0.1:
            lines.append(f"  - sleep: {pause_s:.1f}")
        lines.append(f"  - {step.text}")
        at_ms = max(step.at_ms, at_ms)
    lines += [f"  - sleep: {SETTLE_S:g}", "  - snapshot: the end", "  - record: partition-state", ""]
    return "\n".join(lines)


def _version(record: ImportRecord) -> tuple[str, str]:
    versions = [node.version for node in record.nodes if node.version]
    if not versions:
        raise NotPlayable("the brokers' version is not in their lines; import them with --kafka-version")
    try:
        version = ladder_name(max(set(versions), key=versions.count))
    except UnknownVersion as error:
        raise NotPlayable(str(error)) from error
    kraft = any(node.properties.get("process.roles") for node in record.nodes)
    if kraft and not has_kraft_mode(version):
        raise NotPlayable(f"Kafka {version} in KRaft mode is not emulated")
    if not kraft and not has_zookeeper_mode(version):
        kraft = True
    return version, KRAFT if kraft else ZOOKEEPER


def _is_combined(record: ImportRecord) -> bool:
    return any({"broker", "controller"} <= {*node.roles.split(",")} for node in record.nodes)


def _name(event: Line) -> str:
    return topic_partition_text(event["topic"], event["partition"])


def _place(events: Sequence[Line]) -> str:
    """The partition with the most roles. Raises NotPlayable."""
    roles = [_name(one) for one in events if one["event"] == "role_changed"]
    if not roles:
        raise NotPlayable("no line says which broker led when; collect state-change.log")
    return max(dict.fromkeys(roles), key=roles.count)


def _replicas(events: Sequence[Line], place: str, numbers: Mapping[str, int]) -> list[int]:
    """The brokers with a role, the first leader first."""
    roles = [one for one in events if one["event"] == "role_changed" and _name(one) == place]
    held = list(dict.fromkeys(numbers[one["node"]] for one in roles if one["node"] in numbers))
    first = min(roles, key=lambda one: (one["leader_epoch"], one["role"] != "leader"))
    leader = numbers.get(first["node"] if first["role"] == "leader" else f"broker-{first['leader']}")
    return [leader, *sorted(one for one in held if one != leader)] if leader is not None else sorted(held)


def _settings(brokers: Sequence[NodeRecord]) -> dict[str, str]:
    found: dict[str, str] = {"auto.create.topics.enable": "false"}
    for node in brokers[:1]:
        found |= {name: node.properties[name] for name in PLAYED_SETTINGS if name in node.properties}
    return found


def _starts(
    brokers: Sequence[NodeRecord], numbers: Mapping[str, int], metadata: str, record: ImportRecord
) -> list[str]:
    """Starts in the real order: with ZooKeeper the first broker is the controller."""
    order = [one.node for one in sorted(record.files, key=lambda one: one.first_ms)]
    first = [numbers[name] for name in dict.fromkeys(order) if name in numbers]
    starts = [f"start: {number}" for number in first]
    if metadata == KRAFT and not _is_combined(record):
        return [f"start: controller-{number}" for number in range(3)] + starts
    return starts + [f"start: {number}" for number in sorted(numbers.values()) if number not in first][: len(brokers)]


def _faults(
    record: ImportRecord, incident: Incident, events: Sequence[Line], numbers: Mapping[str, int], began_ms: float
) -> list[_Step]:
    """Cuts and heals, pauses, deaths, shutdowns and starts of the incident."""
    facts, steps = incident.facts, []
    for windows, begin, end in (
        (facts.cut_off, "cut: {{az: {0}}}", "heal: {{az: {0}}}"),
        (facts.paused, "pause: broker-{0}", "resume: broker-{0}"),
        (facts.session_lost, "cut: {{link: [{0}, session]}}", "heal: {{link: [{0}, session]}}"),
        (facts.dead, "kill: {0}", "start: {0}"),
        (facts.stopped, "stop: {0}", "start: {0}"),
    ):
        for window in windows:
            number = numbers.get(window.node)
            if number is None or (window.until_ms is not None and window.until_ms <= began_ms):
                continue
            since_ms = max(window.since_ms, began_ms)
            if windows is facts.dead:
                since_ms = max([since_ms, *_appends_of(events, window)]) + 1
            steps.append(_Step(since_ms, begin.format(number)))
            if window.until_ms is not None:
                steps.append(_Step(window.until_ms, end.format(number)))
    controllers = sorted(node.name for node in record.nodes if node.roles == "controller")
    for window in facts.dead:
        if window.node in controllers and window.until_ms is not None and window.until_ms > began_ms:
            place = controllers.index(window.node)
            steps += [
                _Step(max(window.since_ms, began_ms), f"kill: controller-{place}"),
                _Step(window.until_ms, f"start: controller-{place}"),
            ]
    for lack in facts.forgotten:
        number = numbers.get(lack.node)
        dead = [window for window in facts.dead if window.node == lack.node and window.since_ms < lack.at_ms]
        if number is not None and dead:
            steps.append(
                _Step(dead[-1].since_ms + 1, f"lose-unsynced: {{node: {number}, batches_kept: {lack.log_end}}}")
            )
    return steps


def _appends_of(events: Sequence[Line], window: Window) -> list[float]:
    """Times of the node's appends before its next start: it lived then."""
    return [
        one["at_ms"]
        for one in events
        if one["event"] == "batch_appended" and one["node"] == window.node and one["at_ms"] < window.end_ms
    ]


def _sends(
    events: Sequence[Line], place: str, numbers: Mapping[str, int], values: Mapping[int, Sequence[str]]
) -> list[_Step]:
    """Send each record that a leader appended to that leader.

    With acks=1: its acknowledgement is not in the lines.
    """
    steps: list[_Step] = []
    for one in events:
        if one["event"] != "batch_appended" or not one["as_leader"] or _name(one) != place:
            continue
        number = numbers.get(one["node"])
        texts = values.get(one["digest"], ())
        if number is None or not texts or len(steps) >= RECORDS_MAX:
            continue
        shown = ", ".join(_quoted(text) for text in texts)
        steps.append(_Step(one["at_ms"], f"produce: {{broker: {number}, values: [{shown}], acks: 1}}"))
    return steps


def _identifier(name: str) -> str:
    """The name as a scenario's id may be."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:ID_CHARACTERS_MAX] or "incident"


def _quoted(text: str) -> str:
    return '"' + text.encode("unicode_escape").decode().replace('"', '\\"') + '"'


def _scalar(value: Any) -> str:
    text = str(value)
    return text if text.replace(".", "", 1).isdigit() or text in ("true", "false") else _quoted(text)
