"""Who reads which partitions: the strategies of Kafka's consumers, by the leader of a group. Pure.

range (0.9 on) goes topic by topic and gives each member a stretch, roundrobin one partition after the other to each in
turn. cooperative-sticky (2.4 on, KIP-429) leaves members what they have as far as all get equally many, and gives what
has to move to nobody until its owner has let it go. It balances where all members read the same topics; where they do
not, what is left goes to whoever has least, which Kafka's search may better.
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
"""{member: its partitions}; everybody is in it."""


class Candidate(msgspec.Struct, frozen=True):
    """A member as its leader sees it. `instance`: of a static member."""

    member: str
    subscription: Subscription
    instance: str | None = None

    @property
    def place(self) -> tuple[bool, str]:
        """Static members come first, by their instances, the others by the ids that they were given
        (AbstractPartitionAssignor.MemberInfo)."""
        return (False, self.instance) if self.instance is not None else (True, self.member)


Assign = Callable[[Sequence[Candidate], Mapping[str, int]], Assignment]
"""Of members, and how many partitions topics have: those that the leader knows of."""


class Assignor(msgspec.Struct, frozen=True):
    """`setting`: its class, as in `partition.assignment.strategy`; `name`: as members say it."""

    setting: str
    name: str
    assign: Assign
    cooperative: bool = False
    since: str = "0.9"


def assign_ranges(candidates: Sequence[Candidate], counts: Mapping[str, int]) -> Assignment:
    """Of each topic everybody gets as many, in a row; the first ones one more."""
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
    """All partitions of all topics, one after the other; who does not read a topic is passed over."""
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
    """What members have they keep, up to their share. Who is to get what another one has gets it in the next
    generation (CooperativeStickyAssignor.adjustAssignment)."""
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
    """Nothing for everybody, and the order in which members get something."""
    members = sorted(candidates, key=lambda one: one.place)
    return {one.member: [] for one in members}, members


def _topics(members: Sequence[Candidate], counts: Mapping[str, int]) -> list[str]:
    return sorted({topic for one in members for topic in one.subscription.topics if counts.get(topic)})


def _owners(members: Sequence[Candidate], everything: set[TopicPartition]) -> dict[TopicPartition, str]:
    """Who has what; what two say that they have, nobody has."""
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
    """Those of `partition.assignment.strategy`, the preferred first, with or without their package.

    Raises ValueError for one that is not there, or not in `version` yet."""
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
