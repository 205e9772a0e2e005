"""Events of the wire level: connections that change, frames that pass or are stopped."""

from emulator.faults.link_paths import Stopped
from emulator.worlds.network.connection import Connection
from emulator.worlds.network.mailbox import Host
from protocol.events import ConnectionChanged, FrameReceived, FrameSent, FrameStopped
from protocol.messages.message_base import DIRECTIONS, Message


class WireEvents:
    """Writes them through the shell, if its file takes that level."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def changed(self, connection: Connection, change: str, reason: str = "", cause: str = "wire") -> None:
        if self._host.events.wire:
            self._host.emit(
                ConnectionChanged(connection=connection.name, peer=connection.peer, purpose=connection.purpose,
                                  change=change, reason=reason), cause)  # fmt: skip

    def stopped(self, connection: Connection, stopped: Stopped, api: str, size_bytes: int) -> None:
        if self._host.events.wire and stopped.rule:
            self._host.emit(
                FrameStopped(connection=connection.name, peer=connection.peer, purpose=connection.purpose,
                             rule=stopped.rule, action=stopped.action, api=api, size_bytes=size_bytes),
                f"rule:{stopped.rule}")  # fmt: skip

    def frame(
        self,
        kind: type[FrameSent] | type[FrameReceived],
        connection: Connection,
        number: int,
        message: type[Message],
        correlation_id: int,
        size_bytes: int,
        cause: str,
    ) -> None:
        self._host.emit(
            kind(connection=connection.name, peer=connection.peer, purpose=connection.purpose, number=number,
                 api=message.API_NAME, api_direction=DIRECTIONS[message.DIRECTION], correlation=correlation_id,
                 size_bytes=size_bytes), cause)  # fmt: skip
