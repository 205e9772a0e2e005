"""Elections, ISR changes and fencing of KRaft as lines of a record's history. Pure.

Every controller emits each committed state; the first event of a partition epoch, or of an offset of the metadata log,
stands for all of them.
"""

from collections.abc import Iterator, Sequence

from emulator.runs.run_events import Line
from emulator.topology import broker_name
from protocol.ids import NO_LEADER

STATE, REGISTRATION = "partition_state_committed", "broker_registration_committed"
METADATA = (STATE, REGISTRATION)
"""Events that these lines need."""
FENCING = {
    "fenced": "is fenced",
    "unfenced": "is unfenced",
    "in-controlled-shutdown": "begins its controlled shutdown",
}


def committed_states(events: Sequence[Line]) -> Iterator[tuple[Line, str]]:
    """Committed states of one partition, each with its difference from the one before."""
    known: dict[tuple[str, int], Line] = {}
    for event in events:
        if event["event"] == STATE:
            known.setdefault((event.get("topic_id") or "", event["partition_epoch"]), event)
    before: Line | None = None
    for event in sorted(known.values(), key=lambda one: one["at_ms"]):
        yield event, _state_text(event, before)
        before = event


def registrations(events: Sequence[Line]) -> Iterator[tuple[Line, str]]:
    """Fenced and unfenced brokers, and those that stop."""
    known: set[int] = set()
    for event in events:
        if event["event"] == REGISTRATION and event["change"] in FENCING and event["offset"] not in known:
            known.add(event["offset"])
            yield event, f"commits: {broker_name(event['broker'])} {FENCING[event['change']]}"


def _state_text(state: Line, before: Line | None) -> str:
    """`commits: broker-1 is elected for epoch 1; ISR 1,2`, or the ISR's change."""
    isr = f"ISR {state['isr'] or 'empty'}"
    if state.get("elr"):
        isr += f", eligible {state['elr']}"
    if before is None:
        return f"commits: {broker_name(state['leader'])} leads in epoch {state['leader_epoch']}; {isr}"
    if state["leader"] != before["leader"]:
        if state["leader"] == NO_LEADER:
            return f"commits: no leader in epoch {state['leader_epoch']}; {isr}"
        how = "is elected outside the ISR" if state.get("recovering") else "is elected"
        return f"commits: {broker_name(state['leader'])} {how} for epoch {state['leader_epoch']}; {isr}"
    change = "shrinks" if len(state["isr"]) < len(before["isr"]) else "grows"
    if state["isr"] == before["isr"]:
        change = "stays"
    return f"commits: ISR {change}, {before['isr'] or 'empty'} to {isr.removeprefix('ISR ')}"
