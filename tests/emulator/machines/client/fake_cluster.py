"""A cluster for client tests: virtual time, scripted brokers, a log per partition.

Not Kafka: it appends what a leader would append, remembers idempotent batches, and does to each produce
request what the script says. Every message takes LATENCY_MS. Connections are streams: behind a lost request
nothing arrives either, behind a lost answer no other.
"""

import heapq
from collections.abc import Callable, Iterator
from typing import Literal

from protocol.errors import ErrorCode
from protocol.events import Event, OperationEnded, OperationInvoked
from protocol.ids import EPOCH_UNKNOWN, NO_OFFSET, BrokerId, LeaderEpoch, Offset
from protocol.machine import (
    CancelTimer,
    Close,
    ConnectionLost,
    ConnectionOpened,
    Effect,
    Emit,
    Exit,
    Input,
    Loss,
    Machine,
    MessageReceived,
    Now,
    Open,
    Send,
    SetTimer,
    TimerFired,
    TimerKey,
)
from protocol.messages.groups import (
    CommittedPartition,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from protocol.messages.leadership_messages import (
    BrokerEndpoint,
    MetadataRequest,
    MetadataResponse,
    PartitionError,
    PartitionMetadata,
)
from protocol.messages.membership import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinedMember,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from protocol.messages.message_base import Message
from protocol.messages.replication_messages import (
    EpochEnd,
    FetchedPartition,
    FetchRequest,
    FetchResponse,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    ProduceRequest,
    ProduceResponse,
    ProduceResult,
)
from protocol.messages.transactions import InitProducerIdRequest, InitProducerIdResponse
from protocol.outbox import Outbox
from protocol.records.format import iter_headers, place, read_header, read_records

LATENCY_MS = 1.0
WALL_MS = 1_700_000_000_000.0
FETCH_ENTRIES = 5
"""Batches per fetch answer."""

Fate = Literal["ok", "request lost", "answer lost", "reset", "append and reset"] | int
"""Fate of a produce request.
A code answers with that error (7 and 20 append, as in Kafka).
"""


class Partition:
    """A log and its leader.
    `remembered`: per producer id its epoch and last batches (first, last, base offset).
    """

    def __init__(self, leader: int = 0, epoch: int = 0) -> None:
        self.leader = leader
        self.epoch = epoch
        self.entries: list[bytes] = []
        self.log_start = 0
        self.followers: dict[int, int] = {}
        """{broker: end of its log}: each has the leader's records up to there"""
        self.preferred: dict[str, int] = {}
        """{rack: follower that the leader names to its consumers (KIP-392)}"""
        self.remembered: dict[int, tuple[int, list[tuple[int, int, int]]]] = {}

    @property
    def log_end(self) -> int:
        return read_header(self.entries[-1]).next_offset if self.entries else self.log_start

    @property
    def values(self) -> list[bytes]:
        return [record.value or b"" for entry in self.entries for record in read_records(entry)]

    def append(self, data: bytes) -> tuple[int, int]:
        """(error, base offset), by the rules for idempotent batches of 2.5.
        An unknown producer may begin anywhere.
        """
        header = read_header(data)
        base = self.log_end
        if header.producer_id >= 0:
            epoch, batches = self.remembered.get(header.producer_id, (header.producer_epoch, []))
            if header.producer_epoch < epoch:
                return ErrorCode.INVALID_PRODUCER_EPOCH, -1
            if header.producer_epoch > epoch:
                if header.base_sequence != 0:
                    return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1
                batches = []
            for first, last, offset in batches:
                if (first, last) == (header.base_sequence, header.last_sequence):
                    return 0, offset
            if batches and header.base_sequence != batches[-1][1] + 1:
                return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1
            batches = [*batches[-4:], (header.base_sequence, header.last_sequence, base)]
            self.remembered[header.producer_id] = (header.producer_epoch, batches)
        self.entries.append(place(data, Offset(base), LeaderEpoch(self.epoch)))
        return 0, base

    def truncate(self, to: int) -> None:
        """Drop whole batches from `to` on."""
        self.entries = [entry for entry in self.entries if read_header(entry).last_offset < to]

    def epoch_end(self, requested: int) -> tuple[int, int]:
        """(largest epoch <= asked, where it ends), as KIP-279 answers."""
        epochs = [(h.leader_epoch, h.base_offset) for e in self.entries for _, h in iter_headers(e)]
        held = [epoch for epoch, _ in epochs if epoch <= requested]
        if not held:
            return -1, -1
        after = [base for epoch, base in epochs if epoch > requested]
        return max(held), min(after) if after else self.log_end


class FakeCluster:
    """Runs one component, or a machine, against `brokers` brokers named broker-0, ...

    What a machine sends on connections that it accepted is `told`.
    """

    def __init__(self, brokers: int = 1, fates: Iterator[Fate] | None = None) -> None:
        self.brokers = list(range(brokers))
        self.partitions: dict[tuple[str, int], Partition] = {}
        self.fates = fates
        self.down: set[str] = set()
        self.silent: set[str] = set()
        self.out = Outbox()
        self.events: list[tuple[float, Event]] = []
        self.requests: list[tuple[float, str, Message]] = []
        self.sent: list[tuple[float, Send]] = []
        self.machine: Machine | None = None
        self.told: list[tuple[float, Send]] = []
        self.exited = False
        self.checks: list[Callable[[], None]] = []
        self.coordinator = 0
        self.committed: dict[tuple[str, str, int], tuple[Offset, LeaderEpoch]] = {}
        """{(group, topic, partition): (offset, leader epoch)}"""
        self.group_codes: list[int] = []
        """Answers to the next commits and questions about them; then 0."""
        self.finding_codes: list[int] = []
        """The same for questions for the coordinator."""
        self.listing_codes: list[int] = []
        """Answers to the next questions for the begin or end of a log; then 0."""
        self.member_answers: dict[type[Message], list[Message | None]] = {}
        """Answers to the next JoinGroup, ...; None: no answer.
        Then: as to the only member.
        """
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._seq = 0
        self._ms = 0.0
        self._timers: dict[TimerKey, int] = {}
        self.connections: dict[int, str] = {}
        self._unopened: list[int] = []
        self._deaf: set[int] = set()
        self._mute: set[int] = set()
        self._next_producer_id = 1000

    @property
    def now(self) -> Now:
        return Now(self._ms, WALL_MS + self._ms)

    def add(self, topic: str = "t", partition: int = 0, leader: int = 0) -> Partition:
        made = self.partitions[topic, partition] = Partition(leader)
        return made

    def at(self, ms: float, action: Callable[[], None]) -> None:
        """Do `action` at that time."""
        self._push(ms, action)

    def run(self, until_ms: float) -> None:
        """Let time pass."""
        self.flush()
        while self._heap and self._heap[0][0] <= until_ms:
            ms, _, action = heapq.heappop(self._heap)
            self._ms = max(self._ms, ms)
            action()
            self.flush()
            for check in self.checks:
                check()
        self._ms = until_ms

    def stall(self, ms: float) -> None:
        """The whole machine stands still: what was due meanwhile comes late."""
        self._ms += ms

    def flush(self) -> None:
        """Do what the component ordered."""
        self.do(self.out.take())

    def give(self, event: Input) -> None:
        """An input for the component, or the machine."""
        if self.machine is not None:
            self.do(self.machine.step(self.now, event))
            return
        assert self.out.route(self.now, event), event

    def do(self, effects: list[Effect]) -> None:
        """Apply the ordered effects."""
        for effect in effects:
            match effect:
                case Send(connection=connection) if connection < 0:
                    self.told.append((self._ms, effect))
                case Close(connection=connection) if connection < 0:
                    pass
                case Exit():
                    self.exited = True
                case Open(connection=connection, to=to):
                    self.connections[connection] = to
                    if to in self.down:
                        self._deliver(ConnectionLost(connection, Loss.REFUSED.value, Loss.REFUSED), connection)
                    elif to in self.silent:
                        self._unopened.append(connection)
                    else:
                        self._deliver(ConnectionOpened(connection), connection)
                case Close(connection=connection):
                    del self.connections[connection]
                case Send(connection=connection, correlation_id=correlation, message=message):
                    node = self.connections[connection]
                    self.requests.append((self._ms, node, message))
                    self.sent.append((self._ms, effect))
                    if node not in self.silent:
                        self._push(self._ms + LATENCY_MS, self._arrival(node, connection, correlation, message))
                case SetTimer(key=key, after_ms=after_ms):
                    self._seq += 1
                    self._timers[key] = self._seq
                    self._push(self._ms + after_ms, self._expiry(key, self._seq))
                case CancelTimer(key=key):
                    self._timers.pop(key, None)
                case Emit(event=event):
                    self.events.append((self._ms, event))

    def wake(self) -> None:
        """End the silence of all brokers.
        Connections come about after all (TCP tries again), requests are lost.
        """
        self.silent = set()
        for connection in self._unopened:
            self._deliver(ConnectionOpened(connection), connection)
        self._unopened = []

    def lose_connections(self, node: str) -> None:
        """The broker's process ends: its connections are torn."""
        for connection, to in list(self.connections.items()):
            if to == node:
                self._lose(connection)

    def ended(self) -> list[tuple[float, OperationEnded]]:
        return [(ms, event) for ms, event in self.events if isinstance(event, OperationEnded)]

    def invoked(self) -> list[tuple[float, OperationInvoked]]:
        return [(ms, event) for ms, event in self.events if isinstance(event, OperationInvoked)]

    def open_connections(self) -> int:
        return len(self.connections)

    def _push(self, ms: float, action: Callable[[], None]) -> None:
        self._seq += 1
        heapq.heappush(self._heap, (ms, self._seq, action))

    def _expiry(self, key: TimerKey, number: int) -> Callable[[], None]:
        def fire() -> None:
            if self._timers.get(key) == number:
                del self._timers[key]
                self.give(TimerFired(key))

        return fire

    def _deliver(self, event: Input, connection: int) -> None:
        def arrive() -> None:
            if connection in self.connections:
                if isinstance(event, ConnectionLost):
                    del self.connections[connection]
                self.give(event)

        self._push(self._ms + LATENCY_MS, arrive)

    def _lose(self, connection: int) -> None:
        self._deliver(ConnectionLost(connection, "reset by the peer"), connection)

    def _arrival(
        self, node: str, connection: int, correlation: int, message: Message, parked: bool = False
    ) -> Callable[[], None]:
        def arrive() -> None:
            if node in self.silent or node in self.down or connection in self._deaf:
                return
            answer: Message | None
            if isinstance(message, ProduceRequest):
                answer = self._produce(node, connection, message)
            else:
                answer = self._answer(node, message)
            if isinstance(message, FetchRequest) and not parked and is_empty(answer):
                again = self._arrival(node, connection, correlation, message, parked=True)
                self._push(self._ms + message.max_wait_ms, again)
                return
            if answer is not None and connection not in self._mute:
                self._deliver(MessageReceived(connection, correlation, 0, answer), connection)

        return arrive

    def _produce(self, node: str, connection: int, request: ProduceRequest) -> Message | None:
        fate: Fate = next(self.fates, "ok") if self.fates is not None else "ok"
        if fate in ("request lost", "reset"):
            self._deaf.add(connection)
            if fate == "reset":
                self._lose(connection)
            return None
        appends = not isinstance(fate, int) or fate in (7, 20)
        results = []
        for each in request.partitions:
            partition = self.partitions.get((each.topic, each.partition))
            error, base = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), -1
            if partition is not None:
                error, base = (
                    partition.append(each.records) if appends and node == f"broker-{partition.leader}" else (6, -1)
                )
                if isinstance(fate, int) and (error == 0 or not appends):
                    error = fate
            results.append(ProduceResult(each.topic, each.partition, error, Offset(base)))
        if fate in ("answer lost", "append and reset"):
            self._mute.add(connection)
        if fate == "append and reset":
            self._deaf.add(connection)
            self._lose(connection)
        if request.acks == 0:
            return None
        return ProduceResponse(results)

    def _answer(self, node: str, message: Message) -> Message | None:
        match message:
            case MetadataRequest():
                live = [
                    BrokerEndpoint(BrokerId(b), f"broker-{b}") for b in self.brokers if f"broker-{b}" not in self.down
                ]
                parts = [
                    PartitionMetadata(
                        *k, 0, BrokerId(p.leader), LeaderEpoch(p.epoch),
                        replicas=[BrokerId(b) for b in (p.leader, *p.followers)],
                    )
                    for k, p in self.partitions.items()
                ]
                return MetadataResponse(BrokerId(0), live, parts)
            case FindCoordinatorRequest():
                code = self.finding_codes.pop(0) if self.finding_codes else 0
                if code:
                    return FindCoordinatorResponse(code)
                return FindCoordinatorResponse(0, BrokerId(self.coordinator), f"broker-{self.coordinator}")
            case OffsetCommitRequest() | OffsetFetchRequest():
                return self._group(node, message)
            case JoinGroupRequest() | SyncGroupRequest() | HeartbeatRequest() | LeaveGroupRequest():
                return self._member(message)
            case InitProducerIdRequest():
                self._next_producer_id += 1
                return InitProducerIdResponse(0, self._next_producer_id, 0)
            case FetchRequest():
                return FetchResponse([self._read(node, message, index) for index in range(len(message.partitions))])
            case ListOffsetsRequest(partitions=requested):
                listed = []
                code = self.listing_codes.pop(0) if self.listing_codes else 0
                for each in requested:
                    partition = self.partitions[each.topic, each.partition]
                    offset = partition.log_end if each.timestamp == -1 else partition.log_start
                    listed.append(
                        ListedOffset(each.topic, each.partition, code, Offset(offset), LeaderEpoch(partition.epoch))
                    )
                return ListOffsetsResponse(listed)
            case OffsetForLeaderEpochRequest(partitions=questions):
                answers = []
                for question in questions:
                    epoch, end = self.partitions[question.topic, question.partition].epoch_end(question.leader_epoch)
                    answers.append(EpochEnd(question.topic, question.partition, 0, LeaderEpoch(epoch), Offset(end)))
                return OffsetForLeaderEpochResponse(answers)
        raise AssertionError(message)

    def _member(
        self, message: JoinGroupRequest | SyncGroupRequest | HeartbeatRequest | LeaveGroupRequest
    ) -> Message | None:
        scripted = self.member_answers.get(type(message))
        if scripted:
            return scripted.pop(0)
        match message:
            case JoinGroupRequest(member=member, protocols=protocols):
                name, first = member or "m-1", protocols[0]
                joined = [JoinedMember(name, first.metadata)]
                return JoinGroupResponse(0, 1, "consumer", first.name, name, name, joined)
            case SyncGroupRequest(member=member, assignments=assignments):
                given = {one.member: one.assignment for one in assignments}
                return SyncGroupResponse(0, "consumer", "range", given.get(member, b""))
            case HeartbeatRequest():
                return HeartbeatResponse()
            case LeaveGroupRequest(members=members):
                return LeaveGroupResponse(0, members)

    def _group(self, node: str, message: OffsetCommitRequest | OffsetFetchRequest) -> Message:
        code = self.group_codes.pop(0) if self.group_codes else 0
        if node != f"broker-{self.coordinator}":
            code = ErrorCode.NOT_COORDINATOR
        group = message.group
        if isinstance(message, OffsetCommitRequest):
            for each in message.partitions if not code else []:
                self.committed[group, each.topic, each.partition] = (each.offset, each.leader_epoch)
            return OffsetCommitResponse([PartitionError(p.topic, p.partition, code) for p in message.partitions])
        if code:
            return OffsetFetchResponse(code)
        topic_partitions = [(p.topic, p.partition) for p in message.partitions]
        return OffsetFetchResponse(
            0,
            [
                CommittedPartition(*p, *self.committed.get((group, *p), (NO_OFFSET, EPOCH_UNKNOWN)))
                for p in topic_partitions
            ],
        )

    def _read(self, node: str, request: FetchRequest, index: int) -> FetchedPartition:
        requested = request.partitions[index]
        topic_partition = (requested.topic, requested.partition)
        partition = self.partitions[topic_partition]
        leads, follower = node == f"broker-{partition.leader}", int(node.removeprefix("broker-"))
        if not leads and follower not in partition.followers:
            return FetchedPartition(*topic_partition, 6)
        end = partition.log_end if leads else partition.followers[follower]
        if requested.current_leader_epoch >= 0 and requested.current_leader_epoch != partition.epoch:
            return FetchedPartition(*topic_partition, 74 if requested.current_leader_epoch < partition.epoch else 75)
        if leads and request.rack in partition.preferred:
            named = BrokerId(partition.preferred[request.rack])
            return FetchedPartition(*topic_partition, 0, Offset(end), preferred_replica=named)
        if not partition.log_start <= requested.fetch_offset <= end:
            return FetchedPartition(*topic_partition, 1)
        held = [e for e in partition.entries if requested.fetch_offset <= read_header(e).last_offset < end]
        return FetchedPartition(
            *topic_partition, 0, Offset(end), Offset(partition.log_start), None, b"".join(held[:FETCH_ENTRIES])
        )


def is_empty(answer: Message | None) -> bool:
    """An answer to a fetch without records or errors: a broker parks such a fetch."""
    return isinstance(answer, FetchResponse) and not any(
        each.error or each.records or each.preferred_replica >= 0 for each in answer.partitions
    )
