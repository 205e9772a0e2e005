"""Checkpoint files: Kafka's exact text, and one clear message for anything else."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.storage.checkpoints import (
    CheckpointDamaged,
    LeaderEpochs,
    Offsets,
    format_leader_epochs,
    format_meta_properties,
    format_offsets,
    parse_leader_epochs,
    parse_offsets,
)
from protocol.ids import LeaderEpoch, Offset

topics = st.from_regex(r"[a-zA-Z0-9._-]{1,12}", fullmatch=True)
numbers = st.integers(0, 2**31 - 1)
ends = st.integers(0, 2**63 - 1).map(Offset)
offsets = st.dictionaries(st.tuples(topics, numbers), ends, max_size=8)
epochs = st.lists(st.tuples(numbers.map(LeaderEpoch), ends), max_size=8).map(
    lambda entries: list(zip(sorted({e for e, _ in entries}), sorted(s for _, s in entries), strict=False))
)


def test_the_text_is_kafkas() -> None:
    assert (
        format_offsets({("t", 10): Offset(7), ("t", 2): Offset(0), ("a-b", 0): Offset(1)})
        == b"0\n3\na-b 0 1\nt 2 0\nt 10 7\n"
    )
    assert format_leader_epochs([(LeaderEpoch(0), Offset(0)), (LeaderEpoch(2), Offset(3))]) == b"0\n2\n0 0\n2 3\n"
    assert format_meta_properties(1) == b"version=0\nbroker.id=1\n"
    assert format_offsets({}) == format_leader_epochs([]) == b"0\n0\n"


@given(offsets)
def test_offsets_are_read_back(written: Offsets) -> None:
    assert parse_offsets(format_offsets(written), "f") == written


@given(epochs)
def test_leader_epochs_are_read_back(written: LeaderEpochs) -> None:
    assert parse_leader_epochs(format_leader_epochs(written), "f") == written


@pytest.mark.parametrize("data", [b"", b"0\n", b"0", b"0\n0\n"])
def test_an_empty_file_is_valid(data: bytes) -> None:
    """Docs/semantics.md 3; a file that ends after the version is read so by Kafka too."""
    assert parse_offsets(data, "f") == {}
    assert parse_leader_epochs(data, "f") == []


@pytest.mark.parametrize(
    ("parse", "data", "message"),
    [
        (parse_offsets, b"1\n0\n", "f line 1: version '1', known is 0"),
        (parse_offsets, b"\n", "f line 1: version ''"),
        (parse_offsets, b"0\nx\n", "f line 2: number of entries 'x' is not a number of 0 or more"),
        (parse_offsets, b"0\n-1\n", "f line 2: number of entries '-1'"),
        (parse_offsets, b"0\n1\n", "f line 3: 0 entries, but 1 in line 2"),
        (parse_offsets, b"0\n1\nt 0 1\nt 1 1\n", "f line 4: 2 entries, but 1 in line 2"),
        (parse_offsets, b"0\n2\nt 0 1\n", "f line 4: 1 entries, but 2 in line 2"),
        (parse_offsets, b"0\n1\nt 0\n", "f line 3: 't 0' is not topic, partition and offset"),
        (parse_offsets, b"0\n1\nt 0 1 2\n", "f line 3: 't 0 1 2' is not"),
        (parse_offsets, b"0\n1\nt x 1\n", "f line 3: partition 'x'"),
        (parse_offsets, b"0\n1\nt 0 -1\n", "f line 3: offset '-1'"),
        (parse_offsets, "0\n1\nt 0 ٣\n".encode(), "f line 3: offset '٣'"),
        (parse_offsets, b"0\n2\nt 0 1\nt 0 2\n", "f line 4: t-0 is there twice"),
        (parse_offsets, b"0\n1\n\xff 0 1\n", "f line 3: is not UTF-8 text"),
        (parse_offsets, b"0\n1\n\n", "f line 3: '' is not topic, partition and offset"),
        (parse_leader_epochs, b"0\n1\n0 0 0\n", "f line 3: '0 0 0' is not epoch and start offset"),
        (parse_leader_epochs, b"0\n1\nx 0\n", "f line 3: epoch 'x'"),
        (parse_leader_epochs, b"0\n2\n1 0\n1 3\n", "f line 4: epoch 1 from 3 after epoch 1 from 0"),
        (parse_leader_epochs, b"0\n2\n1 5\n2 3\n", "f line 4: epoch 2 from 3 after epoch 1 from 5"),
    ],
)
def test_anything_else_is_named_with_its_line(parse: Callable[[bytes, str], Any], data: bytes, message: str) -> None:
    with pytest.raises(CheckpointDamaged) as caught:
        parse(data, "f")
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("parse", [parse_offsets, parse_leader_epochs])
@given(data=st.one_of(st.binary(max_size=60), st.text("0123t \n=.\t", max_size=40).map(str.encode)))
def test_any_bytes_are_read_or_refused(parse: Callable[[bytes, str], Any], data: bytes) -> None:
    try:
        parse(data, "f")
    except CheckpointDamaged as error:
        assert 1 <= error.line <= data.count(b"\n") + 2
