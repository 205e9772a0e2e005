"""What the parts of one broker share: who it is, its rules, its disk, and the step that is under way.

`now` and `out` are set at the start of every step. Nothing here acts; it saves passing six things around.
"""

from collections.abc import Callable
from typing import Protocol

from emulator.machines.broker.settings import BrokerSettings
from emulator.storage.files import Files
from protocol.chance import Chance
from protocol.events import Event
from protocol.ids import BrokerId
from protocol.machine import Now, TimerKey
from protocol.messages.session import SessionError, SessionRequest, SessionResponse
from protocol.outbox import Outbox
from protocol.versions import Gates
from protocol.work import Runner, Until, Work


class SessionExpired(Exception):
    """While somebody waited for the session service (gate `session_wait_ends_at_expiry`)."""


SessionDone = Callable[[Now, Outbox, SessionResponse], None]


class SessionCalls(Protocol):
    """The session service as brokers use it: a call waits, through connection losses, until it is answered
    or (gate `session_wait_ends_at_expiry`) the session expires."""

    def call(self, now: Now, out: Outbox, request: SessionRequest, done: SessionDone) -> None: ...


class BrokerContext:
    """Shared by the parts of one life of one broker."""

    __slots__ = (
        "broker", "broker_epoch", "chance", "files", "gates", "now", "out", "sessions", "settings", "stopping",
        "threads",
    )  # fmt: skip

    def __init__(
        self,
        broker: BrokerId,
        gates: Gates,
        settings: BrokerSettings,
        files: Files,
        sessions: SessionCalls,
        out: Outbox,
    ) -> None:
        self.broker = broker
        self.gates = gates
        self.settings = settings
        self.files = files
        self.sessions = sessions
        self.out = out
        self.now = Now(0.0, 0.0)
        self.chance = Chance(0)
        """Which of two threads that want one lock gets it; a life's seed replaces it."""
        self.threads = Runner(lambda: self.now.mono_ms)
        self.stopping = False
        """Asked to stop in an orderly way: nothing is followed any more."""
        self.broker_epoch = -1
        """czxid of this life's registration (KIP-380); -1 before."""

    def emit(self, event: Event) -> None:
        self.out.emit(event)

    def set_timer(self, key: TimerKey, after_ms: float, due: Callable[[], None]) -> None:
        """`due` is called when it fires, in a step of its own."""
        self.out.set_timer(key, after_ms, lambda now, out: due())

    def ask_session(self, request: SessionRequest, done: Callable[[SessionResponse], None]) -> None:
        """Like `SessionCalls.call`, keeping `now` right when the answer comes in a later step."""

        def answered(now: Now, out: Outbox, response: SessionResponse) -> None:
            self.now = now
            self.out = out
            done(response)

        self.sessions.call(self.now, self.out, request, answered)

    def asked(self, request: SessionRequest) -> Work[SessionResponse]:
        """The answer, waited for by whoever's thread asks. Raises SessionExpired."""
        response = yield Until("the session service", lambda done: self.ask_session(request, done))
        assert isinstance(response, SessionResponse)
        if response.error == SessionError.SESSION_EXPIRED:
            raise SessionExpired
        return response
