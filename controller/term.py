"""A controller's term: try to be elected, take over, resign (semantics 4.1).

To be elected is to create `/controller`. From 2.1 that and the next `/controller_epoch` are one multi;
before, the epoch is raised afterwards, and for a moment the new controller goes by the old epoch.
"""

from controller import partition_states, replica_states
from controller.context import ControllerContext, ControllerMoved, WriteRefused
from controller.isr_changes import begin_notifications
from controller.preferred_elections import elect_pending, schedule_rebalance
from controller.procedure_waits import SenderEnded
from controller.reassignment import initialize_reassignments, keep_reassignments, resume_all
from controller.session_calls import Procedure, SessionLost, ask, perform, perform_all, perform_in_session
from controller.state import ControllerState
from controller.state_writes import checked_writes, read_states
from controller.topic_deletion import initialize_deletions, try_deletions
from controller.topic_events import read_assignments
from controller.watches import read_children, watch_admin_znodes
from protocol.events import ControllerChanged
from protocol.ids import NO_BROKER, BrokerId, ControllerEpoch
from protocol.messages.session import (
    Create,
    Delete,
    Exists,
    GetData,
    OpResult,
    SessionError,
    SessionRequest,
    SetData,
)
from protocol.znodes import (
    BROKER_IDS,
    CONTROLLER,
    CONTROLLER_EPOCH,
    TOPICS,
    BrokerRegistration,
    broker_path,
    brokers_in,
    decode_broker,
    decode_controller,
    decode_controller_epoch,
    encode_controller,
    encode_controller_epoch,
)

FIRST_EPOCH = ControllerEpoch(1)


def current_controller(*, watch: bool) -> Procedure[BrokerId]:
    """Whose `/controller` it is; -1 nobody's. `watch`: and tell us when that changes."""
    if watch:
        yield from perform(Exists(CONTROLLER, watch=True))
    found = yield from perform(GetData(CONTROLLER))
    return NO_BROKER if found.error else decode_controller(found.data)


def start(context: ControllerContext) -> Procedure[None]:
    """First event of a life: watch, and try."""
    yield from perform(Exists(CONTROLLER, watch=True))
    yield from elect(context)


def controller_changed(context: ControllerContext) -> Procedure[None]:
    """`/controller` was created or changed: resign if it is not ours any more."""
    controller = yield from current_controller(watch=True)
    if context.gates.deposed_controller_goes_on and (controller >= 0 or context.deposed):
        context.deposed = context.active and controller != context.broker
    elif context.active and controller != context.broker:
        yield from resign(context, f"broker {controller} is controller" if controller >= 0 else "no controller")
    if controller < 0 and not context.gates.session_wait_ends_at_expiry:
        # The client of that time looks again before it tells: gone is gone, whatever the watch said.
        yield from elect(context)


def reelect(context: ControllerContext) -> Procedure[None]:
    """`/controller` was deleted, or the session is a new one: resign if it is not ours, then try."""
    yield from controller_changed(context)
    yield from elect(context)


def new_session(context: ControllerContext) -> Procedure[None]:
    """Up to 1.0: nobody told the controller that the session had expired; it resigns now, then tries.

    In 0.8.2 who is no controller fails to resign where leaders are balanced (KafkaScheduler.shutdown: the scheduler was
    not started), so it does not try here: `/controller` is looked at once more anyway, as by whoever is told of it."""
    if context.gates.resigns_in_every_session:
        if context.active:
            yield from resign(context, "the session expired")
        elif context.settings.auto_leader_rebalance_enable:
            return
        yield from elect(context)
        return
    controller = yield from current_controller(watch=True)
    if controller != context.broker:
        if context.active:
            yield from resign(context, "the session expired")
        yield from elect(context)


def elect(context: ControllerContext) -> Procedure[None]:
    """Become controller if there is none; then take over."""
    if (yield from current_controller(watch=False)) != -1:
        return
    try:
        if context.gates.controller_epoch_multi:
            elected = yield from _create_and_raise_epoch(context)
        else:
            elected = yield from _create_alone(context)
            if elected:
                if context.active:  # deposed, and elected again
                    yield from resign(context, "elected once more")
                _begin_term(context)
                yield from _raise_epoch(context)
                _announce(context)
        if not elected:
            return
        if context.gates.controller_epoch_multi:
            _begin_term(context)
            _announce(context)
        yield from _take_over(context)
    except ControllerMoved as moved:
        if context.gates.controller_epoch_multi:
            yield from step_down_if_moved(context)
        else:
            yield from _move(context, str(moved))
    except WriteRefused as refused:
        yield from _trigger_move(context, str(refused))


def step_down_if_moved(context: ControllerContext) -> Procedure[None]:
    """A write was refused because another controller was elected: look who it is (Kafka's maybeResign)."""
    yield from controller_changed(context)


def _create_alone(context: ControllerContext) -> Procedure[bool]:
    create = Create(CONTROLLER, encode_controller(context.broker, context.now.wall_ms), ephemeral=True)
    if context.gates.ephemerals_end_with_session:
        try:
            created = yield from perform_in_session(create)
        except SessionLost:
            yield from perform(Delete(CONTROLLER))  # as after any election that went wrong, whoever has it by now
            return False
    else:
        created = yield from perform(create)
    if not created.error:
        return True
    # A create whose answer was lost and that was asked again finds its own znode (a checked ephemeral).
    return (yield from current_controller(watch=False)) == context.broker


def _create_and_raise_epoch(context: ControllerContext) -> Procedure[bool]:
    found = yield from perform(GetData(CONTROLLER_EPOCH))
    if found.error == SessionError.NO_NODE:
        yield from perform(Create(CONTROLLER_EPOCH, encode_controller_epoch(ControllerEpoch(0))))
        found = yield from perform(GetData(CONTROLLER_EPOCH))
    epoch = ControllerEpoch(decode_controller_epoch(found.data) + 1)
    answer = yield from ask(
        SessionRequest(
            [
                Create(CONTROLLER, encode_controller(context.broker, context.now.wall_ms), ephemeral=True),
                SetData(CONTROLLER_EPOCH, encode_controller_epoch(epoch), found.version),
            ],
            multi=True,
        )
    )
    if not answer.error:
        context.state.epoch, context.state.epoch_zk_version = epoch, answer.results[1].version
        return True
    if answer.error not in (SessionError.NODE_EXISTS, SessionError.BAD_VERSION):
        raise WriteRefused(answer.error)
    # It may have been done by a request whose answer was lost.
    if (yield from current_controller(watch=False)) == context.broker:
        found = yield from perform(GetData(CONTROLLER_EPOCH))
        if not found.error and decode_controller_epoch(found.data) == epoch:
            context.state.epoch, context.state.epoch_zk_version = epoch, found.version
            return True
    raise ControllerMoved("another broker was elected")


def _raise_epoch(context: ControllerContext) -> Procedure[None]:
    """Up to 2.0, with `/controller` ours already."""
    found = yield from perform(GetData(CONTROLLER_EPOCH))
    raised: OpResult
    if found.error:
        epoch = FIRST_EPOCH
        raised = yield from perform(Create(CONTROLLER_EPOCH, encode_controller_epoch(epoch)))
        version = 0
    else:
        epoch = ControllerEpoch(decode_controller_epoch(found.data) + 1)
        raised = yield from perform(SetData(CONTROLLER_EPOCH, encode_controller_epoch(epoch), found.version))
        version = raised.version
    if raised.error:
        raise ControllerMoved("/controller_epoch was changed by another controller")
    context.state.epoch, context.state.epoch_zk_version = epoch, version


def _begin_term(context: ControllerContext) -> None:
    context.active = True


def _announce(context: ControllerContext) -> None:
    state = context.state
    context.emit(ControllerChanged(True, state.epoch, "elected", state.epoch_zk_version))


def _take_over(context: ControllerContext) -> Procedure[None]:
    """Watches first, so that nothing that happens from now on is missed; then what is there; then act on
    it."""
    state = context.state
    yield from watch_admin_znodes(context)
    yield from begin_notifications(context)
    state.brokers = yield from read_brokers()
    state.topics = set((yield from read_children(TOPICS)))
    state.assignments = yield from read_assignments(sorted(state.topics))
    state.states = yield from read_states(context, state.all_partitions())
    for broker in sorted(state.brokers):
        context.channels.add(broker)
    asked = yield from initialize_reassignments(context)
    yield from initialize_deletions(context)
    # Brokers need the list of live brokers before they can follow a LeaderAndIsr (semantics 1.7,
    # makeFollower; KAFKA-4443). In 0.8.2 the LeaderAndIsr has it.
    if not context.gates.metadata_sent_after_taking_over:
        context.update_metadata(sorted(state.brokers), [])
    yield from replica_states.startup(context)
    yield from partition_states.startup(context)
    yield from resume_all(context, asked)
    if context.gates.metadata_sent_after_taking_over:
        yield from elect_pending(context)
        context.update_metadata(sorted(state.brokers), [])
        yield from try_deletions(context)
    else:
        yield from try_deletions(context)
        yield from elect_pending(context)
    schedule_rebalance(context, first=True)


def read_brokers() -> Procedure[dict[BrokerId, BrokerRegistration]]:
    """Who is registered now; keeps watching."""
    ids = brokers_in((yield from read_children(BROKER_IDS)))
    found = yield from perform_all([GetData(broker_path(broker), watch=True) for broker in ids])
    return {
        broker: decode_broker(broker, result.data, result.czxid)
        for broker, result in zip(ids, found, strict=True)
        if not result.error
    }


def resign(context: ControllerContext, reason: str) -> Procedure[None]:
    """Stop being controller: channels closed, everything forgotten. Up to 2.0 blocked senders are waited
    for."""
    context.active = False
    context.emit(ControllerChanged(active=False, controller_epoch=context.state.epoch, reason=reason))
    if context.gates.failure_waits_for_sender_thread:
        for broker in sorted(context.state.brokers):
            yield SenderEnded(broker)
    end_term(context)


def end_term(context: ControllerContext) -> None:
    """Forget everything; up to 0.10.2 all but the reassignments under way (KAFKA-5310)."""
    if context.gates.reelected_controller_repeats_reassignments:
        keep_reassignments(context)
    context.active = context.deposed = False
    context.channels.close(context.out)
    schedule_rebalance(context, first=False, cancel=True)
    context.state = ControllerState()


def _move(context: ControllerContext, reason: str) -> Procedure[None]:
    """Up to 2.0: an election that went wrong half-way is given up, so that somebody else tries."""
    yield from resign(context, reason)
    yield from perform(Delete(CONTROLLER))


def _trigger_move(context: ControllerContext, reason: str) -> Procedure[None]:
    """From 2.1: the same, unless it has moved already. The deletion is checked, too: refused like the write before, it
    leaves `/controller` to who has resigned, until that one's session ends."""
    if (yield from current_controller(watch=False)) != context.broker:
        return
    epoch_zk_version = context.state.epoch_zk_version
    yield from resign(context, reason)
    try:
        yield from checked_writes(context, [Delete(CONTROLLER)], epoch_zk_version)
    except ControllerMoved:
        return
