"""ElectLeaders, AlterPartitionReassignments, ListPartitionReassignments, at a broker's node.

The controller in its node executes them (controller/leader_requests.py, controller/reassignment_requests.py).
ElectLeaders responds once this broker's own metadata show the new leaders, or at its time limit.
"""

from collections.abc import Mapping
from functools import partial

from controller.controller import Controller
from controller.leader_requests import Elections
from controller.partition_states import Strategy
from controller.reassignment_requests import Reassignments
from controller.session_calls import Procedures
from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.broker_metadata import MetadataCache
from emulator.machines.broker.request_channel import Request
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
        """Handle ElectLeaders."""
        body = request.message
        assert isinstance(body, ElectLeadersRequest), body
        named = sorted(self._metadata.partitions)
        if body.partitions is not None:
            named = [*dict.fromkeys((one.topic, one.partition) for one in body.partitions)]
        strategy = Strategy.UNCLEAN if body.election == UNCLEAN else Strategy.PREFERRED
        now, out = self._context.now, self._context.out
        deadline_ms = now.mono_ms + body.timeout_ms
        everything = body.partitions is None

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
        """Handle AlterPartitionReassignments."""
        body = request.message
        assert isinstance(body, AlterPartitionReassignmentsRequest), body
        targets = {
            (one.topic, one.partition): None if one.replicas is None else tuple(one.replicas)
            for one in body.partitions
        }

        def begun(now: Now, out: Outbox, results: Reassignments) -> None:
            self._context.now = now
            entries = [PartitionResult(*one, about.error, about.why) for one, about in results.begun.items()]
            request.answer(AlterPartitionReassignmentsResponse(entries, results.error))

        self._controller.alter_reassignments(self._context.now, self._context.out, targets, begun)

    def list_moving(self, request: Request) -> None:
        """Handle ListPartitionReassignments."""
        body = request.message
        assert isinstance(body, ListPartitionReassignmentsRequest), body
        named = None if body.partitions is None else [(one.topic, one.partition) for one in body.partitions]

        def found(now: Now, out: Outbox, results: Reassignments) -> None:
            self._context.now = now
            moving = [
                Moving(*one, list(about.replicas), list(about.adding), list(about.removing))
                for one, about in results.moving.items()
            ]
            request.answer(ListPartitionReassignmentsResponse(moving, results.error))

        self._controller.list_reassignments(self._context.now, self._context.out, named, found)


def _elected(results: Elections, late: list[TopicPartition], *, everything: bool) -> ElectLeadersResponse:
    """Make the response; for all partitions it leaves out those without a needed election."""
    entries = []
    for one, about in results.items():
        if one in late:
            entries.append(PartitionResult(*one, ErrorCode.REQUEST_TIMED_OUT))
        elif not everything or about.error != ErrorCode.ELECTION_NOT_NEEDED:
            entries.append(PartitionResult(*one, about.error, about.why))
    return ElectLeadersResponse(entries)
