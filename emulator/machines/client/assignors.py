"""Assignment strategies of Kafka's consumers, run by a group's leader. Pure.

- range (0.9 on): topic by topic, each member gets a contiguous range.
- roundrobin: each member in turn gets one partition.
- cooperative-sticky (2.4 on, KIP-429): members keep their partitions as far as all get equally many. A partition
  that has to move stays unassigned until its owner has revoked it.

cooperative-sticky balances where all members read the same topics. Elsewhere the rest goes to the member with the
fewest partitions, which Kafka's search may improve.
"""

import difflib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from protocol.ids import TopicPartition
from protocol.records.consumer_protocol import Subscription
from protocol.versions import since

Assignment = dict[str, list[TopicPartition]]
"""{member: its partitions}; contains every member."""


class Candidate(msgspec.Struct, frozen=True):
    """A member in its leader's view. `instance`: of a static member."""

    member: str
    subscription: Subscription
    instance: str | None = None

    @property
    def place(self) -> tuple[bool, str]:
        """Sort key: static members first, by instance, then the others by member id.

        Source: AbstractPartitionAssignor.MemberInfo.
        """
        return (False, self.instance) if self.instance is not None else (True, self.member)


Assign = Callable[[Sequence[Candidate], Mapping[str, int]], Assignment]
"""Strategy: assignment of (members, {topic: number of partitions known to the leader})."""


class Assignor(msgspec.Struct, frozen=True):
    """`setting`: its class, as in `partition.assignment.strategy`; `name`: in members' requests."""

    setting: str
    name: str
    assign: Assign
    cooperative: bool = False
    since: str = "0.9"


def assign_ranges(candidates: Sequence[Candidate], counts: Mapping[str, int]) -> Assignment:
    """Assign a range of each topic to every member; the first ones get one partition more."""
    assigned, members = _nothing(candidates)
    for topic in _topics(members, counts):
        readers = [one for one in members if topic in one.subscription.topics]
        each, more = divmod(counts[topic], len(readers))
        begin = 0
        for index, one in enumerate(readers):
            end = begin + each + (index < more)
            assigned[one.member] += [(topic, number) for number in range(begin, end)]
            begin = end
    return assigned


def assign_in_turn(candidates: Sequence[Candidate], counts: Mapping[str, int]) -> Assignment:
    """Assign all partitions in turn; skip members that do not read the topic."""
    assigned, members = _nothing(candidates)
    turn = 0
    for topic in _topics(members, counts):
        for number in range(counts[topic]):
            while topic not in members[turn % len(members)].subscription.topics:
                turn += 1
            assigned[members[turn % len(members)].member].append((topic, number))
            turn += 1
    return assigned


def assign_cooperatively(candidates: Sequence[Candidate], counts: Mapping[str, int]) -> Assignment:
    """Let members keep their partitions, up to their share; the next generation moves the rest.

    Source: CooperativeStickyAssignor.adjustAssignment.
    """
    assigned, members = _nothing(candidates)
    everything = [(topic, number) for topic in _topics(members, counts) for number in range(counts[topic])]
    owners = _owners(members, set(everything))
    share, more = divmod(len(everything), max(1, len(members)))
    for one in members:
        owned = [partition for partition in everything if owners.get(partition) == one.member]
        keeps_more = len(owned) > share and more > 0
        more -= keeps_more
        assigned[one.member] += owned[: share + keeps_more]
    kept = {partition for partitions in assigned.values() for partition in partitions}
    to_come: Counter[str] = Counter()
    for partition in everything:
        if partition in kept:
            continue
        readers = [one for one in members if partition[0] in one.subscription.topics]
        least = min(readers, key=lambda one: len(assigned[one.member]) + to_come[one.member])
        if owners.get(partition, least.member) == least.member:
            assigned[least.member].append(partition)
        else:
            to_come[least.member] += 1
    return assigned


def _nothing(candidates: Sequence[Candidate]) -> tuple[Assignment, list[Candidate]]:
    """An empty assignment, and the members in the order of assignment."""
    members = sorted(candidates, key=lambda one: one.place)
    return {one.member: [] for one in members}, members


def _topics(members: Sequence[Candidate], counts: Mapping[str, int]) -> list[str]:
    return sorted({topic for one in members for topic in one.subscription.topics if counts.get(topic)})


def _owners(members: Sequence[Candidate], everything: set[TopicPartition]) -> dict[TopicPartition, str]:
    """Owner of each partition; a partition that two members claim has none."""
    owners: dict[TopicPartition, str] = {}
    doubtful: set[TopicPartition] = set()
    for one in members:
        for partition in one.subscription.owned:
            if partition in owners:
                doubtful.add(partition)
            elif partition in everything and partition[0] in one.subscription.topics:
                owners[partition] = one.member
    return {partition: owner for partition, owner in owners.items() if partition not in doubtful}


ASSIGNORS: Final = (
    Assignor("RangeAssignor", "range", assign_ranges),
    Assignor("RoundRobinAssignor", "roundrobin", assign_in_turn),
    Assignor("CooperativeStickyAssignor", "cooperative-sticky", assign_cooperatively, cooperative=True, since="2.4"),
)


def assignors_named(setting: str, version: str) -> tuple[Assignor, ...]:
    """Assignors of `partition.assignment.strategy`, preferred first, with or without package.

    Raises ValueError for an unknown one, or one that is not in `version` yet.
    """
    found: list[Assignor] = []
    known = {one.setting: one for one in ASSIGNORS}
    for given in filter(None, (part.strip() for part in setting.split(","))):
        one = known.get(given.rpartition(".")[2])
        if one is None:
            (near,) = difflib.get_close_matches(given.rpartition(".")[2], known, n=1, cutoff=0)
            raise ValueError(f"unknown strategy {given!r}; the nearest known one is {near}")
        if not since(version, one.since):
            raise ValueError(f"{one.setting} came with Kafka {one.since}; it is not in {version}")
        found.append(one)
    if not found:
        raise ValueError("a member of a group needs a strategy")
    return tuple(found)
