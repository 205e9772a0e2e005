"""Session expiry by the ensemble's leader (semantics 5.2).

Only the leader expires sessions. There is a bucket of sessions per tick. Each request or ping moves the session to
the bucket in which its timeout would end, rounded up to the next tick. When a bucket's time comes, the sessions left in
it have expired.
"""

from typing import NamedTuple

from emulator.machines.session.session_state import Session
from protocol.messages.session_messages import SessionError


class SessionLimits(NamedTuple):
    """ZooKeeper's minSessionTimeout and maxSessionTimeout; -1: 2 and 20 ticks."""

    tick_time_ms: int
    min_session_timeout_ms: int = -1
    max_session_timeout_ms: int = -1

    @property
    def least_ms(self) -> int:
        return 2 * self.tick_time_ms if self.min_session_timeout_ms == -1 else self.min_session_timeout_ms

    @property
    def most_ms(self) -> int:
        return 20 * self.tick_time_ms if self.max_session_timeout_ms == -1 else self.max_session_timeout_ms

    def negotiated_ms(self, requested_ms: int) -> int:
        """The timeout that a session gets for the requested one."""
        return min(max(requested_ms, self.least_ms), self.most_ms)

    def because(self, requested_ms: int) -> str:
        """Reason of a negotiated timeout that differs from the requested one."""
        if requested_ms < self.least_ms:
            set_apart, name, ticks = self.min_session_timeout_ms != -1, "minSessionTimeout", 2
        else:
            set_apart, name, ticks = self.max_session_timeout_ms != -1, "maxSessionTimeout", 20
        if set_apart:
            return f"{name} of the session service bounds it"
        return f"{name} of the session service bounds it, {ticks} ticks of tickTime={self.tick_time_ms}"


def bucket_ms(at_ms: float, tick_time_ms: int, phase_ms: float = 0.0) -> float:
    """Time of the first bucket after `at_ms` (ZooKeeper rounds up even a round time)."""
    return ((at_ms - phase_ms) // tick_time_ms + 1) * tick_time_ms + phase_ms


class _Tracked:
    __slots__ = ("closing", "expires_ms", "server", "timeout_ms")

    def __init__(self, timeout_ms: int, expires_ms: float, server: int) -> None:
        self.timeout_ms = timeout_ms
        self.expires_ms = expires_ms
        self.server = server
        self.closing = False


class SessionTracker:
    """Sessions of a term, with their expiry.

    `server` of a session: the server that last accepted its client, -1 unknown (a new leader does not know).
    `phase_ms`: offset of the buckets within a tick. ZooKeeper counts ticks of the machine's clock, which does not
    depend on the ensemble's launch. A clock that starts at launch would tie expiry to the phase of the pings.
    """

    def __init__(self, tick_time_ms: int, phase_ms: float = 0.0) -> None:
        self._tick_time_ms = tick_time_ms
        self._phase_ms = phase_ms
        self._tracked: dict[int, _Tracked] = {}

    def add(self, session: Session, now_ms: float, server: int = -1) -> None:
        """Track a session, just opened or known to a new leader: a full timeout from now."""
        expires_ms = bucket_ms(now_ms + session.timeout_ms, self._tick_time_ms, self._phase_ms)
        self._tracked[session.session] = _Tracked(session.timeout_ms, expires_ms, server)

    def remove(self, session: int) -> None:
        self._tracked.pop(session, None)

    def touch(self, session: int, now_ms: float) -> bool:
        """Note a request or ping; returns whether the session is alive.

        An expiry time only moves forward.
        """
        tracked = self._living(session)
        if tracked is None:
            return False
        expires_ms = bucket_ms(now_ms + tracked.timeout_ms, self._tick_time_ms, self._phase_ms)
        tracked.expires_ms = max(tracked.expires_ms, expires_ms)
        return True

    def moved(self, session: int, server: int) -> None:
        """Set the session's server: requests through other servers are refused from now on."""
        self._tracked[session].server = server

    def refuses(self, session: int, server: int) -> int:
        """Session error of a request of `session` that came through `server`; 0: none."""
        tracked = self._living(session)
        if tracked is None:
            return SessionError.SESSION_EXPIRED
        if tracked.server == -1:
            tracked.server = server
        return 0 if tracked.server == server else SessionError.SESSION_MOVED

    def refuses_to_close(self, session: int) -> int:
        """Session error of a session's end; 0: none.

        Any server may end it: its origin is not compared (PrepRequestProcessor).
        """
        return SessionError.SESSION_EXPIRED if self._living(session) is None else 0

    def _living(self, session: int) -> _Tracked | None:
        tracked = self._tracked.get(session)
        return None if tracked is None or tracked.closing else tracked

    def closing(self, session: int) -> None:
        """Mark a session whose end is proposed: no touch extends it any more."""
        tracked = self._tracked.get(session)
        if tracked is not None:
            tracked.closing = True

    def expired(self, now_ms: float) -> list[int]:
        """Sessions whose bucket's time has come, oldest id first; they are closing from now on."""
        found = sorted(s for s, t in self._tracked.items() if not t.closing and t.expires_ms <= now_ms)
        for session in found:
            self._tracked[session].closing = True
        return found

    def next_expiry_ms(self) -> float | None:
        """Time of the next check; None: there are no sessions."""
        return min((t.expires_ms for t in self._tracked.values() if not t.closing), default=None)
