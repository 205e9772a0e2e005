"""A Java .properties file: its entries, in order, each with its line.

The syntax is `java.util.Properties`': comments behind # and !, `=`, `:` or a blank between name and value, lines that
go on behind a backslash, \\uXXXX. A name that comes twice is there twice; Java keeps the last.
"""

import re
from typing import Final

import javaproperties
import msgspec

FILE_BYTES_MAX: Final = 256 * 1024
CONTINUED_LINES_MAX: Final = 1000
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_LINE_END: Final = re.compile(r"\r\n|\r|\n")

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class NotProperties(ValueError):
    """Not a .properties file, or too large.

    The message begins with the line, where there is one.
    """


class Entry(msgspec.Struct, frozen=True):
    """`line`: where it begins, from 1."""

    name: str
    value: str
    line: int


def read_properties(data: bytes) -> tuple[Entry, ...]:
    """The entries of a file. Raises NotProperties.

    Java reads Latin-1; a file that is UTF-8 is read as UTF-8.
    """
    if len(data) > FILE_BYTES_MAX:
        raise NotProperties(f"larger than {FILE_BYTES_MAX} bytes")
    if b"\0" in data:
        raise NotProperties("not a text: it has a byte of 0")
    text = _text(data.removeprefix(_BYTE_ORDER_MARK))
    if len(re.findall(r"\\(?:\r\n|\r|\n)", text)) > CONTINUED_LINES_MAX:
        raise NotProperties(f"more than {CONTINUED_LINES_MAX} lines that go on")
    found: list[Entry] = []
    line = 1
    elements = javaproperties.parse(text)
    while True:
        try:
            element = next(elements, None)
        except javaproperties.InvalidUEscapeError as error:
            raise NotProperties(f"{line}: {error.escape!r} is no character: \\u and four hexadecimal digits") from error
        if element is None:
            return tuple(found)
        if isinstance(element, javaproperties.KeyValue):
            if _SURROGATE.search(element.key + element.value):
                raise NotProperties(f"{line}: half of a surrogate pair is no character; write the other half behind it")
            found.append(Entry(element.key, element.value, line))
        line += len(_LINE_END.findall(element.source))


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")
