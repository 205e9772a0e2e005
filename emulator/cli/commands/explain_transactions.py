"""A transaction as lines of the history of its record: client, coordinator, markers. Pure."""

from collections.abc import Collection, Iterator, Sequence

from emulator.runs.run_events import Line

CHANGE, STATE, BATCH = "producer_transaction_changed", "transaction_state_changed", "transaction_batch_appended"
TRANSACTIONS = (CHANGE, STATE, BATCH)
"""Events that these lines need."""
CALLS = {
    "begun": "begins transaction {number} of {transactional_id}",
    "committing": "calls commitTransaction",
    "committed": "its commit is acknowledged",
    "aborting": "calls abortTransaction",
    "aborted": "its abort is acknowledged",
    "abortable": "may only abort the transaction: {reason}",
    "fatal": "the producer is at its end: {reason}",
    "unknown": "no response: the transaction's end is unknown",
    "abandoned": "leaves the transaction open",
}
EFFECTS = {
    "commit": "consumers at read_committed may read it",
    "abort": "consumers at read_committed drop it",
}
"""{marker: its effect on the records before it}"""
EXPOSED, EXPOSED_IN_TRANSACTION = "consumers may read it", "consumers at read_uncommitted may read it"


def with_transactions(
    life: Sequence[tuple[Line, str]], of_partition: Sequence[Line], events: Sequence[Line]
) -> list[tuple[Line, str]]:
    """A record's history with its transactions, if it was in one.

    `life`: in order of time, as the result. `of_partition`: its partition's events. `events`: those of all partitions.
    """
    sent = {event["operation"] for event, _ in life if "operation" in event}
    names = {event.get("transaction", "") for event in events if event.get("operation") in sent} - {""}
    calls = [event for event in events if event["event"] == CHANGE and event["transaction"] in names]
    markers = list(_markers(life, of_partition))
    if not calls and not markers:
        return list(life)
    moments = [event["at_ms"] for event in (*(event for event, _ in life), *calls, *markers)]
    states = _states(events, {event["transactional_id"] for event in calls}, min(moments), max(moments))
    return sorted(
        (
            *((event, text.replace(EXPOSED, EXPOSED_IN_TRANSACTION)) for event, text in life),
            *((event, CALLS[event["change"]].format(**event)) for event in calls if event["change"] in CALLS),
            *((event, _marker_text(event)) for event in markers),
            *states,
        ),
        key=lambda one: (one[0]["at_ms"], one[0]["node"], one[0]["seq"]),
    )


def _marker_text(marker: Line) -> str:
    place = f"{marker['batch_kind'].upper()} at offset {marker['base_offset']}"
    if not marker["as_leader"]:
        return f"copies {place}"
    return f"appends {place}: {EFFECTS[marker['batch_kind']]}"


def _markers(life: Sequence[tuple[Line, str]], of_partition: Sequence[Line]) -> Iterator[Line]:
    """The next marker of the record's producer on each replica that appended the record."""
    held = {(event["node"], event["base_offset"]) for event, _ in life if event["event"] == "batch_appended"}
    unended: set[tuple[str, int]] = set()
    for event in of_partition:
        if event["event"] != BATCH:
            continue
        producer = (event["node"], event["producer_id"])
        if event["batch_kind"] == "data":
            if (event["node"], event["base_offset"]) in held:
                unended.add(producer)
        elif producer in unended:
            unended.discard(producer)
            yield event


def _states(
    events: Sequence[Line], transactional_ids: Collection[str], first_ms: float, last_ms: float
) -> Iterator[tuple[Line, str]]:
    """Records of the coordinators about these ids, within a time."""
    for event in events:
        is_theirs = event["event"] == STATE and event["transactional_id"] in transactional_ids
        if is_theirs and first_ms <= event["at_ms"] <= last_ms:
            among = f" ({event['transaction_partitions']})" if event["transaction_partitions"] else ""
            yield event, f"writes: {event['transactional_id']} is {event['transaction_state']}{among}"
