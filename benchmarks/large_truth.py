"""A history of any length with much data for every rule of the oracle."""

from emulator.judging.oracle.log_extent import Reached
from emulator.judging.oracle.truth import (
    Batch,
    Forgotten,
    Given,
    IsrChange,
    LeaderView,
    OfGroup,
    PositionLost,
    QuiescentPeriod,
    State,
    Term,
    Truth,
    Waited,
    Write,
)
from emulator.machines.client.client_state import Read
from protocol.ids import LeaderEpoch, Offset, TopicPartition

PLACE: TopicPartition = ("t", 0)
CONTENTS = 5
"""Different contents of records: most have the same, as equal values have up to 0.9."""
KINDS = 6
"""Writes, reads, appended batches, requests, offsets of groups, and leadership."""
LOST_EACH = 7
"""Of so many records the final leader lacks one."""
UNCLEAN = 5


def large_truth(events: int) -> Truth:
    """A history of `events` events.

    Records of few contents, a leader that lacks some, readers that skip most, a leader epoch for each record, groups
    that read after each commit, an election for every twentieth record.
    """
    count = events // KINDS
    log = [Batch(at, at, at // 20, _content(at)) for at in range(count)]
    final = [batch for batch in log if batch.first % LOST_EACH]
    elections = max(2, count // 20)
    led = [
        Term(PLACE, f"broker-{number % 3}", number, 100.0 * number, 100.0 * number + 90.0, [100.0 * number])
        for number in range(elections - UNCLEAN)
    ]
    found = frozenset((batch.digest, batch.first, batch.last) for batch in final)
    led += [
        Term(PLACE, "broker-0", number, 100.0 * number, found=found) for number in range(len(led), elections)
    ]
    return Truth(
        logs={PLACE: {"broker-0": final, "broker-1": log, "broker-2": log[: count // 2]}},
        writes=[
            Write(f"client.1:{at}", "v", PLACE, -1, "ok", at, _content(at), broker=at % 3, ended=at)
            for at in range(count)
        ],
        # Each stretch has the first record and the last: it passes all between them.
        reads=[
            Given(PLACE, f"reader.{at // 2}:1", Read(place, place, 0, _content(place), place, 0, count))
            for at in range(count)
            for place in [(at // 2 if at % 2 == 0 else count - 1)]
        ],
        lost_positions=[PositionLost(PLACE, "reader.1:1", 0, at, "OffsetOutOfRangeException") for at in range(count)],
        of_groups=[_of_group(at) for at in range(count)],
        leader_views=[LeaderView(PLACE, f"broker-{at % 3}", 1 + at % 2, 3, at // 2, at) for at in range(count)],
        forgotten=[Forgotten(PLACE, "broker-0", at + 2, at) for at in range(0, count, 3)],
        leaders=led,
        controllers=[
            Term(None, f"broker-{one % 3}", one, 100.0 * one, 100.0 * one + 90.0) for one in range(elections)
        ],
        appended={PLACE: {(batch.epoch, batch.first, batch.last, batch.digest) for batch in log}},
        reached=[Reached(PLACE, "broker-0", number, number % 2, 0) for number in range(elections)],
        states=[
            State(PLACE, one, one % 3, one, (one % 3,), one, version=one, reached=one + one % 2, from_ms=100.0 * one)
            for one in range(elections)
        ],
        roles_seen=3,
        caches={PLACE: {"broker-1": [(LeaderEpoch(one), Offset(20 * one + 1)) for one in range(elections)]}},
        isr_changes=[IsrChange(PLACE, "broker-0", 1, one // 2, one) for one in range(elections)],
        assignments={PLACE: (0, 1, 2)},
        assigned_ms={PLACE[0]: 0.0},
        waited=[Waited(f"client.1:{at}", 1, "client", 0, 0, 0.0, None if at % 2 else 10.0) for at in range(count)],
        quiescent=QuiescentPeriod(0.0, 100.0 * elections + 90_000.0, 6_000, 10_000),
    )  # fmt: skip


def _content(at: int) -> int:
    return at % CONTENTS


def _of_group(at: int) -> OfGroup:
    """Commits of ever higher offsets, each followed by a read of a much older commit."""
    kind, number = ("commit", at // 2) if at % 2 == 0 else ("committed", at // 4)
    return OfGroup(kind, "g", PLACE, f"client.1:{at}", number, number, "ok", at, at + 1, at)
