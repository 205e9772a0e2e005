"""observations.json: the player's notes; roles, truncations and ISR changes of brokers."""

from collections.abc import Iterable
from typing import Any

from msgspec import UNSET

from emulator.runs.resolve import Resolved
from emulator.runs.starts import versions_played
from emulator.scenario.observations.observation_model import COMBINED, FORMAT, KRAFT_FORMAT, SEPARATE, Observations
from emulator.scenario.player.timeline import Timeline
from emulator.topology import KRAFT
from protocol.events import Event, IsrChangeRequested, LogTruncated, RoleChanged
from protocol.gates import gates_for
from protocol.ids import topic_partition_text

OBSERVED = frozenset((LogTruncated, RoleChanged, IsrChangeRequested))
"""Events of brokers that observations.json has."""

TimedEvent = tuple[str, int, int, object, float, Event]
"""(node, incarnation, seq, cause, at_ms, event)."""


def observations_of(
    resolved: Resolved, timeline: Timeline, events: Iterable[TimedEvent], ended_ms: float
) -> Observations:
    """The observations.

    `events`: (node, incarnation, seq, cause, at_ms, event) in order of time.
    """
    scenario, spec = resolved.scenario, resolved.spec
    truncations: list[dict[str, Any]] = []
    roles: list[dict[str, Any]] = []
    isr_changes: list[dict[str, Any]] = []
    reports_effect = gates_for(versions_played(spec, scenario.steps)[-1]).has_epoch_cache
    for node, _, _, _, at_ms, event in events:
        if type(event) not in OBSERVED:
            continue
        assert isinstance(event, LogTruncated | RoleChanged | IsrChangeRequested)
        number = spec.topology.node(node).number
        topic_partition = topic_partition_text(event.topic, event.partition)
        where = {} if topic_partition == timeline.first else {"partition": topic_partition}
        entry: dict[str, Any] = {"clock": clock_text(at_ms), "broker": number}
        match event:
            case LogTruncated(to=to, effective=effective):
                truncations.append({**entry, "to": to, "effective": effective if reports_effect else None, **where})
            case RoleChanged():
                entry |= {"role": event.role, "leader_epoch": event.leader_epoch, "log_end": event.log_end}
                entry |= {"high_watermark": event.high_watermark, "previous_epoch": event.previous_epoch}
                roles.append({**entry, **where})
            case IsrChangeRequested(was=was, now=now):
                isr_changes.append({**entry, "was": was, "now": now, **where})
    kraft = spec.topology.metadata == KRAFT
    combined = any("broker" in node.roles for node in spec.topology.with_role("controller"))
    return Observations(
        format=KRAFT_FORMAT if kraft else FORMAT,
        scenario=scenario.id,
        kafka=spec.kafka_version,
        settings=dict(scenario.settings),
        settings_by_broker={str(broker): dict(own) for broker, own in scenario.settings_by_broker.items()},
        timeline=timeline.entries,
        partition_states=timeline.partition_states,
        controllers=timeline.controllers,
        truncations=truncations,
        live_brokers=timeline.live_brokers,
        views_by_broker=timeline.views,
        role_changes=roles,
        isr_changes=isr_changes,
        seconds=round(ended_ms / 1000, 2),
        mode=KRAFT if kraft else UNSET,
        nodes=(COMBINED if combined else SEPARATE) if kraft else UNSET,
        controller_settings=dict(scenario.controller_settings) if kraft else UNSET,
        broker_registrations=timeline.broker_registrations if kraft else UNSET,
        controller_epochs=timeline.controller_epochs if kraft else UNSET,
        quorum_views=timeline.quorum_views if kraft else UNSET,
    )


def clock_text(at_ms: float) -> str:
    """Scenario time as a time of day: `00:00:07,480`."""
    whole = int(at_ms)
    return f"{whole // 3_600_000:02d}:{whole // 60_000 % 60:02d}:{whole // 1000 % 60:02d},{whole % 1000:03d}"
