"""Mutates a scenario that reached something new: steps, their times and targets, settings.

At the end all faults are healed, as in a new scenario."""

import random
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from emulator.judging.fuzzing.fault_generator import SPACE, links
from emulator.judging.fuzzing.fault_tables import fault_tables
from emulator.judging.fuzzing.generator import BEGIN_S, CHOSEN, END_S, GAPS_S, LAGS, SELDOM_CHOSEN, mend, settle_s
from emulator.judging.fuzzing.kraft_generator import KRAFT_CHOSEN
from emulator.judging.fuzzing.schedule import Cluster, Schedule, cluster_of
from emulator.scenario import scenario_model as m
from emulator.scenario.node_state_validation import NodeStates
from emulator.topology import KRAFT
from protocol.gates import gates_for

CHANGES = (1, 3)
STEPS_MAX = 40
"""Maximum of faults: a scenario grows no further."""

Body = list[m.AnyStep]


def mutated(
    scenario: m.Scenario,
    draw: random.Random,
    others: Sequence[m.Scenario],
    fixed: frozenset[str],
    space: int = SPACE,
) -> m.Scenario:
    """A mutated scenario. `others`: scenarios whose steps it may take.

    `fixed`: settings that stay. `space`: version of the table of fault types.
    """
    alters = gates_for(scenario.default_version).settings_change_while_running
    cluster = cluster_of(scenario, alters=alters, space=space)
    head, body = parted(scenario)
    for _ in range(draw.randint(*CHANGES)):
        way = draw.choice((*WAYS, None))
        if way is None:
            scenario = _setting(scenario, draw, fixed)
        else:
            body = sorted(way(body, draw, cluster, others), key=_when)
    s = Schedule(draw, cluster, BEGIN_S)
    states = NodeStates(scenario.topology)
    for step in head:
        _stands(states, step)
    for step in body[:STEPS_MAX]:
        inner = step.step if isinstance(step, m.Background) else step
        if isinstance(inner, m.Start):
            if inner.node not in s.dead:
                continue
            step = inner  # whether it may have to wait is decided anew
        if _stands(states, step):
            s.at_s = max(s.at_s, _when(step))
            s.add(step)
    mend(s, settle_s(scenario))
    return replace(scenario, steps=(*head, *_named(s.steps)))


def _named(steps: Body) -> Body:
    """Give each background step a name of its own."""
    named: set[str] = set()
    found: Body = []
    for number, step in enumerate(steps):
        if isinstance(step, m.Background) and step.name in named:
            step = replace(step, name=f"{step.name}, {number}")
        named |= {step.name} if isinstance(step, m.Background) else set()
        found.append(step)
    return found


def parted(scenario: m.Scenario) -> tuple[Body, Body]:
    """(steps before the first fault; faults, without the steps that heal them at the end)"""
    steps = list(scenario.steps)
    begin = next((place for place, step in enumerate(steps) if step.at_s is not None), len(steps))
    ends = [place for place, step in enumerate(steps) if isinstance(step, m.Heal) and step.links is None]
    return steps[:begin], [step for step in steps[begin : ends[-1] if ends else None] if step.at_s is not None]


def _when(step: m.AnyStep) -> float:
    return step.at_s if step.at_s is not None else BEGIN_S


def _stands(states: NodeStates, step: m.AnyStep) -> bool:
    """Whether the step is possible after the steps before; if so, it is recorded."""
    return not [*states.take(None, [step])]  # type: ignore[arg-type]  # it has no place in a file


# --- ways to change the faults ---


def _less(body: Body, draw: random.Random, cluster: Cluster, others: Sequence[m.Scenario]) -> Body:
    if not body:
        return body
    place = draw.randrange(len(body))
    return body[:place] + body[place + 1 :]


def _more(body: Body, draw: random.Random, cluster: Cluster, others: Sequence[m.Scenario]) -> Body:
    """Add a fault, or faults that belong together, drawn for the faults open at that moment."""
    usual, some, sequences = fault_tables(cluster)
    kinds = [*usual.values(), *some.values(), *sequences.values()]
    s = Schedule(draw, cluster, BEGIN_S)
    at_s = round(draw.uniform(BEGIN_S, END_S), 1)
    before = [step for step in body if _when(step) <= at_s]
    for step in before:
        s.add(step)
    s.at_s = at_s
    draw.choices([do for do, _ in kinds], [weight for _, weight in kinds])[0](s)
    return [*s.steps, *body[len(before) :]]


def _moved(body: Body, draw: random.Random, cluster: Cluster, others: Sequence[m.Scenario]) -> Body:
    """Move one step, or it and all later ones."""
    if not body:
        return body
    place, by_s = draw.randrange(len(body)), draw.uniform(*draw.choice(GAPS_S)) * draw.choice((-1, 1))
    end = place + 1 if draw.random() < 0.5 else len(body)
    moved = [at(step, max(BEGIN_S, _when(step) + by_s)) for step in body[place:end]]
    return [*body[:place], *moved, *body[end:]]


def _elsewhere(body: Body, draw: random.Random, cluster: Cluster, others: Sequence[m.Scenario]) -> Body:
    """Apply a step to other nodes or links."""
    if not body:
        return body
    place = draw.randrange(len(body))
    step = body[place]
    match step:
        case m.LinkFault():
            other: m.AnyStep = replace(step, links=links(Schedule(draw, cluster, BEGIN_S)))
        case m.MachineStep(node=node) if node in cluster.ranked:
            other = replace(step, node=draw.choice(cluster.ranked))
        case _:
            return body
    return [*body[:place], other, *body[place + 1 :]]


def _spliced(body: Body, draw: random.Random, cluster: Cluster, others: Sequence[m.Scenario]) -> Body:
    """Take the last faults of another scenario with as many brokers and ZooKeeper servers."""
    fit = [one for one in others if sorted(_nodes(one)) == sorted({*cluster.ranked, *cluster.sessions})]
    if not fit:
        return body
    at_s = draw.uniform(BEGIN_S, END_S)
    theirs = [step for step in parted(draw.choice(fit))[1] if _when(step) > at_s]
    return [*(step for step in body if _when(step) <= at_s), *theirs]


def _nodes(scenario: m.Scenario) -> set[str]:
    return {node.name for role in ("broker", "session", "controller") for node in scenario.topology.with_role(role)}


WAYS: tuple[Callable[[Body, random.Random, Cluster, Sequence[m.Scenario]], Body], ...] = (
    _less, _more, _more, _moved, _moved, _elsewhere, _spliced,
)  # fmt: skip


def _setting(scenario: m.Scenario, draw: random.Random, fixed: frozenset[str]) -> m.Scenario:
    """Draw one setting anew."""
    others = [*CHOSEN, *SELDOM_CHOSEN]
    if scenario.topology.metadata == KRAFT:
        others = [*CHOSEN, *KRAFT_CHOSEN]
    lag = draw.choice(LAGS)
    name, values = draw.choice(others)
    chosen = lag if draw.random() < 0.4 else {name: draw.choice(values)}
    if fixed & chosen.keys():
        return scenario
    return replace(scenario, settings={**scenario.settings, **chosen})


def at(step: m.AnyStep, at_s: float | None) -> m.AnyStep:
    """The step at another moment; None: after the end of the one before."""
    at_s = None if at_s is None else round(at_s, 1)
    if isinstance(step, m.Background):
        return replace(step, at_s=at_s, step=replace(step.step, at_s=at_s))
    return replace(step, at_s=at_s)
