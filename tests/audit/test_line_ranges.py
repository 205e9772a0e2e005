"""Ranges of files: every line once, whatever its length and the files' ends."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit import line_ranges
from audit.blocks import Source
from audit.line_ranges import BYTE_ORDER_MARK, Block, Range, lines_of, packed, pieces_of, ranges_of, refused
from audit.single_lines import NO_OBJECT, single_lines
from emulator.regular_files import NotRegular
from protocol.events.event_parsing import LINE_BYTES_MAX

HERE = Source("r", "broker-0.1.jsonl")


def ranges(path: Path, size_bytes: int) -> list[Range]:
    end = path.stat().st_size
    return [Range(path, HERE, "r", at, min(at + size_bytes, end)) for at in range(0, end, size_bytes)]


@given(
    st.lists(st.binary(max_size=9).map(lambda line: line.replace(b"\n", b"")), max_size=9), st.booleans(),
    st.integers(1, 20),
)  # fmt: skip
def test_every_line_is_in_one_range(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], ended: bool, size_bytes: int
) -> None:
    path = tmp_path_factory.mktemp("ranges") / HERE.file
    text = b"\n".join(lines) + b"\n" * ended
    path.write_bytes(text)
    blocks = [block for one in ranges(path, size_bytes) for block in lines_of(one).blocks]
    marked = text.removeprefix(BYTE_ORDER_MARK)
    assert b"".join(block.lines for block in blocks).removesuffix(b"\n") == marked.removesuffix(b"\n")
    assert all(text[block.begin :].startswith(block.lines.removesuffix(b"\n")) for block in blocks)
    unended = bool(marked) and not marked.endswith(b"\n")
    assert [block.unended for block in blocks if block.unended] == [True] * unended


def test_a_line_that_is_too_long_is_left_out_and_placed(tmp_path: Path) -> None:
    path = tmp_path / HERE.file
    longest, longer = b"a" * (LINE_BYTES_MAX - 1) + b"\n", b"b" * LINE_BYTES_MAX + b"\n"
    path.write_bytes(b"1\n" + longest + b"2\n" + longer + b"3\n" + longer[:-1] + b"c")
    found = [lines_of(one) for one in ranges_of(path, HERE, "r", 0, path.stat().st_size)]
    assert b"".join(block.lines for one in found for block in one.blocks) == b"1\n" + longest + b"2\n3\n"
    first = len(longest) + 4
    assert [one.too_long for one in found if one.too_long is not None] == [first, first + len(longer) + 2]


def test_a_file_that_became_shorter_or_a_link_is_refused(tmp_path: Path) -> None:
    path = tmp_path / HERE.file
    path.write_bytes(b"1\n2\n")
    [one] = ranges(path, 100)
    path.write_bytes(b"1\n")
    with pytest.raises(NotRegular, match="became shorter while it was read"):
        lines_of(one)
    path.unlink()
    path.symlink_to("/etc/passwd")
    with pytest.raises(NotRegular, match="symbolic link"):
        lines_of(one)


def test_a_file_that_grows_is_read_to_the_line_that_had_begun(tmp_path: Path) -> None:
    path = tmp_path / HERE.file
    path.write_bytes(b"1\n22")
    [one] = ranges(path, 100)
    path.write_bytes(b"1\n2222\n3\n")
    assert [block.lines for block in lines_of(one).blocks] == [b"1\n2222\n"]


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    path = tmp_path / HERE.file
    path.write_bytes(b"\xef\xbb\xbf1\n\xef\xbb\xbf2\n")
    [block] = lines_of(ranges(path, 100)[0]).blocks
    assert (block.lines, block.begin) == (b"1\n\xef\xbb\xbf2\n", 3)


def test_ranges_are_packed_up_to_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_ranges, "BLOCK_BYTES", 10)
    sizes = (4, 4, 4, 25, 1)
    waiting = iter([one for size in sizes for one in ranges_of(Path("f"), HERE, "r", 0, size)])
    packs = []
    while pack := packed(waiting):
        packs.append([one.end - one.begin for one in pack])
    assert packs == [[4, 4, 4], [10], [10], [5, 1]]


def test_what_is_refused_is_left_in_pieces_and_the_rest_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_ranges, "PIECE_BYTES", 1)
    one = Range(Path("f"), HERE, "r", 0, 100)
    taken: list[bytes] = []

    def take(blocks: Sequence[Block]) -> bool:
        good = all(b"x" not in block.lines for block in blocks)
        taken.extend(block.lines for block in blocks if good)
        return good

    blocks = [Block(b"1\n", one, 0), Block(b"2\nx\n3\n", one, 2), Block(b"4\n", one, 8)]
    for piece in refused(blocks, take):
        assert (piece.lines, piece.begin, taken) == (b"x\n", 4, [b"1\n", b"2\n"])
    assert taken == [b"1\n", b"2\n", b"3\n", b"4\n"]
    assert [piece.begin for piece in pieces_of(blocks[1], 1)] == [2, 4, 6]


def test_single_lines_have_their_place_and_reason() -> None:
    one = Range(Path("f"), HERE, "r", 0, 100)
    found = [*single_lines(Block(b"\n  \nx\r\n{}\ry\n", one, 7))]
    assert [(line.begin, line.text, line.problem) for line in found] == [
        (11, b"x", NO_OBJECT), (14, b"{}", "no format"), (17, b"y", NO_OBJECT),
    ]  # fmt: skip
    assert not any(line.torn for line in found)
    [torn] = single_lines(Block(b'{"for\n', one, 7, unended=True))
    assert torn.torn
    [no_event] = single_lines(Block(b"{}\n", one, 7, unended=True))
    assert not no_event.torn
