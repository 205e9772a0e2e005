"""Base of the controllers' state machines that stand in for KRaft's in tests of nodes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from controller.kraft.controller_log import ControllerLog
from controller.kraft.metadata_image import MetadataImage
from protocol.chance import Chance
from protocol.events import Event
from protocol.ids import BrokerId, LeaderEpoch, Offset
from protocol.machine import Now
from protocol.messages.message_base import Message
from protocol.records.metadata_records import MetadataBatch

NO_OP_MS = 500.0
Reply = TypeVar("Reply", Callable[[Message], None], Callable[[], None])


class StandInController(Generic[Reply]):
    """Part of `ControllerMachine`. `_parked`: replies that wait for the commit of a record."""

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
        self._chance = chance
        self._emit = emit
        self._epoch = LeaderEpoch(0)
        self.active = False
        self.due_at_ms = float("inf")
        self.image = MetadataImage()
        self._parked: list[tuple[Offset, Reply]] = []

    @property
    def claimed_epoch(self) -> LeaderEpoch:
        return self._epoch if self.active else LeaderEpoch(-1)

    def _no_op_due(self, now: Now) -> None:
        self.due_at_ms = now.mono_ms + NO_OP_MS

    def _completed(self, batches: Sequence[MetadataBatch]) -> list[Reply]:
        """The replies whose records these batches commit; they do not wait any more."""
        done = [reply for offset, reply in self._parked if offset < batches[-1].end]
        self._parked = [one for one in self._parked if one[0] >= batches[-1].end]
        return done
