"""The session tracker: buckets, touches, owners (semantics 5.2)."""

import pytest

from emulator.machines.session.session_state import Session
from emulator.machines.session.sessions import SessionLimits, SessionTracker, bucket_ms
from protocol.messages.session_messages import SessionError


@pytest.mark.parametrize(
    ("requested", "got"), [(1, 2000), (2000, 2000), (6000, 6000), (20_000, 20_000), (99_999, 20_000)]
)
def test_a_time_out_is_between_2_and_20_ticks(requested: int, got: int) -> None:
    assert SessionLimits(1000).negotiated_ms(requested) == got


@pytest.mark.parametrize(("requested", "got"), [(1, 500), (6000, 6000), (60_000, 40_000)])
def test_limits_of_time_outs_that_are_given_hold_instead(requested: int, got: int) -> None:
    assert SessionLimits(1000, 500, 40_000).negotiated_ms(requested) == got
    assert SessionLimits(1000, 500).negotiated_ms(requested) == min(got, 20_000)


@pytest.mark.parametrize(("at", "bucket"), [(0.0, 1000), (999.9, 1000), (1000.0, 2000), (1000.1, 2000)])
def test_expiry_is_rounded_up_to_the_next_tick(at: float, bucket: float) -> None:
    assert bucket_ms(at, 1000) == bucket
    assert bucket_ms(at + 300.0, 1000, 300.0) == bucket + 300.0


def _tracker(*timeouts_ms: int) -> SessionTracker:
    tracker = SessionTracker(1000)
    for number, timeout_ms in enumerate(timeouts_ms, 1):
        tracker.add(Session(number, timeout_ms, 0, ""), 0.0, server=0)
    return tracker


def test_a_touched_session_expires_a_time_out_after_its_last_touch() -> None:
    tracker = _tracker(6000, 6000)
    assert tracker.next_expiry_ms() == 7000.0
    assert tracker.touch(2, 1500.0)
    assert tracker.expired(6999.9) == []
    assert tracker.expired(7000.0) == [1]
    assert tracker.next_expiry_ms() == 8000.0
    assert tracker.expired(7500.0) == []
    assert tracker.expired(8000.0) == [2]


def test_a_session_whose_end_is_proposed_is_saved_by_no_touch() -> None:
    tracker = _tracker(6000)
    assert tracker.expired(7000.0) == [1]
    assert not tracker.touch(1, 7001.0)
    assert tracker.refuses(1, 0) == SessionError.SESSION_EXPIRED
    assert tracker.expired(60_000.0) == [], "proposed once"
    tracker.remove(1)
    assert tracker.next_expiry_ms() is None


def test_requests_of_a_session_that_moved_are_refused_where_it_was() -> None:
    tracker = _tracker(6000)
    tracker.moved(1, 2)
    assert tracker.refuses(1, 0) == SessionError.SESSION_MOVED
    assert tracker.refuses(1, 2) == 0
    assert tracker.refuses(9, 2) == SessionError.SESSION_EXPIRED


def test_a_new_leader_learns_where_a_session_is_from_its_first_request() -> None:
    tracker = SessionTracker(1000)
    tracker.add(Session(1, 6000, 0, ""), 0.0)
    assert tracker.refuses(1, 2) == 0
    assert tracker.refuses(1, 0) == SessionError.SESSION_MOVED
