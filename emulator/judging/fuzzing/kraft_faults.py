"""Faults of KRaft clusters alone: of controllers, their disks and ports, and sequences.

As in `fault_generator`, each function inspects the open faults and adds its steps, or none.
"""

from emulator.judging.fuzzing import fault_generator as usual
from emulator.judging.fuzzing.fault_generator import SELDOM, Fault
from emulator.judging.fuzzing.fault_sequences import behind_the_epoch, last_standing, takes_turns, unserved_fetch
from emulator.judging.fuzzing.schedule import RETURN_S, Schedule
from emulator.scenario import scenario_model as m
from protocol.purposes import CONTROLLER_PORT

BEYOND_SESSION_S = (9.5, 12.0)
VOTERS_MIN = 3
QUORUM_LOST_S = (2.5, 6.0)
"""Longer than a fetch timeout and an election."""


def _voters(s: Schedule) -> list[str]:
    """Voters that probably run."""
    return [name for name in s.cluster.voters if s.is_well(name)]


def controller(s: Schedule) -> None:
    """Kill or pause a controller, stop it in order, or bring one back."""
    gone = [name for name in s.cluster.sessions if not s.is_well(name)]
    if gone and s.draw.random() < 0.6:
        name = s.draw.choice(gone)
        (s.resume if name in s.paused else s.start)(name)
        return
    if not (well := _voters(s)):
        return
    name = s.draw.choice(well)
    match s.draw.choice(("kill", "kill", "pause", "power-loss", "stop")):
        case "kill":
            s.kill(name)
        case "pause":
            s.pause(name)
        case "power-loss":
            s.lose_power([name], s.draw.choice((None, None, 0)))
        case _:
            s.stop(name)


def controllers_lose_power(s: Schedule) -> None:
    """Power loss of several controllers at once: only synced records of the metadata log remain."""
    well = _voters(s)
    if len(well) > 1:
        names = s.draw.sample(well, s.draw.randint(2, len(well)))
        s.lose_power(names, None)
        s.later(1.0, 4.0)
        for name in names:
            s.start(name)


def controller_disk(s: Schedule) -> None:
    """Fail the disk of a controller, full or for good."""
    well = _voters(s)
    if len(well) > 1 and not s.failing:
        fault = m.DiskFull if s.draw.random() < 0.6 else m.DiskError
        s.add(fault(node=s.draw.choice(well), at_s=s.at_s))


def controller_ports(s: Schedule) -> None:
    """Cut an AZ from the port of the controllers in other AZs."""
    numbers = range(len(s.cluster.voters))
    chosen = tuple(s.draw.sample(numbers, s.draw.randint(1, len(numbers))))
    az = s.draw.randrange(2)
    for number in chosen:
        if number % 3 != az:
            s.cut(m.PairLinks(between=(f"az-{az}", f"az-{number % 3}")), *CONTROLLER_PORT)


def change_voters(s: Schedule) -> None:
    """Add a controller to the voters, or remove one while others than VOTERS_MIN vote.

    A quorum of two stops for good if its leader fails while it removes itself (docs/kraft-quorum.md 8).
    """
    others = [name for name in s.cluster.voters if name not in s.voting]
    adds = bool(others) and (len(s.voting) <= VOTERS_MIN or s.draw.random() < 0.5)
    if not adds and len(s.voting) <= VOTERS_MIN:
        return
    number = int(s.draw.choice(others if adds else s.voting).removeprefix("controller-"))
    step = (m.AddController if adds else m.RemoveController)(controller=number, may_fail=True, at_s=s.at_s)
    s.behind(f"voters at {s.at_s:g}", step)


# --- sequences ---


def quorum_lost(s: Schedule) -> None:
    """Most controllers die or stand still; a broker dies meanwhile; the quorum returns."""
    well = _voters(s)
    if len(well) < 2:
        return
    names = s.draw.sample(well, len(s.cluster.voters) // 2 + 1 if len(well) > len(s.cluster.voters) // 2 else len(well))
    still = s.draw.random() < 0.4
    for name in names:
        (s.pause if still else s.kill)(name)
    s.later(*QUORUM_LOST_S)
    brokers = [name for name in s.well if name not in names]
    if brokers:
        s.kill(s.one(brokers, 0.6))
    s.later(*BEYOND_SESSION_S)
    for name in names:
        (s.resume if still else s.start)(name)
    s.later(0.2, 6.0)
    usual.start(s)


def active_controller_cut(s: Schedule) -> None:
    """The active controller is cut off with a leader in its AZ, or stands still, and returns."""
    azs = min(3, max(len(s.cluster.ranked), len(s.cluster.voters)))
    s.add(m.PauseNode(node="active-controller", at_s=s.at_s)) if s.draw.random() < 0.3 else s.add(
        m.Cut(links=m.AzLinks(az=f"az-{s.draw.randrange(3) % azs}"), at_s=s.at_s, expects_traffic=False)
    )
    s.later(*s.draw.choice((QUORUM_LOST_S, BEYOND_SESSION_S)))
    usual.kill(s)
    s.later(1.0, 6.0)
    s.heal(None)


def controllers_in_turn(s: Schedule) -> None:
    """Controllers die in turn, each when the one before is back; a broker dies between."""
    for name in s.draw.sample(s.cluster.voters, len(s.cluster.voters)):
        if not s.is_well(name):
            continue
        s.kill(name)
        s.later(*QUORUM_LOST_S)
        if s.draw.random() < 0.4:
            usual.kill(s)
        s.start(name)
        s.later(1.0, 5.0)


def fenced_alone(s: Schedule) -> None:
    """A broker loses all controllers beyond its session, and leads on by its own view."""
    well = s.well
    if not well:
        return
    name = s.one(well, 0.6)
    links = [m.PairLinks(between=(name, voter)) for voter in s.cluster.voters if voter != name]
    for link in links:
        s.cut(link, *CONTROLLER_PORT)
    s.later(*BEYOND_SESSION_S)
    if s.draw.random() < 0.5:
        usual.power_loss(s)
        s.later(0.5, 4.0)
    for link in links:
        s.heal(link)
    s.later(0.5, 3.0)
    usual.kill(s)


def voters_replaced(s: Schedule) -> None:
    """Add a voter and remove another one, while a controller fails."""
    change_voters(s)
    s.later(0.0, 0.5)
    if s.draw.random() < 0.6:
        controller(s)
    s.later(*s.draw.choice(((0.1, 1.0), QUORUM_LOST_S)))
    change_voters(s)
    s.later(0.0, 0.3)
    s.add(m.PauseNode(node="active-controller", at_s=s.at_s)) if s.draw.random() < 0.3 else controller(s)
    s.later(*QUORUM_LOST_S)


def quick_restart(s: Schedule) -> None:
    """A broker restarts within its session, perhaps without its disk.

    Its ISR change is late (KIP-903).
    """
    replicas = s.well_replicas
    if len(replicas) < 2:
        return
    leader, name = replicas[:2]
    voters = [voter for voter in s.cluster.voters if voter != leader]
    for voter in voters:
        held = m.OneWayLinks(source=leader, to=voter)
        s.add(m.Hold(links=held, apis=("AlterIsr",), at_s=s.at_s, expects_traffic=False))
    if s.draw.random() < 0.5:
        s.lose_power([name], s.draw.choice((0, 1, None)))
    else:
        s.kill(name)
    s.later(0.5, 2.0)
    s.start(name)
    s.later(4.0, RETURN_S)
    for voter in voters:
        s.heal(m.OneWayLinks(source=leader, to=voter))
    s.later(0.1, 2.0)
    s.kill(leader)


KRAFT_USUAL: dict[str, tuple[Fault, int]] = {
    "kill": (usual.kill, 8),
    "start": (usual.start, 7),
    "cut": (usual.cut, 6),
    "heal": (usual.heal, 4),
    "elect": (usual.elect_preferred, 2),
    "controller": (controller, 6),
}
VOTERS_USUAL: dict[str, tuple[Fault, int]] = {**KRAFT_USUAL, "change-voters": (change_voters, 5)}
"""Of a quorum whose voters may change."""
_ZOOKEEPER_ONLY = ("session-server", "elect-controller", "lose-disk")
KRAFT_SELDOM: dict[str, tuple[Fault, int]] = {
    **{name: kind for name, kind in SELDOM.items() if name not in _ZOOKEEPER_ONLY},
    "controllers-lose-power": (controllers_lose_power, 3),
    "controller-disk": (controller_disk, 2),
    "controller-ports": (controller_ports, 3),
}
KRAFT_SEQUENCES: dict[str, tuple[Fault, int]] = {
    "takes-turns": (takes_turns, 3),
    "last-standing": (last_standing, 2),
    "unserved-fetch": (unserved_fetch, 2),
    "behind-the-epoch": (behind_the_epoch, 3),
    "quorum-lost": (quorum_lost, 4),
    "active-controller-cut": (active_controller_cut, 4),
    "controllers-in-turn": (controllers_in_turn, 3),
    "fenced-alone": (fenced_alone, 4),
    "quick-restart": (quick_restart, 4),
}
VOTERS_SEQUENCES: dict[str, tuple[Fault, int]] = {**KRAFT_SEQUENCES, "voters-replaced": (voters_replaced, 12)}
