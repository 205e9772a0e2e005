"""Records of groups in the offsets topic: Kafka's bytes (semantics 6, "Members of a group")."""

import io
import struct
import warnings
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.records.group_metadata import (
    VALUE_VERSIONS,
    StoredGroup,
    StoredMember,
    decode_group,
    encode_group,
    encode_group_key,
)
from protocol.records.offset_commits import GroupKey, decode_key
from protocol.records.schema_fields import UnreadableRecord

with warnings.catch_warnings():
    # kafka-python reads its schemas with a call that Python 3.11 deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.protocol.old.types import Array, Bytes, Int16, Int32, Int64, Schema, String

INT = st.integers(-(1 << 31), (1 << 31) - 1)
TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
MEMBERS = st.builds(
    StoredMember, TEXT, TEXT, TEXT, INT, INT, st.binary(max_size=20), st.binary(max_size=20), st.none() | TEXT
)
GROUPS = st.builds(
    StoredGroup, TEXT, INT, st.none() | TEXT, st.none() | TEXT, st.lists(MEMBERS, max_size=3).map(tuple),
    st.integers(-1, 1 << 50),
)  # fmt: skip
VERSIONS = st.sampled_from(VALUE_VERSIONS)


def schema(version: int) -> Any:
    """The layout again, in the words of a library that is not ours."""
    member = [("member", String()), ("client", String()), ("host", String())]
    if version >= 3:
        member.insert(1, ("instance", String()))
    if version >= 1:
        member.append(("rebalance", Int32))
    member += [("session", Int32), ("subscription", Bytes), ("assignment", Bytes)]
    since = [("since", Int64)] if version >= 2 else []
    return Schema(
        ("v", Int16), ("type", String()), ("generation", Int32), ("protocol", String()), ("leader", String()), *since,
        ("members", Array(*member)),
    )  # fmt: skip


def held(group: StoredGroup, version: int) -> StoredGroup:
    """The fields that `version` has room for."""
    members = tuple(
        msgspec.structs.replace(
            one,
            rebalance_timeout_ms=one.rebalance_timeout_ms if version >= 1 else one.session_timeout_ms,
            instance=one.instance if version >= 3 else None,
        )
        for one in group.members
    )
    return msgspec.structs.replace(group, members=members, since_ms=group.since_ms if version >= 2 else -1)


@given(GROUPS, VERSIONS)
def test_a_group_comes_back_as_far_as_its_version_holds_it(group: StoredGroup, version: int) -> None:
    assert decode_group(encode_group(group, version)) == held(group, version)


@given(GROUPS, VERSIONS)
def test_an_independent_library_reads_our_groups(group: StoredGroup, version: int) -> None:
    data = encode_group(group, version)
    found = schema(version).decode(io.BytesIO(data))
    assert found[:5] == (version, group.protocol_type, group.generation, group.protocol, group.leader)
    assert [(one[0], one[-2], one[-1]) for one in found[-1]] == [
        (one.member, one.subscription, one.assignment) for one in group.members
    ]
    assert schema(version).encode(found) == data


def test_the_key_is_kafkas() -> None:
    assert encode_group_key("g") == b"\x00\x02\x00\x01g"
    assert decode_key(encode_group_key("g")) == GroupKey("g")


@given(GROUPS, VERSIONS, st.data())
def test_what_is_cut_short_is_refused(group: StoredGroup, version: int, data: st.DataObject) -> None:
    whole = encode_group(group, version)
    with pytest.raises(UnreadableRecord):
        decode_group(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(UnreadableRecord, match="1 bytes after the last field"):
        decode_group(whole + b"\0")


def test_impossible_versions_and_numbers_of_members_are_refused() -> None:
    with pytest.raises(UnreadableRecord, match="value version 4; known are 0 to 3"):
        decode_group(b"\x00\x04")
    head = encode_group(StoredGroup("consumer", 1, None, None), 0)[:-4]
    with pytest.raises(UnreadableRecord, match="2000000000 members; at most 100000"):
        decode_group(head + struct.pack(">i", 2_000_000_000))
