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
from emulator.topology import node_name
from protocol.messages.kraft_messages import DescribeQuorumRequest, DescribeQuorumResponse

SOCKET_TIMEOUT_MS: Final = 2_000.0
ATTEMPTS_MAX: Final = 30
"""Maximum of controllers that are killed until the required one is active."""
ACTIVE_LIMIT_S: Final = 60.0
SETTLED_MS: Final = 3_000.0
"""Time from the required controller's claim to the next step, so that brokers find it."""


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

    def _require(self, controller: int | None) -> Steps:
        """Kill the active controller and start it again, until the required one is active.

        A combined node is a broker, too, and is not killed: the seed decides. So it was in the recordings.
        """
        stage = self._stage
        wanted = None if controller is None else controller_node(stage.topology, controller)
        if not (yield stage.until(HasController(), ACTIVE_LIMIT_S)):
            raise StepFailed(f"no controller is active after {ACTIVE_LIMIT_S:g} s; start a majority of the controllers")
        attempts = 0
        brokers = [node.name for node in stage.topology.with_role("broker")]
        while wanted is not None and self._active() not in (wanted, *brokers) and attempts < ATTEMPTS_MAX:
            attempts += 1
            yield from self._failover()
        if attempts:
            yield stage.sleep(SETTLED_MS)
        active = self._active()
        number = stage.topology.node(active).number if active is not None else None
        self._timeline.record_active(stage.now.mono_ms, number)

    def _active(self) -> str | None:
        controller = self._stage.seen.controller
        return None if controller is None else node_name(controller)

    def _failover(self) -> Steps:
        """The active controller dies, another one is active, and the dead one starts again."""
        stage, node = self._stage, self._active()
        if node is not None:
            stage.waits.fault_begins(stage.now.mono_ms)
            yield from self._act(act.Kill(node=node))
            yield stage.until(NewController(), ACTIVE_LIMIT_S)
            yield from self._act(act.Start(node=node))
        yield stage.until(HasController(), ACTIVE_LIMIT_S)

    def _act(self, action: act.Action) -> Steps:
        done: ActDone = yield self._stage.act(action)
        if done.error:
            raise StepFailed(done.error)
