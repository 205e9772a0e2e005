"""The application's account against the run's events and audit, record by record."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from protocol.events.record_values import values_in
from verification.listener_cuts.run_cuts import SAFE, Witness

NO_OFFSET = -1
Record = tuple[str, str, int]
"""(topic, value, offset)"""


class Sent(msgspec.Struct):
    """One record of a produce in a listener's events.

    `outcome`: ok, failed, unknown; "": it did not end.
    """

    topic: str
    value: str
    client: str
    acks: int
    outcome: str = ""
    offset: int = NO_OFFSET


class Compared(msgspec.Struct):
    """Result of a comparison.

    `delivered`, `lost`: {acks: records}, by the application. `concluded`: of those delivered, records without an
    acknowledgement: an idempotent producer of librdkafka counts records as written when a later one is acknowledged,
    and reports no offset. `disagreements`: one line each; `broken`: results that no client of Kafka may see, in either
    account.
    """

    delivered: dict[int, int]
    concluded: int
    lost: dict[int, int]
    repeated: int
    without_report: int
    failed: int
    disagreements: list[str]
    broken: list[str]


def produced_in(events: Iterable[Mapping[str, Any]]) -> dict[str, Sent]:
    """{`record_named`: its record} of all produces in a run's events."""
    found: dict[str, Sent] = {}
    ends: list[Mapping[str, Any]] = []
    for event in events:
        if event["event"] == "operation_invoked" and event["kind"] == "produce":
            for record, value in enumerate(values_in(event["value"], event.get("records", 1))):
                name = record_named(event["operation"], record)
                found[name] = Sent(event["topic"], value, event["client"], event["acks"])
        elif event["event"] == "operation_ended" and event["kind"] == "produce":
            ends.append(event)
    for event in ends:
        for record in range(event.get("records", 1)):
            produced = found[record_named(event["operation"], record)]
            produced.outcome = event["outcome"]
            produced.offset = event["offset"] + record if event["offset"] >= 0 else event["offset"]
    return found


def record_named(operation: str, record: int) -> str:
    """The first is called like its operation."""
    return f"{operation}+{record}" if record else operation


def compare(witness: Witness, produced: Mapping[str, Sent], lost_by_audit: Iterable[str]) -> Compared:
    """`lost_by_audit`: names of the records that it calls lost."""
    acks = {(one.topic, value): one.acks for one in witness.reports for value in one.delivered}
    delivered: set[Record] = {
        (one.topic, value, offset) for one in witness.reports for value, offset in one.delivered.items()
    }
    at = {(topic, value): offset for topic, value, offset in delivered}
    concluded = {one for one in delivered if one[2] == NO_OFFSET}
    acknowledged: set[Record] = {
        (one.topic, one.value, one.offset) for one in produced.values() if one.outcome == "ok" and one.acks != 0
    }
    begun = {(one.topic, one.value) for one in produced.values()}
    unsaid = {one for one in delivered - acknowledged if one not in concluded or one[:2] not in begun}
    logs = {topic: dict(log) for topic, log in witness.logs.items()}
    written = {(topic, value) for topic, log in witness.logs.items() for _, value in log}
    lost = {
        one for one in delivered
        if (one[:2] not in written if one in concluded else logs[one[0]].get(one[2]) != one[1])
    }  # fmt: skip
    named: set[Record] = {(one.topic, one.value, one.offset) for one in map(produced.__getitem__, lost_by_audit)}
    disagreements = [
        *(f"{_name(one)}: the client was told that it is there, and no operation says so" for one in sorted(unsaid)),
        *(f"{_name(one)}: acknowledged, by the events; the client {_report(witness, one, at)}"
          for one in sorted(acknowledged - delivered)),
        *(f"{_name(one)}: lost, by the client's reports; the audit does not name it" for one in sorted(lost - named)),
        *(f"{_name(one)}: lost, by the audit; the client {_report(witness, one, at)}" for one in sorted(named - lost)),
    ]  # fmt: skip
    copies = Counter(value for _, value in witness.logs[SAFE])
    repeated = {topic: Counter(value for _, value in log) for topic, log in witness.logs.items()}
    broken = [
        *(f"{_name(one)}: acks=all, and lost" for one in sorted(lost) if acks[one[:2]] == -1),
        *(f"{value}: idempotent, and {count} times in {SAFE}" for value, count in sorted(copies.items()) if count > 1),
    ]
    return Compared(
        delivered=dict(Counter(acks[one[:2]] for one in delivered)),
        concluded=len(concluded),
        lost=dict(Counter(acks[one[:2]] for one in lost)),
        repeated=sum(count - 1 for counts in repeated.values() for count in counts.values()),
        without_report=sum(len(one.open) for one in witness.reports),
        failed=sum(len(one.failed) for one in witness.reports),
        disagreements=disagreements,
        broken=broken,
    )


def _name(record: Record) -> str:
    topic, value, offset = record
    return f"{value!r} at {topic}-0 {offset}"


def _report(witness: Witness, record: Record, at: Mapping[tuple[str, str], int]) -> str:
    topic, value, _ = record
    if (topic, value) in at:
        return f"has it at {at[topic, value]}"
    for one in witness.reports:
        if value in one.failed:
            return f"was told {one.failed[value]}"
        if value in one.open:
            return "has no report"
    return "never wrote it"
