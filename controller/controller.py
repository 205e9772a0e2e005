"""Controller of a broker's node, or of a dedicated controller's node (semantics 4).

It owns no session, and no connection but its channels to brokers. The node passes on sessions, fired watches, and
requests of brokers. Effects go to the outbox of the step.
Order of a node's life:

    session up        -> [1.1+: register the broker] -> session_started [-> up to 1.0: register when `then` is called]
    session expired   -> session_expired, `then` is called when it has resigned
    new session       -> as above [0.11, 1.0: both at once]
    stop              -> stop, before the session is closed

Gates `registers_before_election` and `registers_beside_controller` say which order holds.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from controller import (
    broker_events,
    isr_requests,
    preferred_elections,
    reassignment,
    responses,
    term,
    topic_deletion,
    topic_events,
)
from controller.channels import Channels
from controller.controller_context import ControllerContext
from controller.controller_metrics import controller_metrics
from controller.event_queue import ControllerEvent, EventQueue, Then
from controller.isr_requests import AlterIsrReply
from controller.leader_requests import ElectionReply, elect_leaders, not_controller
from controller.partition_states import Strategy
from controller.reassignment_requests import (
    NOT_CONTROLLER,
    ReassignmentReply,
    Target,
    alter_reassignments,
    list_reassignments,
)
from controller.session_calls import Procedure, SessionCalls
from controller.settings import ControllerSettings
from controller.shutdown_relief import ControlledShutdownReply, controlled_shutdown
from protocol.errors import ErrorCode
from protocol.events import ControllerChanged
from protocol.gates import Gates
from protocol.ids import BrokerId, ControllerEpoch, TopicPartition
from protocol.machine import Now
from protocol.messages.leadership_messages import (
    AlterIsrRequest,
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    LeaderAndIsrResponse,
    StopReplicaRequest,
    StopReplicaResponse,
)
from protocol.messages.message_base import Message
from protocol.messages.session_messages import WatchFired
from protocol.outbox import Outbox
from protocol.ready_queue import ReadyQueue
from protocol.work import Waiting
from protocol.znodes import (
    BROKER_IDS,
    CONTROLLER,
    DELETE_TOPICS,
    ISR_CHANGE_NOTIFICATION,
    LOG_DIR_EVENT_NOTIFICATION,
    PREFERRED_REPLICA_ELECTION,
    REASSIGN_PARTITIONS,
    TOPICS,
    brokers_in,
    state_partition,
)


class Controller:
    """The controller of one node that may be elected."""

    def __init__(
        self,
        broker: BrokerId,
        gates: Gates,
        settings: ControllerSettings,
        sessions: SessionCalls,
        node_of: Callable[[BrokerId], str],
        ready: ReadyQueue | None = None,
    ) -> None:
        """Create a controller that is not active.

        `node_of`: name of a broker's node, for connections to it. `ready`: the queue of all procedures of its node.
        """
        channels = Channels(node_of, settings, self._answered, self._pump, gates.resends_after_ms)
        self._gates = gates
        self._context = ControllerContext(broker, gates, settings, channels)
        self._context.rebalance_due = self._rebalance
        self._context.look_for_reassignments = self._look_for_reassignments
        self._events = EventQueue(self._context, sessions, ready)
        self._ever_started = False
        self._children: dict[str, Callable[[ControllerContext], Procedure[None]]] = {
            BROKER_IDS: broker_events.brokers_changed,
            TOPICS: topic_events.topics_changed,
            DELETE_TOPICS: topic_deletion.deletions_changed,
            ISR_CHANGE_NOTIFICATION: isr_requests.notifications_changed,
            LOG_DIR_EVENT_NOTIFICATION: responses.log_dir_events_changed,
        }

    @property
    def context(self) -> ControllerContext:
        """Context, for observers that read it at every step."""
        return self._context

    @property
    def active(self) -> bool:
        """This broker is controller, as far as it knows; a partitioned one does not learn otherwise."""
        return self._context.active

    @property
    def controller_epoch(self) -> ControllerEpoch:
        """Epoch of the current term; 0 while not active."""
        return self._context.state.epoch

    def takes_for_leaving(self, broker: BrokerId) -> bool:
        """Whether `broker` requested a controlled shutdown and is still registered (semantics 4.2)."""
        return broker in self._context.state.shutting_down

    @property
    def metrics(self) -> dict[str, int]:
        """Figures under Kafka's names."""
        return controller_metrics(self._context)

    @property
    def busy_with(self) -> str:
        """Name of the event under way, "" if none; for observers."""
        return self._events.running

    def waiting_tasks(self) -> list[Waiting]:
        """The controller's thread, while an event waits."""
        return self._events.waiting_tasks()

    # --- the session ---

    def session_started(self, now: Now, out: Outbox, then: Then | None = None) -> None:
        """Handle a new session, the first or a later one: watch `/controller` and try to be elected.

        `then` is called at the end of this, and of taking over if this broker was elected.
        """
        self._context.at(now, out)
        if not self._ever_started:
            self._ever_started = True
            self._put("startup", lambda: term.start(self._context), then=then)
        elif self._gates.session_wait_ends_at_expiry:
            self._put("reelect", lambda: term.reelect(self._context), then=then)
        else:
            self._put("new-session", lambda: term.new_session(self._context), then=then)
            if self._gates.resigns_in_every_session:
                # The client of that time notifies every listener, after the listeners for sessions.
                self._put("look", lambda: term.controller_changed(self._context))
        self._pump(now, out)

    def session_expired(
        self,
        now: Now,
        out: Outbox,
        then: Then | None = None,
        free: Then = lambda now, out: None,
    ) -> None:
        """Handle the session's expiry as ZooKeeper reported it.

        `free` is called when there may be a new session, `then` when this broker has resigned.
        1.1+: requests to ZooKeeper fail, the queue is dropped, and the controller resigns. There is no new session
        before it begins to resign (waitUntilProcessingStarted). Before 1.1 nothing happens until the new session,
        in which all requests go on.
        """
        self._context.at(now, out)
        if not self._gates.session_wait_ends_at_expiry:
            if then is not None:
                then(now, out)
            free(now, out)
            return
        behind = self._events.expire(now, out)
        self._put("expire", lambda: self._expire(free if behind else None), then=then)
        self._pump(now, out)
        if not behind:
            free(now, out)

    def _expire(self, free: Then | None) -> Procedure[None]:
        if free is not None:
            free(self._context.now, self._context.out)
        if self._context.active:
            yield from term.resign(self._context, "the session expired")
        else:
            term.end_term(self._context)  # of an election that did not complete

    def watch_fired(self, now: Now, out: Outbox, event: WatchFired) -> bool:
        """Handle a fired watch. True: the watch was the controller's (also)."""
        begin = self._event_of(event)
        if begin is None:
            return False
        self._context.at(now, out)
        self._put(f"{event.kind} {event.path}", begin)
        self._pump(now, out)
        return True

    def _event_of(self, event: WatchFired) -> Callable[[], Procedure[None]] | None:
        context = self._context
        path, kind = event.path, event.kind
        if path == CONTROLLER:
            return lambda: term.reelect(context) if kind == "deleted" else term.controller_changed(context)
        if path in self._children and kind == "children":
            changed = self._children[path]
            return lambda: changed(context)
        if path == PREFERRED_REPLICA_ELECTION:
            return lambda: preferred_elections.election_requested(context)
        if path == REASSIGN_PARTITIONS:
            return lambda: reassignment.reassignments_changed(context, kind)
        if kind != "changed":
            return None
        parent, _, name = path.rpartition("/")
        if parent == BROKER_IDS:
            brokers = brokers_in([name])
            return (lambda: broker_events.broker_modified(context, brokers[0])) if brokers else None
        if parent == TOPICS:
            return lambda: topic_events.partitions_changed(context, name)
        partition = state_partition(path)
        if partition is not None:
            return lambda: reassignment.state_changed(context, partition)
        return None

    # --- callbacks of its own effects ---

    def _rebalance(self, now: Now, out: Outbox) -> None:
        self._put("auto-leader-rebalance", lambda: preferred_elections.rebalance(self._context))
        self._pump(now, out)

    def _look_for_reassignments(self) -> None:
        self._put("partition-reassignment", lambda: reassignment.reassignment_requested(self._context))

    def _answered(self, now: Now, out: Outbox, broker: BrokerId, request: Message, response: Message) -> None:
        """Handle a broker's response: failed log directories and completed deletions follow from it.

        No procedure waits for it.
        """
        context = self._context
        if isinstance(response, LeaderAndIsrResponse):
            failed = any(entry.error == ErrorCode.KAFKA_STORAGE_ERROR for entry in response.partitions)
            if failed or context.state.offline_log_dirs.get(broker):
                begin = responses.leader_and_isr_answered
                self._put("leader-and-isr-response", lambda: begin(context, broker, response))
        elif (
            isinstance(response, StopReplicaResponse)
            and isinstance(request, StopReplicaRequest)
            and any(partition.delete for partition in request.partitions)
        ):
            stopped = responses.stop_replica_answered
            self._put("stop-replica-response", lambda: stopped(context, broker, request, response))

    # --- requests of brokers ---

    def alter_isr(self, now: Now, out: Outbox, request: AlterIsrRequest, reply: AlterIsrReply) -> None:
        """Handle AlterIsr of a leader (semantics 1.6, 11.6).

        `reply` is never called if the session expires before the request's turn. Kafka drops the request, too; the
        broker repeats it when its own request times out.
        """
        self._context.at(now, out)
        self._put("alter-isr", lambda: isr_requests.alter_isr(self._context, request, reply))
        self._pump(now, out)

    def controlled_shutdown(
        self, now: Now, out: Outbox, request: ControlledShutdownRequest, reply: ControlledShutdownReply
    ) -> None:
        """Handle ControlledShutdown of a broker (semantics 4.2)."""

        def preempted(now: Now, out: Outbox) -> None:
            reply(now, out, ControlledShutdownResponse(error=ErrorCode.NOT_CONTROLLER))

        self._context.at(now, out)
        self._put(
            "controlled-shutdown",
            lambda: controlled_shutdown(self._context, request, reply),
            preempted=preempted,
        )
        self._pump(now, out)

    # --- requests of clients ---

    def is_being_deleted(self, topic: str) -> bool:
        """Whether a topic is marked for deletion and still exists."""
        return self._context.state.is_being_deleted(topic)

    def elect_leaders(
        self, now: Now, out: Outbox, partitions: Sequence[TopicPartition], strategy: Strategy, reply: ElectionReply
    ) -> None:
        """Handle ElectLeaders. `strategy`: PREFERRED or UNCLEAN (KIP-460)."""

        def preempted(now: Now, out: Outbox) -> None:
            reply(now, out, not_controller(partitions))

        begin = partial(elect_leaders, self._context, partitions, strategy, reply)
        self._context.at(now, out)
        self._put("elect-leaders", begin, preempted)
        self._pump(now, out)

    def alter_reassignments(
        self, now: Now, out: Outbox, targets: Mapping[TopicPartition, Target], reply: ReassignmentReply
    ) -> None:
        """Handle AlterPartitionReassignments (KIP-455)."""
        self._reassign(now, out, partial(alter_reassignments, self._context, targets, reply), reply)

    def list_reassignments(
        self, now: Now, out: Outbox, partitions: Sequence[TopicPartition] | None, reply: ReassignmentReply
    ) -> None:
        """Handle ListPartitionReassignments. `partitions` None: all partitions being reassigned."""
        self._reassign(now, out, partial(list_reassignments, self._context, partitions, reply), reply)

    def _reassign(
        self, now: Now, out: Outbox, begin: Callable[[], Procedure[None]], reply: ReassignmentReply
    ) -> None:
        def preempted(now: Now, out: Outbox) -> None:
            reply(now, out, NOT_CONTROLLER)

        self._context.at(now, out)
        forgotten = self._gates.reassignments_not_preempted
        self._put("partition-reassignments", begin, None if forgotten else preempted)
        self._pump(now, out)

    def stop(self, now: Now, out: Outbox) -> None:
        """Stop in an orderly way; `/controller` ends with the session, which the node closes later."""
        self._context.at(now, out)
        self._events.halt()
        if self._context.active:
            out.emit(ControllerChanged(False, self._context.state.epoch, "stopped"))
        term.end_term(self._context)

    def reconfigured(self, settings: ControllerSettings) -> None:
        """Apply the broker's dynamic settings (KIP-226)."""
        self._context.settings = settings

    def unclean_election_enabled(self, now: Now, out: Outbox, topic: str) -> None:
        """Handle a newly enabled unclean election: of a topic, or ("") of this broker.

        Partitions without a leader may elect one.
        """
        self._context.at(now, out)
        self._put("unclean-election-enabled", lambda: broker_events.unclean_election_enabled(self._context, topic))
        self._pump(now, out)

    # --- the queue ---

    def _put(
        self,
        name: str,
        begin: Callable[[], Procedure[Any]],
        preempted: Then | None = None,
        then: Then | None = None,
    ) -> None:
        self._events.put(ControllerEvent(name, begin, preempted, then))

    def _pump(self, now: Now, out: Outbox) -> None:
        self._context.at(now, out)
        self._events.pump(now, out)
