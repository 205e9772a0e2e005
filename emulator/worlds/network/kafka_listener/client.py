"""One connection of a Kafka client, which serves one request at a time.

Kafka, too, mutes a connection while it works on a request.

    bytes -> frame -> gate -> message -> machine -> answer -> gate -> frame -> bytes
                                                                          |
    the next frame is not read before <-----------------------------------+

So a client that does not read holds one answer, and a client that never ends a frame holds that frame.
"""

from collections.abc import Callable

import trio

from emulator.worlds.network.kafka_listener.client_observer import ClientObserver, OffsetCalls, Producing
from emulator.worlds.network.kafka_listener.codec import KafkaRequest
from emulator.worlds.network.kafka_listener.translation import answer_to
from emulator.worlds.network.mailbox import AnsweredHere
from protocol.errors import ErrorCode
from protocol.frame import Frame
from protocol.messages.groups import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from protocol.messages.message_base import Message
from protocol.messages.replication_messages import FetchRequest, FetchResponse, ProduceRequest, ProduceResponse

CLOSE_AFTER = "close-after"


class Arrived(Frame, frozen=True):
    """A Kafka request with its translation; for the gates a frame like others."""

    request: KafkaRequest


class KafkaClient:
    """State of one client connection. `there`: whether the kernel has the peer as connected."""

    def __init__(self, observer: ClientObserver, there: Callable[[], bool]) -> None:
        self._observer = observer
        self._there = there
        self._under_way: Arrived | None = None
        self._producing: Producing | None = None
        self._offsets: OffsetCalls | None = None
        self._reading = observer.reading()
        self._answer: Message | None = None
        self._cause = ""
        self._takes_response: str = ""
        """Action of the protocol fault that takes the response of the request under way; "": none."""
        self.silent = False
        """A protocol fault dropped a response: nothing more is answered on this connection."""
        self.over = False
        """The connection has ended: none of its later frames is answered."""
        self._free = trio.Event()
        self._free.set()

    # --- the request ---

    def taken(self, arrived: Arrived) -> None:
        """A request's frame was read; the gate may hold it."""
        self._under_way = arrived
        self._free = trio.Event()

    def response_taken(self, action: str) -> None:
        """A protocol fault takes the response to the request under way."""
        self._takes_response = action

    async def wait_free(self) -> None:
        """Return when the next frame may be read."""
        await self._free.wait()

    def passed(self, arrived: Arrived, cause: str) -> None:
        """The request has passed the gate."""
        self._cause = cause
        if isinstance(arrived.message, ProduceRequest):
            request = arrived.request
            self._producing = self._observer.produced(request.client_id, request.body.acks, arrived.message, cause)
        elif isinstance(arrived.message, OffsetCommitRequest | OffsetFetchRequest):
            self._offsets = self._observer.offsets_requested(arrived.request.client_id, arrived.message, cause)
        elif isinstance(arrived.message, AnsweredHere) and arrived.message.refused is not None:
            request = arrived.request
            producing = self._observer.produced(request.client_id, request.body.acks, arrived.message.refused, cause)
            producing.refused(ErrorCode(arrived.message.error))

    # --- the answer ---

    def answered(self, answer: Message) -> bytes | None:
        """Frame of the response. None (acks=0): the connection is free, unless it `fails_by_close`."""
        arrived = self._under_way
        assert arrived is not None, f"{type(answer).__name__} answers nothing"
        self._answer = answer
        if self._takes_response:
            self._lose()
            if not self.fails_by_close:
                self.silent = True
                self.written()
            return None
        if isinstance(answer, ProduceResponse) and arrived.request.body.acks == 0:
            self.left()
            if not self.fails_by_close:
                self.written()
            return None
        return answer_to(arrived.request, answer)

    @property
    def fails_by_close(self) -> bool:
        """Whether the connection is closed in place of the response.

        A produce with acks=0 has failed, or a protocol fault takes the response.
        """
        if self._takes_response:
            return self._takes_response == CLOSE_AFTER
        answer, arrived = self._answer, self._under_way
        return (
            isinstance(answer, ProduceResponse)
            and arrived is not None
            and arrived.request.body.acks == 0
            and any(one.error for one in answer.partitions)
        )

    def left(self) -> None:
        """The answer has passed the gate; it is written next. Skipped if the connection has ended."""
        if self.over:
            return
        arrived, answer = self._under_way, self._answer
        assert arrived is not None, "an answer leaves without a request"
        producing, self._producing = self._producing, None
        offsets, self._offsets = self._offsets, None
        if producing is not None:
            if isinstance(answer, ProduceResponse) and self._there():
                producing.delivered(answer)
            else:
                producing.lost()
        elif offsets is not None:
            if isinstance(answer, OffsetCommitResponse | OffsetFetchResponse) and self._there():
                offsets.delivered(answer)
            else:
                offsets.lost()
        elif isinstance(answer, FetchResponse) and isinstance(arrived.message, FetchRequest) and self._there():
            self._reading.delivered(arrived.request.client_id, arrived.message, answer, self._cause)

    def written(self) -> None:
        """The kernel has the whole answer."""
        self._under_way = self._answer = None
        self._free.set()

    def dropped(self) -> None:
        """A rule removed the request or its answer; the client runs into its timeout."""
        self._lose()
        self.written()

    def ended(self) -> None:
        """The connection or the process ends; the pending request's outcome is unknown."""
        self.over = True
        self._lose()
        self._reading.ended()
        self._free.set()

    def _lose(self) -> None:
        producing, self._producing = self._producing, None
        offsets, self._offsets = self._offsets, None
        for begun in (producing, offsets):
            if begun is not None:
                begun.lost()
