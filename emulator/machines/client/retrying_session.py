"""Kafka's layer over a session client: calls that survive a lost connection.

A call that meets CONNECTION_LOSS waits without limit for the connection, and is sent again. Versions differ if the
session expires meanwhile (semantics 1.6). From 1.1 the call fails with SESSION_EXPIRED (`ends_at_expiry`), before
it would be sent again in the new session. From 0.9 to 1.0 creates of some ephemerals do.
The outcome of a lost write is unknown. A repeated conditional write that was done meets BAD_VERSION: its caller
reads again and compares. A repeated create of an ephemeral meets NODE_EXISTS: its caller checks the owner.
"""

from bisect import insort
from collections.abc import Callable
from typing import NamedTuple

from emulator.machines.client.session_client import Done, SessionClient, failure
from protocol.machine import Now
from protocol.messages.session_messages import SessionError, SessionRequest, SessionResponse, WatchFired
from protocol.outbox import Outbox

WAITING_MAX = 10_000
"""Bound of calls that wait for a connection. A caller that exceeds it has a bug."""


class WaitingCall(NamedTuple):
    """A call that waits for a connection. `number`: in the order of the calls."""

    number: int
    request: SessionRequest
    done: Done
    ends_at_expiry: bool


class RetryingSession:
    """Retrying calls of one session.

    Takes over the client's `on_state` and `on_watch`; its own are called after it has acted.
    """

    def __init__(self, client: SessionClient) -> None:
        self.client = client
        self.on_state: Callable[[Now, Outbox, str], None] = lambda now, out, state: None
        self.on_watch: Callable[[Now, Outbox, WatchFired], None] = lambda now, out, notice: None
        self._calls = 0
        self._waiting: list[WaitingCall] = []
        self._abandoned = False
        client.on_state = self._state_changed
        client.on_watch = self._watch_fired

    @property
    def waiting(self) -> int:
        """Number of calls that wait for a connection."""
        return len(self._waiting)

    def call(self, now: Now, out: Outbox, request: SessionRequest, done: Done, *, ends_at_expiry: bool) -> None:
        """Send a request; `done` gets the server's response, or SESSION_EXPIRED.

        It never gets CONNECTION_LOSS. Calls are sent in order.
        """
        self._calls += 1
        call = WaitingCall(self._calls, request, done, ends_at_expiry)
        state = self.client.state
        if state == "closed" or (state == "expired" and ends_at_expiry):
            self._fail(now, out, call)
        elif state == "connected" and not self._waiting:
            self._submit(now, out, call)
        else:
            self._wait(call)

    def abandon(self) -> None:
        """Drop all calls and watches: their callers are gone. `on_state` is still called."""
        self._abandoned = True
        self._waiting.clear()

    # --- private --------------------------------------------------------------------------------------------

    def _submit(self, now: Now, out: Outbox, call: WaitingCall) -> None:
        def answered(now: Now, out: Outbox, response: SessionResponse) -> None:
            if self._abandoned:
                return
            if response.error == SessionError.CONNECTION_LOSS or (
                response.error == SessionError.SESSION_EXPIRED and not call.ends_at_expiry
            ):
                self._wait(call)
            else:
                call.done(now, out, response)

        self.client.submit(now, out, call.request, answered)

    def _wait(self, call: WaitingCall) -> None:
        assert len(self._waiting) < WAITING_MAX, "too many session calls wait for a connection"
        insort(self._waiting, call, key=lambda waiting: waiting.number)

    def _state_changed(self, now: Now, out: Outbox, state: str) -> None:
        if state == "connected":
            calls, self._waiting = self._waiting, []
            for call in calls:
                self._submit(now, out, call)
        elif state in ("expired", "closed"):
            ended = [call for call in self._waiting if state == "closed" or call.ends_at_expiry]
            self._waiting = [call for call in self._waiting if state != "closed" and not call.ends_at_expiry]
            for call in ended:
                self._fail(now, out, call)
        self.on_state(now, out, state)

    def _watch_fired(self, now: Now, out: Outbox, notice: WatchFired) -> None:
        if not self._abandoned:
            self.on_watch(now, out, notice)

    def _fail(self, now: Now, out: Outbox, call: WaitingCall) -> None:
        call.done(now, out, failure(call.request, SessionError.SESSION_EXPIRED))
