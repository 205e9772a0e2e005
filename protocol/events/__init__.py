"""Events that processes write, one JSON line each. Spark's schema is derived from here.

A line is the envelope and the event's own fields, flat:

    {"format":2, "run":..., "node":"broker-0", "incarnation":1, "seq":17, "cause":"client-0.1#3/5",
     "mono_ms":..., "wall_ms":..., "at_ms":..., "level":"replica", "event":"log_truncated", "topic":"t",
     "partition":0, "to":2, ...}

`seq` grows by one per node and incarnation. `at_ms` is scenario time, from the cluster's launch. `cause` is the input
that led to it: `CONNECTION/N` for the N-th frame received on a connection, `timer:NAME`, `start`, `command`, ... A
connection is named by its opener: `NODE.INCARNATION#ID`; the N-th frame sent on it in one direction is the N-th
received, which gives the edges by which checks order events of different nodes. Clocks only give positions in pictures.

Levels: `client` (operations), `replica` (roles, logs, elections, sessions, faults), `frame_events` (every frame).
A field name has one type everywhere (asserted below), so that all events share one flat table. Fields that came later
have a default, which stands for a run that does not have them yet.

Reading order: `event_base`, `operation_events` (client level), then the replica level: `process_events`, `log_events`,
`leadership_events`, `controller_events` (controller and session service), `quorum_events` (KRaft),
`transaction_events`, `fault_events`; at last `frame_events`. `event_parsing`: whether a line is an event.
`record_values`: an event with several records.
"""

from typing import Final

import msgspec

from protocol.events import (
    controller_events,
    fault_events,
    frame_events,
    leadership_events,
    log_events,
    operation_events,
    process_events,
    quorum_events,
    transaction_events,
)
from protocol.events.controller_events import (
    BrokersHandled,
    BrokersSeen,
    ControllerChanged,
    EnsembleChanged,
    ReplicasMarkedOffline,
    SessionChanged,
    SessionEnded,
    StateDecided,
    TopicDeletionChanged,
    TopicRemoved,
    ZnodeChanged,
)
from protocol.events.event_base import EVENT_FORMAT, FORMATS_READ, LEVELS, Event, Level, OfPartition, OfTopic, ids_text
from protocol.events.fault_events import (
    FaultHealed,
    FaultInForce,
    FaultLasted,
    FaultRequested,
    FaultTraffic,
    FaultTried,
    HardwareChanged,
    MachineFault,
    ScenarioStep,
)
from protocol.events.frame_events import (
    ConnectionChanged,
    FrameReceived,
    FrameRefused,
    FrameSent,
    FrameStopped,
)
from protocol.events.leadership_events import (
    BrokerConfigured,
    EpochAnswered,
    FetcherChanged,
    FetchOffsetReset,
    FetchOutOfRange,
    GroupChanged,
    GroupCoordinatorChanged,
    IsrChangeEnded,
    IsrChangeRequested,
    LeaderAndIsrIgnored,
    MetadataChanged,
    PartitionBlocked,
    RequestNotUnderstood,
    RoleChanged,
    TopicConfigured,
)
from protocol.events.log_events import (
    BatchAppended,
    DuplicateAnswered,
    HighWatermarkMoved,
    LeaderEpochBegan,
    LogCreated,
    LogDeleted,
    LogDirFailed,
    LogLoaded,
    LogStartMoved,
    LogTruncated,
)
from protocol.events.operation_events import (
    AttemptEnded,
    AttemptSent,
    GroupMemberChanged,
    OperationEnded,
    OperationInvoked,
    PositionLeft,
    ProducerTransactionChanged,
    RecordsRead,
)
from protocol.events.process_events import (
    NodeStarted,
    NodeStopped,
    TimerLateness,
)
from protocol.events.quorum_events import (
    BrokerLifecycleChanged,
    BrokerRegistrationCommitted,
    MetadataCommitted,
    MetadataSnapshot,
    PartitionStateCommitted,
    QuorumStateChanged,
)
from protocol.events.transaction_events import (
    TransactionBatchAppended,
    TransactionCoordinatorChanged,
    TransactionStateChanged,
)

__all__ = [
    "ENVELOPE",
    "EVENTS",
    "EVENT_FORMAT",
    "FIELDS",
    "FORMATS_READ",
    "LEVELS",
    "AttemptEnded",
    "AttemptSent",
    "BatchAppended",
    "BrokerConfigured",
    "BrokerLifecycleChanged",
    "BrokerRegistrationCommitted",
    "BrokersHandled",
    "BrokersSeen",
    "ConnectionChanged",
    "ControllerChanged",
    "DuplicateAnswered",
    "EnsembleChanged",
    "EpochAnswered",
    "Event",
    "FaultHealed",
    "FaultInForce",
    "FaultLasted",
    "FaultRequested",
    "FaultTraffic",
    "FaultTried",
    "FetchOffsetReset",
    "FetchOutOfRange",
    "FetcherChanged",
    "FrameReceived",
    "FrameRefused",
    "FrameSent",
    "FrameStopped",
    "GroupChanged",
    "GroupCoordinatorChanged",
    "GroupMemberChanged",
    "HardwareChanged",
    "HighWatermarkMoved",
    "IsrChangeEnded",
    "IsrChangeRequested",
    "LeaderAndIsrIgnored",
    "LeaderEpochBegan",
    "Level",
    "LogCreated",
    "LogDeleted",
    "LogDirFailed",
    "LogLoaded",
    "LogStartMoved",
    "LogTruncated",
    "MachineFault",
    "MetadataChanged",
    "MetadataCommitted",
    "MetadataSnapshot",
    "NodeStarted",
    "NodeStopped",
    "OfPartition",
    "OfTopic",
    "OperationEnded",
    "OperationInvoked",
    "PartitionBlocked",
    "PartitionStateCommitted",
    "PositionLeft",
    "ProducerTransactionChanged",
    "QuorumStateChanged",
    "RecordsRead",
    "ReplicasMarkedOffline",
    "RequestNotUnderstood",
    "RoleChanged",
    "ScenarioStep",
    "SessionChanged",
    "SessionEnded",
    "StateDecided",
    "TimerLateness",
    "TopicConfigured",
    "TopicDeletionChanged",
    "TopicRemoved",
    "TransactionBatchAppended",
    "TransactionCoordinatorChanged",
    "TransactionStateChanged",
    "ZnodeChanged",
    "field_types",
    "ids_text",
]


EVENTS: Final[dict[str, type[Event]]] = {
    cls.NAME: cls
    for module in (
        operation_events, process_events, log_events, leadership_events, controller_events, quorum_events,
        transaction_events, fault_events, frame_events,
    )
    for cls in vars(module).values()
    if isinstance(cls, type) and issubclass(cls, Event) and cls.NAME
}

ENVELOPE: dict[str, type] = {
    "format": int, "run": str, "node": str, "incarnation": int, "seq": int, "cause": str,
    "mono_ms": float, "wall_ms": float, "at_ms": float, "level": str, "event": str,
}  # fmt: skip
"""Fields of every line, in the order of writing."""


def field_types() -> dict[str, type]:
    """{field: type} of all events, envelope first: the columns of the audit's table."""
    columns = dict(ENVELOPE)
    for cls in EVENTS.values():
        for field in msgspec.structs.fields(cls):
            known = columns.setdefault(field.name, field.type)
            assert known is field.type, f"{cls.NAME}.{field.name} is {field.type}, elsewhere {known}"
    return columns


FIELDS: dict[str, type] = field_types()
