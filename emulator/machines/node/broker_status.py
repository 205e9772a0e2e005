"""Status of a broker's or controller's node, from its parts. Reading changes nothing."""

from collections.abc import Iterable, Iterator

from controller.controller import Controller
from emulator.machines.broker.broker import Broker
from emulator.machines.broker.broker_metrics import broker_metrics
from emulator.machines.broker.group_statuses import group_statuses
from emulator.machines.broker.partition import Partition
from emulator.machines.client.session_client import SessionClient
from emulator.machines.node.controller_part import ControllerPart
from emulator.machines.node.quorum_member import QuorumMember
from emulator.machines.node.quorum_observers import quorum_status
from emulator.topology import node_name
from protocol.ids import CONTROLLER_EPOCH_UNKNOWN, NO_OFFSET, ControllerEpoch, topic_partition_text
from protocol.messages.status_messages import WAITING_MAX, NodeStatus, PartitionStatus, SessionStatus, WaitingStatus
from protocol.work import Waiting


def broker_status(
    name: str, broker: Broker, controller: Controller, session: SessionClient, now_ms: float
) -> NodeStatus:
    """Status of a broker that may be controller."""
    known = broker.metadata.controller
    waiting = list(_waiting(broker, controller.waiting_tasks()))
    return NodeStatus(
        is_controller=controller.active,
        controller_epoch=controller.controller_epoch
        if controller.active
        else broker.leadership.controller_epoch or CONTROLLER_EPOCH_UNKNOWN,
        controller=name if controller.active else node_name(known) if known >= 0 else "",
        session=session_status(session),
        partitions=_partitions(broker, now_ms),
        groups=group_statuses(broker.coordinator),
        metrics={**broker_metrics(broker), **controller.metrics, **session_metrics(session)},
        waiting=waiting[:WAITING_MAX],
        waiting_count=len(waiting),
        queued=broker.requests.queued,
        pipelined=broker.requests.pipelined,
    )


def kraft_broker_status(
    broker: Broker, member: QuorumMember, state: str, now_ms: float, controller: ControllerPart | None
) -> NodeStatus:
    """Status of a KRaft broker. `state`: of its lifecycle; `controller`: a combined node's."""
    active = controller is not None and controller.active
    waiting = list(_waiting(broker, ()))
    return NodeStatus(
        is_controller=active,
        controller_epoch=ControllerEpoch(member.epoch),
        controller=member.voter_name(member.leader) or "",
        partitions=_partitions(broker, now_ms),
        groups=group_statuses(broker.coordinator),
        metrics={**broker_metrics(broker), **(controller.metrics if controller is not None else {})},
        waiting=waiting[:WAITING_MAX],
        waiting_count=len(waiting),
        queued=broker.requests.queued,
        pipelined=broker.requests.pipelined,
        quorum=quorum_status(member, state, controller.fenced if controller is not None else ()),
    )


def _partitions(broker: Broker, now_ms: float) -> dict[str, PartitionStatus]:
    return {
        topic_partition_text(*topic_partition): _partition_status(broker, partition, now_ms)
        for topic_partition, partition in sorted(broker.replicas.partitions.items())
    }


def _waiting(broker: Broker, controller: Iterable[Waiting]) -> Iterator[WaitingStatus]:
    threads = [*broker.context.threads.waiting_tasks(), *controller]
    yield from map(_waiting_thread, sorted(threads, key=lambda one: one.since_ms))
    for purgatory in (broker.produces, broker.fetches):
        for one in purgatory.parked():
            yield WaitingStatus(
                purgatory.name, one.request, one.waits_for, deadline_ms=one.deadline_ms, connection=one.connection
            )


def _waiting_thread(thread: Waiting) -> WaitingStatus:
    return WaitingStatus(thread.who, thread.does, thread.waits_for, since_ms=thread.since_ms)


def controller_status(name: str, controller: Controller, session: SessionClient) -> NodeStatus:
    """Status of a dedicated controller; the other controller's name is not among its state."""
    active = controller.active
    waiting = list(map(_waiting_thread, controller.waiting_tasks()))
    return NodeStatus(
        is_controller=active,
        controller_epoch=controller.controller_epoch if active else CONTROLLER_EPOCH_UNKNOWN,
        controller=name if active else "",
        session=session_status(session),
        metrics={**controller.metrics, **session_metrics(session)},
        waiting=waiting,
        waiting_count=len(waiting),
    )


def session_status(session: SessionClient) -> SessionStatus:
    """Status of the session.

    An expired client requests a new session at once; until it has one, its status is expired.
    """
    if session.state == "connected":
        return SessionStatus("connected", session.session_id)
    expired = session.state == "expired" or (session.session_id == 0 and session.changes["expired"] > 0)
    return SessionStatus("expired" if expired else "disconnected", session.session_id)


def session_metrics(session: SessionClient) -> dict[str, int]:
    """Metrics of the session (kafka.server: SessionExpireListener)."""
    return {
        "ZooKeeperSyncConnectsPerSec.Count": session.changes["connected"],
        "ZooKeeperDisconnectsPerSec.Count": session.changes["disconnected"],
        "ZooKeeperExpiresPerSec.Count": session.changes["expired"],
    }


def _partition_status(broker: Broker, partition: Partition, now_ms: float) -> PartitionStatus:
    topic_partition = (partition.topic, partition.partition)
    cached = broker.metadata.partitions.get(topic_partition)
    log = partition.log
    return PartitionStatus(
        is_leader=partition.leads,
        leader=partition.leader,
        leader_epoch=partition.leader_epoch,
        isr=list(partition.isr) if partition.leads else list(cached.isr) if cached is not None else [],
        replicas=list(partition.assignment),
        high_watermark=log.high_watermark if log is not None else NO_OFFSET,
        log_end=log.log_end if log is not None else NO_OFFSET,
        log_start=log.log_start if log is not None else NO_OFFSET,
        fetching="" if partition.leads else broker.fetchers.activity(topic_partition, now_ms),
        waits="session" if partition.lock.held else "isr" if partition.pending is not None else "",
    )
