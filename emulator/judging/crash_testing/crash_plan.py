"""Plans of deaths: victim and time, or an orderly stop and start, from a seed or given.

A death is at a step of the scenario's script: when the step begins, some time after, or before the victim's n-th
storage operation from then on. A victim that is dead when the step begins dies before the n-th operation of its next
incarnation. A victim with too few operations dies when the script is over.
"""

import random
from collections.abc import Collection
from functools import lru_cache

import msgspec
from msgspec.structs import replace

from emulator.faults.machine_fault_kinds import DiskError, LoseDisk
from emulator.runs.resolve import Resolved, resolve
from emulator.runs.scenario_sources import catalogue, find_scenario
from emulator.runs.starts import starts_in
from emulator.scenario.scenario_model import AnyStep, Repeat, Scenario, plain_steps
from emulator.topology import KRAFT
from protocol.versions import ladder_name

STORAGE_SHARE = 0.6
"""Share of deaths between two storage operations."""
OPERATIONS_MAX = 40
LATER_MAX_MS = 8_000.0
POWER_SHARE = 0.25
AGAIN_SHARE = 0.2
AGAIN_MAX = 24
"""Maximum of storage operations before the next death: during loading or just after."""
BACK_MS = (1_000.0, 9_000.0)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """One planned death.

    - `step` counts from 1
    - `operations` -1: `later_ms` after the step has begun; otherwise before that storage operation (0: the next)
    - `power`: the machine loses power with the process, and a random part of the unsynced data
    - `again` -1: one death; otherwise the next incarnation dies before that operation
    - `back_ms`: from a death to the restart
    - `orderly`: no death; the victim is stopped
    """

    seed: int
    scenario: str
    version: str
    victim: str
    step: int
    operations: int = -1
    later_ms: float = 0.0
    power: bool = False
    again: int = -1
    back_ms: float = BACK_MS[0]
    orderly: bool = False

    @property
    def text(self) -> str:
        """Description in one line."""
        if self.orderly:
            back = f"and started {self.back_ms:.0f} ms after it has ended"
            return f"{self.scenario} on {self.version}: {self.victim} is stopped when step {self.step} begins, {back}"
        when = f"{self.later_ms:.0f} ms into" if self.operations < 0 else f"{self.operations} storage operations after"
        how = "loses power" if self.power else "is killed"
        again = f", again {self.again} operations into its next life" if self.again >= 0 else ""
        return f"{self.scenario} on {self.version}: {self.victim} {how} {when} step {self.step}{again}"


def step_count(steps: tuple[AnyStep, ...]) -> int:
    """Count of steps as the player counts them."""
    return sum(step.times * step_count(step.steps) if isinstance(step, Repeat) else 1 for step in steps)


@lru_cache(maxsize=512)
def scenario_of(scenario_id: str) -> Scenario:
    """A catalogue scenario, read once per process."""
    return find_scenario(scenario_id)


@lru_cache(maxsize=2048)
def resolved_for(scenario_id: str, version: str) -> Resolved:
    return resolve(scenario_of(scenario_id), version)


def versions_of(scenario_id: str, among: Collection[str] = ()) -> list[str]:
    """Versions of a scenario, of `among` (all if empty); none in two cases.

    First, brokers change their version or settings: the rules that allow a loss are those of one version. Second, a log
    directory stays broken to the end: its contents never settle."""
    scenario = scenario_of(scenario_id)
    if any(start.version or start.settings for start in starts_in(scenario.steps)) or _directory_fails(scenario):
        return []
    known = [ladder_name(version) for version in scenario.kafka]
    return [version for version in known if version in among or not among]


def _directory_fails(scenario: Scenario) -> bool:
    """Whether a broken log directory is not replaced before the end."""
    failing: set[tuple[str, str]] = set()
    for step in plain_steps(scenario.steps):
        match step:
            case DiskError(node=node, directory=directory) if directory:
                failing.add((str(node), directory))
            case LoseDisk(node=node, directory=directory):
                failing = {one for one in failing if one[0] != str(node) or directory not in ("", one[1])}
            case _:
                pass
    return bool(failing)


def mortal_scenarios() -> list[str]:
    """Catalogue scenarios whose deaths are judged."""
    return [name for name in catalogue() if versions_of(name)]


@lru_cache(maxsize=512)
def _wanted(scenarios: tuple[str, ...], versions: tuple[str, ...]) -> dict[str, list[str]]:
    """{scenario: versions to draw from}, of scenarios with any."""
    known = {name: versions_of(name, versions) for name in scenarios or catalogue()}
    return {name: of for name, of in known.items() if of}


def drawn(seed: int, scenarios: tuple[str, ...] = (), versions: tuple[str, ...] = ()) -> Plan:
    """The plan of a seed, drawn from `scenarios` and `versions` (all if empty).

    At least one scenario must have a version.
    """
    draw = random.Random(f"death {seed}")
    wanted = _wanted(scenarios, versions)
    name = draw.choice(list(wanted))  # of a file, its path
    scenario = scenario_of(name)
    version = draw.choice(wanted[name])
    storage = draw.random() < STORAGE_SHARE
    plan = Plan(
        seed=seed,
        scenario=name,
        version=version,
        victim=draw.choice(mortals(scenario)),
        step=draw.randint(1, step_count(scenario.steps)),
        operations=draw.randint(0, OPERATIONS_MAX) if storage else -1,
        later_ms=0.0 if storage or draw.random() < 0.5 else draw.uniform(0.0, LATER_MAX_MS),
        power=draw.random() < POWER_SHARE,
        again=draw.randint(0, AGAIN_MAX) if draw.random() < AGAIN_SHARE else -1,
        back_ms=draw.uniform(*BACK_MS),
    )
    # With ZooKeeper a dedicated controller has no storage.
    without_storage = plan.victim.startswith("controller") and scenario.topology.metadata != KRAFT
    return replace(plan, operations=-1, again=-1) if without_storage else plan


def stop_drawn(seed: int, scenarios: tuple[str, ...] = (), versions: tuple[str, ...] = ()) -> Plan:
    """An orderly stop and start of a broker between two steps; drawn as in `drawn`."""
    draw = random.Random(f"stop {seed}")
    wanted = _wanted(scenarios, versions)
    name = draw.choice(list(wanted))
    scenario = scenario_of(name)
    return Plan(
        seed=seed,
        scenario=name,
        version=draw.choice(wanted[name]),
        victim=draw.choice([node.name for node in scenario.topology.with_role("broker")]),
        step=draw.randint(1, step_count(scenario.steps)),
        back_ms=draw.choice((0.0, draw.uniform(0.0, BACK_MS[1]))),
        orderly=True,
    )


def mortals(scenario: Scenario) -> list[str]:
    """Possible victims: brokers, ZooKeeper servers, dedicated controllers of either mode."""
    topology = scenario.topology
    return list(dict.fromkeys(n.name for role in ("broker", "session", "controller") for n in topology.with_role(role)))
