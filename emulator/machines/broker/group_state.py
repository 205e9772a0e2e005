"""One group: its members, its generation, its state. Kafka's GroupMetadata.

         a member joins             all have joined             the leader has assigned
Empty ---------------> Preparing ---------------> Completing --------------------> Stable
  ^                    ^   |  ^                       | a member joins, leaves        |
  |   no member left   |   |  +-----------------------+ or its session ends           |
  +------------------- | --+                                                          |
                       +--------------------------------------------------------------+
"""

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum

from emulator.machines.broker.request_channel import Request
from protocol.messages.membership import GroupProtocol, JoinedMember, JoinGroupRequest
from protocol.records.consumer_protocol import decode_topics
from protocol.records.group_metadata import StoredGroup, StoredMember
from protocol.records.schema_fields import UnreadableRecord


class State(StrEnum):
    """States under Kafka's names."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class Member:
    """One member.

    `joining`, `syncing`: its pending request. Its timeouts are those of its first request. `new`: no generation has
    begun since it came.
    """

    __slots__ = (
        "assignment", "client", "instance", "joining", "member", "new", "protocols", "rebalance_timeout_ms",
        "session_timeout_ms", "syncing",
    )  # fmt: skip

    def __init__(self, member: str, join: JoinGroupRequest) -> None:
        self.member = member
        self.instance = join.instance
        self.client = join.client
        self.protocols = join.protocols
        self.session_timeout_ms = join.session_timeout_ms
        self.rebalance_timeout_ms = join.rebalance_timeout_ms
        self.assignment = b""
        self.joining: Request | None = None
        self.syncing: Request | None = None
        self.new = False

    def metadata_for(self, protocol: str) -> bytes:
        return next((one.metadata for one in self.protocols if one.name == protocol), b"")


class Group:
    """One group. `members`: in the order of their joins.

    `pending`: assigned ids without a second JoinGroup yet (KIP-394).
    """

    __slots__ = (
        "generation", "instances", "leader", "members", "name", "newcomer", "pending", "protocol", "protocol_type",
        "since_ms", "state", "unsynced", "waits_for_more",
    )  # fmt: skip

    def __init__(self, name: str) -> None:
        self.name = name
        self.state = State.EMPTY
        self.since_ms = -1
        """Start of its state, in ms since 1970."""
        self.generation = 0
        self.protocol_type = ""
        self.protocol = ""
        self.leader = ""
        self.members: dict[str, Member] = {}
        self.instances: dict[str, str] = {}
        """{group.instance.id: member}"""
        self.pending: set[str] = set()
        self.unsynced: set[str] = set()
        """Members without a SyncGroup in this generation (KAFKA-12890)."""
        self.waits_for_more = False
        """Its first rebalance waits for further members (group.initial.rebalance.delay.ms)."""
        self.newcomer = False
        """A member joined during that wait, before the group's first generation."""

    def supports(self, join: JoinGroupRequest) -> bool:
        """Whether a join has the group's protocol type, and a strategy that all members know."""
        if not join.protocols or not join.protocol_type:
            return False
        if not self.members:
            return True
        if join.protocol_type != self.protocol_type:
            return False
        return bool({one.name for one in join.protocols} & self._common(but=join.member))

    def _common(self, but: str = "") -> set[str]:
        sets = [{one.name for one in m.protocols} for m in self.members.values() if m.member != but]
        return set.intersection(*sets) if sets else {one.name for m in self.members.values() for one in m.protocols}

    def chosen(self) -> str:
        """The strategy with most votes: each member votes for its first common one."""
        common = self._common()
        votes = Counter(
            next(one.name for one in member.protocols if one.name in common) for member in self.members.values()
        )
        return max(votes, key=lambda name: votes[name])

    def add(self, member: Member, protocol_type: str) -> None:
        if not self.members:
            self.protocol_type = protocol_type
        self.members[member.member] = member
        if member.instance is not None:
            self.instances[member.instance] = member.member
        if not self.leader:
            self.leader = member.member

    def remove(self, member: Member) -> None:
        del self.members[member.member]
        if member.instance is not None and self.instances.get(member.instance) == member.member:
            del self.instances[member.instance]
        if self.leader == member.member:
            self.leader = next(iter(self.members), "")

    def renamed(self, member: Member, name: str) -> None:
        """Replace the id of a static member that has come back; it keeps its position."""
        self.members = {(name if key == member.member else key): one for key, one in self.members.items()}
        if member.member in self.unsynced:
            self.unsynced = self.unsynced - {member.member} | {name}
        if self.leader == member.member:
            self.leader = name
        member.member = name
        assert member.instance is not None
        self.instances[member.instance] = name

    def begins(self) -> None:
        """Begin the next generation; without members it is empty."""
        self.generation += 1
        self.waits_for_more = False
        if self.members:
            self.protocol = self.chosen()
            self.state = State.COMPLETING
        else:
            self.protocol = ""
            self.state = State.EMPTY

    @property
    def all_have_joined(self) -> bool:
        return not self.pending and all(member.joining is not None for member in self.members.values())

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance timeout of the members."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def members_for(self, member: Member) -> list[JoinedMember]:
        """Members for a JoinGroup response: to the leader alone."""
        if member.member != self.leader:
            return []
        return [
            JoinedMember(one.member, one.metadata_for(self.protocol), one.instance) for one in self.members.values()
        ]

    def to_store(self, assigned: Mapping[str, bytes]) -> StoredGroup:
        """Record of this generation. `assigned`: {member: its assignment}; absent ones have none."""
        members = tuple(
            StoredMember(
                one.member, one.client, "", one.rebalance_timeout_ms, one.session_timeout_ms,
                one.metadata_for(self.protocol), assigned.get(one.member, b""), one.instance,
            )
            for one in self.members.values()
        )  # fmt: skip
        return StoredGroup(
            self.protocol_type, self.generation, self.protocol or None, self.leader or None, members, self.since_ms
        )

    @classmethod
    def stored(cls, name: str, stored: StoredGroup) -> "Group":
        """Group of a record; no request is pending."""
        group = cls(name)
        group.generation, group.since_ms = stored.generation, stored.since_ms
        group.protocol_type, group.protocol = stored.protocol_type, stored.protocol or ""
        for one in stored.members:
            join = JoinGroupRequest(
                name, one.member, one.session_timeout_ms, one.rebalance_timeout_ms, stored.protocol_type,
                [GroupProtocol(group.protocol, one.subscription)], one.instance, one.client,
            )  # fmt: skip
            member = Member(one.member, join)
            member.assignment = one.assignment
            group.add(member, stored.protocol_type)
        group.leader = stored.leader or ""
        group.state = State.STABLE if group.members else State.EMPTY
        return group

    def subscribes(self, topic: str) -> bool:
        """Whether a member reads `topic` (KIP-496); True if this coordinator cannot tell."""
        if not self.protocol:
            return True
        try:
            return any(topic in decode_topics(one.metadata_for(self.protocol)) for one in self.members.values())
        except UnreadableRecord:
            return True
