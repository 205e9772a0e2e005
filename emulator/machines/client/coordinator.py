"""A group's coordinator, as its clients know it: who it is, and the connection to it. Semantics 6.

    unknown --FindCoordinator--> known --connection lost or not to be had, or what it answers--> unknown

Any broker names one, by its own metadata. Committed offsets and membership of one consumer ask over one connection, as
in Kafka; what a broker does not answer yet holds up what comes behind it.
"""

from collections.abc import Callable

from emulator.machines.client.client_settings import ConsumerSettings
from emulator.machines.client.connections import Answered, BrokerConnections
from emulator.machines.client.deadlines import NEVER, is_due
from emulator.machines.client.failure import Failure
from protocol.chance import Chance
from protocol.errors import ErrorCode
from protocol.ids import BrokerId
from protocol.machine import Now
from protocol.messages.base import Message
from protocol.messages.groups import FindCoordinatorRequest, FindCoordinatorResponse
from protocol.outbox import Due, Outbox

IN_FLIGHT_MAX = 100
"""Of one consumer: heartbeats that nobody answers, a commit, a question."""

ELSEWHERE = frozenset({ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR})
"""After these the coordinator is looked for again."""
_LOOK_AGAIN = ELSEWHERE | {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
}  # fmt: skip

Refused = Callable[[Now, Outbox, int], None]


class Coordinator:
    """Of one group. `brokers`: whom to ask. Whoever uses it is told in `users` when something may be possible that was
    not, in `refused` of an error with which looking for it makes no sense, in `found` that there is one."""

    def __init__(self, brokers: list[str], settings: ConsumerSettings, chance: Chance) -> None:
        self._brokers = brokers
        self._settings = settings
        self._connections = BrokerConnections(settings, chance, IN_FLIGHT_MAX, lambda now, out: None, self._handled)
        self._known: tuple[BrokerId, str] | None = None
        self._times_found = 0
        self._looking = False
        self._not_before_ms = 0.0
        self.users: list[Due] = []
        self.refused: list[Refused] = []
        self.found: list[Due] = []

    @property
    def broker(self) -> BrokerId | None:
        """None: unknown."""
        return None if self._known is None else self._known[0]

    @property
    def handling(self) -> bool:
        """See BrokerConnections."""
        return self._connections.handling

    def poll(self, now: Now, out: Outbox) -> None:
        """Give up what has waited too long."""
        self._connections.poll(now, out)

    def ready(self, now: Now, out: Outbox) -> bool:
        """Whether it can be asked now. If not, what is needed for that is begun: a look for it, a connection."""
        if self._known is None:
            self._look(now, out)
            return False
        if self._connections.is_unavailable(now, self._known[1]):
            # Whoever is asked next may name the same one again: not at once.
            self._known = None
            self.later(now)
            return False
        return self._connections.ready(now, out, self._known[1])

    def ask(
        self, now: Now, out: Outbox, request: Message, answered: Answered, *, wait_ms: float, version: int | None = None
    ) -> None:
        """It is `ready`. A connection that is lost makes it unknown; `answered` hears of that as of an answer."""
        assert self._known is not None, "asked before it was known"
        _, node = self._known
        found = self._times_found

        def heard(now: Now, out: Outbox, answer: Message | Failure) -> None:
            if isinstance(answer, Failure) and self._times_found == found:  # it has not been looked for again
                self._known = None
            answered(now, out, answer)

        self._connections.send(now, out, node, request, wait_ms=wait_ms, answered=heard, version=version)

    def later(self, now: Now) -> None:
        """Look for it no sooner than in retry.backoff.ms."""
        self._not_before_ms = now.mono_ms + self._settings.retry_backoff_ms

    def is_none(self) -> None:
        """It has said that it is not, or cannot be: it is looked for again."""
        self._known = None

    def is_silent(self, now: Now, out: Outbox) -> None:
        """It has not answered for too long. From 1.0 on the connection is given up, with all that is under way."""
        if self._known is not None:
            node, self._known = self._known[1], None
            if self._settings.disconnects_lost_coordinator:
                self._connections.give_up(now, out, node, "the coordinator is silent")

    def deadlines_ms(self, *, wanted: bool) -> list[float]:
        """When there may be something to do (mono_ms). `wanted`: somebody has something to ask."""
        looks = wanted and self._known is None and not self._looking
        return [self._connections.next_at_ms(), self._not_before_ms if looks else NEVER]

    def close(self, out: Outbox) -> None:
        """What is under way is forgotten."""
        self._connections.close(out)

    def _handled(self, now: Now, out: Outbox) -> None:
        for user in self.users:
            user(now, out)

    def _look(self, now: Now, out: Outbox) -> None:
        if self._looking or not is_due(now, self._not_before_ms):
            return
        # Whoever owes answers is asked last (NetworkClient.leastLoadedNode).
        idle = [node for node in self._brokers if not self._connections.in_flight(node)]
        node = self._connections.least_loaded(now, idle or self._brokers)
        if node is None or not self._connections.ready(now, out, node):
            return
        self._looking = True
        request, wait_ms = FindCoordinatorRequest(self._settings.group_id), self._settings.request_timeout_ms
        self._connections.send(now, out, node, request, wait_ms=wait_ms, answered=self._looked)

    def _looked(self, now: Now, out: Outbox, answer: Message | Failure) -> None:
        self._looking = False
        match answer:
            case Failure():
                self.later(now)
            case FindCoordinatorResponse(error=ErrorCode.NONE, broker=broker, node=node):
                self._known = (broker, node)
                self._times_found += 1
                for found in self.found:
                    found(now, out)
            case FindCoordinatorResponse(error=error) if error in _LOOK_AGAIN:
                self.later(now)
            case FindCoordinatorResponse(error=error):
                for refused in self.refused:
                    refused(now, out, error)
            case _:
                raise AssertionError(answer)
