"""Many scenarios on all cores, drawn anew or out of what reached something new; finds of one cause are one find, whose
first is made small.

Whatever is told is of the runs from number 0 on that have all ended, and what a run is drawn from are runs of earlier
generations: so nothing depends on who was faster.
"""

import random
from collections.abc import Generator, Iterable, Sequence
from typing import Any

import msgspec

from emulator.judging.fuzzing.coverage import kinds_in
from emulator.judging.fuzzing.draws import drawn
from emulator.judging.fuzzing.files import read, readable
from emulator.judging.fuzzing.mutation import mutated
from emulator.judging.fuzzing.playing import SETTLE_LIMIT_MS
from emulator.judging.fuzzing.shrinking import TRIALS_MAX, Breaks, shrunk
from emulator.judging.fuzzing.trial import Broken, Trial, tried, without
from emulator.runs.cores import Processes, all_cores, on_all_cores
from emulator.scenario.model import Pause, Scenario

GENERATION = 100
"""Runs of which none is drawn out of another."""
CHANGED = 0.4
"""Of runs, once something was kept: how many are one of those, changed."""
KEPT_MAX = 600
FAILED_MAX = 10
PAUSES_S = (0.0, 3.0, 10.0, 30.0, SETTLE_LIMIT_MS / 1000)
"""Behind the last step of a find's file: the least that shows it."""
LATEST = 40
"""Half of those that are changed are among so many kept last."""


class FuzzAsked(msgspec.Struct, frozen=True):
    """`fixed`, `by_broker`: settings that are given, and not drawn; those of single brokers by their numbers."""

    version: str
    seed: int = 1
    fixed: dict[str, Any] = {}
    by_broker: dict[str, dict[str, Any]] = {}

    def scenario(self, number: int) -> Scenario:
        """Drawn anew."""
        own = {int(broker): given for broker, given in self.by_broker.items()}
        return drawn(self.seed, number, self.version, self.fixed, own)


class Kept(msgspec.Struct, frozen=True):
    """The scenario of run `number`, as its file, which was the first to reach something; `kind`: a kind of event, not
    only another order."""

    number: int
    file: str
    kind: bool


class Task(msgspec.Struct, frozen=True):
    """A run. None: it is drawn anew, by whoever plays it."""

    number: int
    scenario: Scenario | None = None


class Ended(msgspec.Struct, frozen=True):
    """One run."""

    number: int
    trial: Trial


class Find(msgspec.Struct):
    """All finds of one cause, over `count` runs. `number`: of the first, which was played as `drawn` (a file); `text`:
    what it broke there. `steps`: of the shrunk scenario, which `file` is the text of; 0 and "": it was not made small
    (yet). `place`: among the finds of that run that broke the same, from 1."""

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
        """Of its file: `lost-1`; `lost-1-2` of another cause in the same run."""
        return f"{self.what}-{self.number}" + (f"-{self.place}" if self.place > 1 else "")


class Hunt(msgspec.Struct):
    """What is known after `runs` runs. `failed`: {number: why it was not played to its end}, of the first of
    `failures`, which nothing is concluded from; `bugs`: {number: an exception of ours}, of the first. `reached`: see
    Trial; `kept`: what reached something new, in the order of numbers."""

    runs: int = 0
    finds: list[Find] = []
    reached: set[str] = set()
    kept: list[Kept] = []
    simulated_s: float = 0.0
    failures: int = 0
    failed: dict[str, str] = {}
    bugs: dict[str, str] = {}

    def add(self, ended: Ended, scenario: Scenario) -> list[Find]:
        """The next one, which was played so; causes that it is the first to show."""
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
    """Says what is played as which number: drawn anew, or out of what earlier generations have kept."""

    def __init__(self, asked: FuzzAsked, hunt: Hunt) -> None:
        self._asked = asked
        self._hunt = hunt
        self._read: dict[int, Scenario | None] = {}

    def task(self, number: int) -> Task:
        before = number - number % GENERATION
        kept = [one for one in self._hunt.kept if one.number < before]
        draw = random.Random(f"guide {self._asked.seed} {number}")
        if not kept or draw.random() >= CHANGED:
            return Task(number)
        parent = self._scenario(draw.choice(kept[-LATEST:] if draw.random() < 0.5 else kept))
        other = self._scenario(draw.choice(kept))
        if parent is None:
            return Task(number)
        name = f"fuzz-{self._asked.seed}-{number}"
        changed = mutated(parent, draw, [other] if other is not None else [], frozenset(self._asked.fixed))
        title = f"{parent.id}, changed"
        return Task(number, msgspec.structs.replace(changed, id=name, title=title))

    def scenario(self, task: Task) -> Scenario:
        return task.scenario or self._asked.scenario(task.number)

    def _scenario(self, kept: Kept) -> Scenario | None:
        """None: its file says something else; which is no reason to end a hunt."""
        if kept.number not in self._read:
            self._read[kept.number] = read(kept.file, f"fuzz-{kept.number}")
        return self._read[kept.number]


class Player:
    """Plays tasks. One per process."""

    def __init__(self, asked: FuzzAsked) -> None:
        self._asked = asked

    def play(self, task: Task) -> Ended:
        scenario = task.scenario or self._asked.scenario(task.number)
        try:
            return Ended(task.number, tried(scenario, task.number))
        except ValueError as error:  # these settings do not go together
            return Ended(task.number, Trial(error=" ".join(str(error).split())))


class Shrinker:
    """Makes finds small. One per process."""

    def __init__(self, finds: Sequence[Find]) -> None:
        self._finds = finds

    def play(self, seed: int) -> Find:
        """`seed`: which of the finds."""
        return small(self._finds[seed])


def hunted(
    asked: FuzzAsked, hunt: Hunt, runs: int, processes: Processes = None
) -> Generator[tuple[Ended, list[Find]], None, None]:
    """Goes on with the hunt until there are so many runs: each, with the finds that it is the first of, in the order of
    numbers. Closing the iterator, as an interrupt does, ends all processes."""
    if hunt.runs >= runs:
        return
    drawer = Drawer(asked, hunt)
    with all_cores(Player, asked, processes, most=runs - hunt.runs) as play:
        while hunt.runs < runs:
            end = min(runs, hunt.runs - hunt.runs % GENERATION + GENERATION)
            tasks = {number: drawer.task(number) for number in range(hunt.runs, end)}
            early: dict[int, Ended] = {}
            for one in play(list(tasks.values())):
                early[one.number] = one
                while hunt.runs in early:
                    ended = early.pop(hunt.runs)
                    yield ended, hunt.add(ended, drawer.scenario(tasks[ended.number]))


def made_small(finds: Sequence[Find], processes: Processes = None) -> Iterable[Find]:
    """In whatever order they come."""
    return on_all_cores(Shrinker, finds, range(len(finds)), processes)


def small(find: Find, trials: int = TRIALS_MAX) -> Find:
    """With the file of the smallest scenario that breaks the same for the same cause; without one, if what was played
    cannot be written."""
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
    told = next(one for one in tried(least, number).broken if one.cause == cause)
    least = msgspec.structs.replace(least, id=find.name, title=cause)
    return msgspec.structs.replace(
        find, text=told.text, steps=len(least.steps), file=readable(least, f"{told.text}\nSeed {number}.")
    )


def breaks(scenario: Scenario, seed: int, cause: str, *, strict: bool = True, alone: bool = False) -> bool:
    """Whether a scenario breaks a promise for that cause, and its file says the same scenario. `strict`: and all of its
    steps can be done. `alone`: and nobody has to start a broker again that came back too early."""
    try:
        trial = tried(scenario, seed)
    except ValueError:  # these settings do not go together
        return False
    if not trial.has(cause) or (strict and trial.undone):
        return False
    if alone and not tried(scenario, seed, helped=False).has(cause):
        return False
    return read(readable(scenario), scenario.id) == scenario


def _long_enough(scenario: Scenario, find: Find, breaks_it: Breaks) -> Scenario:
    """With a pause at its end, if what it breaks is seen only then: a hunt looks on behind the last step, `faultline
    run` does not. What does not settle is not seen before as long has passed as anything may take."""
    cause = find.broken.cause
    for seconds in (SETTLE_LIMIT_MS / 1000,) if find.broken.lasts else PAUSES_S:
        *others, last = scenario.steps
        longer = [Pause(seconds=last.seconds + seconds)] if isinstance(last, Pause) else [last, Pause(seconds=seconds)]
        candidate = msgspec.structs.replace(scenario, steps=(*others, *longer)) if seconds else scenario
        if breaks_it(candidate) and tried(candidate, find.number, looks_on=False).has(cause):
            return candidate
    return scenario
