"""Plays many scenarios on all cores: new ones and mutations of interesting ones.

Finds of one cause are one find, whose first scenario is shrunk. Results cover runs from number 0 on without gaps.
A mutation's parents are runs of earlier generations. So no result depends on the speed of a worker.
"""

import random
from collections.abc import Generator, Sequence
from typing import Annotated, Any

import msgspec

from emulator.judging.fuzzing.coverage import kinds_in
from emulator.judging.fuzzing.execute import Broken, Trial, tried, without
from emulator.judging.fuzzing.fault_generator import SPACE
from emulator.judging.fuzzing.finding_files import read, readable
from emulator.judging.fuzzing.fuzz_runs import SETTLE_LIMIT_MS
from emulator.judging.fuzzing.generator import drawn
from emulator.judging.fuzzing.kraft_generator import kraft_drawn
from emulator.judging.fuzzing.mutation import mutated
from emulator.judging.fuzzing.shrinking import TRIALS_MAX, Breaks, shrunk
from emulator.runs.cores import Processes, all_cores, in_order, on_all_cores
from emulator.scenario.scenario_model import Scenario, Sleep
from emulator.topology import KRAFT, metadata_of

GENERATION = 100
"""Count of runs of which none is a mutation of another."""
CHANGED = 0.4
"""Share of mutations among runs, once a scenario was kept."""
KEPT_MAX = 600
FAILED_MAX = 10
PAUSES_S = (0.0, 3.0, 10.0, 30.0, SETTLE_LIMIT_MS / 1000)
"""Pauses after the last step of a find's file; the shortest that shows the find is taken."""
LATEST = 40
"""Half of the mutations have a parent among so many kept last."""


class HuntOptions(msgspec.Struct, frozen=True):
    """Options.

    `fixed`, `by_broker`: given settings, which are not drawn; single brokers' by their numbers. `space`: version of the
    table of fault types; the first one in files without it. `metadata`: mode, as of `metadata_of`. `transactions`:
    the clients write in transactions.
    """

    version: str
    seed: int = 1
    fixed: dict[str, Any] = {}
    by_broker: dict[str, dict[str, Any]] = {}
    space: Annotated[int, msgspec.Meta(ge=1, le=SPACE)] = 1
    metadata: str = ""
    transactions: bool = False

    @property
    def in_kraft(self) -> bool:
        return metadata_of(self.version, self.metadata) == KRAFT

    def scenario(self, number: int) -> Scenario:
        """A newly drawn scenario."""
        own = {int(broker): given for broker, given in self.by_broker.items()}
        draws = kraft_drawn if self.in_kraft else drawn
        return draws(self.seed, number, self.version, self.fixed, own, self.space, self.transactions)


class Kept(msgspec.Struct, frozen=True):
    """A scenario (its file) of run `number` that was the first to reach something.

    `kind`: whether that was an event type, not only another order.
    """

    number: int
    file: str
    kind: bool


class Task(msgspec.Struct, frozen=True):
    """A run. `scenario` None: the worker draws it."""

    number: int
    scenario: Scenario | None = None


class Ended(msgspec.Struct, frozen=True):
    """A finished run."""

    number: int
    trial: Trial


class Find(msgspec.Struct):
    """All finds of one cause, over `count` runs.

    `number`: of the first run, which was played as `drawn` (a file). `text`: its violation. `steps`: count of the
    shrunk scenario's steps, `file`: its text; 0 and "": not shrunk (yet). `place`: among that run's finds of the same
    promise, from 1.
    """

    what: str
    rule: str
    text: str
    number: int
    drawn: str = ""
    count: int = 0
    steps: int = 0
    file: str = ""
    place: int = 1

    @property
    def broken(self) -> Broken:
        return Broken(self.what, self.rule, self.text)

    @property
    def name(self) -> str:
        """Name of its file: `lost-1`; `lost-1-2` for another cause in the same run."""
        return f"{self.what}-{self.number}" + (f"-{self.place}" if self.place > 1 else "")


class Hunt(msgspec.Struct):
    """Results after `runs` runs.

    `failed`: {number: why it did not end}, of the first of `failures`, which are inconclusive. `bugs`: {number:
    exception of this program}, of the first ones. `reached`: see Trial. `kept`: scenarios that reached something new,
    by number.
    """

    runs: int = 0
    finds: list[Find] = []
    reached: set[str] = set()
    kept: list[Kept] = []
    simulated_s: float = 0.0
    failures: int = 0
    failed: dict[str, str] = {}
    bugs: dict[str, str] = {}

    def add(self, ended: Ended, scenario: Scenario) -> list[Find]:
        """Add the next run, which played `scenario`; returns finds of new causes."""
        assert ended.number == self.runs, (ended.number, self.runs)
        trial, known = ended.trial, {find.broken.cause: find for find in self.finds}
        self.runs += 1
        new = trial.reached - self.reached
        if new and len(self.kept) < KEPT_MAX:
            self.kept.append(Kept(ended.number, readable(scenario), bool(kinds_in(new))))
        self.reached |= trial.reached
        self.simulated_s += trial.simulated_s
        self.failures += bool(trial.error)
        if trial.error and len(self.failed) < FAILED_MAX:
            self.failed[str(ended.number)] = trial.error
        if trial.bug and len(self.bugs) < FAILED_MAX:
            self.bugs[str(ended.number)] = trial.bug
        first: list[Find] = []
        for broken in trial.broken:
            find = known.get(broken.cause)
            if find is None:
                place = 1 + sum(one.what == broken.what for one in first)
                find = Find(broken.what, broken.rule, broken.text, ended.number, readable(scenario), place=place)
                self.finds.append(find)
                first.append(find)
            find.count += 1
        return first


class Drawer:
    """Chooses the scenario of a number: new, or a mutation of one from earlier generations."""

    def __init__(self, options: HuntOptions, hunt: Hunt) -> None:
        self._options = options
        self._hunt = hunt
        self._read: dict[int, Scenario | None] = {}

    def task(self, number: int) -> Task:
        before = number - number % GENERATION
        kept = [one for one in self._hunt.kept if one.number < before]
        draw = random.Random(f"guide {self._options.seed} {number}")
        if not kept or draw.random() >= CHANGED:
            return Task(number)
        parent = self._scenario(draw.choice(kept[-LATEST:] if draw.random() < 0.5 else kept))
        other = self._scenario(draw.choice(kept))
        if parent is None:
            return Task(number)
        name = f"fuzz-{self._options.seed}-{number}"
        others, fixed = [other] if other is not None else [], frozenset(self._options.fixed)
        changed = mutated(parent, draw, others, fixed, self._options.space)
        title = f"{parent.id}, changed"
        return Task(number, msgspec.structs.replace(changed, id=name, title=title))

    def scenario(self, task: Task) -> Scenario:
        return task.scenario or self._options.scenario(task.number)

    def _scenario(self, kept: Kept) -> Scenario | None:
        """The kept scenario; None if its file is invalid, which must not end a hunt."""
        if kept.number not in self._read:
            self._read[kept.number] = read(kept.file, f"fuzz-{kept.number}")
        return self._read[kept.number]


class Player:
    """Plays tasks. One per process."""

    def __init__(self, options: HuntOptions) -> None:
        self._options = options

    def play(self, task: Task) -> Ended:
        scenario = task.scenario or self._options.scenario(task.number)
        try:
            return Ended(task.number, tried(scenario, task.number))
        except ValueError as error:  # contradictory settings
            return Ended(task.number, Trial(error=" ".join(str(error).split())))


class Shrinker:
    """Shrinks finds. One per process."""

    def __init__(self, finds: Sequence[Find]) -> None:
        self._finds = finds

    def play(self, seed: int) -> Find:
        """The shrunk find. `seed`: its index."""
        return small(self._finds[seed])


def hunted(
    options: HuntOptions, hunt: Hunt, runs: int, processes: Processes = None
) -> Generator[tuple[Ended, list[Find]], None, None]:
    """Continue the hunt up to `runs` runs; yields each run with its first finds, in order.

    Closing the iterator, as an interrupt does, ends all processes.
    """
    if hunt.runs >= runs:
        return
    drawer = Drawer(options, hunt)
    with all_cores(Player, options, processes, most=runs - hunt.runs) as play:
        while hunt.runs < runs:
            end = min(runs, hunt.runs - hunt.runs % GENERATION + GENERATION)
            tasks = {number: drawer.task(number) for number in range(hunt.runs, end)}
            for ended in in_order(play(list(tasks.values())), lambda one: one.number, hunt.runs):
                yield ended, hunt.add(ended, drawer.scenario(tasks[ended.number]))


def made_small(finds: Sequence[Find], processes: Processes = None) -> Generator[Find, None, None]:
    """Shrunk finds in the order of completion."""
    return on_all_cores(Shrinker, finds, range(len(finds)), processes)


def small(find: Find, trials: int = TRIALS_MAX) -> Find:
    """The find with the file of the smallest scenario that has the same violation and cause.

    Without a file if its scenario cannot be written.
    """
    number, cause = find.number, find.broken.cause
    first = read(find.drawn, find.name)
    if first is None or not (played := tried(first, number)).has(cause):
        return find
    if played.undone and breaks(least := without(first, played.undone), number, cause):
        first = least
    strict = not tried(first, number).undone
    alone = tried(first, number, helped=False).has(cause)

    def breaks_it(candidate: Scenario) -> bool:
        return breaks(candidate, number, cause, strict=strict, alone=alone)

    least = _long_enough(shrunk(first, breaks_it, trials), find, breaks_it)
    smallest = next(one for one in tried(least, number).broken if one.cause == cause)
    least = msgspec.structs.replace(least, id=find.name, title=cause)
    return msgspec.structs.replace(
        find, text=smallest.text, steps=len(least.steps), file=readable(least, f"{smallest.text}\nSeed {number}.")
    )


def breaks(scenario: Scenario, seed: int, cause: str, *, strict: bool = True, alone: bool = False) -> bool:
    """Whether a scenario breaks a promise for that cause, and its file is the same scenario.

    `strict`: all of its steps are possible. `alone`: it needs no further start of a broker that returned too early.
    """
    try:
        trial = tried(scenario, seed)
    except ValueError:  # contradictory settings
        return False
    if not trial.has(cause) or (strict and trial.undone):
        return False
    if alone and not tried(scenario, seed, helped=False).has(cause):
        return False
    return read(readable(scenario), scenario.id) == scenario


def _long_enough(scenario: Scenario, find: Find, breaks_it: Breaks) -> Scenario:
    """The scenario with a pause at its end, if it shows the violation only then.

    A hunt inspects the time after the last step, `faultline run` does not. A failure to settle shows only after the
    longest time that anything may take.
    """
    cause = find.broken.cause
    for seconds in (SETTLE_LIMIT_MS / 1000,) if find.broken.lasts else PAUSES_S:
        *others, last = scenario.steps
        longer = [Sleep(seconds=last.seconds + seconds)] if isinstance(last, Sleep) else [last, Sleep(seconds=seconds)]
        candidate = msgspec.structs.replace(scenario, steps=(*others, *longer)) if seconds else scenario
        if breaks_it(candidate) and tried(candidate, find.number, looks_on=False).has(cause):
            return candidate
    return scenario
