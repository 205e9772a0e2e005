"""Event queue and single thread of the controller: events run one at a time, in order.

While one event waits for ZooKeeper, all others wait behind it. A controller that is partitioned from ZooKeeper
blocks this way (semantics 4.1). When the session expires, requests to ZooKeeper fail and the queue is dropped. An
event that waits for a sender (semantics 11.13) goes on until the sender has ended.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from controller.channels import ChannelFull
from controller.controller_context import ControllerContext, ControllerMoved, ReassignmentFailed, WriteRefused
from controller.session_calls import Procedure, Procedures, SessionCalls, SessionLost
from controller.term import step_down_if_moved
from protocol.kinds import ExitKind
from protocol.machine import Now
from protocol.outbox import Outbox
from protocol.ready_queue import ReadyQueue
from protocol.work import Task, Waiting
from protocol.znodes import UnreadableZnode

MAX_EVENTS = 10_000
"""Bound of waiting events.

Kafka has no bound; its queue grows while ZooKeeper is out of reach.
"""
FATAL = 1
THREAD = "controller-event-thread"
"""Kafka's name of the controller's thread."""


Then = Callable[[Now, Outbox], None]


class ControllerEvent(NamedTuple):
    """One event of the controller's queue.

    `begin` makes the procedure at the event's turn. `preempted` is called instead, if the session expires first.
    `then` is called at the event's end, however it ended.
    """

    name: str
    begin: Callable[[], Procedure[Any]]
    preempted: Then | None = None
    then: Then | None = None


class EventQueue:
    """Queue of events; their procedures work in `context`."""

    def __init__(self, context: ControllerContext, sessions: SessionCalls, ready: ReadyQueue | None = None) -> None:
        self._context = context
        self._procedures = Procedures(sessions, context.channels.end_sending, context.at, ready)
        self._waiting: deque[ControllerEvent] = deque()
        self._running: ControllerEvent | None = None
        self._task: Task | None = None
        self._pumping = False
        self._halted = False
        self._outlives_session = False

    @property
    def running(self) -> str:
        """Name of the event under way; "" if there is none."""
        return self._running.name if self._running else ""

    def waiting_tasks(self) -> list[Waiting]:
        """The thread, while an event waits: its event, its wait and the start of the wait."""
        return self._procedures.runner.waiting_tasks()

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
        """Run events until one waits or none is left."""
        if self._pumping:
            return
        self._pumping = True
        while self._running is None and self._waiting and not self._halted:
            self._begin(now, out, self._waiting.popleft())
        self._pumping = False

    def expire(self, now: Now, out: Outbox) -> bool:
        """Drop the queue: the session expired, and its calls have failed.

        Later events run. True: they wait behind an event that still runs.
        """
        self._halted, self._outlives_session = False, self._task is not None
        if self._task is None:
            self._running = None
        dropped, self._waiting = self._waiting, deque()
        for event in dropped:
            if event.preempted is not None:
                event.preempted(now, out)
        return self._outlives_session

    def halt(self) -> None:
        """Stop for good: the node stops."""
        if self._task is not None:
            self._task.abandon()
        self._task, self._running, self._halted = None, None, True
        self._waiting.clear()

    def _begin(self, now: Now, out: Outbox, event: ControllerEvent) -> None:
        self._running, self._outlives_session = event, False
        self._start(now, out, event.begin())

    def _start(self, now: Now, out: Outbox, procedure: Procedure[Any]) -> None:
        task = self._procedures.task(now, out, THREAD, self.running, procedure, self._ended, self._failed)
        self._task = task
        task.start()

    def _ended(self, now: Now, out: Outbox, _result: object) -> None:
        event, task = self._running, self._task
        assert event is not None and task is not None
        self._running, self._task = None, None
        lost = isinstance(task.thrown, SessionLost) and not self._outlives_session
        self._halted = self._halted or lost  # until `expire`, which follows
        if event.then is not None:
            event.then(now, out)
        self.pump(now, out)

    def _failed(self, now: Now, out: Outbox, error: Exception) -> None:
        match error:
            case ControllerMoved():
                self._start(now, out, step_down_if_moved(self._context))
            case WriteRefused() | ReassignmentFailed():
                self._ended(now, out, None)  # Kafka logs it, and goes on with the next event
            case SessionLost() if self._outlives_session:
                self._ended(now, out, None)
            case SessionLost():
                self._task, self._halted = None, True
            case ChannelFull() | UnreadableZnode():
                self._task, self._halted = None, True
                out.exit(FATAL, f"controller, {self.running}: {error}", ExitKind.CONTROLLER_FAILED)
            case _:
                raise error
