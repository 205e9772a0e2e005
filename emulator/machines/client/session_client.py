"""ZooKeeper client (ClientCnxn): one session with the ensemble, as a part of a machine.

Semantics 5.2. It never declares its own session expired. Silence only makes it try another server; only a server's
response ends the session. Requests go out in order. Those without a response when the connection is lost fail with
CONNECTION_LOSS, and their outcome is unknown.
States:

    idle --start--> connecting <--> connected      (same session, other server)
                        |---- server responds ---> expired --restart--> connecting (a new session)
    connected, connecting --close--> (the server's response, or its silence) --> closed

Watches are one-shot. After reconnecting with the same session SetWatches sets them again; a new session begins with
none.
"""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Literal

from emulator.machines.client.session_servers import SessionServers
from emulator.machines.client.session_watches import HeldWatches
from protocol.chance import Chance
from protocol.events import SessionChanged
from protocol.machine import ConnectionEvent, ConnectionOpened, MessageReceived, Now, TimerKey
from protocol.messages.message_base import Message
from protocol.messages.session_messages import (
    CloseSessionRequest,
    CloseSessionResponse,
    ConnectRequest,
    ConnectResponse,
    OpResult,
    PingRequest,
    PingResponse,
    SessionError,
    SessionRequest,
    SessionResponse,
    SetWatchesResponse,
    WatchFired,
)
from protocol.outbox import Due, Outbox
from protocol.purposes import SESSION

PING_INTERVAL_MAX_MS = 10_000.0
OUTSTANDING_MAX = 10_000
"""Bound of requests without a response. A caller that exceeds it has a bug."""

SessionState = Literal["idle", "connecting", "connected", "expired", "closed"]
Done = Callable[[Now, Outbox, SessionResponse], None]


def _nothing(now: Now, out: Outbox, what: object) -> None:
    return None


class SessionClient:
    """One session. `key` begins the names of its timers; `owner`: its node in events (`key`).

    `on_state` is called with connected, disconnected, expired and closed; `on_watch` with every watch that fires.
    Both may submit.
    """

    def __init__(self, key: str, servers: Sequence[str], session_timeout_ms: float, owner: str = "") -> None:
        self.state: SessionState = "idle"
        self.session_id = 0
        self.on_state: Callable[[Now, Outbox, str], None] = _nothing
        self.on_watch: Callable[[Now, Outbox, WatchFired], None] = _nothing
        self.handled: Due = lambda now, out: None
        """Callback after each input."""
        self.changes: Counter[str] = Counter()
        """Counts of the states connected, disconnected, expired and closed, over all its sessions."""
        self._owner = owner or key
        self._servers = SessionServers(servers)
        self._requested_timeout_ms = int(session_timeout_ms)
        self._connect_timer: TimerKey = (key, "connect")
        self._idle_timer: TimerKey = (key, "idle")
        self._chance = Chance(0)
        self._reset()

    def _reset(self) -> None:
        """Return to the state before the first connection: no session."""
        self.session_id = 0
        self._password = 0
        self._last_zxid = 0
        self._set_timeout(self._requested_timeout_ms)
        self._connection = 0
        self._sent_ms = 0.0
        self._received_ms = 0.0
        self._closing = False
        self._queued: deque[tuple[SessionRequest, Done]] = deque()
        self._pending: deque[tuple[SessionRequest, Done]] = deque()
        self._watches = HeldWatches()

    @property
    def connection(self) -> int:
        """Connection to the present server; 0: there is none."""
        return self._connection

    @property
    def last_zxid(self) -> int:
        """Newest zxid seen in this session; a server behind it refuses the session."""
        return self._last_zxid

    @property
    def session_timeout_ms(self) -> float:
        """Negotiated timeout; the requested one before that."""
        return self._timeout_ms

    # --- operations -----------------------------------------------------------------------------------------

    def start(self, now: Now, out: Outbox, chance: Chance) -> None:
        """Open a session; `chance` draws the order of the servers."""
        assert self.state == "idle", self.state
        self._chance = chance
        self._servers.draw(chance)
        self.state = "connecting"
        self._next_server(now, out)

    def restart(self, now: Now, out: Outbox) -> None:
        """Open a new session after the old one expired or was closed, without any of its state."""
        assert self.state in ("expired", "closed"), self.state
        self._reset()
        self._servers.draw(self._chance)
        self.state = "connecting"
        self._next_server(now, out)

    def submit(self, now: Now, out: Outbox, request: SessionRequest, done: Done) -> None:
        """Send a request, in order.

        While connecting it waits for the end of this attempt, and fails with it, as ZooKeeper's.
        """
        if self.state in ("expired", "closed") or self._closing:
            done(now, out, failure(request, SessionError.SESSION_EXPIRED))
        elif self.state == "connected":
            assert len(self._pending) < OUTSTANDING_MAX, "too many session requests without an answer"
            self._pending.append((request, done))
            self._send(now, out, request)
        else:
            assert len(self._queued) < OUTSTANDING_MAX, "too many session requests without an answer"
            self._queued.append((request, done))

    def close(self, now: Now, out: Outbox) -> None:
        """End the session (ZooKeeper.close).

        `on_state` is called with closed when the server has responded or cannot be reached. It waits for a
        connection attempt under way, and tries no other server after it. The wait has a limit. For a silent
        server it is two thirds of the session's timeout, for an attempt the timeout divided by the number of servers.
        """
        if self._closing or self.state in ("expired", "closed"):
            return
        if self.state == "connected":
            self._closing = True
            self._send(now, out, CloseSessionRequest())
        elif self._connection:
            self._closing = True
        else:
            self._end(now, out, "closed")

    # --- inputs ---------------------------------------------------------------------------------------------

    def _on_connection_event(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        if isinstance(event, MessageReceived):
            self._received_ms = now.mono_ms
            self._message(now, out, event.message)
        elif isinstance(event, ConnectionOpened):
            self._introduce(now, out)
        else:
            self._connection = 0
            self._disconnected(now, out)
        self.handled(now, out)

    def _connect_due(self, now: Now, out: Outbox) -> None:
        """Handle the end of the pause before an attempt, or an attempt's timeout."""
        if self._connection:
            out.close(self._connection)
            self._connection = 0
            self._disconnected(now, out)
        else:
            self._connect(now, out)
        self.handled(now, out)

    def _idle_due(self, now: Now, out: Outbox) -> None:
        if now.mono_ms >= self._received_ms + self._read_timeout_ms:
            out.close(self._connection)
            self._connection = 0
            self._disconnected(now, out)
        else:
            if now.mono_ms >= self._sent_ms + self._ping_interval_ms:
                self._send(now, out, PingRequest())
            self._watch_idle(now, out)
        self.handled(now, out)

    # --- connecting -----------------------------------------------------------------------------------------

    def _next_server(self, now: Now, out: Outbox) -> None:
        delay_ms = self._servers.advance()
        if delay_ms > 0:
            out.set_timer(self._connect_timer, delay_ms, self._connect_due)
        else:
            self._connect(now, out)

    def _connect(self, now: Now, out: Outbox) -> None:
        self._connection = out.open(self._servers.current, SESSION, self._on_connection_event)
        out.set_timer(self._connect_timer, self._timeout_ms / len(self._servers), self._connect_due)

    def _introduce(self, now: Now, out: Outbox) -> None:
        """Reopen the session if there is one; waiting requests follow at once."""
        self._send(
            now, out, ConnectRequest(self._requested_timeout_ms, self._last_zxid, self.session_id, self._password)
        )

    def _connected(self, now: Now, out: Outbox, response: ConnectResponse) -> None:
        if response.session_timeout_ms == 0:
            self._end(now, out, "expired")
            return
        self.state = "connected"
        self._servers.connected()
        self.session_id = response.session_id
        self._password = response.password
        self._last_zxid = max(self._last_zxid, response.session_id)
        self._set_timeout(response.session_timeout_ms)
        out.cancel_timer(self._connect_timer)
        self._emit(out, "connected")
        if self._closing:
            self._send(now, out, CloseSessionRequest())
            self._watch_idle(now, out)
            return
        held = self._watches.request(self._last_zxid)
        if held is not None:
            self._send(now, out, held)
        while self._queued:
            request, done = self._queued.popleft()
            self._pending.append((request, done))
            self._send(now, out, request)
        self._watch_idle(now, out)
        self.on_state(now, out, "connected")

    # --- connected ------------------------------------------------------------------------------------------

    def _message(self, now: Now, out: Outbox, message: Message) -> None:
        match message:
            case SessionResponse() if self._pending and _fits(self._pending[0][0], message):
                self._answered(now, out, message)
            case PingResponse(zxid):
                self._last_zxid = max(self._last_zxid, zxid)
            case WatchFired():
                # Its zxid does not count: other notices of the same transaction may be under way, and be lost with
                # this connection; SetWatches must request them again.
                self._watches.fired(message)
                self.on_watch(now, out, message)
            case ConnectResponse() if self.state == "connecting":
                self._connected(now, out, message)
            case CloseSessionResponse() if self._closing:
                self._end(now, out, "closed")
            case SetWatchesResponse():
                pass
            case _:
                # No server sends this; the connection is of no use any more.
                out.close(self._connection)
                self._connection = 0
                self._disconnected(now, out)

    def _answered(self, now: Now, out: Outbox, response: SessionResponse) -> None:
        request, done = self._pending.popleft()
        self._last_zxid = max(self._last_zxid, response.zxid)
        self._watches.answered(request, response)
        done(now, out, response)

    def _send(self, now: Now, out: Outbox, message: Message) -> None:
        self._sent_ms = now.mono_ms
        out.send(self._connection, message)

    def _set_timeout(self, timeout_ms: int) -> None:
        self._timeout_ms = float(timeout_ms)
        self._read_timeout_ms = self._timeout_ms * 2 / 3
        self._ping_interval_ms = min(self._read_timeout_ms / 2, PING_INTERVAL_MAX_MS)

    def _watch_idle(self, now: Now, out: Outbox) -> None:
        """Set the one timer of both limits: since the last request, and since the last response."""
        ping_ms = self._sent_ms + self._ping_interval_ms
        read_ms = self._received_ms + self._read_timeout_ms
        out.set_timer(self._idle_timer, max(0.0, min(ping_ms, read_ms) - now.mono_ms), self._idle_due)

    # --- ends -----------------------------------------------------------------------------------------------

    def _disconnected(self, now: Now, out: Outbox) -> None:
        """Handle a lost, or failed, connection: the session may live on."""
        was_connected = self.state == "connected"
        if self._closing:
            self._end(now, out, "closed")
            return
        self.state = "connecting"
        out.cancel_timer(self._idle_timer)
        out.cancel_timer(self._connect_timer)
        self._next_server(now, out)
        if was_connected:
            self._emit(out, "disconnected")
        self._fail_all(now, out, SessionError.CONNECTION_LOSS)
        if was_connected:
            self.on_state(now, out, "disconnected")

    def _end(self, now: Now, out: Outbox, state: Literal["expired", "closed"]) -> None:
        if self._connection:
            out.close(self._connection)
            self._connection = 0
        out.cancel_timer(self._idle_timer)
        out.cancel_timer(self._connect_timer)
        self._emit(out, state)
        self.state = state
        self._closing = False
        self._watches = HeldWatches()
        self._fail_all(now, out, SessionError.SESSION_EXPIRED)
        self.on_state(now, out, state)

    def _fail_all(self, now: Now, out: Outbox, error: SessionError) -> None:
        failed = [*self._pending, *self._queued]
        self._pending.clear()
        self._queued.clear()
        for request, done in failed:
            done(now, out, failure(request, error))

    def _emit(self, out: Outbox, state: str) -> None:
        self.changes[state] += 1
        out.emit(SessionChanged(self.session_id, state, self._owner, self._servers.current))


def _fits(request: SessionRequest, response: SessionResponse) -> bool:
    """Whether a response can be the request's: it has a result for each operation."""
    return len(response.results) == len(request.ops)


def failure(request: SessionRequest, error: SessionError) -> SessionResponse:
    """Response in place of a missing one: the same error for every operation."""
    return SessionResponse([OpResult(error, op.path) for op in request.ops], error)
