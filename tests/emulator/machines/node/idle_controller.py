"""Controller's state machine for tests of nodes.

It claims, writes no-ops, and answers heartbeats.
"""

from collections.abc import Callable, Sequence
from typing import Any

from emulator.machines.node.kraft_controller_node import KraftControllerNode
from emulator.storage.files import Files
from emulator.worlds.network.spec import Life
from protocol.errors import ErrorCode
from protocol.events import ControllerChanged
from protocol.ids import BrokerId, ControllerEpoch, LeaderEpoch, Offset
from protocol.machine import Machine, Now
from protocol.messages.kraft_messages import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from protocol.messages.message_base import Message
from protocol.records.metadata_records import MetadataBatch, NoOpRecord
from tests.emulator.machines.node.stand_in_controller import StandInController


class IdleController(StandInController[Callable[[Message], None]]):
    """Claims, renounces, and answers a heartbeat when a record of its own is committed.

    `batches`: all that are committed.
    """

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.batches: list[MetadataBatch] = []

    def leader_changed(self, now: Now, leader: BrokerId, epoch: LeaderEpoch) -> None:
        if leader == self._me and not self.active:
            self.active, self._epoch = True, epoch
            self._emit(ControllerChanged(True, ControllerEpoch(epoch), "leader of the quorum"))
            self._no_op_due(now)
        elif self.active and leader != self._me:
            self._renounce()

    def _renounce(self) -> None:
        self.active, self.due_at_ms = False, float("inf")
        self._emit(ControllerChanged(False, ControllerEpoch(self._epoch), "renounced"))
        self._log.resign(self._epoch)
        parked, self._parked = self._parked, []
        for _, reply in parked:
            reply(BrokerHeartbeatResponse(ErrorCode.NOT_CONTROLLER))

    def committed(self, now: Now, batches: Sequence[MetadataBatch]) -> None:
        self.batches += batches
        for reply in self._completed(batches):
            reply(BrokerHeartbeatResponse(is_fenced=False))

    def handle(self, now: Now, request: Message, reply: Callable[[Message], None]) -> None:
        assert isinstance(request, BrokerHeartbeatRequest)
        offset = self._append() if self.active else None
        if offset is None:
            reply(BrokerHeartbeatResponse(ErrorCode.NOT_CONTROLLER))
        else:
            self._parked.append((offset, reply))

    def due(self, now: Now) -> None:
        self._no_op_due(now)
        self._append()

    def _append(self) -> Offset | None:
        offset = self._log.append(self._epoch, [NoOpRecord()])
        if offset is None:
            self._renounce()
        return offset


def controller_process(life: Life, files: Files, arguments: dict[str, Any]) -> Machine:
    """Factory of the network world. `arguments`: topology is the run's own; `version`."""
    return KraftControllerNode(life.node, life.topology, {}, arguments["version"], files, IdleController)
