"""Requests of a transactional producer, one under way at a time.

Source: Sender.maybeSendAndPollTransactionalRequest. They wait by priority. While one is under way, waits for its pause,
or for its coordinator, no batch leaves. A lost connection, and an answer that names no coordinator, lead to another
look-up.
"""

from collections.abc import Callable, Mapping
from typing import Final, Literal

from emulator.machines.client.client_metadata import MetadataCache
from emulator.machines.client.client_operations import NO_ANSWER
from emulator.machines.client.client_settings import ProducerSettings
from emulator.machines.client.client_state import NO_MEMBER, Failure
from emulator.machines.client.connections import BrokerConnections
from emulator.machines.client.deadlines import NEVER, is_due
from emulator.machines.client.offset_store import Committed, GroupOperations
from emulator.machines.client.transaction_errors import RequestKind
from protocol.ids import BrokerId, TopicPartition
from protocol.machine import Now
from protocol.messages.groups import GROUP_KEY, TRANSACTION_KEY, FindCoordinatorRequest
from protocol.messages.message_base import Message
from protocol.outbox import Outbox

FIRST_ADD_PAUSE_MS: Final = 20.0
"""Pause of AddPartitionsToTxn while the transaction before is not complete."""

CoordinatorKind = Literal["", "transaction", "group"]
_PRIORITY: Final[dict[RequestKind, int]] = {
    "find-coordinator": 0, "init": 1, "add-partitions": 2, "add-offsets": 2, "offsets": 2, "end": 3,
}  # fmt: skip
EPOCH_BUMP_PRIORITY: Final = 4

Answered = Callable[[Now, Outbox, "TransactionRequest", Message], None]


class TransactionRequest:
    """A request that waits, or is under way.

    `coordinator`: the kind that receives it; "": any broker. `partitions`: to add. `group`, `offsets`, `operations`,
    `identity`: of sendOffsetsToTransaction. `pause_ms`: before it is sent again.
    """

    __slots__ = (
        "coordinator", "group", "identity", "is_sent", "kind", "message", "offsets", "operations", "partitions",
        "pause_ms", "priority", "retried", "send_at_ms", "version",
    )  # fmt: skip

    def __init__(
        self,
        kind: RequestKind,
        message: Message,
        version: int | None,
        *,
        coordinator: CoordinatorKind = "transaction",
        priority: int | None = None,
    ) -> None:
        self.kind = kind
        self.message = message
        self.version = version
        self.coordinator = coordinator
        self.priority = _PRIORITY[kind] if priority is None else priority
        self.group = ""
        self.partitions: list[TopicPartition] = []
        self.offsets: Mapping[TopicPartition, Committed] = {}
        self.operations: GroupOperations | None = None
        self.identity = NO_MEMBER
        self.is_sent = False
        """It is under way: its response is missing."""
        self.retried = False
        self.pause_ms = 0.0
        self.send_at_ms = NEVER
        """End of its pause; NEVER: the pause has not begun."""


class TransactionRequests:
    """The queue of one producer's requests. `answered` receives each response."""

    def __init__(
        self,
        settings: ProducerSettings,
        connections: BrokerConnections,
        metadata: MetadataCache,
        answered: Answered,
    ) -> None:
        self._settings = settings
        self._connections = connections
        self._metadata = metadata
        self._on_answer = answered
        self._queue: list[TransactionRequest] = []
        self._coordinators: dict[str, tuple[BrokerId, str]] = {}
        self._under_way: TransactionRequest | None = None
        self._look_at_ms = 0.0

    @property
    def under_way(self) -> TransactionRequest | None:
        """The request without a response yet."""
        return self._under_way

    def add(self, request: TransactionRequest) -> None:
        """Queue a request behind those of its priority."""
        index = len(self._queue)
        while index and self._queue[index - 1].priority > request.priority:
            index -= 1
        self._queue.insert(index, request)

    def first(self) -> TransactionRequest | None:
        return self._queue[0] if self._queue else None

    def take(self) -> TransactionRequest:
        """Remove the first one."""
        return self._queue.pop(0)

    def take_all(self) -> list[TransactionRequest]:
        """Remove all, the one under way included, whose response is then ignored."""
        requests = self._queue if self._under_way is None else [self._under_way, *self._queue]
        self._queue, self._under_way = [], None
        return requests

    def again(self, request: TransactionRequest, pause_ms: float | None = None) -> None:
        """Send it again after a pause, `retry.backoff.ms` by default."""
        request.retried = True
        request.pause_ms = self._settings.retry_backoff_ms if pause_ms is None else pause_ms
        request.send_at_ms = NEVER
        self.add(request)

    def look_up(self, request: TransactionRequest) -> None:
        """Look up the request's coordinator; the known one is none, or is gone."""
        self._coordinators.pop(request.coordinator, None)
        self._require_look_up(request.coordinator, request.group)

    def found(self, request: TransactionRequest, broker: BrokerId, node: str) -> None:
        """Note the result of a look-up."""
        kind = "group" if request.group else "transaction"
        self._coordinators[kind] = (broker, node)

    def send_first(self, now: Now, out: Outbox) -> None:
        """Send the first request, if it is possible now."""
        request = self._queue[0]
        node = self._node_for(now, out, request)
        if node is None or not self._connections.ready(now, out, node):
            return
        if request.retried and request.send_at_ms == NEVER:
            request.send_at_ms = now.mono_ms + request.pause_ms
        if request.retried and not is_due(now, request.send_at_ms):
            return
        self.take()
        self._under_way = request
        broker = self._coordinators[request.coordinator][0] if request.coordinator else BrokerId(-1)
        wait_ms = self._settings.wait_ms
        request.is_sent = True
        if request.kind == "offsets" and request.operations is not None:
            request.operations.sent(out, broker, wait_ms)

        def answered(now: Now, out: Outbox, answer: Message | Failure) -> None:
            if self._under_way is not request:
                return  # it was given up
            self._under_way = None
            request.is_sent = False
            if isinstance(answer, Failure):
                self._lost(out, request, answer)
            else:
                self._on_answer(now, out, request, answer)

        self._connections.send(
            now, out, node, request.message, wait_ms=wait_ms, answered=answered, version=request.version
        )

    def deadlines_ms(self) -> list[float]:
        """Times of possible work (mono_ms); the connections have their own."""
        if self._under_way is not None or not self._queue:
            return []
        return [self._queue[0].send_at_ms, self._look_at_ms]

    # --- private --------------------------------------------------------------------------------------------

    def _lost(self, out: Outbox, request: TransactionRequest, failure: Failure) -> None:
        """Handle a lost connection: the request may have been executed."""
        if request.kind == "offsets" and request.operations is not None:
            request.operations.attempt_ended(out, NO_ANSWER, f"{failure.error}: {failure.reason}")
        if request.coordinator:
            self.look_up(request)
        self.again(request)

    def _node_for(self, now: Now, out: Outbox, request: TransactionRequest) -> str | None:
        if not request.coordinator:
            if not is_due(now, self._look_at_ms):
                return None
            return self._connections.least_loaded(now, self._metadata.nodes)
        known = self._coordinators.get(request.coordinator)
        if known is None:
            self._require_look_up(request.coordinator, request.group)
            return self._first_node(now, out)
        if self._connections.is_unavailable(now, known[1]):
            # The next look-up may name the same broker again: not at once.
            request.retried = True
            request.pause_ms = self._settings.retry_backoff_ms
            self._look_at_ms = now.mono_ms + self._settings.retry_backoff_ms
            self.look_up(request)
            return None
        return known[1]

    def _first_node(self, now: Now, out: Outbox) -> str | None:
        """Send the look-up that was put first."""
        self.send_first(now, out)
        return None

    def _require_look_up(self, kind: CoordinatorKind, group: str) -> None:
        if any(one.kind == "find-coordinator" and bool(one.group) == (kind == "group") for one in self._queue):
            return
        key = group if kind == "group" else self._settings.transactional_id
        message = FindCoordinatorRequest(key, GROUP_KEY if kind == "group" else TRANSACTION_KEY)
        find = TransactionRequest("find-coordinator", message, None, coordinator="")
        find.group = group if kind == "group" else ""
        self.add(find)
