"""Single faults and repairs of nodes, disks, links, ZooKeeper servers, topics, elections.

Each function inspects the open faults and adds its step, or none if it is not possible now.
"""

from collections.abc import Callable
from typing import Any, Final

from emulator.faults.machine_fault_kinds import ClockJump, SlowDisk
from emulator.judging.fuzzing.schedule import OTHER, TOPIC, Schedule
from emulator.scenario import scenario_model as m
from protocol.ids import BrokerId
from protocol.purposes import CONTROLLER_PORT

LEADS = 0.6
"""Share of deaths that hit the likely leader: the first healthy replica."""
PURPOSES = ((), (), ("fetcher",), ("controller",), ("to-controller",), ("session",))
MESSAGES = ("Fetch", "LeaderAndIsr", "UpdateMetadata", "StopReplica", "AlterIsr", "OffsetForLeaderEpoch", "Produce")
KRAFT_PURPOSES = ((), (), ("fetcher",), ("quorum",), ("node-to-controller",), CONTROLLER_PORT)
KRAFT_LINKS = (
    "pair", "opened", "controller", "controller", "one-way", "to-voter", "from-voter", "az", "voters", "voters",
)  # fmt: skip
KRAFT_MESSAGES = (
    "Fetch", "Produce", "BrokerHeartbeat", "AlterIsr", "BrokerRegistration", "QuorumFetch", "Vote", "BeginQuorumEpoch",
)  # fmt: skip
DELAYS_MS = (300, 1_000, 5_000, 60_000)
LOSSES = (0.1, 0.5)
BANDWIDTHS = (500, 5_000)
"""Bytes per second."""
RESET_EVERY_MS = (0, 0, 500, 2_000, 10_000)
"""Ages at which later connections are reset, too; 0: only those of the moment."""
SLOW_MS = (5, 50, 400)
JUMPS_MS = (-3_600_000, -20_000, 20_000, 3_600_000)
KEPT = (None, None, None, 0, 1, 2)
"""Batches that a power loss leaves; None: random."""

Fault = Callable[[Schedule], None]


# --- machines ---


def kill(s: Schedule) -> None:
    well = s.well
    if len(well) > 1 or (well and s.draw.random() < 0.3):
        s.kill(s.one(well, LEADS))


def start(s: Schedule) -> None:
    """Start a node that is dead for long enough; otherwise resume a paused one."""
    if back := s.back:
        s.start(s.draw.choice(back))
    elif s.paused:
        s.resume(s.draw.choice(s.paused))


def stop(s: Schedule) -> None:
    if len(s.well) > 1:
        s.stop(s.draw.choice(s.well))


def pause(s: Schedule) -> None:
    if len(s.well) > 1:
        s.pause(s.one(s.well, 0.3))


def power_loss(s: Schedule) -> None:
    """Power loss of one node, or of several at once."""
    well = s.well
    if not well:
        return
    names = s.draw.sample(well, s.draw.randint(1, len(well))) if s.draw.random() < 0.3 else [s.one(well, LEADS)]
    s.lose_power(names, s.draw.choice(KEPT) if len(names) == 1 else None)


def clock_jump(s: Schedule) -> None:
    if s.well:
        s.add(ClockJump(node=s.draw.choice(s.well), jump_ms=s.draw.choice(JUMPS_MS), at_s=s.at_s))


# --- disks ---


def slow_disk(s: Schedule) -> None:
    """Slow a disk down, or restore its speed."""
    if s.slow and s.draw.random() < 0.5:
        name = s.draw.choice(s.slow)
        if name not in s.paused:
            s.add(SlowDisk(node=name, at_s=s.at_s))
        return
    name = s.draw.choice((*s.cluster.ranked, *s.cluster.sessions))
    if name not in s.slow and name not in s.paused:
        amounts: dict[str, Any] = {s.draw.choice(("operation_ms", "fsync_ms")): s.draw.choice(SLOW_MS)}
        s.add(SlowDisk(node=name, at_s=s.at_s, **amounts))


def disk_full(s: Schedule) -> None:
    if len(s.well) > 1:
        s.add(m.DiskFull(node=s.one(s.well, 0.4), at_s=s.at_s))


def disk_error(s: Schedule) -> None:
    if len(s.well) > 1 and not s.failing:
        s.add(m.DiskError(node=s.one(s.well, 0.4), at_s=s.at_s))


def lose_disk(s: Schedule) -> None:
    """Replace the disk of one dead broker, so that another one holds the records."""
    dead = [name for name in s.dead if name in s.cluster.ranked]
    if not dead or s.failing or any(isinstance(step, m.LoseDisk) for step in s.steps):
        return
    s.add(m.LoseDisk(node=s.draw.choice(dead), at_s=s.at_s))


# --- links ---


def links(s: Schedule) -> m.Links:
    if s.cluster.voters:
        return kraft_links(s)
    one, other = s.draw.sample(s.cluster.ranked, 2)
    match s.draw.choice(("pair", "opened", "opened", "session", "one-way", "az", "deaf")):
        case "az":
            return m.AzLinks(az=f"az-{s.draw.randrange(2)}")
        case "pair":
            return m.PairLinks(between=(one, other))
        case "opened":
            return m.OpenedLinks(opened_by=one, to=other)
        case "one-way":
            return m.OneWayLinks(source=one, to=other)
        case "deaf":
            return m.OpenedLinks(opened_by=s.cluster.first, to=one if one != s.cluster.first else other)
    return m.PairLinks(between=(one, s.draw.choice(s.cluster.sessions)))


def kraft_links(s: Schedule) -> m.Links:
    """Links of brokers and controllers among each other, of an AZ, or in one direction."""
    one, other = s.draw.sample(s.cluster.ranked, 2)
    voter = s.draw.choice(s.cluster.voters)
    match s.draw.choice(KRAFT_LINKS):
        case "az":
            return m.AzLinks(az=f"az-{s.draw.randrange(2)}")
        case "opened":
            return m.OpenedLinks(opened_by=one, to=other)
        case "one-way":
            return m.OneWayLinks(source=one, to=other)
        case "controller" if voter != one:
            return m.PairLinks(between=(one, voter))
        case "to-voter" if voter != one:
            return m.OneWayLinks(source=one, to=voter)
        case "from-voter" if voter != one:
            return m.OneWayLinks(source=voter, to=one)
        case "voters" if len(s.cluster.voters) > 1:
            first, second = s.draw.sample(s.cluster.voters, 2)
            return m.PairLinks(between=(first, second))
    return m.PairLinks(between=(one, other))


def _what(s: Schedule, *, frames: bool = True) -> dict[str, Any]:
    """Links and traffic that a rule concerns. `frames`: perhaps one type of message alone."""
    about: dict[str, Any] = {"links": links(s), "at_s": s.at_s, "expects_traffic": False}
    if isinstance(about["links"], m.PairLinks) and about["links"].between[1].startswith("session"):
        return about
    if frames and s.draw.random() < 0.25:
        return about | {"apis": (s.draw.choice(KRAFT_MESSAGES if s.cluster.voters else MESSAGES),)}
    return about | {"purposes": s.draw.choice(KRAFT_PURPOSES if s.cluster.voters else PURPOSES)}


def cut(s: Schedule) -> None:
    s.add(m.Cut(**_what(s)))


def hold(s: Schedule) -> None:
    s.add(m.Hold(**_what(s)))


def delay(s: Schedule) -> None:
    s.add(m.Delay(**_what(s), delay_ms=s.draw.choice(DELAYS_MS)))


def loss(s: Schedule) -> None:
    s.add(m.Loss(**_what(s), share=s.draw.choice(LOSSES)))


def bandwidth(s: Schedule) -> None:
    s.add(m.Bandwidth(**_what(s), bytes_per_s=s.draw.choice(BANDWIDTHS)))


def reset(s: Schedule) -> None:
    s.add(m.Reset(**_what(s, frames=False), every_ms=s.draw.choice(RESET_EVERY_MS)))


def heal(s: Schedule) -> None:
    """Heal all rules, or one."""
    if s.rules:
        s.heal(None if s.draw.random() < 0.5 else s.draw.choice(s.rules))


# --- session servers ---


def session_server(s: Schedule) -> None:
    """Kill, pause or restore one ZooKeeper server."""
    if ended := s.session_servers(well=False):
        name = s.draw.choice(ended)
        (s.resume if name in s.paused else s.start)(name)
    else:
        (s.kill if s.draw.random() < 0.6 else s.pause)(s.draw.choice(s.session_servers(well=True)))


# --- elections, topics, settings ---


def elect_preferred(s: Schedule) -> None:
    s.add(m.ElectPreferred(at_s=s.at_s))


def elect_controller(s: Schedule) -> None:
    s.add(m.ElectController(at_s=s.at_s))


def _some(s: Schedule) -> tuple[BrokerId, ...]:
    brokers = [BrokerId(number) for number in range(len(s.cluster.ranked))]
    return tuple(s.draw.sample(brokers, s.draw.randint(2, min(3, len(brokers)))))


def reassign(s: Schedule) -> None:
    targets = ((f"{TOPIC}-{s.draw.randrange(len(s.cluster.assignment))}", _some(s)),)
    s.behind(f"reassign at {s.at_s:g}", m.Reassign(targets=targets, at_s=s.at_s))


def other_topic(s: Schedule) -> None:
    """Create, delete or extend a topic; the step ends when all partitions have leaders."""
    if not s.other_topic:
        step: m.AnyStep = m.CreateTopic(topic=OTHER, assignment=(_some(s),), at_s=s.at_s)
    elif s.draw.random() < 0.6:
        step = m.DeleteTopic(topic=OTHER, at_s=s.at_s)
    else:
        step = m.AddPartitions(topic=OTHER, partitions=2, assignment=(_some(s),), at_s=s.at_s)
    s.behind(f"{OTHER} at {s.at_s:g}", step)


def alter_topic(s: Schedule) -> None:
    """Change topic settings to values with equal promises."""
    configs = {"flush.messages": s.draw.choice((1, 5))} if s.draw.random() < 0.5 else {"min.insync.replicas": 2}
    s.behind(f"alter-topic at {s.at_s:g}", m.AlterTopic(topic=TOPIC, configs=configs, at_s=s.at_s))


def alter_broker(s: Schedule) -> None:
    if not s.cluster.alters:
        return
    configs = {s.draw.choice(("log.flush.interval.messages", "log.segment.bytes")): s.draw.choice((20_000, 50_000))}
    s.behind(f"alter-broker at {s.at_s:g}", m.AlterBroker(configs=configs, at_s=s.at_s))


USUAL: dict[str, tuple[Fault, int]] = {
    "kill": (kill, 8),
    "start": (start, 7),
    "cut": (cut, 6),
    "heal": (heal, 4),
    "elect": (elect_preferred, 2),
}
"""Fault types of every schedule, with their weights."""
SELDOM: dict[str, tuple[Fault, int]] = {
    "stop": (stop, 2),
    "pause": (pause, 3),
    "power-loss": (power_loss, 5),
    "clock-jump": (clock_jump, 2),
    "slow-disk": (slow_disk, 3),
    "disk-full": (disk_full, 2),
    "disk-error": (disk_error, 1),
    "lose-disk": (lose_disk, 4),
    "hold": (hold, 3),
    "delay": (delay, 4),
    "loss": (loss, 1),
    "bandwidth": (bandwidth, 1),
    "reset": (reset, 3),
    "session-server": (session_server, 4),
    "elect-controller": (elect_controller, 3),
    "reassign": (reassign, 3),
    "topic": (other_topic, 3),
    "alter-topic": (alter_topic, 1),
    "alter-broker": (alter_broker, 3),
}
"""Fault types of which each schedule has a few, because together they would hide each other."""
SPACE: Final = 3
"""Version of the table of fault types. A search keeps the version with which it began."""
SINCE: dict[str, int] = {"reset": 2}
"""{fault type: first version of the table with it}; 1 for all others."""


def seldom(space: int) -> dict[str, tuple[Fault, int]]:
    """The SELDOM of a version of the table."""
    return {name: kind for name, kind in SELDOM.items() if SINCE.get(name, 1) <= space}
