"""The client process: errands of the player and workloads of its own."""

from typing import Any

import pytest

from emulator.machines.client.client_node import ClientNode
from emulator.machines.client.client_requests import REQUESTS_MAX, ClientRequests
from emulator.machines.client.client_state import Failure, TooManyClientRequests
from protocol.framing import decode, encode
from protocol.ids import EPOCH_UNKNOWN, NO_OFFSET, BrokerId, LeaderEpoch, Offset
from protocol.machine import (
    Close,
    ConnectionAccepted,
    ConnectionLost,
    ConnectionOpened,
    MessageReceived,
    Now,
    Open,
    Send,
    Started,
    StopRequested,
)
from protocol.messages.consuming import (
    ClientCommitRequest,
    ClientCommitResponse,
    ClientCommittedRequest,
    ClientCommittedResponse,
    ClientConsumeRequest,
    ClientConsumeResponse,
    ReadingReport,
)
from protocol.messages.groups import GroupPartition
from protocol.messages.message_base import Message
from protocol.messages.session_messages import PingRequest
from protocol.messages.workload_messages import (
    AttemptReport,
    ClientAttempt,
    ClientFetchRequest,
    ClientFetchResponse,
    ClientMetadataRequest,
    ClientMetadataResponse,
    ClientProduceRequest,
    ClientProduceResponse,
    RecordReport,
    StartWorkloadRequest,
    StartWorkloadResponse,
    StopWorkloadRequest,
    StopWorkloadResponse,
    WorkloadReport,
    WorkloadSpec,
)
from protocol.outbox import Outbox
from tests.emulator.machines.client.fake_cluster import FakeCluster, Fate


class Bench:
    """A client process and a player who asks it."""

    def __init__(self, *fates: Fate, brokers: int = 1, version: str = "2.8") -> None:
        self.cluster = FakeCluster(brokers, iter(fates))
        self.node = ClientNode("client-2", [f"broker-{n}" for n in range(brokers)], [], version)
        self.cluster.machine = self.node
        self.log = self.cluster.add()
        self.cluster.give(Started(11, 3))
        self.connections = 0
        self.connection = self.accept()

    def accept(self) -> int:
        self.connections -= 1
        self.cluster.give(ConnectionAccepted(self.connections, "observer", "client"))
        return self.connections

    def ask(self, request: Message) -> None:
        # Through the codec: what cannot travel must not pass.
        frame = decode(encode(request, 7)[4:])
        self.cluster.give(MessageReceived(self.connection, 7, 0, frame.message))

    def answers(self) -> list[Message]:
        """Answers so far; forgotten afterwards."""
        reported, self.cluster.told = self.cluster.told, []
        for _, send in reported:
            assert send.correlation_id == 7
            assert decode(encode(send.message, 7)[4:]).message == send.message
        return [send.message for _, send in reported]

    def run(self, ms: float) -> None:
        self.cluster.run(self.cluster.now.mono_ms + ms)

    def values(self) -> list[bytes]:
        return self.log.values


def attempt(number: int, value: bytes, attempt: int, error: int | str, offset: int | None) -> AttemptReport:
    at = None if offset is None else Offset(offset)
    return AttemptReport(f"client-2.3:{number}", BrokerId(0), value, -1, attempt, error, at)


def test_a_direct_produce_reports_each_attempt_and_then_all() -> None:
    bench = Bench(7, "ok")
    bench.ask(ClientProduceRequest("t", 0, [b"a"], broker=BrokerId(0), acks=-1, retries=1))
    bench.run(1000)
    first, second = attempt(1, b"a", 1, 7, 0), attempt(1, b"a", 2, 0, 1)
    assert bench.answers() == [
        ClientAttempt(first),
        ClientAttempt(second),
        ClientProduceResponse([first, second]),
    ]


def test_without_a_broker_a_library_finds_the_leader() -> None:
    bench = Bench(19, brokers=2)
    bench.log.leader = 1
    settings: dict[str, Any] = {"acks": "all", "enable.idempotence": True, "linger.ms": 0}
    bench.ask(ClientProduceRequest("t", 0, [b"a", b"b"], settings=settings))
    bench.run(5000)
    *reported, response = bench.answers()
    assert isinstance(response, ClientProduceResponse)
    assert [(each.value, each.error, each.offset, each.outcome) for each in response.attempts] == [
        (b"a", 0, 0, "ok"),
        (b"b", 0, 1, "ok"),
    ]
    assert reported == [ClientAttempt(each) for each in response.attempts]
    assert bench.values() == [b"a", b"b"]
    assert bench.cluster.open_connections() == 0, "its producer is closed"


def test_librdkafka_is_a_library_too() -> None:
    bench = Bench(7, 7)
    settings: dict[str, Any] = {"enable.idempotence": True, "request.timeout.ms": 1500, "message.timeout.ms": 60_000}
    bench.ask(ClientProduceRequest("t", 0, [b"c"], library="librdkafka", settings=settings))
    bench.run(60_000)
    response = bench.answers()[-1]
    assert isinstance(response, ClientProduceResponse)
    assert [(each.error, each.offset) for each in response.attempts] == [(0, 0)]
    assert bench.values() == [b"c"]


def test_values_may_follow_each_other_at_a_pace() -> None:
    """Results of earlier values do not matter.
    The answer comes when all have ended.
    """
    bench = Bench()
    bench.ask(ClientProduceRequest("t", 0, [b"a", b"b", b"c"], every_ms=1000))
    bench.run(900)
    assert bench.values() == [b"a"]
    bench.run(1000)
    assert bench.values() == [b"a", b"b"]
    assert len(bench.answers()) == 2
    bench.run(1000)
    reported, response = bench.answers()
    assert isinstance(response, ClientProduceResponse)
    assert [each.value for each in response.attempts] == [b"a", b"b", b"c"]
    assert reported == ClientAttempt(response.attempts[-1])


def test_a_stop_ends_what_was_to_follow() -> None:
    bench = Bench()
    bench.ask(ClientProduceRequest("t", 0, [b"a", b"b"], every_ms=1000))
    bench.run(500)
    bench.cluster.give(StopRequested())
    bench.run(5000)
    assert bench.values() == [b"a"]
    assert bench.cluster.exited


def test_a_group_consumes_commits_and_is_looked_at() -> None:
    bench = Bench()
    for value in (b"a", b"b", b"c"):
        bench.ask(ClientProduceRequest("t", 0, [value], broker=BrokerId(0)))
    bench.run(100)
    bench.answers()
    partitions = [GroupPartition("t", 0)]
    settings: dict[str, Any] = {"auto.offset.reset": "earliest"}
    bench.ask(ClientConsumeRequest("g", partitions, settings=settings))
    bench.run(2000)
    records = [
        RecordReport(Offset(0), LeaderEpoch(0), b"a"),
        RecordReport(Offset(1), LeaderEpoch(0), b"b"),
        RecordReport(Offset(2), LeaderEpoch(0), b"c"),
    ]
    assert bench.answers() == [ClientConsumeResponse([ReadingReport("t", 0, Offset(3), records=records)])]
    bench.ask(ClientCommittedRequest("g", "t", 0))
    bench.ask(ClientCommitRequest("g", "t", 0, Offset(2)))
    bench.run(100)
    assert bench.answers() == [ClientCommittedResponse(0, Offset(3), LeaderEpoch(0)), ClientCommitResponse()]
    bench.ask(ClientConsumeRequest("g", partitions, settings={"enable.auto.commit": False}))
    bench.ask(ClientCommittedRequest("other", "t", 0))
    bench.run(2000)
    nothing, reading = bench.answers()
    assert nothing == ClientCommittedResponse(0, NO_OFFSET, EPOCH_UNKNOWN)
    assert reading == ClientConsumeResponse(
        [ReadingReport("t", 0, Offset(3), Offset(2), records=[RecordReport(Offset(2), LeaderEpoch(0), b"c")])]
    )
    assert bench.cluster.committed == {("g", "t", 0): (2, -1)}
    assert bench.cluster.open_connections() == 0


def test_a_group_reads_for_the_requested_time() -> None:
    bench = Bench()
    bench.ask(ClientConsumeRequest("g", [GroupPartition("t", 0)], at_least_ms=3000))
    bench.run(2000)
    bench.ask(ClientProduceRequest("t", 0, [b"late"], broker=BrokerId(0)))
    bench.run(900)
    assert [type(answer) for answer in bench.answers()] == [ClientAttempt, ClientProduceResponse]
    bench.run(1000)
    assert bench.answers() == [
        ClientConsumeResponse(
            [ReadingReport("t", 0, Offset(1), records=[RecordReport(Offset(0), LeaderEpoch(0), b"late")])]
        )
    ]


def test_an_errand_of_a_group_ends_when_its_time_is_over() -> None:
    bench = Bench()
    bench.cluster.silent = {"broker-0"}
    bench.ask(ClientConsumeRequest("g", [GroupPartition("t", 0)], at_most_ms=2000))
    bench.ask(ClientCommitRequest("g", "t", 0, Offset(2), timeout_ms=3000))
    bench.ask(ClientCommittedRequest("g", "t", 0, timeout_ms=4000))
    bench.run(1990)
    assert bench.answers() == []
    bench.run(20)
    assert bench.answers() == [ClientConsumeResponse([ReadingReport("t", 0, NO_OFFSET, error="TimeoutException")])]
    bench.run(1000)
    assert bench.answers() == [ClientCommitResponse("TimeoutException")]
    bench.run(1000)
    assert bench.answers() == [ClientCommittedResponse("TimeoutException")]
    assert bench.cluster.open_connections() == 0


def test_a_consumers_own_patience_may_be_shorter() -> None:
    """default.api.timeout.ms, from 2.0.
    Before, the caller's time-out alone counts.
    """
    own: dict[str, Any] = {"default.api.timeout.ms": 1000}
    for version, settings, ends_ms in (("2.0.0", own, 1000), ("2.0.0", {}, 2000), ("1.1", {}, 2000)):
        bench = Bench(version=version)
        bench.cluster.finding_codes = [15] * 1000
        bench.ask(ClientCommitRequest("g", "t", 0, Offset(2), timeout_ms=2000, settings=settings))
        bench.run(ends_ms - 50)
        assert bench.answers() == []
        bench.run(100)
        assert bench.answers() == [ClientCommitResponse("TimeoutException")]


def test_a_group_that_cannot_begin_reports_the_reason() -> None:
    bench = Bench(version="0.8.2")
    bench.ask(ClientConsumeRequest("g", [GroupPartition("t", 0)]))
    bench.ask(ClientCommitRequest("g", "t", 0, Offset(2)))
    bench.ask(ClientCommittedRequest("g", "t", 0, old=True, settings={"nonsense": 1}))
    consume, commit, committed = bench.answers()
    assert isinstance(consume, ClientConsumeResponse)
    assert isinstance(commit, ClientCommitResponse)
    assert isinstance(committed, ClientCommittedResponse)
    assert (
        consume.problem
        == commit.problem
        == "group.id needs the new consumer, Kafka 0.9 or later, or the old one: not 0.8.2"
    )
    assert "nonsense" in committed.problem


def test_fetch_and_metadata_are_the_brokers_own_answers() -> None:
    bench = Bench()
    bench.ask(ClientProduceRequest("t", 0, [b"a"], broker=BrokerId(0)))
    bench.run(100)
    bench.answers()
    bench.ask(ClientFetchRequest(BrokerId(0), "t", 0, Offset(0)))
    bench.ask(ClientMetadataRequest(BrokerId(0)))
    bench.run(100)
    fetched, described = bench.answers()
    assert fetched == ClientFetchResponse(0, Offset(1), [RecordReport(Offset(0), LeaderEpoch(0), b"a")])
    assert isinstance(described, ClientMetadataResponse)
    assert described.metadata is not None
    assert described.metadata.controller == 0
    bench.cluster.down.add("broker-0")
    bench.ask(ClientFetchRequest(BrokerId(0), "t", 0, Offset(0)))
    bench.run(100)
    assert bench.answers() == [ClientFetchResponse("ConnectionRefusedError")]


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        (ClientProduceRequest("t", 0, [], broker=BrokerId(0)), "produce of 0 values"),
        (ClientProduceRequest("t", 0, []), "produce of 0 values"),
        (
            ClientProduceRequest("t", 0, [b"a"], settings={"ack": 1}),
            "unknown setting 'ack'; the nearest known one is acks",
        ),
    ],
)
def test_what_cannot_be_done_is_answered_with_the_problem(request_: Message, problem: str) -> None:
    bench = Bench()
    bench.ask(request_)
    (answer,) = bench.answers()
    assert isinstance(answer, ClientProduceResponse)
    assert answer.problem.startswith(problem)
    assert bench.cluster.invoked() == []


def test_a_player_that_left_is_not_answered_but_the_work_is_done() -> None:
    bench = Bench()
    bench.ask(ClientProduceRequest("t", 0, [b"a"], broker=BrokerId(0)))
    bench.cluster.give(ConnectionLost(bench.connection, "closed"))
    bench.run(100)
    assert bench.answers() == []
    assert bench.values() == [b"a"]


def test_a_stranger_is_closed() -> None:
    bench = Bench()
    effects = bench.node.step(bench.cluster.now, MessageReceived(bench.connection, 1, 0, PingRequest()))
    assert effects == [Close(bench.connection)]


# --- workloads ------------------------------------------------------------------------------------------------------


def workload(**options: Any) -> StartWorkloadRequest:
    spec: dict[str, Any] = {"name": "w", "kind": "produce", "topic": "t", "partitions": [0], "rate_per_s": 100.0}
    return StartWorkloadRequest(WorkloadSpec(**(spec | options)))


def report_of(bench: Bench) -> WorkloadReport:
    answer = bench.answers()[-1]
    assert isinstance(answer, StopWorkloadResponse)
    assert answer.report is not None, answer.problem
    return answer.report


def test_a_producing_workload_keeps_its_rate_and_reports_its_outcome() -> None:
    bench = Bench()
    bench.ask(workload(value_prefix="w-", value_bytes=6, settings={"acks": "all"}))
    assert bench.answers() == [StartWorkloadResponse()]
    bench.run(990.5)
    bench.ask(StopWorkloadRequest("w"))
    assert bench.answers() == [], "one is under way"
    bench.run(1000)
    report = report_of(bench)
    assert (report.sent, report.ok, report.failed, report.unknown, report.skipped) == (100, 100, 0, 0, 0)
    assert not report.running
    assert bench.values()[:2] == [b"w-0...", b"w-1..."]
    assert len(bench.values()) == 100


def test_partitions_take_turns_and_the_limit_is_kept() -> None:
    bench = Bench()
    other = bench.cluster.add(partition=1)
    bench.ask(workload(partitions=[0, 1], limit=5))
    bench.run(2000)
    assert (bench.values(), other.values) == ([b"0", b"2", b"4"], [b"1", b"3"])


def test_what_cannot_be_kept_up_with_is_skipped() -> None:
    bench = Bench()
    bench.cluster.silent.add("broker-0")
    bench.ask(workload(unfinished_max=10))
    bench.run(995)
    assert bench.node.report("w").sent == 10
    assert bench.node.report("w").skipped == 90
    bench.ask(StopWorkloadRequest("w", at_once=True))
    report = report_of(bench)
    assert (report.failed, report.unknown) == (10, 0), "none of them had left"
    assert len(bench.cluster.ended()) == 10


def test_a_producer_that_is_a_little_late_sends_what_was_due() -> None:
    """So that a busy machine does not lower the rate."""
    bench = Bench()
    bench.ask(workload())
    bench.run(995)
    bench.cluster.stall(800)
    bench.run(1000)
    report = bench.node.report("w")
    assert (report.sent, report.skipped) == (280, 0)


def test_ticks_missed_while_the_process_was_paused_are_not_made_up_for() -> None:
    bench = Bench()
    bench.ask(workload())
    bench.run(995)
    bench.cluster.stall(10_000)
    bench.run(1000)
    report = bench.node.report("w")
    assert 195 <= report.sent <= 205
    assert 990 <= report.skipped <= 1010


def test_a_consuming_workload_reads_what_another_writes() -> None:
    bench = Bench()
    bench.ask(workload(limit=20))
    bench.ask(workload(name="r", kind="consume", offset=0))
    bench.run(5000)
    bench.answers()
    bench.ask(StopWorkloadRequest("r"))
    report = report_of(bench)
    assert (report.read, report.problems, report.running) == (20, [], False)
    bench.ask(StopWorkloadRequest("r"))
    assert report_of(bench).read == 20, "its report stays"


def test_a_stopping_reader_gives_its_reason() -> None:
    bench = Bench()
    bench.ask(workload(kind="consume", offset=7, settings={"auto.offset.reset": "none"}))
    bench.run(1000)
    assert bench.node.report("w").problems == ["t-0 at offset 7: OffsetOutOfRangeException"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"settings": {"linger": 1}}, "unknown setting 'linger'; the nearest known one is linger.ms"),
        ({"rate_per_s": 0.0}, "0 records per second; allowed are more than 0, up to 100000"),
        ({"partitions": []}, "0 partitions; allowed are 1 to 1000"),
    ],
)
def test_an_unusable_workload_is_not_begun(options: dict[str, Any], problem: str) -> None:
    bench = Bench()
    bench.ask(workload(**options))
    assert bench.answers() == [StartWorkloadResponse(problem)]
    bench.ask(StopWorkloadRequest("w"))
    assert bench.answers() == [StopWorkloadResponse(problem="no workload 'w'")]


def test_two_workloads_of_one_name_are_one_too_many() -> None:
    bench = Bench()
    bench.ask(workload())
    bench.ask(workload())
    assert bench.answers() == [StartWorkloadResponse(), StartWorkloadResponse("workload 'w' exists")]


def test_an_orderly_stop_ends_every_operation_of_the_libraries() -> None:
    bench = Bench("answer lost")
    bench.ask(workload(rate_per_s=1.0))
    bench.ask(workload(name="r", kind="consume", offset=0))
    bench.run(50)
    bench.cluster.give(StopRequested())
    assert bench.cluster.exited
    assert sorted(event.operation for _, event in bench.cluster.ended()) == sorted(
        event.operation for _, event in bench.cluster.invoked()
    )
    assert bench.cluster.open_connections() == 0


# --- the player's side ----------------------------------------------------------------------------------------------


def test_a_request_opens_a_connection_and_its_response_closes_it() -> None:
    out, now, asker = Outbox(), Now(0, 0), ClientRequests()
    answers: list[Message | Failure] = []
    reported: list[AttemptReport] = []
    request = ClientProduceRequest("t", 0, [b"a"], broker=BrokerId(0))
    asker.ask(
        out,
        "client-1",
        request,
        lambda now, out, answer: answers.append(answer),
        lambda now, out, attempt: reported.append(attempt),
    )
    assert out.take() == [Open(1, "client-1", "client")]
    assert out.route(now, ConnectionOpened(1))
    assert out.take() == [Send(1, 1, 0, request)]
    one = attempt(1, b"a", 1, 0, 0)
    assert out.route(now, MessageReceived(1, 1, 0, ClientAttempt(one)))
    assert out.route(now, MessageReceived(1, 1, 0, ClientProduceResponse([one])))
    assert out.take() == [Close(1)]
    assert reported == [one]
    assert answers == [ClientProduceResponse([one])]
    assert not out.route(now, ConnectionLost(1, "late"))


def test_a_dead_client_is_reported_and_requests_are_bounded() -> None:
    out, asker = Outbox(), ClientRequests()
    answers: list[Message | Failure] = []
    for _ in range(REQUESTS_MAX):
        asker.ask(out, "client-1", ClientMetadataRequest(BrokerId(0)), lambda now, out, answer: answers.append(answer))
    with pytest.raises(TooManyClientRequests, match="clients: 256 requests are under way"):
        asker.ask(out, "client-1", ClientMetadataRequest(BrokerId(0)), lambda now, out, answer: answers.append(answer))
    assert out.route(Now(0, 0), ConnectionLost(1, "killed"))
    assert answers == [Failure("ConnectionResetError", "killed", True)]
