"""Brokers come, go and bounce (semantics 4.2). The order of the steps is the rule here."""

from msgspec.structs import replace

from controller import partition_states, replica_states
from controller.desk import Desk
from controller.reassignment import resume_on
from controller.session_calls import Procedure, SenderEnded, perform
from controller.state import PartitionPosition, Replica, ReplicaPosition
from controller.term import read_brokers
from controller.topic_deletion import fail_replicas, resume_topics
from protocol.events import BrokersHandled, BrokersSeen, ids_text
from protocol.messages.session import GetData
from protocol.znodes import BrokerRegistration, broker_path, decode_broker


def brokers_changed(desk: Desk) -> Procedure[None]:
    """The children of `/brokers/ids` changed.

    2.2+ (KIP-380): an id with a newer czxid bounced, and is handled as a failure and then a startup; new
    brokers are handled before dead ones leave the live set. Before, the live set is replaced at once, and a
    bounce is not seen.
    """
    if not desk.active:
        return
    state = desk.state
    found = yield from read_brokers()
    new = sorted(found.keys() - state.brokers.keys())
    dead = sorted(state.brokers.keys() - found.keys())
    bounced: list[int] = []
    if desk.gates.broker_epochs:
        both = sorted(found.keys() & state.brokers.keys())
        bounced = [broker for broker in both if found[broker].epoch > state.brokers[broker].epoch]
    else:
        _replace_live_set(desk, found)
    desk.emit(BrokersSeen(ids_text(new), ids_text(dead), ids_text(bounced), ids_text(sorted(found))))
    for broker in new:
        desk.channels.add(broker)
    for broker in bounced:
        yield from _remove_channel(desk, broker)
        desk.channels.add(broker)
    for broker in dead:
        yield from _remove_channel(desk, broker)
    if new:
        for broker in new:
            state.brokers[broker] = found[broker]
        yield from _started(desk, new)
    if bounced:
        for broker in bounced:
            del state.brokers[broker]
        yield from _failed(desk, bounced)
        for broker in bounced:
            state.brokers[broker] = found[broker]
        yield from _started(desk, bounced)
    if dead:
        for broker in dead:
            state.brokers.pop(broker, None)
        yield from _failed(desk, dead)


def _replace_live_set(desk: Desk, found: dict[int, BrokerRegistration]) -> None:
    desk.state.brokers.clear()
    desk.state.brokers.update(found)


def _remove_channel(desk: Desk, broker: int) -> Procedure[None]:
    """Up to 2.0 the controller stands still until the sender has ended what it was doing (semantics
    11.13)."""
    if desk.gates.failure_waits_for_sender_thread:
        yield SenderEnded(broker)
    desk.channels.remove(desk.out, broker)


def broker_modified(desk: Desk, broker: int) -> Procedure[None]:
    """A broker's znode was rewritten; what matters is where it is."""
    if not desk.active or broker not in desk.state.brokers:
        return
    found = yield from perform(GetData(broker_path(broker), watch=True))
    if found.error or broker not in desk.state.brokers:
        return
    before = desk.state.brokers[broker]
    after = replace(decode_broker(broker, found.data, found.czxid), epoch=before.epoch)
    if after != before:
        desk.state.brokers[broker] = after
        desk.update_metadata(sorted(desk.state.brokers), [])


def _started(desk: Desk, brokers: list[int]) -> Procedure[None]:
    """onBrokerStartup: tell the old ones of the new (not in 0.8.2), the new ones everything; bring replicas and
    partitions online."""
    state = desk.state
    desk.emit(BrokersHandled("startup", ids_text(brokers)))
    for broker in brokers:
        state.offline_log_dirs.pop(broker, None)
    if desk.gates.metadata_updates_brokers_only:
        desk.update_metadata([broker for broker in sorted(state.brokers) if broker not in brokers], [])
        desk.update_metadata(brokers, sorted(state.states))
    else:
        desk.update_metadata(sorted(state.brokers) if desk.gates.tells_all_who_lives else brokers, [])
    replicas = state.replicas_on(brokers)
    yield from replica_states.move(desk, replicas, ReplicaPosition.ONLINE)
    yield from partition_states.elect_where_needed(desk)
    yield from resume_on(desk, brokers)
    deletions = {replica[0] for replica in replicas if state.is_being_deleted(replica[0])}
    if deletions:
        yield from resume_topics(desk, deletions)


def unclean_election_enabled(desk: Desk, topic: str) -> Procedure[None]:
    """A topic's own setting allows it from now on (KAFKA-6911), or ("") the controller's broker's (KAFKA-6526)."""
    if desk.active:
        yield from partition_states.elect_where_needed(desk, topic)


def _failed(desk: Desk, brokers: list[int]) -> Procedure[None]:
    """onBrokerFailure."""
    desk.emit(BrokersHandled("failure", ids_text(brokers)))
    for broker in brokers:
        desk.state.offline_log_dirs.pop(broker, None)
        desk.state.shutting_down.discard(broker)
    without_leader = desk.state.led_by_nobody_online()
    if not desk.gates.offline_leaders_by_liveness:
        without_leader = [p for p in without_leader if desk.state.states[p].leader in brokers]
    yield from replicas_offline(desk, desk.state.replicas_on(brokers), without_leader)


def replicas_offline(desk: Desk, replicas: list[Replica], without_leader: list[tuple[str, int]]) -> Procedure[None]:
    """onReplicasBecomeOffline, in this order: partitions without leader go offline; leaders are elected;
    replicas leave the ISR; and if no partition lost its leader, brokers are told who is gone (an election
    tells them anyway; 0.8.2 leaves it at that)."""
    deleted = [replica for replica in replicas if desk.state.is_being_deleted(replica[0])]
    kept = [replica for replica in replicas if not desk.state.is_being_deleted(replica[0])]
    yield from partition_states.move(desk, without_leader, PartitionPosition.OFFLINE)
    yield from partition_states.elect_where_needed(desk)
    yield from replica_states.move(desk, kept, ReplicaPosition.OFFLINE)
    if deleted:
        yield from fail_replicas(desk, deleted)
    if not without_leader and desk.gates.tells_all_who_lives:
        desk.update_metadata(sorted(desk.state.brokers), [])
