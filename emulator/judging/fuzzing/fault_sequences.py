"""Sequences of faults that belong together: the effect of one shows only with the others.

Each has several steps with their times. Targets are random; single faults are drawn between and after the steps.
"""

from collections.abc import Callable

from emulator.judging.fuzzing.schedule import RETURN_S, Schedule
from emulator.scenario import scenario_model as m
from emulator.scenario.conditions import Registered
from emulator.topology import identifier_named
from protocol.ids import BrokerId

Sequence = Callable[[Schedule], None]
AWAY_S = (7.0, 9.5)
"""Longer than a session's timeout."""


def _others(s: Schedule) -> list[str]:
    """All healthy brokers but the likely controller, if that one is healthy."""
    well = s.well
    return [name for name in well if name != s.cluster.first] if s.cluster.first in well else []


def unseen_bounce(s: Schedule) -> None:
    """A broker dies and returns while the controller is paused, perhaps with orders in flight."""
    others = _others(s)
    if not others:
        return
    name, first = s.draw.choice(others), s.cluster.first
    deaf = m.OpenedLinks(opened_by=first, to=name)
    if s.draw.random() < 0.7:
        s.cut(deaf)
        if s.draw.random() < 0.7:
            s.add(m.ElectPreferred(at_s=s.at_s))
        s.later(0.2, 2.0)
    s.pause(first)
    s.kill(name)
    s.later(RETURN_S, RETURN_S + 1.5)
    if deaf in s.rules:
        s.heal(deaf)
    s.start(name)
    s.later(0.5, 2.0)
    s.resume(first)


def session_blip(s: Schedule) -> None:
    """A broker loses ZooKeeper beyond its session, reconnects, and loses it again."""
    well = s.well
    if not well:
        return
    name, first = s.draw.choice(_others(s) or well), s.cluster.first
    cuts = [m.PairLinks(between=(name, server)) for server in s.cluster.sessions]
    if name != first and s.draw.random() < 0.7:
        links = m.OpenedLinks(opened_by=first, to=name)
        s.add(m.Delay(links=links, delay_ms=s.draw.choice((200, 400, 800)), at_s=s.at_s, expects_traffic=False))
    for link in cuts:
        s.cut(link)
    s.later(*AWAY_S)
    for link in cuts:
        s.heal(link)
    known = Registered(frozenset({BrokerId(identifier_named(name))}))
    s.add(m.Wait(until=known, called=f"{name} is known", limit_s=30, may_time_out=True, at_s=s.at_s))
    s.later(0.1, 1.0)
    for link in cuts:
        s.cut(link)
    s.add(m.Sleep(seconds=round(s.draw.uniform(*AWAY_S), 1), at_s=s.at_s))
    for link in cuts:
        s.heal(link)
    s.later(10.0, 12.0)


def takes_turns(s: Schedule) -> None:
    """Leaders in turn: each dies when the one before is back; a third replica may miss all."""
    replicas = s.well_replicas
    if len(replicas) < 2:
        return
    if len(replicas) > 2 and s.draw.random() < 0.7:
        third = replicas[2]
        if s.cluster.first != third:
            s.cut(m.OpenedLinks(opened_by=s.cluster.first, to=third), "controller")
        if s.draw.random() < 0.7:
            s.cut(m.OpenedLinks(opened_by=third, to=replicas[0]), "fetcher")
    if s.draw.random() < 0.6:
        links = m.OpenedLinks(opened_by=replicas[1], to=replicas[0])
        s.cut(links, "fetcher")
        s.later(0.5, 3.0)
        s.kill(replicas[0])
        s.heal(links)
    else:
        s.kill(replicas[0])
    s.later(RETURN_S, RETURN_S + 2.0)
    s.start(replicas[0])
    if s.draw.random() < 0.6:
        s.later(3.0, 6.0)
        s.kill(replicas[1])
        s.later(RETURN_S, RETURN_S + 2.0)
        s.start(replicas[1])
        if s.cluster.first not in replicas and s.draw.random() < 0.5:
            s.later(1.0, 3.0)
            s.kill(s.cluster.first)  # its pending orders die with it
            s.later(RETURN_S, RETURN_S + 2.0)
            s.heal(None)


def unheard_election(s: Schedule) -> None:
    """A preferred leader is elected; the present one misses it and has no follower: both append."""
    replicas = s.well_replicas
    first = s.cluster.first
    if len(replicas) < 2 or first == replicas[1]:
        return
    s.kill(replicas[0])
    s.later(RETURN_S, RETURN_S + 1.0)
    s.start(replicas[0])
    s.later(3.0, 6.0)
    s.cut(m.PairLinks(between=(replicas[0], replicas[1])), "fetcher")
    s.later(0.5, 2.0)
    s.cut(m.PairLinks(between=(replicas[1], first)), "controller")
    s.add(m.ElectPreferred(at_s=s.at_s))
    s.later(1.5, 4.0)
    s.kill(replicas[0])
    s.later(RETURN_S, RETURN_S + 2.0)
    s.heal(None)
    s.later(6.0, 9.0)
    s.start(replicas[0])


def last_standing(s: Schedule) -> None:
    """The leader is left alone in the ISR, and loses power."""
    replicas = s.well_replicas
    if len(replicas) < 2:
        return
    for name in replicas[1:]:
        s.cut(m.OpenedLinks(opened_by=name, to=replicas[0]), "fetcher")
    s.later(6.0, 16.0)
    s.lose_power([replicas[0]], s.draw.choice((0, 1, None)))
    s.later(RETURN_S, RETURN_S + 1.0)
    s.heal(None)
    s.start(replicas[0])


def late_word(s: Schedule) -> None:
    """A follower returns; the leader's ISR change is held while it dies and loses its disk."""
    replicas = s.well_replicas
    if len(replicas) < 2 or s.failing or any(isinstance(step, m.LoseDisk) for step in s.steps):
        return
    leader, name = replicas[:2]
    s.kill(name)
    s.later(RETURN_S, RETURN_S + 2.0)
    held: list[m.Links] = [m.OneWayLinks(source=leader, to=server) for server in s.cluster.sessions]
    if leader != s.cluster.first:
        held.append(m.OneWayLinks(source=leader, to=s.cluster.first))
    for links in held:
        purposes = ("to-controller",) if links.to == s.cluster.first else ()  # type: ignore[union-attr]
        s.add(m.Hold(links=links, purposes=purposes, at_s=s.at_s, expects_traffic=False))
    s.start(name)
    s.later(2.0, 4.0)
    s.kill(name)
    s.add(m.LoseDisk(node=name, at_s=s.at_s))
    s.later(RETURN_S, RETURN_S + 1.0)
    s.cut(m.OpenedLinks(opened_by=name, to=leader), "fetcher")
    s.start(name)
    s.later(1.0, 3.0)
    for links in held:
        s.heal(links)
    s.later(0.5, 3.0)
    s.kill(leader)


def die_together(s: Schedule) -> None:
    """The likely controller and another broker die, within the controller's session."""
    others = _others(s)
    if len(others) < 2:
        return
    s.kill(s.cluster.first)
    s.kill(s.draw.choice([name for name in others if name != s.cluster.replicas[0]] or others))
    s.later(20.0, 26.0)


def unserved_fetch(s: Schedule) -> None:
    """The leader's response to a follower arrives after another broker has become leader."""
    replicas = s.well_replicas
    if len(replicas) < 2:
        return
    one, other = s.draw.sample(replicas, 2)
    links = m.OneWayLinks(source=one, to=other)
    s.add(m.Delay(links=links, apis=("Fetch",), delay_ms=60_000, at_s=s.at_s, expects_traffic=False))


def behind_the_epoch(s: Schedule) -> None:
    """A replica without some records returns to a leader that does not know their commit yet.

    It receives nothing from this leader, and sees it die.
    """
    replicas = s.well_replicas
    if len(replicas) < 3:
        return
    leader, following, missing = replicas[:3]
    s.kill(missing)
    s.later(RETURN_S, RETURN_S + 4.0)
    for name in replicas[3:]:
        s.cut(m.OpenedLinks(opened_by=name, to=following), "fetcher")
    slow = m.OneWayLinks(source=following, to=missing)
    s.add(m.Delay(links=slow, apis=("Fetch",), delay_ms=60_000, at_s=s.at_s, expects_traffic=False))
    s.kill(leader)
    s.later(6.0, RETURN_S)
    s.start(missing)
    s.later(3.0, 8.0)
    s.kill(following)
    s.later(6.0, 10.0)
    s.start(leader)


def minority_side(s: Schedule) -> None:
    """An AZ with its ZooKeeper server is cut off, and its broker is paused beyond the session."""
    if len(s.cluster.sessions) < 3:
        return
    az = s.draw.randrange(3)
    inside = [name for name in s.well if identifier_named(name) % len(s.cluster.sessions) == az]
    if not inside:
        return
    name = s.draw.choice(inside)
    links = m.AzLinks(az=f"az-{az}")
    s.cut(links)
    s.pause(name)
    s.later(*s.draw.choice(((6.5, 9.0), (13.0, 17.0))))
    s.resume(name)
    s.later(10.0, 17.0)
    s.heal(links)


def altered_twice(s: Schedule) -> None:
    """Brokers' settings change at run time, twice."""
    if not s.cluster.alters:
        return
    for _ in range(2):
        configs = {"message.max.bytes": s.draw.choice((300_000, 400_000))}
        s.behind(f"alter-broker at {s.at_s:g}", m.AlterBroker(configs=configs, at_s=s.at_s))
        s.later(1.0, 3.0)


SEQUENCES: dict[str, tuple[Sequence, int]] = {
    "unseen-bounce": (unseen_bounce, 3),
    "session-blip": (session_blip, 3),
    "takes-turns": (takes_turns, 4),
    "unheard-election": (unheard_election, 3),
    "last-standing": (last_standing, 2),
    "late-word": (late_word, 2),
    "die-together": (die_together, 2),
    "unserved-fetch": (unserved_fetch, 2),
    "behind-the-epoch": (behind_the_epoch, 3),
    "minority-side": (minority_side, 4),
    "altered-twice": (altered_twice, 1),
}
