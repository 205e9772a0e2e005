"""Verbs on machines and links, as steps that wait."""

import msgspec

from emulator.faults import actions as act
from emulator.faults.actions import ActDone
from emulator.faults.link_fault_kinds import RuleError
from emulator.faults.link_rule_building import rule_of
from emulator.faults.targets import target_in
from emulator.scenario import scenario_model as m
from emulator.scenario.conditions import AllOf, Condition, HasController, Registered, Unfenced
from emulator.scenario.player.player_context import Stage
from emulator.scenario.player.target_resolution import TargetResolution
from emulator.scenario.player.tasks import StepFailed, Steps, together
from emulator.scenario.quorum_steps import cuts_of

READY_LIMIT_S = 15.0
"""Time limit for a started broker to register, in seconds; then the script continues.

A broker may be kept from registering on purpose.
"""
UNFENCED_LIMIT_S = 30.0
"""The same in KRaft.

There a killed broker is refused for a session's time before it can register again.
"""
UNFENCED_NOTICED_MS = (150.0, 450.0)
"""From a broker's first response to the script's next step, as recorded."""
FAULT_TAKES_MS = (12.0, 22.0)
"""Delay of a fault, in ms, and as much again until the script continues.

The recordings start a command for each fault: the next step begins 20 to 50 ms after a cut or a kill.
"""


class FaultSteps:
    """Runs those steps for a player, and knows which rules the script's faults put in force."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._rules = 0
        self._in_force: dict[str, tuple[m.Links, str]] = {}
        """{rule: its links and kind}"""
        self.targets = TargetResolution(stage.seen, self._in_force)

    def machine(self, step: m.MachineStep | m.Together, following: m.AnyStep | None) -> Steps:
        """`following`: the scenario's next step, which may do the waiting for a node that starts."""
        if isinstance(step, m.Together):
            takes = isinstance(step.steps[0], m.Kill)
            yield from self._takes(takes)
            yield together(self._stage.work, [self._one(one, following, at_once=True) for one in step.steps])
            yield from self._takes(takes)
        else:
            yield from self._one(step, following)

    def _one(self, step: m.MachineStep, following: m.AnyStep | None, at_once: bool = False) -> Steps:
        """`at_once`: the command's own time is not in it."""
        match step:
            case m.Start():
                yield from self._start(step, following)
            case m.Stop(node=node):
                self._stage.seen.unwatch(node)
                yield from self._act(step)
            case m.LoseUnsynced(partition=None):
                yield from self._act(msgspec.structs.replace(step, partition=self._stage.timeline.first))
            case _:
                yield from self._act(step, takes=isinstance(step, m.Kill) and not at_once)
                if step.LEAVES == "dead":
                    self._stage.seen.unwatch(step.node)

    def link(self, step: m.LinkFault) -> Steps:
        """One rule more, in force at both ends when the step is over."""
        self._rules += 1
        name = f"rule-{self._rules}"
        try:
            rule = rule_of(self._stage.topology, name, step)
        except RuleError as error:  # a target may be the node at the other end
            raise StepFailed(str(error)) from error
        self._in_force[name] = (step.links, step.VERB)
        yield from self._act(act.ApplyRule(rule), takes=True)

    def cut_controllers(self, step: m.CutControllers) -> Steps:
        """One rule for each controller's AZ. Raises NoSuchController."""
        for cut in cuts_of(self._stage.topology, step):
            yield from self.link(cut)

    def heal(self, step: m.Heal) -> Steps:
        """Lift the rules of the step's links and kind."""
        links, kind = step.links, step.kind
        meant = None if links is None else self.targets.links_of_heal(links, kind)
        names = [
            name
            for name, (of_links, of_kind) in self._in_force.items()
            if (meant is None or of_links in meant) and kind in ("", of_kind)
        ]
        for name in names:
            del self._in_force[name]
        if names:
            yield from self._act(act.HealRules(tuple(names)), takes=True)

    def _start(self, step: m.Start, following: m.AnyStep | None) -> Steps:
        stage, node = self._stage, step.node
        yield from self._act(step)
        roles = stage.topology.node(node).roles
        votes = stage.kraft and "controller" in roles
        if votes or "broker" in roles or "session" in roles:
            stage.seen.watch(stage.out, node)
        number = stage.topology.node(node).number
        if votes and "broker" not in roles:
            if not isinstance(following, m.Wait | m.Settle) and not self._starts_controller(following):
                yield stage.until(HasController(), READY_LIMIT_S)
                yield stage.sleep(stage.waits.reaction_ms())
            return
        # Combined nodes start together: one alone is no majority of the quorum.
        waits = m.Wait | m.Settle | m.Start if stage.seen.states or votes else m.Wait | m.Settle
        if "broker" in roles and not isinstance(following, waits):
            ready: Condition = Registered(frozenset({number}))
            if stage.kraft:
                brokers = [one for one in stage.topology.with_role("broker") if stage.seen.watches(one.name)]
                ready = AllOf(tuple(Unfenced(one.number) for one in brokers if votes or one.number == number))
            yield stage.until(ready, UNFENCED_LIMIT_S if stage.kraft else READY_LIMIT_S)
            yield stage.sleep(stage.waits.between_ms(UNFENCED_NOTICED_MS) if stage.kraft else stage.waits.reaction_ms())

    def _starts_controller(self, step: m.AnyStep | None) -> bool:
        """Whether the step starts a dedicated controller: a quorum needs a majority."""
        if not isinstance(step, m.Start) or target_in(step.node):
            return False
        return "broker" not in self._stage.topology.node(step.node).roles

    def _act(self, action: act.Action, takes: bool = False) -> Steps:
        yield from self._takes(takes)
        done: ActDone = yield self._stage.act(action)
        if done.error:
            raise StepFailed(done.error)
        yield from self._takes(takes)

    def _takes(self, takes: bool) -> Steps:
        if takes:
            yield self._stage.sleep(self._stage.waits.between_ms(FAULT_TAKES_MS))
