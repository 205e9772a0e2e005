"""Verification of transactions at a partition's leader (semantics 12.6)."""

from typing import Any

import pytest

from emulator.machines.broker.transaction_verification import Errors, Subject
from protocol.errors import ErrorCode as E
from protocol.messages.leadership_messages import PartitionError
from protocol.messages.replication_messages import ProducePartition, ProduceRequest, ProduceResponse
from protocol.messages.transactions import AddedResult, AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from protocol.purposes import TRANSACTION
from protocol.records.transaction_states import TRANSACTIONS_TOPIC
from verification.broker_bench import T0, Bench, batch, state

COORDINATOR = (TRANSACTIONS_TOPIC, 0)
TIMEOUT_MS = 30_000


class Leader(Bench):
    """Leads t-0; broker 1 coordinates all transactional ids."""

    def __init__(self, version: str = "3.9", *, coordinator: int = 1, **settings: Any) -> None:
        super().__init__(version, **settings)
        self.update_metadata(state(0), state(coordinator, topic_partition=COORDINATOR))
        self.lead(isr=(0,))
        self.results: dict[str, Errors] = {}

    def verify(self, name: str, *, epoch: int = 0, transactional_id: str = "tx", **more: Any) -> None:
        subject = Subject(transactional_id, 7, epoch, (T0,), **more)
        self.do(lambda: self.broker.verification.verify(subject, lambda errors: self.results.update({name: errors})))

    def link(self) -> int:
        """The newest connection to the coordinator."""
        return self.opened(TRANSACTION)[-1]

    def requested(self) -> list[tuple[str, int, bool]]:
        """(transactional id, epoch, verify only) of the last request."""
        message = self.last_sent(self.link()).message
        assert isinstance(message, AddPartitionsToTxnRequest)
        return [(one.transactional_id, one.producer_epoch, one.verify_only) for one in message.transactions]

    def coordinator_answers(self, *errors: E) -> None:
        """One error for each transaction of the last request."""
        message = self.last_sent(self.link()).message
        assert isinstance(message, AddPartitionsToTxnRequest)
        results = [
            AddedResult(one.transactional_id, [PartitionError(*T0, error)])
            for one, error in zip(message.transactions, errors, strict=True)
        ]
        self.respond(self.link(), AddPartitionsToTxnResponse(results))

    def write(self, sequence: int = 0, *, version: int = 10, epoch: int = 0) -> int:
        """A transactional batch; the connection on which the answer comes."""
        records = batch(
            "v", producer_id=7, producer_epoch=epoch, base_sequence=sequence, is_transactional=True
        )
        return self.ask(ProduceRequest(-1, 1_500, [ProducePartition(*T0, records)], "tx"), version)

    def error_of(self, connection: int) -> E:
        return E(self.answer(connection, ProduceResponse).partitions[0].error)


def test_requests_to_a_coordinator_go_together_one_in_flight() -> None:
    leader = Leader()
    leader.verify("a", transactional_id="a")
    leader.establish(leader.link())
    leader.verify("b", transactional_id="b")
    leader.verify("c", transactional_id="c", adds=True)
    assert leader.requested() == [("a", 0, True)]
    leader.coordinator_answers(E.NONE)
    assert leader.results == {"a": {}}
    assert leader.requested() == [("b", 0, True), ("c", 0, False)]
    leader.coordinator_answers(E.TRANSACTION_ABORTABLE, E.NONE)
    assert leader.results == {"a": {}, "b": {T0: E.INVALID_TXN_STATE}, "c": {}}
    assert len(leader.opened(TRANSACTION)) == 1


@pytest.mark.parametrize(
    ("before", "after", "replaced", "refused"),
    [
        (0, 0, E.NETWORK_EXCEPTION, None),
        (0, 1, E.INVALID_PRODUCER_EPOCH, None),
        (1, 0, None, E.INVALID_PRODUCER_EPOCH),
    ],
)
def test_one_verification_of_an_id_waits(before: int, after: int, replaced: E | None, refused: E | None) -> None:
    """AddPartitionsToTxnManager.addTxnData."""
    leader = Leader()
    leader.verify("in flight", transactional_id="other")
    leader.establish(leader.link())
    leader.verify("before", epoch=before)
    leader.verify("after", epoch=after)
    expected = {name: {T0: error} for name, error in (("before", replaced), ("after", refused)) if error}
    assert leader.results == expected
    leader.coordinator_answers(E.NONE)
    assert leader.requested() == [("tx", max(before, after), True)]


def test_a_coordinator_that_is_unknown_or_lost() -> None:
    unknown = Leader(coordinator=9)
    unknown.verify("a")
    assert unknown.results == {"a": {T0: E.COORDINATOR_NOT_AVAILABLE}}
    lost = Leader()
    lost.verify("a")
    lost.establish(lost.link())
    lost.lose(lost.link())
    assert lost.results == {"a": {T0: E.NETWORK_EXCEPTION}}
    silent = Leader()
    silent.verify("a")
    silent.establish(silent.link())
    silent.advance(TIMEOUT_MS)
    assert silent.results == {"a": {T0: E.NETWORK_EXCEPTION}}


@pytest.mark.parametrize(
    ("error", "version", "answered"),
    [
        (E.NOT_COORDINATOR, 10, E.NOT_ENOUGH_REPLICAS),
        (E.COORDINATOR_LOAD_IN_PROGRESS, 10, E.NOT_ENOUGH_REPLICAS),
        (E.CONCURRENT_TRANSACTIONS, 10, E.NOT_ENOUGH_REPLICAS),
        (E.PRODUCER_FENCED, 10, E.INVALID_PRODUCER_EPOCH),
        (E.INVALID_PRODUCER_ID_MAPPING, 10, E.INVALID_PRODUCER_ID_MAPPING),
        (E.TRANSACTION_ABORTABLE, 10, E.INVALID_TXN_STATE),
        (E.TRANSACTION_ABORTABLE, 11, E.TRANSACTION_ABORTABLE),
    ],
)
def test_a_refused_batch_is_not_appended(error: E, version: int, answered: E) -> None:
    leader = Leader()
    written = leader.write(version=version)
    leader.establish(leader.link())
    leader.coordinator_answers(error)
    assert (leader.error_of(written), leader.log.log_end) == (answered, 0)


def test_a_verified_batch_opens_the_transaction_and_later_ones_need_nothing() -> None:
    leader = Leader()
    first = leader.write(0)
    leader.establish(leader.link())
    assert leader.log.log_end == 0, "nothing before the answer"
    leader.coordinator_answers(E.NONE)
    second = leader.write(1)
    assert [leader.error_of(one) for one in (first, second)] == [E.NONE, E.NONE]
    assert (leader.log.log_end, leader.log.last_stable_offset()) == (2, 0)


def test_no_batch_is_verified_before_3_6_or_where_it_is_switched_off() -> None:
    for leader in (Leader("3.5"), Leader(transaction_partition_verification_enable=False)):
        assert leader.error_of(leader.write()) == E.NONE
        assert leader.opened(TRANSACTION) == []


def test_an_addition_is_repeated_while_the_transaction_before_ends() -> None:
    """Transaction version 2: every 20 ms, for 100 ms."""
    leader = Leader()
    leader.verify("a", adds=True)
    leader.establish(leader.link())
    attempts = 0
    while "a" not in leader.results:
        attempts += 1
        leader.coordinator_answers(E.CONCURRENT_TRANSACTIONS)
        leader.advance(20)
    assert leader.results == {"a": {T0: E.CONCURRENT_TRANSACTIONS}}
    assert (attempts, leader.now_ms) == (6, 120)


def test_a_stopping_broker_sends_no_more() -> None:
    leader = Leader()
    leader.verify("a")
    leader.do(leader.broker.verification.close)
    leader.advance(TIMEOUT_MS)
    assert leader.results == {}
