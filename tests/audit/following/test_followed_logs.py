"""Acknowledged, lost, deleted and forgotten records of one partition, as a follow sees them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from audit.following import followed_logs
from audit.following.event import Event
from audit.following.finding import Seen
from audit.following.followed_logs import Acknowledged, Batch, Logs, Replica
from tests.audit.following.folding import remembered

PLACE = ("t", 0)
WRITTEN, OTHER = 7, 8
"""Digests of batches."""


class Fed:
    """Logs of partition t-0, fed with events of brokers; time goes on by 1 ms with each."""

    def __init__(self) -> None:
        self.logs = Logs()
        self.at_ms = 0.0

    def event(self, name: str, broker: int, **fields: int) -> Event:
        self.at_ms += 1
        return Event(self.at_ms, f"broker-{broker}", 1, int(self.at_ms), name, "t", None, 0, **fields)  # type: ignore[arg-type]

    def leads(self, broker: int, epoch: int) -> str:
        return self.logs.leads(PLACE, self.event("role_changed", broker), epoch)

    def append(self, broker: int, base: int, last: int, digest: int = WRITTEN) -> Batch:
        fields = {"base_offset": base, "last_offset": last, "digest": digest}
        return self.logs.appended(PLACE, self.event("batch_appended", broker, **fields))

    def cut(self, broker: int, to: int, begins: int | None = None) -> None:
        self.logs.cut(PLACE, self.event("log_truncated", broker), to, begins)

    def delete(self, broker: int, log_start: int) -> None:
        self.logs.deleted(PLACE, self.event("log_start_moved", broker, log_start=log_start))

    def acknowledge(self, offset: int, records: int = 1, digest: int = WRITTEN, values: tuple[str, ...] = ()) -> str:
        self.at_ms += 1
        record = Acknowledged(
            f"client-0.1:{self.at_ms:g}", offset, digest, 1, self.at_ms, values, "client-0.1/1", records
        )
        self.logs.acknowledged(PLACE, record)
        return record.operation

    def seen(self) -> list[Seen]:
        self.logs.touched.clear()
        return list(self.logs.seen(PLACE).values())

    def lost(self) -> list[int]:
        """Offsets of lost records."""
        return [one.details["offset"] for one in self.seen() if one.finding == "lost-acknowledged"]


def led(*batches: tuple[int, int]) -> Fed:
    """broker-0 leads and has these batches."""
    fed = Fed()
    fed.leads(0, 0)
    for base, last in batches:
        fed.append(0, base, last)
    return fed


@pytest.mark.parametrize(
    ("offset", "records", "digest", "count"),
    [
        pytest.param(-1, 3, WRITTEN, 3, id="acks=0"),
        pytest.param(-1, 3, OTHER, 0, id="acks=0 of another batch"),
        pytest.param(4, 3, WRITTEN, 3, id="whole batch"),
        pytest.param(6, 1, WRITTEN, 1, id="last offset"),
        pytest.param(3, 1, WRITTEN, 0, id="before it"),
        pytest.param(7, 1, WRITTEN, 0, id="behind it"),
        pytest.param(4, 3, OTHER, 0, id="other bytes"),
    ],
)
def test_a_batch_has_the_acknowledged_records_of_its_digest_at_its_offsets(
    offset: int, records: int, digest: int, count: int
) -> None:
    """With acks=0 the acknowledgement precedes the append and has no offset."""
    fed = led()
    fed.acknowledge(offset, records, digest)
    batch = Batch(4, 6, WRITTEN)
    assert fed.logs.acknowledgements(PLACE, batch) == count
    fed.acknowledge(5, 2)
    assert fed.logs.acknowledgements(PLACE, batch) == count + 2


@pytest.mark.parametrize(
    ("offset", "digest", "lost"),
    [
        pytest.param(-1, WRITTEN, False, id="acks=0"),
        pytest.param(-1, OTHER, True, id="acks=0 of another batch"),
        pytest.param(1, WRITTEN, False, id="first deleted offset"),
        pytest.param(2, WRITTEN, False, id="last deleted offset"),
        pytest.param(2, OTHER, True, id="other bytes"),
        pytest.param(0, WRITTEN, True, id="before the batch"),
        pytest.param(3, WRITTEN, True, id="above the deletion"),
    ],
)
def test_a_record_deleted_on_request_is_not_lost(offset: int, digest: int, lost: bool) -> None:
    """The deletion ends within the batch of offsets 1 to 3; the next leader begins behind it."""
    fed = led((1, 3))
    operation = fed.acknowledge(offset, digest=digest)
    fed.delete(0, 3)
    fed.cut(1, 0, begins=4)
    fed.leads(1, 1)
    seen, where = fed.seen(), f"at offset {offset};" if offset >= 0 else "at no offset;"
    assert [(one.details["operation"], where in one.text) for one in seen] == [(operation, True)] * lost


def test_equal_batches_are_deleted_each() -> None:
    fed = led((0, 0), (1, 1))
    for offset in (0, 1):
        fed.acknowledge(offset)
    fed.delete(0, 2)
    fed.leads(1, 1)
    assert fed.lost() == []


def test_deletions_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    fed = led(*((at, at) for at in range(30)))
    monkeypatch.setattr(followed_logs, "BATCHES_MAX", 5)
    fed.delete(0, 6)
    few = remembered(fed.logs)
    fed.delete(0, 30)
    assert remembered(fed.logs) == few


ACTIONS: dict[str, tuple[Callable[[Fed], object], bool]] = {
    "another leader": (lambda fed: fed.leads(1, 1), True),
    "a stale leader": (lambda fed: fed.leads(1, -1), False),
    "the same leader in a new epoch": (lambda fed: fed.leads(0, 1), False),
    "a truncation of the leader": (lambda fed: fed.cut(0, 1), True),
    "a truncation of a follower": (lambda fed: fed.cut(1, 1), False),
    "a deletion on request": (lambda fed: fed.delete(0, 1), True),
    "an acknowledgement": (lambda fed: fed.acknowledge(1), True),
    "an append": (lambda fed: fed.append(0, 2, 2), False),
    "a deletion of the topic": (lambda fed: fed.logs.removed("t"), True),
    "a deletion of another topic": (lambda fed: fed.logs.removed("u"), False),
}


@pytest.mark.parametrize("name", ACTIONS)
def test_a_partition_is_judged_again_after_what_may_lose_or_keep_a_record(name: str) -> None:
    do, again = ACTIONS[name]
    fed = led((0, 0), (1, 1))
    fed.acknowledge(0)
    assert fed.seen() == []
    do(fed)
    assert fed.logs.touched == ({PLACE} if again else set())


def test_an_append_is_judged_while_a_record_is_missing() -> None:
    """It may be the record: a leader's event can be read after the client's."""
    fed = led()
    fed.acknowledge(0)
    assert fed.lost() == [0]
    fed.append(0, 0, 0)
    assert fed.logs.touched == {PLACE} and fed.lost() == []


def test_only_a_change_of_the_node_is_a_change_of_the_leader() -> None:
    fed = Fed()
    assert [fed.leads(0, 0), fed.leads(0, 0), fed.leads(0, 2), fed.leads(1, 1), fed.leads(1, 3)] == [
        "", "", "", "", "broker-0",
    ]  # fmt: skip
    assert fed.logs.leader(PLACE) == (3, "broker-1")


def test_a_loss_keeps_its_first_time_and_leader() -> None:
    fed = led((0, 0))
    fed.acknowledge(0)
    fed.leads(1, 1)
    [first] = fed.seen()
    assert first.at_ms == fed.at_ms
    fed.leads(2, 2)
    assert fed.seen() == [first]


def test_a_loss_is_not_before_its_acknowledgement() -> None:
    fed = led()
    fed.acknowledge(0)
    [one] = fed.seen()
    assert one.at_ms == fed.at_ms


def test_a_lost_record_is_named_by_its_value_or_its_place_in_the_batch() -> None:
    fed = led()
    one, several = fed.acknowledge(0), fed.acknowledge(1, 2)
    valued = fed.acknowledge(3, 2, values=("a", ""))
    texts = [seen.text.partition(" was")[0] for seen in fed.seen()]
    assert texts == [
        one, f"record 0 of {several}", f"record 1 of {several}", f"'a' of {valued}", f"record 1 of {valued}",
    ]  # fmt: skip
    assert fed.lost() == [0, 1, 2, 3, 4]
    fed.acknowledge(-1, 2, digest=OTHER)
    assert fed.lost() == [0, 1, 2, 3, 4, -1, -1]


def test_the_losses_of_a_partition_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed_logs, "LOST_MAX", 2)
    fed = led()
    fed.acknowledge(0, 5)
    assert fed.lost() == [0, 1]


def test_acknowledgements_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two equal ones the older one is forgotten."""
    monkeypatch.setattr(followed_logs, "RECORDS_MAX", 2)
    fed = led()
    for offset in (0, 1, 2):
        fed.acknowledge(offset)
    assert fed.logs.touched == {PLACE} and fed.lost() == [1, 2]
    assert fed.logs.acknowledgements(PLACE, Batch(0, 2, WRITTEN)) == 2
    fed.acknowledge(3, digest=OTHER)
    fed.acknowledge(4, digest=OTHER)
    fed.leads(1, 1)
    assert fed.logs.acknowledgements(PLACE, Batch(0, 2, WRITTEN)) == 0
    size = remembered(fed.logs)
    fed.acknowledge(5, digest=9)
    assert remembered(fed.logs) <= size + 10


def test_a_partition_without_acknowledgements_has_no_findings() -> None:
    fed = Fed()
    fed.append(0, 3, 3)
    assert fed.seen() == []


def test_the_losses_of_a_partition_without_a_leader_are_unknown_since_the_last_truncation() -> None:
    fed = Fed()
    fed.acknowledge(0)
    fed.cut(0, 0)
    [one] = fed.seen()
    assert (one.finding, one.at_ms, one.to_ms, one.who) == ("not-judged", fed.at_ms, None, ())


def test_unknown_losses_begin_when_the_log_was_incomplete_first() -> None:
    fed = led((1, 1))
    fed.acknowledge(1)
    [first] = fed.seen()
    assert (first.at_ms, first.who) == (1.0, ("broker-0",))
    fed.cut(0, 2)
    assert fed.seen() == [first]
    fed.cut(0, 0)
    assert fed.lost() == [1]
    fed.cut(0, 5)
    [second] = fed.seen()
    assert second.at_ms == fed.at_ms


def test_a_truncation_below_the_remembered_batches_is_unknown_besides_an_incomplete_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(followed_logs, "BATCHES_MAX", 2)
    fed = led((0, 0), (1, 1))
    fed.acknowledge(0)
    fed.cut(1, 0)
    assert fed.seen() == []
    fed.append(1, 0, 0)
    fed.append(1, 1, 1)
    fed.cut(0, 2)
    assert fed.seen() == []
    fed.cut(0, 1)
    [one] = fed.seen()
    assert (one.finding, one.to_ms) == ("not-judged", one.at_ms)
    fed.append(0, 5, 5)
    assert [seen.to_ms is None for seen in fed.seen()] == [False, True]


def test_as_many_batches_as_the_limit_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed_logs, "BATCHES_MAX", 2)
    fed = led((0, 0), (1, 1))
    fed.acknowledge(0)
    fed.cut(0, 0)
    assert [one.finding for one in fed.seen()] == ["lost-acknowledged"]


def test_a_truncation_of_a_follower_below_its_remembered_batches_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed_logs, "BATCHES_MAX", 1)
    fed = led((0, 0))
    fed.acknowledge(0)
    fed.append(1, 0, 0)
    fed.append(0, 1, 1)
    assert fed.seen() == []
    fed.cut(1, 0)
    assert fed.logs.touched == {PLACE}


def test_topics_are_removed_alone() -> None:
    fed = led()
    fed.acknowledge(0)
    fed.logs.removed("u")
    assert fed.lost() == [0]
    fed.logs.removed("t")
    assert fed.seen() == []


# --- one replica ---


def replica(*batches: Batch) -> Replica:
    found = Replica()
    for batch in batches:
        found.append(batch)
    return found


def record(offset: int, digest: int = WRITTEN) -> Acknowledged:
    return Acknowledged("client-0.1:1", offset, digest, 1, 0.0, (), "client-0.1/1")


def test_a_truncation_removes_whole_batches() -> None:
    log = replica(Batch(0, 1, WRITTEN), Batch(2, 4, WRITTEN))
    assert not log.cut(4) and log.end == 2
    assert [log.holds(record(offset)) for offset in (0, 1, 2, -1)] == [True, True, False, True]
    assert not log.holds(record(0, OTHER)) and not log.holds(record(-1, OTHER))


def test_a_log_with_a_gap_is_complete_after_a_truncation_to_the_first_gap() -> None:
    log = replica(Batch(0, 0, 1), Batch(2, 2, 2), Batch(5, 5, 3))
    assert not log.complete
    log.cut(3)
    assert not log.complete
    log.cut(1)
    assert log.complete


def test_a_log_that_ends_below_its_truncation_is_incomplete_until_its_records_are_reported() -> None:
    log = replica(Batch(0, 0, 1))
    log.cut(2)
    assert not log.complete
    log.append(Batch(1, 1, 2))
    assert log.complete


def test_a_log_begins_behind_its_forgotten_batches_and_where_it_was_cut_to_begin() -> None:
    first = Batch(0, 0, WRITTEN)
    log = replica(first)
    log.forget(first)
    assert log.end == 1 and not log.holds(record(1))
    log.append(Batch(1, 1, OTHER))
    assert log.complete
    log.cut(0, 9)
    assert log.end == 9


def test_forgotten_records_may_be_there_until_a_truncation_reaches_them() -> None:
    batches = [Batch(at, at, WRITTEN) for at in range(3)]
    log = replica(*batches)
    for batch in batches[:2]:
        log.forget(batch)
    assert [log.holds(record(offset, OTHER)) for offset in (0, 1, 2, -1)] == [True, True, False, True]
    assert not log.cut(2)
    assert log.cut(1)
    assert [log.holds(record(offset, OTHER)) for offset in (0, 1, -1)] == [True, False, True]


def test_a_removed_batch_is_not_forgotten_in_place_of_a_later_one() -> None:
    removed = Batch(0, 0, WRITTEN)
    log = replica(removed)
    log.cut(0)
    log.append(Batch(0, 0, WRITTEN))
    log.forget(removed)
    assert log.forgotten_to == 0 and log.holds(record(0))


def test_batches_below_an_offset_are_cut_there() -> None:
    log = replica(Batch(0, 1, 1), Batch(2, 4, 2), Batch(5, 5, 3))
    assert [list(log.below(offset)) for offset in (0, 2, 4, 9)] == [
        [],
        [Batch(0, 1, 1)],
        [Batch(0, 1, 1), Batch(2, 3, 2)],
        [Batch(0, 1, 1), Batch(2, 4, 2), Batch(5, 5, 3)],
    ]
