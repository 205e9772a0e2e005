"""Controller's state machine for tests of nodes.

It claims, writes no-ops, and answers heartbeats.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from controller.kraft.controller_log import ControllerLog
from controller.kraft.metadata_image import MetadataImage
from emulator.machines.node.kraft_controller_node import KraftControllerNode
from emulator.storage.files import Files
from emulator.worlds.network.spec import Life
from protocol.chance import Chance
from protocol.errors import ErrorCode
from protocol.events import ControllerChanged, Event
from protocol.ids import BrokerId, ControllerEpoch, LeaderEpoch, Offset
from protocol.machine import Machine, Now
from protocol.messages.kraft_messages import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from protocol.messages.message_base import Message
from protocol.records.metadata_records import MetadataBatch, NoOpRecord

NO_OP_MS = 500.0


class IdleController:
    """Claims, renounces, and answers a heartbeat when a record of its own is committed."""

    def __init__(
        self,
        me: BrokerId,
        version: str,
        settings: Mapping[str, Any],
        log: ControllerLog,
        chance: Chance,
        emit: Callable[[Event], None],
    ) -> None:
        self._me = me
        self._log = log
        self._emit = emit
        self._epoch = LeaderEpoch(0)
        self.active = False
        self.due_at_ms = float("inf")
        self.image = MetadataImage()
        self.batches: list[MetadataBatch] = []
        self._parked: list[tuple[Offset, Callable[[Message], None]]] = []

    @property
    def claimed_epoch(self) -> LeaderEpoch:
        return self._epoch if self.active else LeaderEpoch(-1)

    def leader_changed(self, now: Now, leader: BrokerId, epoch: LeaderEpoch) -> None:
        if leader == self._me and not self.active:
            self.active, self._epoch = True, epoch
            self._emit(ControllerChanged(True, ControllerEpoch(epoch), "leader of the quorum"))
            self.due_at_ms = now.mono_ms + NO_OP_MS
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
        done = [reply for offset, reply in self._parked if offset < batches[-1].end]
        self._parked = [one for one in self._parked if one[0] >= batches[-1].end]
        for reply in done:
            reply(BrokerHeartbeatResponse(is_fenced=False))

    def handle(self, now: Now, request: Message, reply: Callable[[Message], None]) -> None:
        assert isinstance(request, BrokerHeartbeatRequest)
        offset = self._append() if self.active else None
        if offset is None:
            reply(BrokerHeartbeatResponse(ErrorCode.NOT_CONTROLLER))
        else:
            self._parked.append((offset, reply))

    def due(self, now: Now) -> None:
        self.due_at_ms = now.mono_ms + NO_OP_MS
        self._append()

    def _append(self) -> Offset | None:
        offset = self._log.append(self._epoch, [NoOpRecord()])
        if offset is None:
            self._renounce()
        return offset


def controller_process(life: Life, files: Files, arguments: dict[str, Any]) -> Machine:
    """Factory of the network world. `arguments`: topology is the run's own; `version`."""
    return KraftControllerNode(life.node, life.topology, {}, arguments["version"], files, IdleController)
