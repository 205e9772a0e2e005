"""Shrinks a scenario to the smallest one with the same violation and cause.

Each way to make a scenario smaller yields candidates, the boldest first. The first candidate that keeps the violation
replaces the scenario, and the search begins anew, until none does or the trials are used up. All trials use the seed of
the find.
"""

from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from emulator.faults.link_fault_kinds import ends_of, with_ends
from emulator.judging.fuzzing.generator import RETRY, SAFE
from emulator.judging.fuzzing.mutation import at
from emulator.judging.fuzzing.schedule import at_once
from emulator.scenario import scenario_model as m
from emulator.scenario.conditions import Registered
from emulator.topology import Topology, broker_name, identifier_named, three_azs
from protocol.ids import BrokerId

TRIALS_MAX = 400
Candidates = Iterator[m.Scenario]
Breaks = Callable[[m.Scenario], bool]


def shrunk(scenario: m.Scenario, breaks: Breaks, trials: int = TRIALS_MAX) -> m.Scenario:
    """The smallest scenario found.

    `breaks`: whether a candidate is valid and has the violation, as `scenario` has.
    """
    best = scenario
    left = trials
    changed = True
    while changed and left > 0:
        changed = False
        for way in WAYS:
            going = True
            while going and left > 0:
                going = False
                for candidate in way(best):
                    if left <= 0:
                        break
                    left -= 1
                    if breaks(candidate):
                        best, going, changed = candidate, True, True
                        break
    return best


def _fewer_steps(scenario: m.Scenario) -> Candidates:
    """Without half of the steps, a quarter, ..., one."""
    steps = scenario.steps
    size = max(1, len(steps) // 2)
    while True:
        for begin in range(len(steps) - size, -1, -size):
            yield replace(scenario, steps=steps[:begin] + steps[begin + size :])
        if size == 1:
            return
        size //= 2


def _started_at_once(scenario: m.Scenario) -> Candidates:
    """Start nodes in one step, or all but the first (the controller); drop one of them."""
    steps = scenario.steps
    count = next((place for place, step in enumerate(steps) if not isinstance(step, m.Start)), len(steps))
    starts = tuple(step for step in steps[:count] if isinstance(step, m.Start))
    for alone in (0, 1):
        if count - alone > 1:
            yield replace(scenario, steps=(*starts[:alone], at_once(starts[alone:]), *steps[count:]))
    for place, step in enumerate(steps):
        if isinstance(step, m.Together) and len(step.steps) > 1:
            for one in step.steps:
                rest = at_once([other for other in step.steps if other is not one], step.at_s)
                yield replace(scenario, steps=(*steps[:place], rest, *steps[place + 1 :]))


def _fewer_brokers(scenario: m.Scenario) -> Candidates:
    """Without one broker; the others are renumbered, and its steps are dropped."""
    count = len(scenario.topology.with_role("broker"))
    for gone in range(count - 1, -1, -1) if count > 1 else ():
        names = {broker_name(broker): broker_name(broker - (broker > gone)) for broker in range(count)}
        del names[broker_name(gone)]
        steps = tuple(step for step in (_renamed(step, names) for step in scenario.steps) if step is not None)
        own = {number - (number > gone): kept for number, kept in scenario.settings_by_broker.items() if number != gone}
        topology = _topology(scenario, brokers=count - 1)
        yield replace(scenario, topology=topology, steps=steps, settings_by_broker=own)


def _fewer_others(scenario: m.Scenario) -> Candidates:
    """With one AZ, or with one ZooKeeper server, to which the steps refer then."""
    if _azs(scenario) > 1:
        yield replace(scenario, topology=_topology(scenario, azs=1))
    servers = [node.name for node in scenario.topology.with_role("session")]
    if len(servers) > 1:
        names = dict.fromkeys(servers, servers[0])
        steps = tuple(_renamed(step, {**_same_brokers(scenario), **names}) or step for step in scenario.steps)
        yield replace(scenario, topology=_topology(scenario, sessions=1), steps=steps)


def _same_brokers(scenario: m.Scenario) -> dict[str, str]:
    return {node.name: node.name for node in scenario.topology.with_role("broker")}


def _fewer_replicas(scenario: m.Scenario) -> Candidates:
    """Without one partition, or one replica of a partition."""
    for place, step in enumerate(scenario.steps):
        if not isinstance(step, m.CreateTopic):
            continue
        smaller = [
            step.assignment[:number] + step.assignment[number + 1 :]
            for number in range(len(step.assignment))
            if len(step.assignment) > 1
        ]
        for number, replicas in enumerate(step.assignment):
            for gone in replicas if len(replicas) > 1 else ():
                rest = tuple(broker for broker in replicas if broker != gone)
                smaller.append((*step.assignment[:number], rest, *step.assignment[number + 1 :]))
        for assignment in smaller:
            yield _with(scenario, place, replace(step, assignment=assignment))


def _fewer_settings(scenario: m.Scenario) -> Candidates:
    """Without one setting that is no basis of the promises."""
    for name in scenario.settings:
        if name not in SAFE and name not in RETRY:
            rest = {other: value for other, value in scenario.settings.items() if other != name}
            yield replace(scenario, settings=rest)
    for broker in scenario.settings_by_broker:
        own = {other: kept for other, kept in scenario.settings_by_broker.items() if other != broker}
        yield replace(scenario, settings_by_broker=own)


def _simpler_steps(scenario: m.Scenario) -> Candidates:
    """With fewer records, wider cuts of whole links, fewer explicit times."""
    for place, step in enumerate(scenario.steps):
        match step:
            case m.Workload(rate_per_s=rate) if rate > 0.5:
                yield _with(scenario, place, replace(step, rate_per_s=0.5 if rate <= 1 else 1))
            case m.CreateTopic(configs=configs) if configs:
                yield _with(scenario, place, replace(step, configs={}))
            case m.Workload(idempotent=True) | m.Workload(consumers=True):
                yield _with(scenario, place, replace(step, idempotent=False, consumers=False))
            case m.Background(step=(m.Start() | m.ElectPreferred() | m.ElectController()) as plain):
                yield _with(scenario, place, plain)
            case m.LinkFault() as rule if not isinstance(rule, m.Cut):
                cut = m.Cut(links=rule.links, purposes=rule.purposes, apis=rule.apis, expects_traffic=False)
                yield _with(scenario, place, replace(cut, at_s=rule.at_s))
                if isinstance(rule, m.Reset) and rule.every_ms:
                    yield _with(scenario, place, replace(rule, every_ms=0.0))
            case m.LinkFault(purposes=(_, *_)) | m.LinkFault(apis=(_, *_)):
                yield _with(scenario, place, replace(step, purposes=(), apis=()))
            case m.Heal(links=links) if links is not None:
                yield _with(scenario, place, replace(step, links=None))
            case m.PowerLoss(node=node):
                yield _with(scenario, place, m.Kill(node=node, at_s=step.at_s))
            case m.Cut(links=m.OneWayLinks(source=one, to=other) | m.OpenedLinks(opened_by=one, to=other)):
                yield _with(scenario, place, replace(step, links=m.PairLinks(between=(one, other))))
            case m.Background(step=m.Stop(node=node)):
                yield _with(scenario, place, m.Kill(node=node, at_s=step.at_s))
        if step.at_s is not None:
            yield _with(scenario, place, at(step, None))


def _shorter(scenario: m.Scenario) -> Candidates:
    """With whole seconds, earlier steps, shorter pauses."""
    steps = scenario.steps
    for place, step in enumerate(steps):
        if isinstance(step, m.Sleep):
            for seconds in (1.0, 5.0, 10.0):
                if seconds < step.seconds:
                    yield _with(scenario, place, replace(step, seconds=seconds))
        if step.at_s is None:
            continue
        before_s = max((one.at_s for one in steps[:place] if one.at_s is not None), default=0.0)
        for gap_s in (0.0, 1.0, 3.0, 8.0):
            earlier_s = step.at_s - before_s - gap_s
            if earlier_s > 0.5:
                moved = tuple(one if one.at_s is None else at(one, one.at_s - earlier_s) for one in steps[place:])
                yield replace(scenario, steps=(*steps[:place], *moved))
        if step.at_s != int(step.at_s):
            yield _with(scenario, place, at(step, float(round(step.at_s))))


WAYS: Sequence[Callable[[m.Scenario], Candidates]] = (
    _fewer_steps,
    _started_at_once,
    _fewer_replicas,
    _fewer_brokers,
    _fewer_others,
    _fewer_settings,
    _simpler_steps,
    _shorter,
)


def _topology(scenario: m.Scenario, *, brokers: int = 0, azs: int = 0, sessions: int = 0) -> Topology:
    """A topology; 0: the present count."""
    count = brokers or len(scenario.topology.with_role("broker"))
    servers = sessions or len(scenario.topology.with_role("session"))
    return three_azs(count, sessions=servers, clients=1, azs=min(count, azs or _azs(scenario)))


def _azs(scenario: m.Scenario) -> int:
    return len({node.az for node in scenario.topology.with_role("broker")})


def _with(scenario: m.Scenario, place: int, step: m.AnyStep) -> m.Scenario:
    return replace(scenario, steps=(*scenario.steps[:place], step, *scenario.steps[place + 1 :]))


def _renamed(step: m.AnyStep, names: dict[str, str]) -> m.AnyStep | None:
    """The step with other names of brokers; None: it concerns a removed one."""
    match step:
        case m.Together(steps=several):
            some = tuple(replace(one, node=_new(one.node, names)) for one in several if _new(one.node, names))
            return at_once(some, step.at_s) if some else None
        case m.Background(step=inner):
            other = _renamed(inner, names)
            return None if other is None else replace(step, step=other)
        case m.MachineStep(node=node):
            return replace(step, node=_new(node, names)) if _new(node, names) else None
        case m.CreateTopic(assignment=assignment) | m.AddPartitions(assignment=assignment):
            kept = tuple(_numbered_anew(replicas, names) for replicas in assignment)
            return replace(step, assignment=tuple(replicas for replicas in kept if replicas)) if all(kept) else None
        case m.Reassign(targets=targets):
            moved = tuple((name, _numbered_anew(replicas, names)) for name, replicas in targets)
            return replace(step, targets=moved) if all(replicas for _, replicas in moved) else None
        case m.Wait(until=Registered(brokers)):
            known = _numbered_anew(tuple(map(BrokerId, sorted(brokers))), names)
            return replace(step, until=Registered(frozenset(known))) if known else None
        case m.LinkFault(links=links):
            others = _links_renamed(links, names)
            return None if others is None else replace(step, links=others)
        case m.Heal(links=links) if links is not None:
            others = _links_renamed(links, names)
            return None if others is None else replace(step, links=others)
    return step


def _new(name: str, names: dict[str, str]) -> str:
    """The new name; "": a removed broker."""
    return names.get(name, "" if name.startswith("broker-") else name)


def _numbered_anew(replicas: tuple[BrokerId, ...], names: dict[str, str]) -> tuple[BrokerId, ...]:
    numbers = {identifier_named(old): identifier_named(new) for old, new in names.items() if old.startswith("broker-")}
    return tuple(numbers[one] for one in replicas if one in numbers)


def _links_renamed(links: m.Links, names: dict[str, str]) -> m.Links | None:
    renamed = with_ends(links, lambda end: _new(end, names))
    return renamed if all(ends_of(renamed)) else None
