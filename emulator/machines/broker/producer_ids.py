"""Producer ids of one broker.

With ZooKeeper they are unique per broker and life, without Kafka's blocks in a znode; after PRODUCER_IDS_PER_LIFE the
broker has none until it is started again. In KRaft the controller allocates
blocks (KIP-730). The next block is requested when the present one is nine tenths used.

Source: ZkProducerIdManager, RPCProducerIdManager.
"""

from collections.abc import Callable
from typing import Final

from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.transaction_log import Refusal
from protocol.errors import ErrorCode
from protocol.messages.message_base import Message
from protocol.messages.transactions import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from protocol.work import Done, Until, Work

PRODUCER_IDS_PER_LIFE: Final = 1_000_000
PREFETCH_AT: Final = 0.9
RETRY_BACKOFF_MS: Final = 50.0
BLOCK_TIMEOUT: Final = ("producer-id-block",)

AskController = Callable[[AllocateProducerIdsRequest, Callable[[Message | None], None]], None]
"""Sends a request to the active controller; the callback gets the response, or None."""


class ProducerIds:
    """Assigns producer ids."""

    def __init__(self, context: BrokerContext) -> None:
        self._context = context
        self.ask_controller: AskController | None = None
        self.incarnation = 1
        self._taken = 0
        self._next = 0
        self._end = 0
        self._prefetch_at = -1
        self._block: tuple[int, int] | None = None
        self._requested = False
        self._retry_at_ms = 0.0
        self._waiting: list[Done] = []

    def take(self) -> Work[int]:
        """The next producer id. Raises Refusal while there is none."""
        if not self._context.gates.producer_ids_from_controller:
            if self._taken == PRODUCER_IDS_PER_LIFE - 1:  # the next ones are another broker's
                raise Refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            self._taken += 1
            return (self._context.broker * 1_000 + self.incarnation) * PRODUCER_IDS_PER_LIFE + self._taken
        if self._next == self._end and self._block is None:
            self._request()
            if not self._context.gates.missing_producer_ids_refused:
                yield Until("a block of producer ids", self._wait)
        if self._next == self._end:
            if self._block is None:
                raise Refusal(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
            first, count = self._block
            self._block = None
            self._next, self._end, self._prefetch_at = first, first + count, first + int(count * PREFETCH_AT)
        if self._next == self._prefetch_at:
            self._request()
        self._next += 1
        return self._next - 1

    def _wait(self, done: Done) -> None:
        """Wait for the block, for request.timeout.ms at most."""
        self._waiting.append(done)
        self._context.set_timer(BLOCK_TIMEOUT, self._context.settings.request_timeout_ms, self._release)

    def _release(self) -> None:
        waiting, self._waiting = self._waiting, []
        for done in waiting:
            done()

    def _request(self) -> None:
        """Request the next block, unless a request is under way or has just failed."""
        now_ms = self._context.now.mono_ms
        if self._requested or self._block is not None or now_ms < self._retry_at_ms or self.ask_controller is None:
            return
        self._requested = True
        request = AllocateProducerIdsRequest(self._context.broker, self._context.broker_epoch)
        self.ask_controller(request, self._answered)

    def _answered(self, answer: Message | None) -> None:
        self._requested = False
        if isinstance(answer, AllocateProducerIdsResponse) and answer.error == ErrorCode.NONE:
            self._block = (answer.first, answer.count)
        elif answer is not None:
            self._retry_at_ms = self._context.now.mono_ms + RETRY_BACKOFF_MS
        self._release()
