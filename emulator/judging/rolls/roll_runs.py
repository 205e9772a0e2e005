"""Plays rolls on all cores, and measures what each step costs clients."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Final

import msgspec

from emulator.exit_codes import BUG
from emulator.judging.advice.advice_cluster import Cluster
from emulator.judging.advice.advice_runs import Choice
from emulator.judging.advice.outcomes import Outcome, outcome_of
from emulator.judging.judged import NotJudged, judge_seed
from emulator.judging.rolls.roll_steps import Roll, roll_text
from emulator.runs.cores import Processes, collect, on_all_cores
from emulator.runs.resolve import Resolved, resolve
from emulator.runs.settings_files import read_settings_files
from emulator.runs.simulated import collector_disabled
from emulator.scenario.load import load_scenario
from emulator.settings.setting_registry import parse_assignment
from emulator.worlds.simulated.world import SimulatedWorld
from protocol.events import BrokerLifecycleChanged, MachineFault, NodeStarted, OperationEnded, OperationInvoked

RESOLVED_MAX: Final = 64


class StepCost(msgspec.Struct, frozen=True):
    """Cost of one step, in ms.

    `down_ms`: from the node's stop until it serves again; of a broker of KRaft until it is unfenced. `write_ms`: the
    longest write that began from this stop to the next one.
    """

    node: str
    down_ms: float
    write_ms: float


class RollOutcome(msgspec.Struct, frozen=True):
    """Outcome of one run of a roll.

    `steps`: in the order of the roll; none of a run without a verdict.
    """

    outcome: Outcome
    steps: tuple[StepCost, ...] = ()


class RollOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of the runs: (roll, seed), by index. `to`: the version after the roll."""

    cluster: Cluster
    choice: Choice
    to: str
    replicas: int
    left_open: dict[str, Any]
    rolls: tuple[Roll, ...]
    runs: tuple[tuple[int, int], ...]


def roll_options_text(options: RollOptions, roll: Roll) -> str:
    """The scenario of a roll."""
    cluster = options.cluster.without(options.choice.names)
    version = options.choice.kafka_version
    return roll_text(roll, cluster, version, options.to, options.replicas, options.left_open)


class RollWorker:
    """Plays runs by their index in `RollOptions.runs`. One per process."""

    def __init__(self, options: RollOptions) -> None:
        self._options = options
        self._files = read_settings_files(options.choice.files)
        self._resolved = lru_cache(RESOLVED_MAX)(self._resolve)

    def play(self, index: int) -> tuple[int, RollOutcome]:
        """(the roll's place, its outcome)"""
        place, seed = self._options.runs[index]
        roll = self._options.rolls[place]
        with collector_disabled():
            run = judge_seed(lambda: self._resolved(place), seed)
            if isinstance(run, NotJudged):
                bug = run.why if run.code == BUG else ""
                return place, RollOutcome(Outcome(fault=roll.name, seed=seed, inconclusive=run.why, bug=bug))
            outcome = outcome_of(roll.name, seed, run, self._resolved(place))
            return place, RollOutcome(outcome, step_costs(run.played.world, roll.order))

    def _resolve(self, place: int) -> Resolved:
        options = self._options
        scenario = load_scenario(roll_options_text(options, options.rolls[place]), "roll.yaml")
        overrides = dict(map(parse_assignment, options.choice.overrides))
        return resolve(scenario, options.choice.kafka_version, overrides, self._files)


def step_costs(world: SimulatedWorld, order: Iterable[str]) -> tuple[StepCost, ...]:
    """Costs of the steps that the run reached.

    A step lasts from the stop of its node to that of the next one. A write belongs to the step in which it began.
    """
    order = tuple(order)
    stops: dict[str, float] = {}
    starts: dict[str, float] = {}
    running: dict[str, float] = {}
    writes: dict[str, tuple[float, float]] = {}
    for node, _, _, _, at_ms, event in world.trace.entries:
        match event:
            case MachineFault(what="stop", target=target):
                stops.setdefault(target, at_ms)
            case NodeStarted() if node in stops:
                starts.setdefault(node, at_ms)
            case BrokerLifecycleChanged(state="running") if node in starts:
                starts[node] = running.setdefault(node, at_ms)
            case OperationInvoked(kind="produce", operation=operation):
                writes[operation] = (at_ms, float("inf"))
            case OperationEnded(kind="produce", operation=operation):
                writes[operation] = (writes[operation][0], at_ms)
            case _:
                pass
    end_ms = world.trace.entries[-1][4] if world.trace.entries else 0.0
    reached = [node for node in order if node in stops]
    costs = []
    for node, following in zip(reached, (*reached[1:], None), strict=True):
        begin, until = stops[node], end_ms if following is None else stops[following]
        longest = max((min(end, end_ms) - at for at, end in writes.values() if begin <= at < until), default=0.0)
        costs.append(StepCost(node, round(starts.get(node, end_ms) - begin, 1), round(longest, 1)))
    return tuple(costs)


def play_rolls(
    options: RollOptions, processes: Processes = None, ended: Callable[[], bool | None] = lambda: True
) -> list[list[RollOutcome]]:
    """Outcomes of each roll, in the order of seeds. `ended`: as of `collect`."""
    found: list[list[RollOutcome]] = [[] for _ in options.rolls]

    def keep(played: tuple[int, RollOutcome]) -> None:
        place, outcome = played
        found[place].append(outcome)

    collect(on_all_cores(RollWorker, options, range(len(options.runs)), processes), keep, ended)
    return [sorted(outcomes, key=_seed) for outcomes in found]


def _seed(one: RollOutcome) -> int:
    return one.outcome.seed
