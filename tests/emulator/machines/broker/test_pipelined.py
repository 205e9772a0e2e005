"""Five hundred requests of a kind behind one that is parked.
Answered when it is, in order, and not one inside the other (semantics 1.8, 1.9).
"""

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from emulator.machines.broker.request_channel import PIPELINED_MAX
from protocol.ids import BrokerId, ControllerEpoch, LeaderEpoch, Offset
from protocol.machine import Send
from protocol.messages.groups import (
    FindCoordinatorRequest,
    GroupPartition,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetToCommit,
)
from protocol.messages.leadership_messages import (
    AlterIsrRequest,
    AlterIsrResponse,
    BrokerEndpoint,
    MetadataRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from protocol.messages.message_base import Message
from protocol.messages.replication_messages import (
    CONSUMER_REPLICA_ID,
    EpochRequest,
    FetchPartition,
    FetchRequest,
    ListOffsetsPartition,
    ListOffsetsRequest,
    OffsetForLeaderEpochRequest,
    ProducePartition,
    ProduceRequest,
)
from protocol.messages.transactions import InitProducerIdRequest
from verification.broker_bench import T0, Bench, batch

DEEP = 120
"""Frames of Python's stack that one request may take.
Five hundred inside each other take thousands.
"""

KINDS: dict[str, Callable[[], Message]] = {
    "produce acks=1": lambda: ProduceRequest(1, 1500, [ProducePartition(*T0, batch("a"))]),
    "produce acks=all": lambda: ProduceRequest(-1, 100, [ProducePartition(*T0, batch("a"))]),
    "fetch": lambda: FetchRequest(CONSUMER_REPLICA_ID, 0, 0, 1000, [FetchPartition(*T0, Offset(0))]),
    "fetch that is parked": lambda: FetchRequest(CONSUMER_REPLICA_ID, 10, 1, 1000, [FetchPartition(*T0, Offset(0))]),
    "fetch of an offset that is not there": lambda: FetchRequest(
        CONSUMER_REPLICA_ID, 500, 1, 1000, [FetchPartition(*T0, Offset(9))]
    ),
    "metadata": MetadataRequest,
    "list offsets": lambda: ListOffsetsRequest(CONSUMER_REPLICA_ID, [ListOffsetsPartition(*T0, -1)]),
    "epoch ends": lambda: OffsetForLeaderEpochRequest([EpochRequest(*T0, LeaderEpoch(0))]),
    "producer id": InitProducerIdRequest,
    "find coordinator": lambda: FindCoordinatorRequest("g"),
    "offset fetch": lambda: OffsetFetchRequest("g", [GroupPartition(*T0)]),
    "offset commit": lambda: OffsetCommitRequest("g", [OffsetToCommit(*T0, Offset(1))]),
    "stop replica": lambda: StopReplicaRequest(BrokerId(0), ControllerEpoch(1), []),
    "update metadata": lambda: UpdateMetadataRequest(
        BrokerId(0), ControllerEpoch(1), [], [BrokerEndpoint(BrokerId(0), "broker-0", "az-0")]
    ),
    "alter isr": lambda: AlterIsrRequest(BrokerId(1), 100, []),
}


@contextmanager
def shallow() -> Iterator[None]:
    """Within it the stack has room for DEEP frames more."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + DEEP)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("version", ["2.6", "2.8"])
def test_five_hundred_behind_one_that_is_parked(kind: str, version: str) -> None:
    bench = Bench(version)
    bench.lead(isr=(0, 1))
    bench.broker._for_controller = lambda request, reply: reply(AlterIsrResponse(0, []))
    connection = bench.connect()
    bench.send(connection, FetchRequest(CONSUMER_REPLICA_ID, 500, 1, 1000, [FetchPartition(*T0, Offset(0))]))
    with shallow():
        for _ in range(PIPELINED_MAX):
            bench.send(connection, KINDS[kind]())
        assert bench.answers(connection) == [] and bench.broker.requests.pipelined == PIPELINED_MAX
        bench.advance(500.0)
        for _ in range(PIPELINED_MAX):
            bench.advance(100.0)
    sent = [e.correlation_id for e in bench.effects if isinstance(e, Send) and e.connection == connection]
    assert sent == sorted(sent) and len(set(sent)) == len(sent) == 1 + PIPELINED_MAX
    assert bench.broker.requests.pipelined == 0 and bench.context.threads.waiting_tasks() == []
