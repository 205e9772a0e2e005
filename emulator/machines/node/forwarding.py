"""Requests of clients that a KRaft broker forwards to the active controller.

KIP-590, kraft-semantics 9.5.

The response comes once the controller has committed the change. This broker's metadata may not have it yet. Without a
controller the request ends after a minute with REQUEST_TIMED_OUT.

Source: ForwardingManagerImpl, AutoTopicCreationManager.
"""

from collections.abc import Callable

from controller.kraft.request_refusals import refusal
from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.controller_channel import Answered, ControllerChannel
from emulator.machines.broker.request_channel import Request
from protocol.errors import ErrorCode
from protocol.messages.administration import CreateTopicsRequest, NewTopic
from protocol.messages.message_base import Message


class Forwarding:
    """Forwarding of one broker."""

    def __init__(self, context: BrokerContext, channel: ControllerChannel) -> None:
        self._context = context
        self._channel = channel
        self._creating: set[str] = set()
        """Topics that this broker creates by itself, in requests without a response so far."""

    def forward(self, request: Request) -> None:
        """Forward a client's request, and its response back."""

        def answered(response: Message | None) -> None:
            request.answer(response or refusal(request.message, ErrorCode.REQUEST_TIMED_OUT))

        self._channel.send(request.message, request.version, answered)

    def ask(self, request: Message, answered: Answered) -> None:
        """Send a request of this broker's own; `answered` gets the response, or None."""
        self._channel.send(request, request.VERSIONS[1], answered)

    def create_topic(
        self,
        topic: str,
        partitions: int,
        replication_factor: int,
        configs: dict[str, str],
        over: Callable[[ErrorCode], None],
    ) -> None:
        """Create a topic that a client looked for. `over` does not wait for the controller.

        Source: AutoTopicCreationManager.sendCreateTopicRequest.
        """
        if topic not in self._creating:
            self._creating.add(topic)
            new = NewTopic(topic, partitions, replication_factor, configs=dict(configs))
            request = CreateTopicsRequest([new], self._context.settings.request_timeout_ms)
            self._channel.send(
                request, CreateTopicsRequest.VERSIONS[1], lambda response: self._creating.discard(topic)
            )
        over(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
