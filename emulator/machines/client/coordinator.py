"""A group's coordinator in its client's view: look-up and connection. Semantics 6.

    unknown --FindCoordinator--> known --connection lost or failed, or an error of its response--> unknown

Any broker names one, by its own metadata. Committed offsets and membership of one consumer share one connection, as
in Kafka. A pending response holds up those behind it.
"""

from collections.abc import Callable

from emulator.machines.client.client_settings import ConsumerSettings
from emulator.machines.client.client_state import Failure
from emulator.machines.client.connections import Answered, BrokerConnections
from emulator.machines.client.deadlines import NEVER, is_due
from protocol.chance import Chance
from protocol.errors import ErrorCode
from protocol.ids import BrokerId
from protocol.machine import Now
from protocol.messages.groups import FindCoordinatorRequest, FindCoordinatorResponse
from protocol.messages.message_base import Message
from protocol.outbox import Due, Outbox

IN_FLIGHT_MAX = 100
"""Bound of one consumer's requests: unanswered heartbeats, a commit, a look-up."""

ELSEWHERE = frozenset({ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR})
"""Errors after which the client looks up the coordinator again."""
_LOOK_AGAIN = ELSEWHERE | {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
}  # fmt: skip

Refused = Callable[[Now, Outbox, int], None]


class Coordinator:
    """Coordinator of one group. `brokers`: nodes for the look-up.

    Callbacks: `users` when further requests may be possible, `refused` with an error that ends the look-up, `found`
    after a successful look-up.
    """

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
        """The coordinator; None: unknown."""
        return None if self._known is None else self._known[0]

    @property
    def handling(self) -> bool:
        """See BrokerConnections."""
        return self._connections.handling

    def poll(self, now: Now, out: Outbox) -> None:
        """Give up requests that have waited too long."""
        self._connections.poll(now, out)

    def ready(self, now: Now, out: Outbox) -> bool:
        """Whether a request can be sent now. If not, begin the look-up or the connection."""
        if self._known is None:
            self._look(now, out)
            return False
        if self._connections.is_unavailable(now, self._known[1]):
            # The next look-up may name the same broker again: not at once.
            self._known = None
            self.later(now)
            return False
        return self._connections.ready(now, out, self._known[1])

    def ask(
        self, now: Now, out: Outbox, request: Message, answered: Answered, *, wait_ms: float, version: int | None = None
    ) -> None:
        """Send a request to the coordinator, which is `ready`.

        A lost connection makes it unknown; `answered` receives that as a Failure.
        """
        assert self._known is not None, "a request before the coordinator was known"
        _, node = self._known
        found = self._times_found

        def on_response(now: Now, out: Outbox, answer: Message | Failure) -> None:
            if isinstance(answer, Failure) and self._times_found == found:  # no other look-up has succeeded since
                self._known = None
            answered(now, out, answer)

        self._connections.send(now, out, node, request, wait_ms=wait_ms, answered=on_response, version=version)

    def later(self, now: Now) -> None:
        """Look it up no sooner than in retry.backoff.ms."""
        self._not_before_ms = now.mono_ms + self._settings.retry_backoff_ms

    def is_none(self) -> None:
        """Look it up again: the broker responded that it is not, or cannot be, the coordinator."""
        self._known = None

    def is_silent(self, now: Now, out: Outbox) -> None:
        """Handle a silent coordinator; from 1.0 on give up its connection, with all requests."""
        if self._known is not None:
            node, self._known = self._known[1], None
            if self._settings.disconnects_lost_coordinator:
                self._connections.give_up(now, out, node, "the coordinator is silent")

    def deadlines_ms(self, *, wanted: bool) -> list[float]:
        """Times of possible work (mono_ms). `wanted`: the client has requests."""
        looks = wanted and self._known is None and not self._looking
        return [self._connections.next_at_ms(), self._not_before_ms if looks else NEVER]

    def close(self, out: Outbox) -> None:
        """Close the connection; requests under way are forgotten."""
        self._connections.close(out)

    def _handled(self, now: Now, out: Outbox) -> None:
        for user in self.users:
            user(now, out)

    def _look(self, now: Now, out: Outbox) -> None:
        if self._looking or not is_due(now, self._not_before_ms):
            return
        # A node with pending responses comes last (NetworkClient.leastLoadedNode).
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
