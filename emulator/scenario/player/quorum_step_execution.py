"""Steps on the quorum of controllers, as work that waits."""

from collections.abc import Callable
from typing import Any, Final

from emulator.faults import actions as act
from emulator.faults.actions import ActDone
from emulator.machines.client.client_state import Failure
from emulator.scenario import scenario_model as m
from emulator.scenario.conditions import HasController, NewController
from emulator.scenario.player.fault_steps import FaultSteps
from emulator.scenario.player.player_context import Stage
from emulator.scenario.player.tasks import Order, StepFailed, Steps
from emulator.scenario.player.timeline import Timeline
from emulator.scenario.quorum_steps import NoSuchController, QuorumStep, controller_node
from emulator.topology import identifier_of, node_name
from protocol.errors import ErrorCode
from protocol.messages.kraft_messages import DescribeQuorumRequest, DescribeQuorumResponse
from protocol.messages.message_base import Message
from protocol.messages.voter_messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)
from protocol.work import Work

SOCKET_TIMEOUT_MS: Final = 2_000.0
CHANGE_TIMEOUT_MS: Final = 10_000.0
"""Limit of one request that changes the voters; the leader's own limit is shorter."""
ADMIN_TIMEOUT_MS: Final = 60_000.0
"""default.api.timeout.ms of an admin client."""
RETRY_BACKOFF_MS: Final = 100.0
AGAIN: Final = (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.BROKER_NOT_AVAILABLE)
"""Errors after which an admin client repeats its request."""
DONE_BEFORE: Final[dict[type, ErrorCode]] = {
    m.AddController: ErrorCode.DUPLICATE_VOTER, m.RemoveController: ErrorCode.VOTER_NOT_FOUND,
}  # fmt: skip
"""The error of a repeated request whose first attempt was done."""
ATTEMPTS_MAX: Final = 30
"""Maximum of controllers that are killed until the required one is active."""
ACTIVE_LIMIT_S: Final = 60.0
SETTLED_MS: Final = 3_000.0
"""Time from the restarted controller's response to the next step.

Meanwhile brokers find the active one.
"""
RESPONSE_POLL_MS: Final = 500.0
"""Time between two requests to a controller that starts."""


class QuorumSteps:
    """Runs these steps for a player."""

    def __init__(self, stage: Stage, faults: FaultSteps, timeline: Timeline) -> None:
        self._stage = stage
        self._faults = faults
        self._timeline = timeline

    def quorum(self, step: QuorumStep) -> Steps:
        """Raises StepFailed."""
        if not self._stage.kraft:
            raise StepFailed(f"{step.VERB}: the cluster's metadata are in ZooKeeper; set `metadata: kraft`")
        try:
            match step:
                case m.CutControllers():
                    yield from self._faults.cut_controllers(step)
                case m.DescribeQuorum(controller=controller):
                    yield from self._describe(controller)
                case m.RequireController(controller=controller):
                    yield from self._require(controller)
                case m.AddController() | m.RemoveController():
                    yield from self._change_voters(step)
        except NoSuchController as error:
            raise StepFailed(str(error)) from error

    def _describe(self, controller: int) -> Steps:
        stage = self._stage
        node = controller_node(stage.topology, controller)

        def begin(done: Callable[[Any], None]) -> None:
            stage.quorum_exchanges.ask(
                stage.out, node=node, request=DescribeQuorumRequest(), timeout_ms=SOCKET_TIMEOUT_MS,
                answered=lambda now, out, answer: done(answer),
            )  # fmt: skip

        answer: DescribeQuorumResponse | Failure = yield Order(f"the quorum's state from {node}", begin)
        self._timeline.quorum(stage.now.mono_ms, controller, answer)

    def _change_voters(self, step: m.AddController | m.RemoveController) -> Steps:
        """Request the change of the leader, until it is done or the tool's time is over.

        The tool's client repeats a request after an error that another attempt may not get (default.api.timeout.ms).
        Raises StepFailed.
        """
        stage = self._stage
        what = f"{step.VERB} controller-{step.controller}"
        ends_ms, repeated, error = stage.now.mono_ms + ADMIN_TIMEOUT_MS, False, ErrorCode.REQUEST_TIMED_OUT
        node = controller_node(stage.topology, step.controller)
        while stage.now.mono_ms < ends_ms:
            response = yield from self._changed(step, node)
            error = ErrorCode.REQUEST_TIMED_OUT if response is None else ErrorCode(response.error)
            done = DONE_BEFORE[type(step)] if repeated else ErrorCode.NONE
            if error in (ErrorCode.NONE, done):
                error = ErrorCode.NONE
                break
            if error not in AGAIN:
                break
            repeated = repeated or response is not None
            yield stage.sleep(RETRY_BACKOFF_MS)
        if step.may_fail:
            reason = "" if error == ErrorCode.NONE else error.name
            self._timeline.admin(stage.now.mono_ms, step.VERB, node, error.value, reason)
        elif error != ErrorCode.NONE:
            raise StepFailed(f"{what}: {error.name}; add a running controller, or remove one that is a voter")

    def _changed(
        self, step: m.AddController | m.RemoveController, node: str
    ) -> Work[AddRaftVoterResponse | RemoveRaftVoterResponse | None]:
        """One attempt: the controller's directory by the leader, then the change.

        None: no response.
        """
        leader = self._active()
        quorum = (yield from self._exchange(leader, DescribeQuorumRequest())) if leader is not None else None
        if leader is None or not isinstance(quorum, DescribeQuorumResponse) or quorum.error:
            return None
        adds = isinstance(step, m.AddController)
        identifier = identifier_of(self._stage.topology.node(node))
        known = [one for one in (*quorum.observers, *quorum.voters) if one.replica == identifier]
        if not known and adds:
            return None  # it has not fetched yet
        directory = known[-1 if not adds else 0].directory if known else ""
        request = (
            AddRaftVoterRequest(identifier, directory, node) if adds else RemoveRaftVoterRequest(identifier, directory)
        )
        response = yield from self._exchange(leader, request)
        return response if isinstance(response, AddRaftVoterResponse | RemoveRaftVoterResponse) else None

    def _exchange(self, node: str, request: Message) -> Work[Any]:
        stage = self._stage

        def begin(done: Callable[[Any], None]) -> None:
            stage.quorum_exchanges.ask(
                stage.out, node=node, request=request, timeout_ms=CHANGE_TIMEOUT_MS,
                answered=lambda now, out, answer: done(answer),
            )  # fmt: skip

        return (yield Order(f"{type(request).__name__} at {node}", begin))

    def _require(self, controller: int | None) -> Steps:
        """Kill the active controller and start it again, until the required one is active.

        A combined node is a broker, too, and is not killed: the seed decides. So it was in the recordings.
        """
        stage = self._stage
        wanted = None if controller is None else controller_node(stage.topology, controller)
        if not (yield stage.until(HasController(), ACTIVE_LIMIT_S)):
            raise StepFailed(f"no controller is active after {ACTIVE_LIMIT_S:g} s; start a majority of the controllers")
        attempts = 0
        suitable = [wanted, *(node.name for node in stage.topology.with_role("broker"))]
        while wanted is not None and self._active() not in suitable and attempts < ATTEMPTS_MAX:
            attempts += 1
            yield from self._failover()
        active = self._active()
        number = stage.topology.node(active).number if active is not None else None
        self._timeline.record_active(stage.now.mono_ms, number)

    def _active(self) -> str | None:
        controller = self._stage.seen.controller
        return None if controller is None else node_name(controller)

    def _failover(self) -> Steps:
        """The active controller dies, another one is active, the dead one starts again and responds.

        Then the brokers find the new one. Recorded: ten seconds from one kill to the next.
        """
        stage, node = self._stage, self._active()
        if node is not None:
            stage.waits.fault_begins(stage.now.mono_ms)
            yield from self._act(act.Kill(node=node))
            yield stage.until(NewController(), ACTIVE_LIMIT_S)
            yield from self._act(act.Start(node=node))
            yield from self._responds(node)
        yield stage.until(HasController(), ACTIVE_LIMIT_S)
        yield stage.sleep(SETTLED_MS)

    def _responds(self, node: str) -> Steps:
        """Wait until a controller responds, within the limit."""
        ends_ms = self._stage.now.mono_ms + ACTIVE_LIMIT_S * 1_000.0
        while self._stage.now.mono_ms < ends_ms:
            response = yield from self._exchange(node, DescribeQuorumRequest())
            if isinstance(response, DescribeQuorumResponse):
                return
            yield self._stage.sleep(RESPONSE_POLL_MS)

    def _act(self, action: act.Action) -> Steps:
        done: ActDone = yield self._stage.act(action)
        if done.error:
            raise StepFailed(done.error)
