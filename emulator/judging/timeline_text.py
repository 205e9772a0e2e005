"""List of a run's decisive events: faults, leaders, controllers, cuts and failed writes."""

from collections.abc import Iterable

from emulator.judging.explain.history_builder import TimedEvent
from emulator.topology import node_name
from protocol.errors import ErrorCode
from protocol.events import (
    ControllerChanged,
    Event,
    FaultHealed,
    FaultRequested,
    FetchOffsetReset,
    IsrChangeEnded,
    LogTruncated,
    MachineFault,
    NodeStopped,
    OperationEnded,
    RoleChanged,
    SessionEnded,
    StateDecided,
)
from protocol.ids import topic_partition_text

LINES_MAX = 60


def listing_of(entries: Iterable[TimedEvent]) -> list[str]:
    """Lines such as `12.345 s broker-1: leads t-0 in epoch 2, from offset 3`.

    Equal lines of several nodes appear once. Of more than LINES_MAX lines the first and the last remain.
    """
    lines: dict[str, None] = {}
    for node, *_, at_ms, event in entries:
        text = _event_text(node, event)
        if text:
            lines.setdefault(f"{at_ms / 1000.0:.3f} s {text}")
    found = list(lines)
    if len(found) <= LINES_MAX:
        return found
    half = LINES_MAX // 2
    return [*found[:half], f"... and {len(found) - 2 * half} more", *found[-half:]]


def _event_text(node: str, event: Event) -> str:
    """Text of a decisive event; "" for any other event."""
    match event:
        case MachineFault(what=what, target=target):
            return f"{target}: {what}"
        case FaultRequested(what=what):
            return f"{what}"
        case FaultHealed(what=what):
            return f"healed: {what}"
        case NodeStopped(code=code, reason=reason) if code != 0:
            return f"{node}: ended by itself: {reason}"
        case SessionEnded(owner=owner, reason=reason) if owner.startswith(("broker", "controller")):
            return f"{owner}: its session has {'expired' if reason == 'expired' else 'been ' + reason}"
        case ControllerChanged(active=active, controller_epoch=epoch):
            return f"{node}: is the controller, epoch {epoch}" if active else f"{node}: is no controller any more"
        case StateDecided():
            leader = "no leader" if event.leader < 0 else f"{node_name(event.leader)} is to lead"
            where = topic_partition_text(event.topic, event.partition)
            return f"{node}: {where}: {leader}, epoch {event.leader_epoch}, ISR {event.isr} ({event.reason})"
        case RoleChanged(role="leader"):
            where = topic_partition_text(event.topic, event.partition)
            return f"{node}: leads {where} in epoch {event.leader_epoch}, from offset {event.log_end}"
        case IsrChangeEnded():
            return f"{node}: ISR of {topic_partition_text(event.topic, event.partition)} {event.isr}: {event.result}"
        case LogTruncated(effective=True):
            where = topic_partition_text(event.topic, event.partition)
            return f"{node}: cuts {where} from {event.log_end} to {event.to} ({event.reason})"
        case FetchOffsetReset():
            where = topic_partition_text(event.topic, event.partition)
            return f"{node}: {where} was out of range, {event.reason} {event.offset}, own end {event.log_end}"
        case OperationEnded(kind="produce", outcome=outcome) if outcome != "ok":
            error = ErrorCode(event.error).name if event.error in _CODES else str(event.error)
            return f"{node}: {event.operation} ended as {outcome}" + (f" ({error})" if event.error else "")
    return ""


_CODES = frozenset(int(code) for code in ErrorCode)
