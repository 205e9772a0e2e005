"""A KRaft broker's channels to the active controller, one for each purpose.

Kraft-semantics 3.1. Each has one request in flight. The node of the quorum knows the leader; a channel keeps to it
until NOT_CONTROLLER, a lost connection or a late response.

Source: NodeToControllerChannelManagerImpl, RaftControllerNodeProvider.
"""

from collections.abc import Callable
from typing import Final

from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.controller_channel import NO_LIMIT_MS, ControllerChannel
from emulator.machines.node.broker_lifecycle import LifecycleSettings
from protocol.purposes import NODE_TO_CONTROLLER

FORWARDING_LIMIT_MS: Final = 60_000.0
"""Limit of a forwarded request: BrokerServer.startup."""


class NodeChannels:
    """The channels of one broker.

    `controller_node`: the leader's node, by the broker's node in the quorum.
    """

    def __init__(
        self, context: BrokerContext, settings: LifecycleSettings, controller_node: Callable[[], str | None]
    ) -> None:
        def channel(name: str, limit_ms: float) -> ControllerChannel:
            return ControllerChannel(
                context, controller_node, purpose=NODE_TO_CONTROLLER, name=name, retry_limit_ms=limit_ms
            )

        of_interval = context.gates.heartbeat_retries_for_interval
        half_session_ms = settings.broker_session_timeout_ms / 2
        limit_ms = settings.broker_heartbeat_interval_ms if of_interval else half_session_ms
        self.heartbeat = channel("heartbeat", limit_ms)
        self.alter_partition = channel("alter-partition", NO_LIMIT_MS)
        self.forwarding = channel("forwarding", FORWARDING_LIMIT_MS)

    def close(self) -> None:
        """Close all: the process stops."""
        for channel in (self.heartbeat, self.alter_partition, self.forwarding):
            channel.close()
