"""Messages of a group's members, and messages that list and describe groups.

JoinGroup, SyncGroup, Heartbeat, LeaveGroup; ListGroups, DescribeGroups, DeleteGroups. Our own consumers send them when
they subscribe. Members' own data (subscriptions, assignments; `protocol.records.consumer_protocol`) stays
undecoded bytes.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from protocol.messages.message_base import RESPONSE, ErrorField, Int32, Message, Millis, Name, Text, register, unit

NO_GENERATION = -1
OPAQUE_BYTES_MAX = 4 * 1024 * 1024
PROTOCOLS_MAX = 100
Opaque = Annotated[bytes, Meta(max_length=OPAQUE_BYTES_MAX)]
"""Bytes that the coordinator does not decode."""
Generation = Annotated[Int32, unit("generation", "-1: none")]
Instance = Annotated[Name | None, unit("group.instance.id", "of a static member (KIP-345)")]


class GroupProtocol(msgspec.Struct, omit_defaults=True):
    """An assignment strategy that a member supports, with its metadata."""

    name: Text
    metadata: Opaque = b""


@register
class JoinGroupRequest(Message):
    """`member` "": a new member. `client` becomes part of its member id."""

    API_KEY = 11
    API_NAME = "JoinGroup"
    VERSIONS = (0, 7)
    group: str
    member: Text
    session_timeout_ms: Millis
    rebalance_timeout_ms: Millis
    protocol_type: Text
    protocols: Annotated[list[GroupProtocol], Meta(max_length=PROTOCOLS_MAX)]
    instance: Instance = None
    client: Text = ""


class JoinedMember(msgspec.Struct, omit_defaults=True):
    member: Text
    metadata: Opaque = b""
    instance: Instance = None


@register
class JoinGroupResponse(Message):
    """`members`: for the leader, which assigns; empty for others."""

    API_KEY = 11
    API_NAME = "JoinGroup"
    DIRECTION = RESPONSE
    VERSIONS = (0, 7)
    error: ErrorField = 0
    generation: Generation = NO_GENERATION
    protocol_type: Text = ""
    protocol: Text = ""
    leader: Text = ""
    member: Text = ""
    members: list[JoinedMember] = []


class MemberAssignment(msgspec.Struct):
    member: Text
    assignment: Opaque


@register
class SyncGroupRequest(Message):
    """`assignments`: from the leader, for all members."""

    API_KEY = 14
    API_NAME = "SyncGroup"
    VERSIONS = (0, 5)
    group: str
    generation: Generation
    member: Text
    assignments: Annotated[list[MemberAssignment], Meta(max_length=10_000)] = []
    instance: Instance = None


@register
class SyncGroupResponse(Message):
    API_KEY = 14
    API_NAME = "SyncGroup"
    DIRECTION = RESPONSE
    VERSIONS = (0, 5)
    error: ErrorField = 0
    protocol_type: Text = ""
    protocol: Text = ""
    assignment: Opaque = b""


@register
class HeartbeatRequest(Message):
    API_KEY = 12
    API_NAME = "Heartbeat"
    VERSIONS = (0, 4)
    group: str
    generation: Generation
    member: Text
    instance: Instance = None


@register
class HeartbeatResponse(Message):
    API_KEY = 12
    API_NAME = "Heartbeat"
    DIRECTION = RESPONSE
    VERSIONS = (0, 4)
    error: ErrorField = 0


class LeavingMember(msgspec.Struct, omit_defaults=True):
    """A leaving member, by its id or only by its instance."""

    member: Text = ""
    instance: Instance = None
    error: ErrorField = 0


@register
class LeaveGroupRequest(Message):
    """Several members from version 3 on."""

    API_KEY = 13
    API_NAME = "LeaveGroup"
    VERSIONS = (0, 4)
    group: str
    members: Annotated[list[LeavingMember], Meta(max_length=10_000)]


@register
class LeaveGroupResponse(Message):
    API_KEY = 13
    API_NAME = "LeaveGroup"
    DIRECTION = RESPONSE
    VERSIONS = (0, 4)
    error: ErrorField = 0
    members: Annotated[list[LeavingMember], Meta(max_length=10_000)] = []


@register
class ListGroupsRequest(Message):
    """List groups that this broker coordinates. `states`: only in these; empty: all (KIP-518)."""

    API_KEY = 16
    API_NAME = "ListGroups"
    VERSIONS = (0, 4)
    states: Annotated[list[Text], Meta(max_length=10_000)] = []


class ListedGroup(msgspec.Struct):
    group: str
    protocol_type: Text
    state: Text


@register
class ListGroupsResponse(Message):
    API_KEY = 16
    API_NAME = "ListGroups"
    DIRECTION = RESPONSE
    VERSIONS = (0, 4)
    error: ErrorField = 0
    groups: list[ListedGroup] = []


@register
class DescribeGroupsRequest(Message):
    API_KEY = 15
    API_NAME = "DescribeGroups"
    VERSIONS = (0, 5)
    groups: Annotated[list[str], Meta(max_length=10_000)]


class DescribedMember(msgspec.Struct, omit_defaults=True):
    member: Text
    client: Text
    metadata: Opaque = b""
    assignment: Opaque = b""
    instance: Instance = None


class DescribedGroup(msgspec.Struct, omit_defaults=True):
    """`state` Dead: no group has that name."""

    group: str
    error: ErrorField = 0
    state: Text = ""
    protocol_type: Text = ""
    protocol: Text = ""
    members: list[DescribedMember] = []


@register
class DescribeGroupsResponse(Message):
    API_KEY = 15
    API_NAME = "DescribeGroups"
    DIRECTION = RESPONSE
    VERSIONS = (0, 5)
    groups: list[DescribedGroup] = []


@register
class DeleteGroupsRequest(Message):
    """Delete groups without members, and their committed offsets (KIP-229)."""

    API_KEY = 42
    API_NAME = "DeleteGroups"
    VERSIONS = (0, 2)
    groups: Annotated[list[str], Meta(max_length=10_000)]


class DeletedGroup(msgspec.Struct):
    group: str
    error: ErrorField


@register
class DeleteGroupsResponse(Message):
    API_KEY = 42
    API_NAME = "DeleteGroups"
    DIRECTION = RESPONSE
    VERSIONS = (0, 2)
    groups: list[DeletedGroup] = []
