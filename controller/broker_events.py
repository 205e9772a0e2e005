"""Handlers of broker startup, failure and bounce (semantics 4.2), in Kafka's order of steps."""

from msgspec.structs import replace

from controller import partition_states, replica_states
from controller.controller_context import ControllerContext
from controller.reassignment import resume_on
from controller.session_calls import Procedure, SenderEnded, perform
from controller.state import PartitionPosition, Replica, ReplicaPosition
from controller.term import read_brokers
from controller.topic_deletion import fail_replicas, resume_topics
from protocol.events import BrokersHandled, BrokersSeen, ids_text
from protocol.ids import BrokerId
from protocol.messages.session_messages import GetData
from protocol.znodes import BrokerRegistration, broker_path, decode_broker


def brokers_changed(context: ControllerContext) -> Procedure[None]:
    """Handle a change of the children of `/brokers/ids`.

    2.2+ (KIP-380): an id with a newer czxid bounced. The controller handles it as a failure and then a startup. It
    handles new brokers before dead ones leave the live set.
    Before 2.2 the controller replaces the live set at once, and does not see a bounce.
    """
    if not context.active:
        return
    state = context.state
    found = yield from read_brokers()
    new = sorted(found.keys() - state.brokers.keys())
    dead = sorted(state.brokers.keys() - found.keys())
    bounced: list[BrokerId] = []
    if context.gates.broker_epochs:
        both = sorted(found.keys() & state.brokers.keys())
        bounced = [broker for broker in both if found[broker].epoch > state.brokers[broker].epoch]
    else:
        _replace_live_set(context, found)
    context.emit(BrokersSeen(ids_text(new), ids_text(dead), ids_text(bounced), ids_text(sorted(found))))
    for broker in new:
        context.channels.add(broker)
    for broker in bounced:
        yield from _remove_channel(context, broker)
        context.channels.add(broker)
    for broker in dead:
        yield from _remove_channel(context, broker)
    if new:
        for broker in new:
            state.brokers[broker] = found[broker]
        yield from _started(context, new)
    if bounced:
        for broker in bounced:
            del state.brokers[broker]
        yield from _failed(context, bounced)
        for broker in bounced:
            state.brokers[broker] = found[broker]
        yield from _started(context, bounced)
    if dead:
        for broker in dead:
            state.brokers.pop(broker, None)
        yield from _failed(context, dead)


def _replace_live_set(context: ControllerContext, found: dict[BrokerId, BrokerRegistration]) -> None:
    context.state.brokers.clear()
    context.state.brokers.update(found)


def _remove_channel(context: ControllerContext, broker: BrokerId) -> Procedure[None]:
    """Remove a broker's channel; up to 2.0 wait for its sender first (semantics 11.13)."""
    if context.gates.failure_waits_for_sender_thread:
        yield SenderEnded(broker)
    context.channels.remove(context.out, broker)


def broker_modified(context: ControllerContext, broker: BrokerId) -> Procedure[None]:
    """Handle a rewritten broker znode: send UpdateMetadata if the registration differs."""
    if not context.active or broker not in context.state.brokers:
        return
    found = yield from perform(GetData(broker_path(broker), watch=True))
    if found.error or broker not in context.state.brokers:
        return
    before = context.state.brokers[broker]
    after = replace(decode_broker(broker, found.data, found.czxid), epoch=before.epoch)
    if after != before:
        context.state.brokers[broker] = after
        context.update_metadata(sorted(context.state.brokers), [])


def _started(context: ControllerContext, brokers: list[BrokerId]) -> Procedure[None]:
    """Bring replicas and partitions of started brokers online (onBrokerStartup).

    Old brokers learn of the new ones (not in 0.8.2); the new brokers receive all metadata.
    """
    state = context.state
    context.emit(BrokersHandled("startup", ids_text(brokers)))
    for broker in brokers:
        state.offline_log_dirs.pop(broker, None)
    if context.gates.metadata_updates_brokers_only:
        context.update_metadata([broker for broker in sorted(state.brokers) if broker not in brokers], [])
        context.update_metadata(brokers, sorted(state.states))
    else:
        context.update_metadata(sorted(state.brokers) if context.gates.live_brokers_to_all else brokers, [])
    replicas = state.replicas_on(brokers)
    yield from replica_states.move(context, replicas, ReplicaPosition.ONLINE)
    yield from partition_states.elect_where_needed(context)
    yield from resume_on(context, brokers)
    deletions = {replica[0] for replica in replicas if state.is_being_deleted(replica[0])}
    if deletions:
        yield from resume_topics(context, deletions)


def unclean_election_enabled(context: ControllerContext, topic: str) -> Procedure[None]:
    """Elect where a newly enabled unclean election permits it.

    `topic`: its own setting changed (KAFKA-6911); "": the setting of the controller's broker (KAFKA-6526).
    """
    if context.active:
        yield from partition_states.elect_where_needed(context, topic)


def _failed(context: ControllerContext, brokers: list[BrokerId]) -> Procedure[None]:
    """Take replicas and partitions of failed brokers offline (onBrokerFailure)."""
    context.emit(BrokersHandled("failure", ids_text(brokers)))
    for broker in brokers:
        context.state.offline_log_dirs.pop(broker, None)
        context.state.shutting_down.discard(broker)
    without_leader = context.state.partitions_without_online_leader()
    if not context.gates.offline_leaders_by_liveness:
        without_leader = [p for p in without_leader if context.state.states[p].leader in brokers]
    yield from replicas_offline(context, context.state.replicas_on(brokers), without_leader)


def replicas_offline(
    context: ControllerContext, replicas: list[Replica], without_leader: list[tuple[str, int]]
) -> Procedure[None]:
    """Take replicas offline (onReplicasBecomeOffline).

    Order: partitions without leader go offline; the controller elects leaders; replicas leave the ISR. If no
    partition lost its leader, UpdateMetadata then names the live brokers. An election sends it anyway, and 0.8.2
    sends nothing more. From 3.1 it is sent if there was neither an election nor a replica (KAFKA-13225).
    """
    state = context.state
    deleted = [replica for replica in replicas if state.is_being_deleted(replica[0])]
    kept = [replica for replica in replicas if not state.is_being_deleted(replica[0])]
    yield from partition_states.move(context, without_leader, PartitionPosition.OFFLINE)
    leaderless = state.partitions_in(PartitionPosition.NEW, PartitionPosition.OFFLINE)
    yield from partition_states.elect_where_needed(context)
    elected = any(state.partitions[partition] is PartitionPosition.ONLINE for partition in leaderless)
    yield from replica_states.move(context, kept, ReplicaPosition.OFFLINE)
    if deleted:
        yield from fail_replicas(context, deleted)
    unreported = not without_leader if context.gates.failure_unreported_while_leaderless else not (kept or elected)
    if unreported and context.gates.live_brokers_to_all:
        context.update_metadata(sorted(state.brokers), [])
