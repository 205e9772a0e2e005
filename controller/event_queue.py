"""The controller's single thread: events run one at a time, each to its end, in the order in which they came.

While one waits for the session service, all others wait behind it: that is how a controller that is cut off
from the service blocks (semantics 4.1). When the session expires, whatever runs is over and what is queued
is dropped.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

from controller.channels import ChannelFull
from controller.context import ControllerContext, ControllerMoved
from controller.session_calls import Procedure, Run, SessionCalls, SessionLost
from controller.term import step_down_if_moved
from protocol.kinds import ExitKind
from protocol.machine import Now, Outbox
from protocol.messages.session import SessionRequest, SessionResponse
from protocol.znodes import UnreadableZnode

MAX_EVENTS = 10_000
"""Events waiting. Kafka has no bound; its queue grows when the session service is out of reach for long."""
FATAL = 1

Then = Callable[[Now, Outbox], None]


class ControllerEvent(msgspec.Struct, frozen=True):
    """`begin` makes the procedure when its turn comes. `preempted` instead, if the session expires first.
    `then` follows when it is over, however it ended."""

    name: str
    begin: Callable[[], Procedure[Any]]
    preempted: Then | None = None
    then: Then | None = None


class _DeskSessions:
    """The injected SessionCalls, with the context told of each answer's time."""

    def __init__(self, context: ControllerContext, sessions: SessionCalls) -> None:
        self._context = context
        self._sessions = sessions

    def call(
        self,
        now: Now,
        out: Outbox,
        request: SessionRequest,
        done: Callable[[Now, Outbox, SessionResponse], None],
    ) -> None:
        def answered(now: Now, out: Outbox, response: SessionResponse) -> None:
            self._context.at(now, out)
            done(now, out, response)

        self._sessions.call(now, out, request, answered)


class EventQueue:
    """`context` is where the procedures work; the queue only runs them."""

    def __init__(self, context: ControllerContext, sessions: SessionCalls) -> None:
        self._context = context
        self._sessions = _DeskSessions(context, sessions)
        self._waiting: deque[ControllerEvent] = deque()
        self._running: ControllerEvent | None = None
        self._run: Run[Any] | None = None
        self._pumping = False
        self._halted = False

    @property
    def running(self) -> str:
        """Name of the event under way; "" if there is none."""
        return self._running.name if self._running else ""

    def put(self, event: ControllerEvent) -> None:
        """Queue an event; `pump` runs it."""
        if len(self._waiting) >= MAX_EVENTS:
            self._context.out.exit(
                FATAL,
                f"{MAX_EVENTS} events wait for the controller, which is busy with {self.running}",
                ExitKind.CONTROLLER_FAILED,
            )
            return
        self._waiting.append(event)

    def pump(self, now: Now, out: Outbox) -> None:
        """Run events until one has to wait or none is left."""
        if self._pumping:
            return
        self._pumping = True
        while self._running is None and self._waiting and not self._halted:
            self._begin(now, out, self._waiting.popleft())
        self._pumping = False

    def expire(self, now: Now, out: Outbox) -> None:
        """The session expired: end what runs, drop what waits, go on with what is put from now on."""
        run, self._run, self._running, self._halted = self._run, None, None, False
        if run is not None:
            run.expire()
        dropped, self._waiting = self._waiting, deque()
        for event in dropped:
            if event.preempted is not None:
                event.preempted(now, out)

    def halt(self) -> None:
        """The node stops: nothing runs any more."""
        if self._run is not None:
            self._run.abandon()
        self._run, self._running, self._halted = None, None, True
        self._waiting.clear()

    def _begin(self, now: Now, out: Outbox, event: ControllerEvent) -> None:
        self._running = event
        self._start(now, out, event.begin())

    def _start(self, now: Now, out: Outbox, procedure: Procedure[Any]) -> None:
        run = Run(procedure, self._sessions, self._ended, self._failed, self._wait_for_sender)
        self._run = run
        run.start(now, out)

    def _ended(self, now: Now, out: Outbox, _result: object) -> None:
        event, run = self._running, self._run
        assert event is not None and run is not None
        self._running, self._run = None, None
        self._halted = self._halted or run.session_lost  # until `expire`, which is on its way
        if event.then is not None:
            event.then(now, out)
        self.pump(now, out)

    def _failed(self, now: Now, out: Outbox, error: Exception) -> None:
        match error:
            case ControllerMoved():
                self._start(now, out, step_down_if_moved(self._context))
            case SessionLost():
                self._run, self._halted = None, True
            case ChannelFull() | UnreadableZnode():
                self._run, self._halted = None, True
                out.exit(FATAL, f"controller, {self.running}: {error}", ExitKind.CONTROLLER_FAILED)
            case _:
                raise error

    def _wait_for_sender(self, broker: int, ended: Then) -> bool:
        def told(now: Now, out: Outbox) -> None:
            self._context.at(now, out)
            ended(now, out)

        return self._context.channels.end_sending(broker, told)
