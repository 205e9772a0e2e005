"""Term of a controller: try to be elected, take over, resign (semantics 4.1).

Creating `/controller` is the election. From 2.1 that and the next `/controller_epoch` are one multi. Before, the
controller raises the epoch afterwards; until then it uses the old epoch.
"""

from controller import partition_states, replica_states
from controller.controller_context import ControllerContext, ControllerMoved, WriteRefused
from controller.controller_watches import read_children, watch_admin_znodes
from controller.isr_requests import begin_notifications
from controller.preferred_elections import elect_pending, schedule_rebalance
from controller.reassignment import initialize_reassignments, keep_reassignments, resume_all
from controller.session_calls import (
    Procedure,
    SenderEnded,
    SessionLost,
    ask,
    perform,
    perform_all,
    perform_in_session,
)
from controller.state import ControllerState
from controller.state_writes import checked_writes, read_states
from controller.topic_deletion import initialize_deletions, try_deletions
from controller.topic_events import read_assignments
from protocol.events import ControllerChanged
from protocol.ids import NO_BROKER, BrokerId, ControllerEpoch
from protocol.messages.session_messages import (
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
    """Owner of `/controller`; -1 if it is absent. `watch`: also watch it."""
    if watch:
        yield from perform(Exists(CONTROLLER, watch=True))
    found = yield from perform(GetData(CONTROLLER))
    return NO_BROKER if found.error else decode_controller(found.data)


def start(context: ControllerContext) -> Procedure[None]:
    """Watch `/controller`, and try to be elected: the first event of an incarnation."""
    yield from perform(Exists(CONTROLLER, watch=True))
    yield from elect(context)


def controller_changed(context: ControllerContext) -> Procedure[None]:
    """Handle a created or changed `/controller`: resign if another broker owns it."""
    controller = yield from current_controller(watch=True)
    if context.gates.deposed_controller_goes_on and (controller >= 0 or context.deposed):
        context.deposed = context.active and controller != context.broker
    elif context.active and controller != context.broker:
        yield from resign(context, f"broker {controller} is controller" if controller >= 0 else "no controller")
    if controller < 0 and not context.gates.session_wait_ends_at_expiry:
        # The client of that time reads the znode again before it notifies: absent is absent, whatever the event.
        yield from elect(context)


def reelect(context: ControllerContext) -> Procedure[None]:
    """Handle a deleted `/controller` or a new session: resign if deposed, then elect."""
    yield from controller_changed(context)
    yield from elect(context)


def new_session(context: ControllerContext) -> Procedure[None]:
    """Handle a new session, up to 1.0: no expiry event came before; resign now, then try.

    In 0.8.2 a broker that is not controller fails to resign where leaders are balanced (KafkaScheduler.shutdown:
    the scheduler was not started). So it does not try here. A separate event reads `/controller` once more anyway.
    """
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
    """Resign if another controller refused a write by its election (Kafka's maybeResign)."""
    yield from controller_changed(context)


def _create_alone(context: ControllerContext) -> Procedure[bool]:
    create = Create(CONTROLLER, encode_controller(context.broker, context.now.wall_ms), ephemeral=True)
    if context.gates.ephemerals_end_with_session:
        try:
            created = yield from perform_in_session(create)
        except SessionLost:
            yield from perform(Delete(CONTROLLER))  # as after any failed election, whatever its owner by now
            return False
    else:
        created = yield from perform(create)
    if not created.error:
        return True
    # A repeated create, whose first response was lost, finds its own znode (a checked ephemeral).
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
    # A request whose response was lost may have done it.
    if (yield from current_controller(watch=False)) == context.broker:
        found = yield from perform(GetData(CONTROLLER_EPOCH))
        if not found.error and decode_controller_epoch(found.data) == epoch:
            context.state.epoch, context.state.epoch_zk_version = epoch, found.version
            return True
    raise ControllerMoved("another broker was elected")


def _raise_epoch(context: ControllerContext) -> Procedure[None]:
    """Raise the epoch when `/controller` is this broker's already (up to 2.0)."""
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
    """Take over: set the watches first, so that no change is missed; then read; then act."""
    state = context.state
    yield from watch_admin_znodes(context)
    yield from begin_notifications(context)
    state.brokers = yield from read_brokers()
    state.topics = set((yield from read_children(TOPICS)))
    state.assignments = yield from read_assignments(context, sorted(state.topics))
    state.states = yield from read_states(context, state.all_partitions())
    for broker in sorted(state.brokers):
        context.channels.add(broker)
    requested = yield from initialize_reassignments(context)
    yield from initialize_deletions(context)
    # Brokers need the list of live brokers before they can follow a LeaderAndIsr (semantics 1.7,
    # makeFollower; KAFKA-4443). In 0.8.2 the LeaderAndIsr has it.
    if not context.gates.metadata_sent_after_taking_over:
        context.update_metadata(sorted(state.brokers), [])
    yield from replica_states.startup(context)
    yield from partition_states.startup(context)
    yield from resume_all(context, requested)
    if context.gates.metadata_sent_after_taking_over:
        yield from elect_pending(context)
        context.update_metadata(sorted(state.brokers), [])
        yield from try_deletions(context)
    else:
        yield from try_deletions(context)
        yield from elect_pending(context)
    schedule_rebalance(context, first=True)


def read_brokers() -> Procedure[dict[BrokerId, BrokerRegistration]]:
    """Read the registered brokers, and keep watching."""
    ids = brokers_in((yield from read_children(BROKER_IDS)))
    found = yield from perform_all([GetData(broker_path(broker), watch=True) for broker in ids])
    return {
        broker: decode_broker(broker, result.data, result.czxid)
        for broker, result in zip(ids, found, strict=True)
        if not result.error
    }


def resign(context: ControllerContext, reason: str) -> Procedure[None]:
    """Stop being controller: close the channels, forget the state.

    Up to 2.0 this waits for blocked senders.
    """
    context.active = False
    context.emit(ControllerChanged(active=False, controller_epoch=context.state.epoch, reason=reason))
    if context.gates.failure_waits_for_sender_thread:
        for broker in sorted(context.state.brokers):
            yield SenderEnded(broker)
    end_term(context)


def end_term(context: ControllerContext) -> None:
    """Forget the state; up to 0.10.2 all but the reassignments under way (KAFKA-5310)."""
    if context.gates.reelected_controller_repeats_reassignments:
        keep_reassignments(context)
    context.active = context.deposed = False
    context.channels.close(context.out)
    schedule_rebalance(context, first=False, cancel=True)
    context.state = ControllerState()


def _move(context: ControllerContext, reason: str) -> Procedure[None]:
    """Give up a failed election, so that another broker tries (up to 2.0)."""
    yield from resign(context, reason)
    yield from perform(Delete(CONTROLLER))


def _trigger_move(context: ControllerContext, reason: str) -> Procedure[None]:
    """Give up a failed election, unless the controller has moved already (from 2.1).

    The deletion is checked, too. If ZooKeeper refuses it like the write before, `/controller` stays with the
    resigned broker until its session ends.
    """
    if (yield from current_controller(watch=False)) != context.broker:
        return
    epoch_zk_version = context.state.epoch_zk_version
    yield from resign(context, reason)
    try:
        yield from checked_writes(context, [Delete(CONTROLLER)], epoch_zk_version)
    except ControllerMoved:
        return
