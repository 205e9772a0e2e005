"""A producer's transactions: TransactionManager of Java's client, semantics 12.7."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from emulator.machines.client.client_operations import KeptOperations, OperationLog
from emulator.machines.client.client_settings import UnusableSetting, librdkafka_settings, producer_settings
from emulator.machines.client.client_state import Identity, Kept, Sent
from emulator.machines.client.offset_store import Committed
from emulator.machines.client.producer import Producer
from emulator.machines.client.transaction_behaviour import transaction_behaviour
from emulator.machines.client.transaction_errors import RequestKind, reaction_to, reaction_to_all, reaction_to_batch
from protocol.chance import Chance
from protocol.events import OperationInvoked, ProducerTransactionChanged
from protocol.ids import Offset
from protocol.messages.groups import FindCoordinatorRequest
from protocol.messages.leadership_messages import PartitionError
from protocol.messages.message_base import Message
from protocol.messages.replication_messages import ProduceRequest
from protocol.messages.transactions import (
    AddedResult,
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from protocol.records.format import read_header
from tests.emulator.machines.client.fake_cluster import FakeCluster, Fate

OF_CLIENT = (
    InitProducerIdRequest, AddPartitionsToTxnRequest, AddOffsetsToTxnRequest, TxnOffsetCommitRequest, EndTxnRequest,
)  # fmt: skip


class Coordinator(FakeCluster):
    """A fake cluster whose coordinators answer from scripts; without one they accept everything."""

    def __init__(self, brokers: int = 2) -> None:
        super().__init__(brokers, None)
        self.codes: dict[type[Message], list[int]] = {}
        """{request: errors of its next answers}"""
        self.ends_give: tuple[int, int] = (-1, -1)
        """Id and epoch that EndTxn answers."""
        self.epoch = -1

    def _answer(self, node: str, message: Message) -> Message | None:
        if not isinstance(message, OF_CLIENT):
            return super()._answer(node, message)
        scripted = self.codes.get(type(message), [])
        code = scripted.pop(0) if scripted else 0
        match message:
            case InitProducerIdRequest():
                self.epoch += not code
                return InitProducerIdResponse(code, 7 if not code else -1, self.epoch if not code else -1)
            case AddPartitionsToTxnRequest(transactions=[one]):
                results = [PartitionError(each.topic, each.partition, code) for each in one.partitions]
                return AddPartitionsToTxnResponse([AddedResult(one.transactional_id, results)])
            case AddOffsetsToTxnRequest():
                return AddOffsetsToTxnResponse(code)
            case TxnOffsetCommitRequest():
                places = [(one.topic, one.partition) for one in message.partitions]
                return TxnOffsetCommitResponse([PartitionError(*place, code) for place in places])
            case EndTxnRequest():
                return EndTxnResponse(code, *(self.ends_give if not code else (-1, -1)))
        raise AssertionError(message)


class Bench:
    """A transactional producer of a version, at brokers of that version or another."""

    def __init__(self, version: str = "2.8", brokers: str = "", **options: Any) -> None:
        self.cluster = Coordinator()
        self.log = self.cluster.add()
        given = {name.replace("_", "."): value for name, value in options.items()}
        settings = producer_settings(version, {"transactional.id": "tx", **given})
        if brokers:
            behaviour = transaction_behaviour(version, brokers)
            settings = msgspec.structs.replace(settings, transaction_behaviour=behaviour)
        self.kept: KeptOperations = Kept()
        operations = OperationLog("client-0", 1, self.kept)
        self.producer = Producer("p", ["broker-0", "broker-1"], operations, settings, Chance(7))
        self.transactions = self.producer.transactions
        self.ended: list[str] = []
        self.sent: list[Sent] = []

    def call(self, what: Callable[..., None], *args: Any) -> None:
        what(self.cluster.now, self.cluster.out, *args, lambda now, out, error: self.ended.append(error))
        self.cluster.flush()

    def begin(self) -> None:
        assert self.transactions.begin(self.cluster.now, self.cluster.out) == ""
        self.cluster.flush()

    def send(self, *values: bytes) -> None:
        for value in values:
            self.producer.send(
                self.cluster.now, self.cluster.out, "t", 0, value, lambda n, o, sent: self.sent.append(sent)
            )
        self.cluster.flush()

    def started(self) -> "Bench":
        self.call(self.transactions.init)
        self.cluster.run(500)
        assert self.ended == [""], self.ended
        self.ended.clear()
        self.begin()
        return self

    def run(self, ms: float) -> None:
        self.cluster.run(self.cluster.now.mono_ms + ms)

    def changes(self) -> list[str]:
        return [event.change for _, event in self.cluster.events if isinstance(event, ProducerTransactionChanged)]

    def requests(self, *kinds: type[Message]) -> list[Message]:
        return [message for _, _, message in self.cluster.requests if isinstance(message, kinds)]


@pytest.mark.parametrize(("version", "adds"), [("2.8", True), ("4.1", False)])
def test_a_transaction_from_its_begin_to_its_commit(version: str, adds: bool) -> None:
    bench = Bench(version).started()
    bench.cluster.ends_give = (7, 1) if not adds else (-1, -1)
    bench.send(b"a", b"b")
    bench.call(bench.transactions.commit)
    bench.run(500)
    assert (bench.ended, [sent.outcome for sent in bench.sent]) == ([""], ["ok", "ok"])
    kinds = [type(message) for message in bench.requests(*OF_CLIENT, ProduceRequest, FindCoordinatorRequest)]
    added = [AddPartitionsToTxnRequest] if adds else []
    assert kinds == [FindCoordinatorRequest, InitProducerIdRequest, *added, ProduceRequest, EndTxnRequest]
    header = read_header(bench.log.entries[0])
    assert (header.is_transactional, header.producer_id, header.producer_epoch, header.base_sequence) == (True, 7, 0, 0)
    assert bench.changes() == ["initializing", "initialized", "begun", "committing", "committed"]
    (kept,) = bench.kept.transactions.values()
    assert [one.change for one in kept.changes] == ["begun", "committing", "committed"]
    assert {operation.transaction for operation in bench.kept} == {kept.transaction}
    bench.begin()
    bench.send(b"c")
    bench.run(200)
    header = read_header(bench.log.entries[-1])
    numbers = (0, 2) if adds else (1, 0)
    assert (header.producer_epoch, header.base_sequence) == numbers, "with version 2 each transaction has its own epoch"


def test_an_abort_drops_what_has_not_left_and_needs_no_end_without_partitions() -> None:
    bench = Bench(linger_ms=1000).started()
    bench.send(b"a")
    bench.call(bench.transactions.abort)
    assert (bench.ended, [sent.error for sent in bench.sent]) == ([""], ["TransactionAbortedException"])
    assert bench.requests(AddPartitionsToTxnRequest, EndTxnRequest, ProduceRequest) == []
    assert bench.sent[0].outcome == "failed"
    assert bench.changes()[-2:] == ["aborting", "aborted"]


def test_calls_that_the_state_forbids() -> None:
    bench = Bench()
    assert bench.transactions.begin(bench.cluster.now, bench.cluster.out) == "IllegalStateException"
    bench.call(bench.transactions.commit)
    bench.send(b"a")
    assert (bench.ended, bench.sent[0].error) == (["IllegalStateException"], "IllegalStateException")


@pytest.mark.parametrize("code", [14, 15, 16, 51])
def test_requests_are_repeated_until_the_coordinator_is_there(code: int) -> None:
    bench = Bench()
    bench.cluster.codes = {
        kind: [code, code] for kind in (InitProducerIdRequest, AddPartitionsToTxnRequest, EndTxnRequest)
    }
    bench.call(bench.transactions.init)
    bench.run(1000)
    bench.begin()
    bench.send(b"a")
    bench.call(bench.transactions.commit)
    bench.run(2000)
    assert bench.ended == ["", ""]
    assert len(bench.requests(FindCoordinatorRequest)) == (7 if code in (15, 16) else 1)


def test_a_lost_connection_leads_to_another_look_up_and_the_same_request() -> None:
    bench = Bench(request_timeout_ms=1000, delivery_timeout_ms=5000).started()
    bench.send(b"a")
    bench.run(200)
    bench.cluster.silent = {"broker-0"}
    bench.call(bench.transactions.commit)
    bench.run(500)
    bench.cluster.silent = set()
    bench.cluster.coordinator = 1
    bench.run(5000)
    assert bench.ended == [""]
    assert [type(one) for one in bench.requests(FindCoordinatorRequest, EndTxnRequest)][-3:] == [
        EndTxnRequest, FindCoordinatorRequest, EndTxnRequest,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("version", "error", "ends", "renews"),
    [
        ("2.8", 47, "InvalidProducerEpochException", True),
        ("2.6", 47, "ProducerFencedException", None),
        ("2.8", 10, "KafkaException", True),
        ("2.3", 10, "KafkaException", False),
        ("4.1", 120, "KafkaException", False),
        ("2.8", 90, "ProducerFencedException", None),
    ],
)
def test_a_batch_that_fails_makes_the_transaction_abortable(
    version: str, error: int, ends: str, renews: bool | None
) -> None:
    """`client_aborts_after_older_epoch`, `producers_raise_own_epoch`."""
    bench = Bench(version).started()
    bench.cluster.ends_give = (7, 1) if version == "4.1" else (-1, -1)
    bench.cluster.fates = iter([error])
    bench.send(b"a")
    bench.run(200)
    bench.call(bench.transactions.commit)
    bench.send(b"b")
    assert (bench.ended, bench.sent[-1].error) == ([ends], ends)
    bench.call(bench.transactions.abort)
    bench.run(500)
    if renews is None:
        assert bench.ended[-1] == ends
        assert bench.changes()[-1] == "fatal"
        return
    assert bench.ended[-1] == ""
    inits = [one for one in bench.requests(InitProducerIdRequest) if isinstance(one, InitProducerIdRequest)]
    assert [(one.producer_id, one.producer_epoch) for one in inits[1:]] == ([(7, 0)] if renews else [])
    bench.begin()
    bench.send(b"c")
    bench.run(200)
    assert bench.sent[-1].outcome == "ok"


@pytest.mark.parametrize(("version", "after"), [("2.8", "abortable"), ("2.3", "fatal")])
def test_numbers_whose_use_is_unknown(version: str, after: str) -> None:
    """A batch expires under way: from 2.5 on an abort and another epoch are enough."""
    bench = Bench(version, request_timeout_ms=1000, delivery_timeout_ms=1500).started()
    lost: list[Fate] = ["answer lost"] * 5
    bench.cluster.fates = iter(lost)
    bench.send(b"a")
    bench.run(4000)
    assert (bench.sent[0].error, bench.sent[0].outcome) == ("TimeoutException", "unknown")
    assert bench.changes()[-1] == after


@pytest.mark.parametrize(("version", "bounded"), [("2.8", True), ("2.2", False)])
def test_a_call_that_timed_out_may_be_repeated_alone(version: str, bounded: bool) -> None:
    """`client_bounded_transaction_calls`."""
    bench = Bench(version, max_block_ms=2000).started()
    bench.send(b"a")
    bench.run(200)
    bench.cluster.codes = {EndTxnRequest: [51] * 50}
    bench.call(bench.transactions.commit)
    bench.run(3000)
    if not bounded:
        assert bench.ended == []
        return
    assert bench.ended == ["TimeoutException"]
    assert bench.changes()[-1] == "unknown"
    assert bench.transactions.begin(bench.cluster.now, bench.cluster.out) == "IllegalStateException"
    bench.call(bench.transactions.commit)
    bench.cluster.codes = {}
    bench.run(500)
    assert bench.ended == ["TimeoutException", ""]
    assert bench.changes()[-1] == "committed"


def test_the_result_of_a_call_that_timed_out_is_kept_for_its_repetition() -> None:
    bench = Bench(max_block_ms=1000).started()
    bench.send(b"a")
    bench.run(200)
    bench.cluster.codes = {EndTxnRequest: [51] * 12}
    bench.call(bench.transactions.commit)
    bench.run(3000)
    bench.call(bench.transactions.commit)
    assert bench.ended == ["TimeoutException", ""]
    bench.begin()


MEMBER = Identity(3, "m-1")


@pytest.mark.parametrize(
    ("version", "brokers", "names"), [("2.8", "2.8", True), ("2.3", "2.8", False), ("2.8", "2.3", False)]
)
def test_offsets_go_to_the_groups_coordinator_with_its_generation(version: str, brokers: str, names: bool) -> None:
    """`client_names_group_in_transactions`."""
    bench = Bench(version, brokers).started()
    offsets = {("in", 0): Committed(Offset(5))}
    bench.transactions.send_offsets(
        bench.cluster.now, bench.cluster.out, offsets, "g", lambda n, o, error: bench.ended.append(error), MEMBER
    )
    bench.cluster.flush()
    bench.run(300)
    assert bench.ended == [""]
    (commit,) = bench.requests(TxnOffsetCommitRequest)
    assert isinstance(commit, TxnOffsetCommitRequest)
    assert (commit.generation, commit.member) == ((3, "m-1") if names else (-1, ""))
    assert [(one.topic, one.partition, one.offset) for one in commit.partitions] == [("in", 0, 5)]
    invoked = [event for _, event in bench.cluster.events if isinstance(event, OperationInvoked)]
    sent = [(one.kind, one.value, one.offset, bool(one.transaction)) for one in invoked]
    assert sent == [("send-offset", "g", 5, True)]
    bench.call(bench.transactions.commit)
    bench.run(300)
    assert bench.ended == ["", ""]
    assert len(bench.requests(EndTxnRequest)) == 1, "offsets alone are a transaction"


@pytest.mark.parametrize("code", [22, 25, 82])
def test_a_removed_member_may_only_abort(code: int) -> None:
    bench = Bench().started()
    bench.cluster.codes = {TxnOffsetCommitRequest: [code]}
    offsets = {("in", 0): Committed(Offset(5))}
    bench.transactions.send_offsets(
        bench.cluster.now, bench.cluster.out, offsets, "g", lambda n, o, error: bench.ended.append(error), MEMBER
    )
    bench.cluster.flush()
    bench.run(300)
    assert bench.ended == ["FencedInstanceIdException" if code == 82 else "CommitFailedException"]
    bench.call(bench.transactions.abort)
    bench.run(300)
    assert bench.ended[-1] == ""


def test_a_closed_producer_leaves_its_transaction_open() -> None:
    bench = Bench().started()
    bench.send(b"a")
    bench.run(200)
    bench.producer.close(bench.cluster.now, bench.cluster.out)
    bench.cluster.flush()
    assert bench.changes()[-1] == "abandoned"
    bench = Bench().started()
    bench.send(b"a")
    bench.call(bench.transactions.commit)
    bench.producer.close(bench.cluster.now, bench.cluster.out)
    bench.cluster.flush()
    assert (bench.changes()[-1], bench.ended) == ("unknown", ["KafkaException"])


def outcome(kind: RequestKind, code: int, version: str) -> str:
    return reaction_to(kind, code, transaction_behaviour(version, version)).outcome


def test_reactions_by_version() -> None:
    """txn-semantics 1.9: the gates named in semantics 12.7."""
    for version in ("1.1", "2.8", "3.9", "4.4"):
        assert outcome("end", 90, version) == outcome("init", 47, version) == "fatal"
        assert outcome("end", 48, version) == "fatal"
        assert outcome("add-partitions", 3, version) == outcome("offsets", 3, version) == "retry"
        assert outcome("offsets", 7, version) == "look-up"
        assert outcome("init", 50, version) == "fatal"
    # client_renews_unknown_mapping
    unknown = [outcome("end", 49, version) for version in ("2.3", "2.8", "3.9", "4.0")]
    assert unknown == ["fatal", "renew", "renew", "fatal"]
    # client_retries_coordinator_appends
    assert [outcome("init", 7, version) for version in ("3.2", "3.3", "4.4")] == ["fatal", "retry", "retry"]
    # client_knows_abortable_transactions
    assert [outcome("offsets", 120, version) for version in ("3.7", "3.8")] == ["fatal", "abortable"]
    assert outcome("find-coordinator", 16, "2.8") == "fatal"
    old, new = (transaction_behaviour(version, version) for version in ("2.8", "4.0"))
    assert reaction_to_batch(49, new).outcome == "fatal"
    assert reaction_to_batch("TimeoutException", old).outcome == "renew"
    assert reaction_to_batch("TimeoutException", new).outcome == "abortable"


def test_of_several_partitions_the_first_that_decides() -> None:
    behaviour = transaction_behaviour("2.8", "2.8")
    expected = {(0, 0): "done", (55, 3): "retry", (0, 29): "part", (55, 90): "fatal"}
    assert {codes: reaction_to_all("add-partitions", codes, behaviour)[0].outcome for codes in expected} == expected
    assert reaction_to_all("offsets", (0, 14, 16), behaviour)[0].outcome == "look-up"
    assert reaction_to_all("offsets", (14, 22), behaviour)[0].outcome == "abortable"


def test_versions_of_requests_are_those_that_both_know() -> None:
    def versions(client: str, brokers: str) -> list[int]:
        behaviour = transaction_behaviour(client, brokers)
        return [behaviour.request_version(api) for api in ("InitProducerId", "EndTxn", "TxnOffsetCommit", "Produce")]

    assert versions("0.11", "4.4") == [0, 0, 0, 3]
    assert versions("4.4", "2.8") == versions("2.8", "4.4") == [4, 3, 3, 9]
    assert versions("4.4", "3.9") == [5, 4, 4, 11], "no version of transaction version 2 before 4.0"
    assert versions("4.4", "4.0") == [5, 5, 5, 12]


def test_settings_of_transactions() -> None:
    made = producer_settings("1.1", {"transactional.id": "tx"})
    assert (made.enable_idempotence, made.acks, made.transaction_timeout_ms) == (True, -1, 60_000)
    assert producer_settings("1.1").transaction_behaviour is None
    for wrong in ({"enable.idempotence": False}, {"acks": "1"}, {"retries": 0}):
        with pytest.raises(UnusableSetting, match=r"acks=all|retries above 0|idempotence=true"):
            producer_settings("2.8", {"transactional.id": "tx", **wrong})
    with pytest.raises(UnusableSetting, match="librdkafka are not modelled"):
        librdkafka_settings({"transactional.id": "tx"})
    with pytest.raises(UnusableSetting, match=r"0\.11"):
        producer_settings("0.10.2", {"transactional.id": "tx"})

