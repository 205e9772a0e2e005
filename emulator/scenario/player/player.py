"""The player: does a scenario's steps in order, and records the results.

It is a machine like all others: messages to brokers and session servers leave through ordinary connections (from
outside every AZ), and what is done *to* the cluster leaves as `Act`, which the world carries out. """

from collections.abc import Callable
from typing import Any

import msgspec

from emulator.faults.actions import ActDone, Start
from emulator.faults.targets import NoTarget
from emulator.machines.client.client_operations import KeptOperations, OperationLog
from emulator.machines.client.direct import DirectClient
from emulator.machines.client.group_commands import GroupCommands
from emulator.scenario import scenario_model as m
from emulator.scenario.conditions import HasController
from emulator.scenario.player.client_step_execution import LibraryProducers
from emulator.scenario.player.observing import PREFIXES
from emulator.scenario.player.player_context import Stage
from emulator.scenario.player.session_writes import SessionWrites
from emulator.scenario.player.steps import StepFailed, StepRunner
from emulator.scenario.player.tasks import Order, Steps
from emulator.scenario.recording import do_entry
from emulator.topology import OBSERVER, Node, Topology
from protocol.chance import Chance
from protocol.conversations import ACCEPTED_BY_PLAYER
from protocol.events import ScenarioStep
from protocol.machine import Effect, Input, Now, Started

ENSEMBLE_LIMIT_S = 60.0


class Player(Stage):
    """The player of `steps` of `scenario`. Exits when the last step has ended.

    `record_magic`: its client's record format; `kafka_version`: of its consumers.

    `steps_may_fail`: a failed step is recorded, and the next begins (while other tools kill nodes, a topic may find no
    leader in time). `observed`: the observed znodes.
    """

    ACCEPTED_MESSAGES = ACCEPTED_BY_PLAYER

    def __init__(
        self,
        topology: Topology,
        steps: tuple[m.AnyStep, ...],
        record_magic: int,
        kafka_version: str,
        *,
        steps_may_fail: bool = False,
        observed: tuple[str, ...] = PREFIXES,
    ) -> None:
        super().__init__(topology, kafka_version, observed)
        self.steps = steps
        self.finished = False
        self._record_magic = record_magic
        self._kafka_version = kafka_version
        self._steps_may_fail = steps_may_fail
        self.operations = KeptOperations()
        self._background: dict[str, bool] = {}
        self._awaiting: dict[str, Callable[[Any], None]] = {}
        self._started: set[str] = set()
        self.step_number = 0
        """Of the step that began last, from 1; those of a repetition count each time."""
        self.failed: StepFailed | None = None
        """Of the step that could not be done."""
        self.on_step: Callable[[], None] = lambda: None
        """Called when a step has begun."""
        self._runner = StepRunner(self)

    # --- inputs ---

    def step(self, now: Now, event: Input | ActDone) -> list[Effect]:
        """Handle one input. Among the effects may be `Act`, which is the world's."""
        self.now = now
        out = self.out
        if type(event) is Started:
            self._start(now, Chance(event.seed), event.incarnation)
        elif type(event) is ActDone:
            self._acts.pop(event.number)(event)
        else:
            out.route(now, event)  # dropped if its connection was closed meanwhile
        return out.take()

    def _start(self, now: Now, chance: Chance, incarnation: int) -> None:
        self.chance = chance
        log = OperationLog(OBSERVER, incarnation, self._kept())
        self.direct = DirectClient("player", log, self._record_magic)
        self.writes = SessionWrites(
            [node.name for node in self.topology.with_role("session")], chance, self.gates, self.work
        )
        brokers = [node.name for node in self.topology.with_role("broker")]
        self.libraries = LibraryProducers(brokers, log, chance)
        servers = [node.name for node in self.topology.with_role("session")]
        self.groups = GroupCommands(OBSERVER, brokers, servers, log, self._kafka_version, chance)
        self.waits.start(chance)
        self.work.start("script", "play", self._play(), self._finish)

    def _kept(self) -> KeptOperations | None:
        """Operations kept for the checks after the play."""
        return self.operations

    # --- the play ---

    def _play(self) -> Steps:
        """Session servers and clients first, or KRaft's controllers; then the script."""
        for node in self.topology.nodes:
            if node.name != OBSERVER and "broker" not in node.roles and "controller" not in node.roles:
                yield self.act(Start(node.name))
        self.seen.start(self.out)
        if self.kraft:
            yield from self._until_controller_is_active()
        else:
            yield from self._until_ensemble_serves()
        yield from self._run(self.steps)
        yield from self._runner.end()

    def _until_ensemble_serves(self) -> Steps:
        servers = len(self.topology.with_role("session"))
        waited_ms = self.now.mono_ms
        while len(self.seen.serving) < servers:
            if self.now.mono_ms - waited_ms >= ENSEMBLE_LIMIT_S * 1000.0:
                why = f"ZooKeeper: no quorum after {ENSEMBLE_LIMIT_S:.0f} s; raise tickTime or initLimit"
                self.failed = StepFailed(why)
                raise self.failed
            yield self.sleep(50.0)

    def _until_controller_is_active(self) -> Steps:
        """Start the dedicated controllers, except those that the script starts."""
        controllers = [node.name for node in started_first(self.topology, self.steps)]
        for name in controllers:
            yield self.act(Start(name))
            self.seen.watch(self.out, name)
        if not controllers:
            return
        if not (yield self.until(HasController(), ENSEMBLE_LIMIT_S)):
            why = f"KRaft: no active controller after {ENSEMBLE_LIMIT_S:.0f} s; check controller.quorum.* settings"
            self.failed = StepFailed(why)
            raise self.failed

    def _run(self, steps: tuple[m.AnyStep, ...]) -> Steps:
        for index, step in enumerate(steps):
            following = steps[index + 1] if index + 1 < len(steps) else None
            if step.at_s is not None and step.at_s * 1000.0 > self.now.mono_ms:
                yield self.sleep(step.at_s * 1000.0 - self.now.mono_ms)
            if isinstance(step, m.Repeat):
                for _ in range(step.times):
                    yield from self._run(step.steps)
                continue
            self.step_number += 1
            step, targets = self._resolved(step)
            entry = do_entry(step)
            if targets and entry is not None:
                entry["targets"] = targets
            self.out.emit(ScenarioStep(self.step_number, _described(step, entry)))
            self.on_step()
            if m.begins_fault(step):
                self.waits.fault_begins(self.now.mono_ms)
            self.timeline.did(self.now.mono_ms, entry)
            match step:
                case m.Background(name=name, step=inner):
                    self._begin_background(name, inner)
                case m.Await(name=name):
                    yield self._await(name)
                case _:
                    yield from self._tried(self._runner.run(step, following), step)

    def _resolved(self, step: m.AnyStep) -> tuple[m.AnyStep, dict[str, str]]:
        """The step with nodes in the place of its targets, and {target: its node}.

        Where a target means no node, the step as it is, which then fails."""
        try:
            return self._runner.resolved(step)
        except NoTarget:
            return step, {}

    def _tried(self, steps: Steps, step: m.AnyStep) -> Steps:
        number = self.step_number
        try:
            yield from steps
        except StepFailed as failed:
            if not self._steps_may_fail:
                failed.step = number
                failed.args = (f"step {number} ({described_step(step)}): {failed}",)
                self.failed = failed
                raise
            self.timeline.add(self.now.mono_ms, {"saw": "step-failed", "step": number, "why": str(failed)})

    def _begin_background(self, name: str, step: m.AnyStep) -> None:
        self._background[name] = False

        def ended(result: None) -> None:
            self._background[name] = True
            waiting = self._awaiting.pop(name, None)
            if waiting is not None:
                waiting(None)

        self.work.start(name, described_step(step), self._tried(self._runner.run(step, None), step), ended)

    def _await(self, name: str) -> Order:
        def begin(done: Callable[[Any], None]) -> None:
            if self._background.get(name, True):
                done(None)
            else:
                self._awaiting[name] = done

        return Order(f"the end of {name}", begin)

    def _finish(self, result: None) -> None:
        self.finished = True
        self.out.exit(0, "the scenario has been played")



def started_first(topology: Topology, steps: tuple[m.AnyStep, ...]) -> list[Node]:
    """Dedicated controllers of KRaft that run before the script.

    They are those whose first fault or start is no start.
    """
    first: dict[str, bool] = {}
    for step in m.plain_steps(steps):
        if isinstance(step, m.MachineStep):
            first.setdefault(step.node, isinstance(step, Start))
    dedicated = [node for node in topology.with_role("controller") if "broker" not in node.roles]
    return [node for node in dedicated if not first.get(node.name, False)]


def described_step(step: m.AnyStep) -> str:
    """One line: the step as its entry would show it."""
    return _described(step, do_entry(step))


def _described(step: m.AnyStep, entry: dict[str, Any] | None) -> str:
    if entry is None:
        return type(step).__name__.lower()
    shown = [f"{k}={msgspec.json.encode(value).decode()}" for k, value in entry.items() if k not in ("do", "note")]
    return " ".join([str(entry["do"]), *shown])
