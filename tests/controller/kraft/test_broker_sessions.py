"""Registrations, sessions and controlled shutdown at KRaft's controller, by release.

Kraft-semantics 3.2 to 3.4.
"""

import pytest

from controller.kraft.hash_order import session_bucket
from protocol.errors import ErrorCode
from protocol.events import BrokerRegistrationCommitted
from protocol.ids import BrokerId, Offset
from protocol.messages.kraft_messages import (
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    UnregisterBrokerRequest,
)
from protocol.records.metadata_records import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
)
from tests.controller.kraft.controller_case import NEW, OLD, ControllerCase, registration

VERSIONS = pytest.mark.parametrize("version", ["3.3", OLD, "4.0", "4.1", NEW])
SESSION_MS = 9_000


def fencings(case: ControllerCase) -> list[int]:
    changes = [event for event in case.events if isinstance(event, BrokerRegistrationCommitted)]
    return [event.broker for event in changes if event.change == "fenced"]


# --- registration ---


@VERSIONS
def test_a_registration_is_fenced_and_its_epoch_is_its_offset(version: str) -> None:
    case = ControllerCase(version).claim()
    end = case.log.end
    response = case.register(0)
    assert (response.error, response.broker_epoch) == (ErrorCode.NONE, end)
    registered = case.state.brokers[BrokerId(0)]
    assert (registered.fenced, registered.registered_at, registered.node) == (True, end, "broker-0")


def test_an_incarnation_is_a_uuid() -> None:
    case = ControllerCase().claim()
    assert case.call(BrokerRegistrationRequest(BrokerId(0), "first", "broker-0")).error == ErrorCode.INVALID_REQUEST


@VERSIONS
def test_another_incarnation_waits_for_the_session(version: str) -> None:
    case = ControllerCase(version).claim().start(0)
    assert case.register(0, life=7).error == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    case.after(SESSION_MS + 1_200)
    assert case.register(0, life=7).error == ErrorCode.NONE


@pytest.mark.parametrize(("version", "error"), [(OLD, 0), (NEW, ErrorCode.DUPLICATE_BROKER_REGISTRATION)])
def test_a_restart_after_an_orderly_stop_waits_from_4_0_on(version: str, error: int) -> None:
    case = ControllerCase(version).claim().start(0, 1)
    assert case.heartbeat(0, want_shut_down=True).should_shut_down
    assert case.register(0, life=7).error == error


@pytest.mark.parametrize(("version", "keeps"), [("3.8", False), (OLD, True), (NEW, True)])
def test_a_repeated_registration_keeps_its_epoch_from_3_9_on(version: str, *, keeps: bool) -> None:
    case = ControllerCase(version).claim()
    first = case.register(0, life=3)
    case.heartbeat(0)
    again = case.register(0, life=3)
    assert (again.broker_epoch == first.broker_epoch) is keeps
    assert not case.state.brokers[BrokerId(0)].fenced


def restarted(version: str, *, clean: bool, elr: int = 1) -> ControllerCase:
    """Broker 1 of [0, 1, 2] is back; its session lapsed while no controller fenced it."""
    case = ControllerCase(
        version, min_insync_replicas=3, eligible_leader_replicas_version=elr
    ).claim().start(0, 1, 2)  # fmt: skip
    case.create("t", [0, 1, 2])
    previous = case.state.brokers[BrokerId(1)].epoch
    case.lose()
    case.claim()
    case.now_ms += SESSION_MS * 2
    assert case.register(1, life=7, previous_epoch=previous if clean else -1).error == 0
    return case


def test_a_new_incarnation_leaves_the_isr_from_4_0_on() -> None:
    assert restarted(OLD, clean=False).summary() == (0, 0, [0, 1, 2], 0)
    for clean in (False, True):
        assert restarted(NEW, clean=clean, elr=0).summary() == (0, 0, [0, 2], 1)


@pytest.mark.parametrize(("clean", "elr"), [(True, (1,)), (False, ())])
def test_only_a_clean_stop_keeps_the_eligibility(elr: tuple[int, ...], *, clean: bool) -> None:
    assert restarted(NEW, clean=clean).partition().elr == elr


def test_an_older_epoch_in_the_clean_shutdown_file_counts_as_an_unclean_stop() -> None:
    case = ControllerCase(NEW, min_insync_replicas=2).claim().start(0, 1)
    case.create("t", [0, 1])
    case.heartbeat(1, want_fence=True)
    assert case.partition().elr == (1,)
    case.after(SESSION_MS * 2)
    assert case.register(1, life=7, previous_epoch=case.state.brokers[BrokerId(1)].epoch - 1).error == 0
    assert 1 not in case.partition().elr


def test_the_epoch_of_a_new_incarnation_is_that_of_the_first_record() -> None:
    case = restarted(NEW, clean=False)
    changed, registered = case.records()[-2:]
    assert isinstance(changed, PartitionChangeRecord)
    assert isinstance(registered, RegisterBrokerRecord)
    state = case.state.brokers[BrokerId(1)]
    assert state.registered_at == state.epoch + 1
    assert not case.heartbeat(1, offset=state.epoch).is_caught_up
    assert case.heartbeat(1, offset=state.epoch + 1).is_caught_up


def test_a_broker_is_unregistered_from_its_isrs_first() -> None:
    case = ControllerCase().claim().start(0, 1)
    case.create("t", [0, 1])
    epoch = case.state.brokers[BrokerId(0)].epoch
    assert case.call(UnregisterBrokerRequest(BrokerId(0))).error == 0
    assert case.records()[-1] == UnregisterBrokerRecord(BrokerId(0), epoch)
    assert case.summary() == (1, 1, [1], 1)
    assert case.call(UnregisterBrokerRequest(BrokerId(0))).error == ErrorCode.BROKER_ID_NOT_REGISTERED


# --- heartbeats ---


@VERSIONS
def test_a_heartbeat_of_another_epoch_is_stale(version: str) -> None:
    case = ControllerCase(version).claim().start(0)
    stale = BrokerHeartbeatRequest(BrokerId(0), 0, Offset(100))
    unknown = BrokerHeartbeatRequest(BrokerId(1), 0, Offset(100))
    assert [case.call(one).error for one in (stale, unknown)] == [ErrorCode.STALE_BROKER_EPOCH] * 2


@VERSIONS
def test_a_broker_is_unfenced_when_it_has_read_its_own_registration(version: str) -> None:
    case = ControllerCase(version).claim()
    epoch = case.register(0).broker_epoch
    behind = case.heartbeat(0, offset=epoch - 1)
    assert (behind.is_caught_up, behind.is_fenced) == (False, True)
    waiting = case.heartbeat(0, offset=epoch, want_fence=True)
    assert (waiting.is_caught_up, waiting.is_fenced) == (True, True)
    assert not case.heartbeat(0, offset=epoch).is_fenced
    assert case.heartbeat(0, want_fence=True).is_fenced


@VERSIONS
def test_a_broker_is_fenced_when_its_session_expires(version: str) -> None:
    case = ControllerCase(version).claim().start(0, 1)
    case.create("t", [0, 1])
    for _ in range(3):
        case.after(4_000)
        case.heartbeat(1)
    case.after(1_000)
    assert fencings(case) == [0]
    assert case.summary() == (1, 1, [1], 1)


@VERSIONS
def test_the_last_to_be_fenced_stays_in_the_isr(version: str) -> None:
    case = ControllerCase(version, eligible_leader_replicas_version=0).claim()
    case.start(0, 1, 2)
    case.create("t", [0, 1, 2])
    case.heartbeat(0)
    case.after(1)
    case.heartbeat(2)
    case.after(1)
    case.heartbeat(1)
    epochs = {broker: one.epoch for broker, one in case.state.brokers.items()}
    case.after(20_000)
    by_contact = [0, 2, 1]
    by_hash = sorted(epochs, key=lambda broker: session_bucket(broker, epochs[broker], 3))
    assert fencings(case) == (by_contact if version in ("3.3", OLD) else by_hash)
    last = fencings(case)[-1]
    assert (case.partition().leader, case.partition().isr) == (-1, (last,))
    case.heartbeat(last)
    assert (case.partition().leader, case.partition().isr) == (last, (last,))


@VERSIONS
def test_a_new_controller_begins_all_sessions_anew(version: str) -> None:
    case = ControllerCase(version).claim().start(0, 1)
    case.after(8_000)
    case.lose()
    case.claim()
    case.heartbeat(1)
    claimed_ms = case.now_ms
    case.at(claimed_ms + SESSION_MS - 1)
    assert fencings(case) == []
    case.heartbeat(1)
    case.at(claimed_ms + SESSION_MS + 1_200)
    assert fencings(case) == [0]


def test_until_3_9_the_first_heartbeat_schedules_the_fencing() -> None:
    for version, fenced in ((OLD, 0), (NEW, 2)):
        case = ControllerCase(version).claim().start(0, 1)
        case.lose()
        case.claim()
        case.after(60_000)
        assert len(fencings(case)) == fenced


@pytest.mark.parametrize(("version", "refused"), [("4.0", True), ("4.1", False)])
def test_only_in_4_0_fenced_brokers_get_sessions_at_a_claim(version: str, *, refused: bool) -> None:
    case = ControllerCase(version).claim().start(0, 1)
    case.heartbeat(0, want_shut_down=True)
    case.after(12_000)
    case.lose()
    case.claim()
    assert (case.register(0, life=7).error != 0) is refused


def test_from_4_0_on_an_orderly_stop_is_fenced_again_when_its_session_expires() -> None:
    for version, times in ((OLD, 1), (NEW, 2)):
        case = ControllerCase(version).claim().start(0, 1)
        case.heartbeat(0, want_shut_down=True)
        for _ in range(4):
            case.after(4_000)
            case.heartbeat(1)
        assert fencings(case) == [0] * times


def test_an_entry_of_a_former_epoch_fences_no_broker() -> None:
    case = ControllerCase(NEW).claim().start(0)
    case.call(BrokerHeartbeatRequest(BrokerId(0), 0, Offset(100)))
    case.call(BrokerHeartbeatRequest(BrokerId(7), 0, Offset(100)))
    for _ in range(6):
        case.after(2_000)
        case.heartbeat(0)
    assert fencings(case) == []


# --- controlled shutdown ---


@VERSIONS
def test_a_follower_may_stop_at_once(version: str) -> None:
    case = ControllerCase(version).claim().start(0, 1)
    case.create("t", [0, 1])
    stopped = case.heartbeat(1, want_shut_down=True)
    assert (stopped.should_shut_down, stopped.is_fenced) == (True, True)
    assert case.partition().isr == (0,)
    assert case.heartbeat(1, want_shut_down=True).should_shut_down


@VERSIONS
def test_a_leader_stops_when_the_others_have_read_that_it_does_not_lead(version: str) -> None:
    case = ControllerCase(version).claim().start(0, 1)
    case.create("t", [0, 1])
    case.heartbeat(1)
    epoch = case.state.brokers[BrokerId(0)].epoch
    end = case.log.end
    begun = case.heartbeat(0, want_shut_down=True)
    assert (begun.should_shut_down, begun.is_fenced) == (False, False)
    assert case.records(end) == [
        BrokerRegistrationChangeRecord(BrokerId(0), epoch, in_controlled_shutdown=1),
        PartitionChangeRecord(case.state.topics["t"].topic_id, 0, leader=1, isr=(BrokerId(1),)),
    ]
    written = case.log.end - 1
    assert not case.heartbeat(0, want_shut_down=True).should_shut_down
    case.heartbeat(1, offset=written - 1)
    assert not case.heartbeat(0, want_shut_down=True).should_shut_down
    case.heartbeat(1, offset=written)
    assert case.heartbeat(0, want_shut_down=True).should_shut_down
    assert case.state.brokers[BrokerId(0)].fenced


@VERSIONS
def test_the_last_leader_cannot_hand_over(version: str) -> None:
    case = ControllerCase(version, eligible_leader_replicas_version=0).claim().start(0, 1)
    case.create("t", [0])
    case.heartbeat(0, want_shut_down=True)
    assert case.partition().leader == -1
    case.heartbeat(1)
    assert case.heartbeat(0, want_shut_down=True).should_shut_down


def test_a_broker_may_be_fenced_and_stopped_in_one() -> None:
    case = ControllerCase().claim().start(0, 1)
    case.create("t", [0, 1])
    assert case.heartbeat(0, want_fence=True, want_shut_down=True).should_shut_down
    assert case.summary() == (1, 1, [1], 1)


@VERSIONS
def test_contacts_survive_a_flood_of_invented_epochs(version: str) -> None:
    case = ControllerCase(version).claim().start(0)
    for epoch in range(100, 10_200):
        case.controller.handle(case.now, BrokerHeartbeatRequest(BrokerId(0), epoch, Offset(0)), lambda reply: None)
    case.heartbeat(0)
    case.after(8_000)
    assert fencings(case) == []
    assert case.call(registration(0, life=9)).error == ErrorCode.DUPLICATE_BROKER_REGISTRATION
