"""ElectLeaders, AlterPartitionReassignments and ListPartitionReassignments, as a broker takes them: the controller that
lives in its node does them (controller/leader_requests.py, controller/reassignment_requests.py).

Whoever was elected is told once this broker's own metadata show the new leader, or the time is over.
"""

from collections.abc import Mapping
from functools import partial

from controller.controller import Controller
from controller.leader_requests import Elections
from controller.partition_states import Strategy
from controller.reassignment_requests import Reassignments
from controller.session_calls import Procedures
from emulator.machines.broker.context import BrokerContext
from emulator.machines.broker.metadata_cache import MetadataCache
from emulator.machines.broker.requests import Request
from emulator.machines.node.administration_work import AdministrationWork
from protocol.errors import ErrorCode
from protocol.ids import BrokerId, TopicPartition
from protocol.machine import Now
from protocol.messages.placement import (
    UNCLEAN,
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    Moving,
    PartitionResult,
)
from protocol.outbox import Outbox


class LeaderAdministration:
    def __init__(
        self, context: BrokerContext, metadata: MetadataCache, controller: Controller, procedures: Procedures
    ) -> None:
        self._context = context
        self._metadata = metadata
        self._controller = controller
        self._work = AdministrationWork("leader-administration", context, metadata, procedures)

    # --- leaders ---

    def elect(self, request: Request) -> None:
        """An ElectLeaders."""
        asked = request.message
        assert isinstance(asked, ElectLeadersRequest), asked
        named = sorted(self._metadata.partitions)
        if asked.partitions is not None:
            named = [*dict.fromkeys((one.topic, one.partition) for one in asked.partitions)]
        strategy = Strategy.UNCLEAN if asked.election == UNCLEAN else Strategy.PREFERRED
        now, out = self._context.now, self._context.out
        deadline_ms = now.mono_ms + asked.timeout_ms
        everything = asked.partitions is None

        def elected(now: Now, out: Outbox, results: Elections) -> None:
            self._context.now = now
            expected = {one: about.leader for one, about in results.items() if about.leader >= 0}
            self._work.wait(
                deadline_ms - now.mono_ms,
                partial(self._not_led_by, expected),
                lambda late: request.answer(_elected(results, late, everything=everything)),
            )

        self._controller.elect_leaders(now, out, named, strategy, elected)

    def _not_led_by(self, expected: Mapping[TopicPartition, BrokerId]) -> list[TopicPartition]:
        known = self._metadata.partitions
        return [one for one, leader in expected.items() if one not in known or known[one].leader != leader]

    # --- reassignments ---

    def reassign(self, request: Request) -> None:
        """An AlterPartitionReassignments."""
        asked = request.message
        assert isinstance(asked, AlterPartitionReassignmentsRequest), asked
        targets = {
            (one.topic, one.partition): None if one.replicas is None else tuple(one.replicas)
            for one in asked.partitions
        }

        def begun(now: Now, out: Outbox, results: Reassignments) -> None:
            self._context.now = now
            told = [PartitionResult(*one, about.error, about.why) for one, about in results.begun.items()]
            request.answer(AlterPartitionReassignmentsResponse(told, results.error))

        self._controller.alter_reassignments(self._context.now, self._context.out, targets, begun)

    def list_moving(self, request: Request) -> None:
        """A ListPartitionReassignments."""
        asked = request.message
        assert isinstance(asked, ListPartitionReassignmentsRequest), asked
        named = None if asked.partitions is None else [(one.topic, one.partition) for one in asked.partitions]

        def found(now: Now, out: Outbox, results: Reassignments) -> None:
            self._context.now = now
            moving = [
                Moving(*one, list(about.replicas), list(about.adding), list(about.removing))
                for one, about in results.moving.items()
            ]
            request.answer(ListPartitionReassignmentsResponse(moving, results.error))

        self._controller.list_reassignments(self._context.now, self._context.out, named, found)


def _elected(results: Elections, late: list[TopicPartition], *, everything: bool) -> ElectLeadersResponse:
    """Who asks for all partitions is not told of those where nothing was to be done."""
    told = []
    for one, about in results.items():
        if one in late:
            told.append(PartitionResult(*one, ErrorCode.REQUEST_TIMED_OUT))
        elif not everything or about.error != ErrorCode.ELECTION_NOT_NEEDED:
            told.append(PartitionResult(*one, about.error, about.why))
    return ElectLeadersResponse(told)
