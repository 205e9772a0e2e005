"""The drawn schedule so far and its open faults: each next step must be possible."""

import random
from collections.abc import Sequence

import msgspec

from emulator.faults.machine_fault_kinds import SlowDisk
from emulator.scenario import scenario_model as m
from emulator.topology import KRAFT, broker_name
from protocol.ids import BrokerId

RETURN_S = 8.0
"""Time from a death to the restart; a broker with an unexpired session would exit."""
TOPIC, OTHER = "t", "u"
"""The topic with writes; a topic that is created and deleted."""
LOAD = "w"
"""The workload that writes to the topic."""
COORDINATED = "__transaction_state"
"""The topic whose leaders coordinate transactions."""


class Cluster(msgspec.Struct, frozen=True):
    """The cluster for which faults are drawn.

    `ranked`: brokers, likely leaders first. `first`: the likely controller; in KRaft any. `sessions`: ZooKeeper
    servers, or in KRaft the dedicated controllers. `assignment`: of the topic. `alters`: whether brokers' settings can
    change at run time. `space`: version of the table of fault types. `voters`: controllers of a KRaft quorum,
    dedicated or combined. `first_voters`: those that vote at first, where the voters may change. `clients`: of a
    cluster with transactions, whose coordinators are `coordinators`, likely ones first; both empty without them.
    """

    ranked: tuple[str, ...]
    first: str
    sessions: tuple[str, ...]
    assignment: tuple[tuple[BrokerId, ...], ...]
    alters: bool
    space: int
    voters: tuple[str, ...] = ()
    first_voters: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    coordinators: tuple[str, ...] = ()

    @property
    def replicas(self) -> tuple[str, ...]:
        """Replicas of the first partition, the preferred leader first."""
        return tuple(broker_name(broker) for broker in self.assignment[0])


class Schedule:
    """Steps in order, the last of which begins at `at_s`, and open faults.

    `dead`: {node: since when}. `ill`: brokers that a fault may have killed. `failing`: disks that refuse writes until
    they are replaced. `voting`: voters of a quorum whose voters may change, if all changes so far were done.
    """

    def __init__(self, draw: random.Random, cluster: Cluster, begin_s: float) -> None:
        self.draw = draw
        self.cluster = cluster
        self.at_s = begin_s
        self.steps: list[m.AnyStep] = []
        self.dead: dict[str, float] = {}
        self.paused: list[str] = []
        self.ill: list[str] = []
        self.failing: list[str] = []
        self.rules: list[m.Links] = []
        self.slow: list[str] = []
        self.other_topic = False
        self.voting = list(cluster.first_voters)

    # --- time ---

    def later(self, low_s: float, high_s: float) -> None:
        """Advance the time of the next step."""
        self.at_s = round(self.at_s + self.draw.uniform(low_s, high_s), 1)

    # --- who ---

    @property
    def well(self) -> list[str]:
        """Brokers that probably run, likely leaders first."""
        return [name for name in self.cluster.ranked if self.is_well(name)]

    @property
    def well_replicas(self) -> list[str]:
        """Replicas of the first partition that probably run, the preferred leader first."""
        well = self.well
        return [name for name in self.cluster.replicas if name in well]

    @property
    def back(self) -> list[str]:
        """Brokers that are dead for long enough to be started."""
        return [name for name, since_s in self.dead.items() if self.at_s >= since_s + RETURN_S and self._broker(name)]

    def is_well(self, name: str) -> bool:
        return name not in self.dead and name not in self.paused and name not in self.ill

    def _broker(self, name: str) -> bool:
        return name in self.cluster.ranked

    def session_servers(self, *, well: bool) -> list[str]:
        return [name for name in self.cluster.sessions if self.is_well(name) == well]

    def one(self, among: list[str], first: float = 0.0) -> str:
        """One of them; `first`: additional probability of the first one."""
        return among[0] if self.draw.random() < first else self.draw.choice(among)

    # --- what is done ---

    def add(self, step: m.AnyStep) -> None:
        """Add a step and record the faults that it opens or heals.

        A step that may have to wait for a heal runs in the background.
        """
        match step:
            case m.Start(node=node) if self._broker(node) and (self.rules or self.session_servers(well=False)):
                self.behind(f"{node} at {self.at_s:g}", step)
                return
            case m.ElectPreferred() | m.ElectController() if self.session_servers(well=False):
                self.behind(f"election at {self.at_s:g}", step)
                return
        self.steps.append(step)
        for one in m.plain_steps([step]):
            self._note(one, step.at_s if step.at_s is not None else self.at_s)

    def _note(self, step: m.AnyStep, at_s: float) -> None:
        match step:
            case m.Kill(node=node) | m.PowerLoss(node=node):
                self._forget(node)
                self.dead[node] = at_s
            case m.Start(node=node):
                self._forget(node)
                self.dead.pop(node, None)
            case m.Stop(node=node) | m.DiskFull(node=node) | m.DiskError(node=node):
                self._forget(node)
                self.ill.append(node)
                if isinstance(step, m.DiskError):
                    self.failing.append(node)
            case m.LoseDisk(node=node) if node in self.failing:
                self.failing.remove(node)
            case m.PauseNode(node=node) if node not in self.paused:
                self.paused.append(node)
            case m.ResumeNode(node=node) if node in self.paused:
                self.paused.remove(node)
            case SlowDisk(node=node, operation_ms=operation_ms, fsync_ms=fsync_ms):
                self.slow = [name for name in self.slow if name != node]
                self.slow += [node] if operation_ms or fsync_ms else []
            case m.LinkFault(links=links):
                self.rules.append(links)
            case m.Heal(links=links):
                self.rules = [] if links is None else [one for one in self.rules if one != links]
            case m.AddController(controller=number) if (name := f"controller-{number}") not in self.voting:
                self.voting.append(name)
            case m.RemoveController(controller=number) if (name := f"controller-{number}") in self.voting:
                self.voting.remove(name)
            case m.CreateTopic(topic=topic) if topic == OTHER:
                self.other_topic = True
            case m.DeleteTopic():
                self.other_topic = False

    def _forget(self, name: str) -> None:
        self.paused = [one for one in self.paused if one != name]
        self.ill = [one for one in self.ill if one != name]

    def kill(self, name: str) -> None:
        self.add(m.Kill(node=name, at_s=self.at_s))

    def lose_power(self, names: list[str], batches_kept: int | None) -> None:
        self.add(at_once([m.PowerLoss(node=name, batches_kept=batches_kept) for name in names], self.at_s))

    def start(self, name: str) -> None:
        self.add(m.Start(node=name, at_s=self.at_s))

    def pause(self, name: str) -> None:
        self.add(m.PauseNode(node=name, at_s=self.at_s))

    def resume(self, name: str) -> None:
        self.add(m.ResumeNode(node=name, at_s=self.at_s))

    def stop(self, name: str) -> None:
        """Stop a broker in the background: it may take for ever, if it cannot reach the controller."""
        self.behind(f"stop at {self.at_s:g}", m.Stop(node=name, at_s=self.at_s))

    def behind(self, name: str, step: m.AnyStep) -> None:
        """Add a background step."""
        self.add(m.Background(name=name, step=step, at_s=self.at_s))

    def cut(self, links: m.Links, *purposes: str) -> None:
        """Cut the links, or the connections of some purposes there."""
        self.add(m.Cut(links=links, purposes=purposes, at_s=self.at_s, expects_traffic=False))

    def heal(self, links: m.Links | None) -> None:
        """Heal the links; None: all."""
        self.add(m.Heal(links=links, at_s=self.at_s))

    # --- the end ---

    def mend(self, end_s: float, settle_s: float) -> None:
        """Heal, resume, and start every node that is dead or may be."""
        self.at_s = max(self.at_s, end_s)
        self.add(m.Heal(at_s=self.at_s))
        for name in list(self.paused):
            self.add(m.ResumeNode(node=name))
        for name in list(self.slow):
            self.add(SlowDisk(node=name))
        if ill := list(self.ill):
            self.add(at_once([m.Kill(node=name) for name in ill]))
        for name in list(self.failing):
            self.add(m.LoseDisk(node=name))
        if sessions := [name for name in self.dead if not self._broker(name)]:
            self.add(at_once([m.Start(node=name) for name in sessions]))
        if brokers := [name for name in self.dead if self._broker(name)]:
            back_s = max(self.at_s, max(self.dead[name] for name in brokers) + RETURN_S)
            self.steps.append(at_once([m.Start(node=name) for name in brokers], back_s))
            self.dead.clear()
        self.add(m.Sleep(seconds=settle_s))


def cluster_of(scenario: m.Scenario, *, alters: bool, space: int) -> Cluster:
    """The cluster of a drawn or mutated scenario.

    Its first steps start brokers and create the topic.
    """
    names = [node.name for node in scenario.topology.with_role("broker")]
    starts = (step.node for step in m.plain_steps(scenario.steps) if isinstance(step, m.Start))
    started = [name for name in starts if name in names]
    topics = [step for step in scenario.steps if isinstance(step, m.CreateTopic)]
    created = topics[0]
    coordinated = next((step.assignment[0] for step in topics if step.topic == COORDINATED), ())
    clients = tuple(node.name for node in scenario.topology.with_role("client")) if coordinated else ()
    kraft = scenario.topology.metadata == KRAFT
    voters = tuple(scenario.topology.voters.values()) if kraft else ()
    servers = tuple(node.name for node in scenario.topology.with_role("session"))
    return Cluster(
        ranked=tuple(dict.fromkeys((*map(broker_name, created.assignment[0]), *started, *names))),
        first=voters[0] if kraft else started[0] if started else names[0],
        sessions=tuple(name for name in voters if name not in names) if kraft else servers,
        assignment=created.assignment,
        alters=alters,
        space=space,
        voters=voters,
        first_voters=scenario.topology.initial_controllers,
        clients=clients,
        coordinators=tuple(map(broker_name, coordinated)),
    )


def at_once(steps: Sequence[m.MachineStep], at_s: float | None = None) -> m.MachineStep | m.Together:
    """Several steps as one; a single step stays as it is."""
    if len(steps) == 1:
        return msgspec.structs.replace(steps[0], at_s=at_s)
    return m.Together(steps=tuple(steps), at_s=at_s)
