"""Reads and conditional writes of partition states in ZooKeeper (semantics 4.1).

A write succeeds only if the znode's version is unchanged. From 2.1 each write is a multi that also checks the
version of `/controller_epoch`. A former controller cannot write any more, and learns of it (`ControllerMoved`,
KAFKA-6082). Any other refusal is a failure of those partitions alone (KafkaZkClient.updateLeaderAndIsr,
PartitionStateMachine). Up to 1.0 the controller reads and writes partitions one by one.
"""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from controller.controller_context import ControllerContext, ControllerMoved, WriteRefused
from controller.session_calls import Procedure, SessionRequests, perform, perform_all
from protocol.ids import TopicPartition
from protocol.messages.session_messages import (
    Check,
    Create,
    GetData,
    Operation,
    OpResult,
    SessionError,
    SessionRequest,
    SessionResponse,
    SetData,
    WriteOp,
)
from protocol.znodes import (
    CONTROLLER_EPOCH,
    Leadership,
    decode_state,
    decode_topic_config,
    encode_state,
    partition_path,
    partitions_path,
    state_path,
    topic_config_path,
)

UNCLEAN_LEADER_ELECTION = "unclean.leader.election.enable"


class Written(msgspec.Struct, frozen=True):
    """Results of conditional writes.

    `done`: with their new zk_version. `outdated`: another client wrote first; read again. `failed`: error by
    partition.
    """

    done: dict[TopicPartition, Leadership]
    outdated: list[TopicPartition]
    failed: dict[TopicPartition, int]


def checked_writes(
    context: ControllerContext, operations: Sequence[WriteOp], epoch_zk_version: int | None = None
) -> Procedure[list[OpResult]]:
    """Execute writes of the controller, pipelined; one result each, in order.

    `epoch_zk_version`: of a term that is over. Raises ControllerMoved or WriteRefused.
    """
    if not operations:
        return []
    if not context.gates.controller_epoch_multi:
        if context.gates.batched_controller_writes:
            plain: list[Operation] = list(operations)
            return (yield from perform_all(plain))
        results = []
        for operation in operations:
            results.append((yield from perform(operation)))
        return results
    check = Check(CONTROLLER_EPOCH, context.state.epoch_zk_version if epoch_zk_version is None else epoch_zk_version)
    answers: list[SessionResponse] = yield SessionRequests(
        [SessionRequest([check, operation], multi=True) for operation in operations]
    )
    return [_outcome(answer) for answer in answers]


def _outcome(answer: SessionResponse) -> OpResult:
    """Result of a checked write. Raises ControllerMoved if the epoch's check failed.

    Raises WriteRefused if the check failed otherwise: the session is at another server (semantics 5.2), or there is
    no epoch.
    """
    assert len(answer.results) == 2, answer
    checked, result = answer.results
    if checked.error == SessionError.BAD_VERSION:
        raise ControllerMoved("/controller_epoch is not what this controller wrote")
    if checked.error:
        raise WriteRefused(checked.error)
    if answer.error:
        return OpResult(error=answer.error)
    return result


def read_states(
    context: ControllerContext, partitions: Sequence[TopicPartition]
) -> Procedure[dict[TopicPartition, Leadership]]:
    """Read the current states; partitions without a state znode are left out."""
    reads = [GetData(state_path(*partition)) for partition in partitions]
    results: list[OpResult] = []
    if context.gates.batched_controller_writes:
        results = yield from perform_all(reads)
    else:
        for read in reads:
            results.append((yield from perform(read)))
    return {
        partition: decode_state(*partition, result.data, result.version)
        for partition, result in zip(partitions, results, strict=True)
        if not result.error
    }


def write_states(context: ControllerContext, states: Mapping[TopicPartition, Leadership]) -> Procedure[Written]:
    """Write each state if the znode's version is unchanged, with this controller's epoch.

    If ZooKeeper refuses a check, all states count as failed, the written ones included (updateLeaderAndIsr). Raises
    ControllerMoved.
    """
    stamped = {p: replace(state, controller_epoch=context.state.epoch) for p, state in states.items()}
    operations = [SetData(state_path(*p), encode_state(s), s.zk_version) for p, s in stamped.items()]
    try:
        results = yield from checked_writes(context, operations)
    except WriteRefused as refused:
        return Written({}, [], dict.fromkeys(states, refused.error))
    written = Written({}, [], {})
    for (partition, state), result in zip(stamped.items(), results, strict=True):
        if not result.error:
            written.done[partition] = replace(state, zk_version=result.version)
        elif result.error == SessionError.BAD_VERSION:
            version = yield from _version_if_ours(context, partition, state)
            if version is None:
                written.outdated.append(partition)
            else:
                written.done[partition] = replace(state, zk_version=version)
        else:
            written.failed[partition] = result.error
    return written


def _version_if_ours(context: ControllerContext, partition: TopicPartition, state: Leadership) -> Procedure[int | None]:
    """Version of a state that this controller wrote, recognized by its content; None: not ours.

    Up to 1.0, for a write whose response was lost (ReplicationUtils). Later versions elect once more instead, with
    one more epoch.
    """
    if context.gates.batched_controller_writes:
        return None
    found = (yield from read_states(context, [partition])).get(partition)
    if found is None or not found.same_decision(state) or found.controller_epoch != state.controller_epoch:
        return None
    return found.zk_version


def create_states(context: ControllerContext, states: Mapping[TopicPartition, Leadership]) -> Procedure[Written]:
    """Create first states of new partitions, with the znodes above them. Raises ControllerMoved.

    A refused check on the way fails all of them (initializeLeaderAndIsrForPartitions).
    """
    topics = sorted({topic for topic, _ in states})
    creates = [Create(state_path(*partition), encode_state(state)) for partition, state in states.items()]
    try:
        yield from checked_writes(context, [Create(partitions_path(topic)) for topic in topics])
        yield from checked_writes(context, [Create(partition_path(*partition)) for partition in states])
        results = yield from checked_writes(context, creates)
    except WriteRefused as refused:
        return Written({}, [], dict.fromkeys(states, refused.error))
    written = Written({}, [], {})
    for (partition, state), result in zip(states.items(), results, strict=True):
        if result.error:
            written.failed[partition] = result.error
        else:
            written.done[partition] = replace(state, zk_version=0)
    return written


def unclean_election_enabled(context: ControllerContext, topics: Sequence[str]) -> Procedure[dict[str, bool]]:
    """Whether unclean election is enabled, by topic: its own setting, else the broker's."""
    default = context.settings.unclean_leader_election_enable
    results = yield from perform_all([GetData(topic_config_path(topic)) for topic in topics])
    enabled = {}
    for topic, result in zip(topics, results, strict=True):
        own = {} if result.error else decode_topic_config(topic, result.data)
        enabled[topic] = own.get(UNCLEAN_LEADER_ELECTION, str(default)).lower() == "true"
    return enabled
