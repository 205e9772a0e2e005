"""The outbox is a machine's router of inputs.

An input goes to the owner of the connection or the setter of the timer.
"""

from protocol.machine import (
    CancelTimer,
    Close,
    ConnectionAccepted,
    ConnectionEvent,
    ConnectionLost,
    ConnectionOpened,
    MessageReceived,
    Now,
    Open,
    SetTimer,
    Started,
    StopRequested,
    TimerFired,
)
from protocol.messages.session_messages import PingRequest
from protocol.outbox import Outbox

NOW = Now(1.0, 2.0)
MESSAGE = MessageReceived(1, 0, 0, PingRequest())


class Part:
    def __init__(self) -> None:
        self.heard: list[ConnectionEvent] = []
        self.fired = 0

    def hear(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        self.heard.append(event)

    def due(self, now: Now, out: Outbox) -> None:
        self.fired += 1


def test_all_that_comes_of_a_connection_is_its_openers_until_it_is_lost() -> None:
    out, one, other = Outbox(), Part(), Part()
    assert (out.open("broker-1", "client", one.hear), out.open("broker-2", "client", other.hear)) == (1, 2)
    assert out.take() == [Open(1, "broker-1", "client"), Open(2, "broker-2", "client")]
    events: list[ConnectionEvent] = [ConnectionOpened(1), MESSAGE, ConnectionLost(1, "torn")]
    assert all(out.route(NOW, event) for event in events)
    assert (one.heard, other.heard) == (events, [])
    assert not out.route(NOW, MESSAGE), "nothing follows a loss"


def test_a_connection_that_was_closed_or_never_was_has_no_owner() -> None:
    out, part = Outbox(), Part()
    out.open("broker-1", "client", part.hear)
    out.close(1)
    assert out.take()[1:] == [Close(1)]
    assert not any(out.route(NOW, event) for event in (MESSAGE, ConnectionOpened(1), ConnectionLost(1, "late")))
    assert not out.route(NOW, MessageReceived(-7, 0, 0, PingRequest()))
    assert part.heard == []


def test_an_accepted_connection_is_whose_takes_it_over_last() -> None:
    out, first, then = Outbox(), Part(), Part()
    out.own(-1, first.hear)
    out.own(-1, then.hear)
    message = MessageReceived(-1, 0, 0, PingRequest())
    assert out.route(NOW, message)
    assert (first.heard, then.heard) == ([], [message])
    assert out.take() == [], "owning orders nothing"


def test_a_timer_fires_once_for_its_last_owner_and_never_when_it_is_cancelled() -> None:
    out, first, then = Outbox(), Part(), Part()
    out.set_timer(("t", 1), 5.0, first.due)
    out.set_timer(("t", 1), 6.0, then.due)
    out.set_timer(("t", 2), 7.0, first.due)
    out.cancel_timer(("t", 2))
    assert out.take() == [
        SetTimer(("t", 1), 5.0), SetTimer(("t", 1), 6.0), SetTimer(("t", 2), 7.0), CancelTimer(("t", 2)),
    ]  # fmt: skip
    assert out.route(NOW, TimerFired(("t", 1))) and not out.route(NOW, TimerFired(("t", 1)))
    assert not out.route(NOW, TimerFired(("t", 2)))
    assert (first.fired, then.fired) == (0, 1)


def test_the_owner_may_set_the_timer_again_and_close_the_connection() -> None:
    out, fired = Outbox(), 0

    def again(now: Now, out: Outbox) -> None:
        nonlocal fired
        fired += 1
        out.set_timer(("t",), 1.0, again)

    def hang_up(now: Now, event: ConnectionEvent, out: Outbox) -> None:
        out.close(event.connection)

    out.set_timer(("t",), 1.0, again)
    out.open("broker-1", "client", hang_up)
    assert out.route(NOW, TimerFired(("t",))) and out.route(NOW, TimerFired(("t",)))
    assert fired == 2
    assert out.route(NOW, MESSAGE) and not out.route(NOW, MESSAGE)


def test_unrequested_input_is_the_machines_own() -> None:
    out = Outbox()
    accepted = ConnectionAccepted(-1, "broker-1", "client")
    assert not any(out.route(NOW, event) for event in (Started(1, 1), StopRequested(), accepted))
