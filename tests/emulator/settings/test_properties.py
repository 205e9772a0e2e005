"""Files of Java properties: what Java reads, with lines; and bounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from javaproperties import dumps

from emulator.settings.properties import (
    CONTINUED_LINES_MAX,
    FILE_BYTES_MAX,
    Entry,
    NotProperties,
    read_properties,
)


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("a=1\nb : 2\nc 3\nd\n", [("a", "1", 1), ("b", "2", 2), ("c", "3", 3), ("d", "", 4)]),
        ("# no\n  ! neither\n\n\t a = 1 \n", [("a", "1 ", 4)]),
        ("a=1,\\\n   2,\\\n\t3\nb=4", [("a", "1,2,3", 1), ("b", "4", 4)]),
        ("a\\ b\\=c=d\\\\e", [("a b=c", "d\\e", 1)]),
        ("caf\\u00e9=\\u4E2D\\t!", [("café", "中\t!", 1)]),
        ("a=1\r\nb=2\rc=3", [("a", "1", 1), ("b", "2", 2), ("c", "3", 3)]),
        ("a=1\na=2", [("a", "1", 1), ("a", "2", 2)]),
        ("a==1\nb=:2", [("a", "=1", 1), ("b", ":2", 2)]),
        ("a=x # y", [("a", "x # y", 1)]),
        ("", []),
    ],
)
def test_syntax(text: str, entries: list[tuple[str, str, int]]) -> None:
    assert read_properties(text.encode()) == tuple(Entry(*entry) for entry in entries)


def test_utf_8_with_and_without_a_mark_and_latin_1() -> None:
    for data in ("a=é".encode(), b"\xef\xbb\xbfa=\xc3\xa9", b"a=\xe9", b"a=\\u00e9"):
        assert read_properties(data) == (Entry("a", "é", 1),)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a=1\nb=\\u12\n", r"2: '\\\\u12' is no character: \\u and four hexadecimal digits"),
        (b"a=1\0", "not a text: it has a byte of 0"),
        (b"a" * (FILE_BYTES_MAX + 1), f"larger than {FILE_BYTES_MAX} bytes"),
        (b"a\\\n" * (CONTINUED_LINES_MAX + 1), f"more than {CONTINUED_LINES_MAX} lines that go on"),
    ],
)
def test_what_is_no_properties_file(data: bytes, message: str) -> None:
    with pytest.raises(NotProperties, match=f"^{message}$"):
        read_properties(data)


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=10))
def test_what_is_written_is_read_again(pairs: list[tuple[str, str]]) -> None:
    data = dumps(pairs, timestamp=False).encode("ascii")
    assert [(entry.name, entry.value) for entry in read_properties(data)] == pairs


@given(st.binary(max_size=200))
def test_any_bytes_are_entries_or_one_clear_message(data: bytes) -> None:
    try:
        entries = read_properties(data)
    except NotProperties as error:
        assert "\n" not in str(error)
    else:
        lines = [entry.line for entry in entries]
        assert lines == sorted(set(lines))


@pytest.mark.parametrize("text", ["a=\\ud800", "a=x\\uDFFF", "\\ud800=b", "a=\\udc00\\ud800"])
def test_half_of_a_surrogate_pair_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(NotProperties, match=r"^2: half of a surrogate pair"):
        read_properties(f"# one\n{text}\n".encode())


def test_a_whole_surrogate_pair_is_a_character() -> None:
    assert read_properties(b"a=\\ud83d\\ude00\n")[0].value == "\U0001f600"
