"""Plays all faults with all seeds, then searches the smallest remedy of each violation."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

import msgspec

from emulator.judging.advice.advice_runs import AdviceOptions, Base, Choice, FaultPlayer, base_of
from emulator.judging.advice.availability import worst_of
from emulator.judging.advice.loss_causes import Cause, causes_of
from emulator.judging.advice.outcomes import Outcome
from emulator.judging.advice.pairs import drawn
from emulator.judging.advice.recommendation import Finding, Recommendation, fewest, findings_of, shares
from emulator.judging.advice.remedies import PARTS_MAX, REPLICATED, Part, bears_on, changed, changes, ends, parts_for
from emulator.judging.advice.single_faults import Fault
from emulator.judging.advice.summary import FaultSummary, summaries_of
from emulator.machines.client.client_versions import IDEMPOTENCE, idempotent_by_default

Ended = Callable[[], bool | None]
ADDED_MAX = 2
CAUSES_MAX = 40
"""Maximum of causes of pairs for which changes are searched."""


class Advice(msgspec.Struct):
    """Results of single faults.

    `remedies`: {(check, fault): the smallest change that ends it}; a missing key has none of up to PARTS_MAX parts.
    `runs`: count of runs for the remedies.
    """

    options: AdviceOptions
    summaries: list[FaultSummary]
    remedies: dict[Finding, tuple[str, ...]]
    runs: int


class PairsAdvice(msgspec.Struct):
    """Results of pairs: `played` of `of` runs.

    `summaries`: without violations of one fault alone, which `known` counts. `causes`: violations by cause, the causes
    of most pairs first.
    """

    advice: Advice
    causes: list[Cause]
    played: int
    of: int
    known: int


def options_of(choice: Choice, base: Base, seeds: Iterable[int]) -> AdviceOptions:
    """Options of a run of every fault with every seed."""
    runs = tuple((0, place, seed) for place in range(len(base.faults)) for seed in seeds)
    return AdviceOptions(
        cluster=base.cluster,
        choices=(choice,),
        faults=base.faults,
        replicas=(base.replicas,),
        left_open=base.left_open,
        runs=runs,
    )


def advise(options: AdviceOptions, base: Base, ended: Ended, player: FaultPlayer) -> Advice:
    """Play all faults and search remedies. `ended` is called for each run of the first round."""
    outcomes: list[Outcome] = []
    player.play(options, lambda _, outcome: outcomes.append(outcome), ended)
    summaries = summaries_of(base.faults, outcomes)
    remedies, runs = _remedies(options, base, summaries, findings_of(summaries), player)
    return Advice(options, summaries, remedies, runs)


def recommend(advice: Advice, base: Base, player: FaultPlayer) -> Recommendation | None:
    """Fewest changes that end most findings, measured with every fault; None: none ends any.

    Changes that contradict one another are left out, those that end fewest findings first. Where all of them together
    break another promise, at most ADDED_MAX further parts are added. One seed of each fault is played, and all seeds of
    faults that break something without the change."""
    options, findings = advice.options, findings_of(advice.summaries)
    changes = fewest(advice.remedies)
    while changes and not _usable(options.choices[0], _union(changes), base):
        changes.pop()
    if not changes:
        return None
    union = _union(changes)
    quick = msgspec.structs.replace(options, runs=_one_seed(options))
    played = _outcomes(quick, base, [union], base.faults, player)[0]
    left = findings_of(summaries_of(base.faults, played))
    for _ in range(ADDED_MAX):
        names = {name for _, name in left}
        struck = [fault for fault in base.faults if fault.name in names]
        more = [(*union, part.word) for part in parts_of(base) if part.word not in union]
        usable = [one for one in more if _usable(options.choices[0], one, base)]
        if not struck or not usable:
            break
        outcomes = _outcomes(quick, base, usable, struck, player)
        found = {one: findings_of(summaries_of(struck, outcomes[number])) for number, one in enumerate(usable)}
        best = min(usable, key=lambda one: len(found[one]))
        if len(found[best]) >= len(left):
            break
        union, left, played = best, found[best], []
    broken = {name for _, name in findings}
    first = set(quick.runs)
    rest = [run for run in options.runs if run not in first and options.faults[run[1]].name in broken]
    rest += [] if played else quick.runs
    if rest:
        struck = [base.faults[place] for place in sorted({place for _, place, _ in rest})]
        again = msgspec.structs.replace(options, runs=tuple(rest))
        played += _outcomes(again, base, [union], struck, player)[0]
    after = summaries_of(base.faults, played)
    return Recommendation(
        change=shares(union, advice.remedies),
        findings=len(findings),
        left=findings_of(after),
        runs=len(played),
        before_ms=worst_of(one.writes for one in advice.summaries).waited_ms,
        after_ms=worst_of(one.writes for one in after).waited_ms,
    )


def _one_seed(options: AdviceOptions) -> tuple[tuple[int, int, int], ...]:
    """The first run of each fault."""
    return tuple({run[1]: run for run in reversed(options.runs)}.values())


def _outcomes(
    options: AdviceOptions, base: Base, tried: Sequence[tuple[str, ...]], faults: Sequence[Fault], player: FaultPlayer
) -> dict[int, list[Outcome]]:
    """{number of the change: outcomes}"""
    wanted = [(number, fault.name) for number in range(len(tried)) for fault in faults]
    found: dict[int, list[Outcome]] = {number: [] for number in range(len(tried))}
    for (number, _), outcomes in _tried(options, base, tried, wanted, player).items():
        found[number] += outcomes
    return found


def _union(changes: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for change in changes for word in change))


def advise_pairs(
    options: AdviceOptions,
    base: Base,
    singles: Sequence[FaultSummary],
    ended: Ended,
    player: FaultPlayer,
    limit: int | None = None,
) -> PairsAdvice:
    """Play pairs of faults and search remedies.

    `options`, `base`: of pairs. `singles`: of single faults. `ended` is called after each run of the first round
    and returns whether to go on. After a stop or an interrupt the runs so far are a sample. `limit`: count of runs in a
    random sample.
    """
    every = len(options.runs)
    some = msgspec.structs.replace(options, runs=tuple(drawn(options.runs, every if limit is None else limit)))
    outcomes: list[Outcome] = []
    with suppress(KeyboardInterrupt):
        player.play(some, lambda _, outcome: outcomes.append(outcome), ended)
    summaries = summaries_of(base.faults, outcomes)
    fresh, known = _fresh(summaries, singles)
    causes = causes_of(fresh)
    remedies, runs = _shared(some, base, summaries, causes[:CAUSES_MAX], player)
    advice = Advice(some, fresh, remedies, runs)
    return PairsAdvice(advice, causes, len(outcomes), every, known)


def _fresh(summaries: Iterable[FaultSummary], singles: Iterable[FaultSummary]) -> tuple[list[FaultSummary], int]:
    """Summaries without promises that one of the two faults breaks alone, and their count."""
    alone = {(broken.check, one.fault.text) for one in singles for broken in one.broken}
    fresh, known = [], 0
    for one in summaries:
        left = tuple(
            broken for broken in one.broken if not any((broken.check, text) in alone for text in one.fault.struck)
        )
        known += len(one.broken) - len(left)
        fresh.append(msgspec.structs.replace(one, broken=left))
    return fresh, known


# --- changes ---


def _remedies(
    options: AdviceOptions,
    base: Base,
    summaries: Iterable[FaultSummary],
    unresolved: Sequence[Finding],
    player: FaultPlayer,
) -> tuple[dict[Finding, tuple[str, ...]], int]:
    parts = parts_of(base)
    before = _before(summaries)
    found: dict[Finding, tuple[str, ...]] = {}
    played = 0
    every = [change for size in range(1, PARTS_MAX + 1) for change in changes(parts, size, base.replicas)]
    for change in every:
        left = [one for one in unresolved if one not in found and bears_on(change, parts, one[0])]
        if not left or not _usable(options.choices[0], change, base):
            continue
        outcomes = _tried(options, base, [change], [(0, fault) for _, fault in left], player)
        played += sum(map(len, outcomes.values()))
        for check, fault in left:
            if ends(check, before[fault], outcomes[0, fault]):
                found[check, fault] = change
    return found, played


def parts_of(base: Base) -> tuple[Part, ...]:
    """Parts of which changes are composed."""
    settings = {**base.left_open, **base.settings}
    given = {name.removeprefix("producer."): value for name, value in settings.items()}
    if IDEMPOTENCE not in given and idempotent_by_default(base.version, base.version, given):
        settings[f"producer.{IDEMPOTENCE}"] = True
    brokers, cluster = len(base.cluster.brokers), base.cluster
    return parts_for(settings, base.version, base.replicas, brokers, base.of_each, cluster.in_kraft)


def _usable(choice: Choice, change: tuple[str, ...], base: Base) -> bool:
    """Whether the changed settings are consistent; contradictory ones are no advice."""
    made = changed(choice, change)
    try:
        base_of(made, made.kafka_version, base.cluster)
    except ValueError:
        return False
    return True


def _shared(
    options: AdviceOptions, base: Base, summaries: Sequence[FaultSummary], causes: Sequence[Cause], player: FaultPlayer
) -> tuple[dict[Finding, tuple[str, ...]], int]:
    """Remedies of causes: a change for the first pair is tried with the cause's other pairs too."""
    firsts = [(cause.check, cause.faults[0]) for cause in causes]
    found, played = _remedies(options, base, summaries, firsts, player)
    tried = list(dict.fromkeys(found.values()))
    others = [
        (tried.index(found[cause.check, cause.faults[0]]), cause.check, fault)
        for cause in causes
        if (cause.check, cause.faults[0]) in found
        for fault in cause.faults[1:]
    ]
    outcomes = _tried(options, base, tried, [(number, fault) for number, _, fault in others], player)
    before = _before(summaries)
    for number, check, fault in others:
        if ends(check, before[fault], outcomes[number, fault]):
            found[check, fault] = tried[number]
    return found, played + sum(map(len, outcomes.values()))


def _before(summaries: Iterable[FaultSummary]) -> dict[str, frozenset[str]]:
    """{fault: checks that it breaks without a change}"""
    return {one.fault.name: frozenset(broken.check for broken in one.broken) for one in summaries}


def _tried(
    options: AdviceOptions,
    base: Base,
    tried: Sequence[tuple[str, ...]],
    wanted: Iterable[tuple[int, str]],
    player: FaultPlayer,
) -> dict[tuple[int, str], list[Outcome]]:
    """{(number of the change, fault): outcomes over all seeds}, for the `wanted` keys."""
    places = {fault.name: place for place, fault in enumerate(options.faults)}
    seeds: dict[int, set[int]] = {}
    for _, place, seed in options.runs:
        seeds.setdefault(place, set()).add(seed)
    again = msgspec.structs.replace(
        options,
        choices=tuple(changed(options.choices[0], change) for change in tried),
        replicas=tuple(3 if REPLICATED in change else base.replicas for change in tried),
        runs=tuple(
            (number, places[fault], seed)
            for number, fault in dict.fromkeys(wanted)
            for seed in sorted(seeds[places[fault]])
        ),
    )
    outcomes: dict[tuple[int, str], list[Outcome]] = {}
    player.play(again, lambda choice, outcome: outcomes.setdefault((choice, outcome.fault), []).append(outcome))
    return outcomes
