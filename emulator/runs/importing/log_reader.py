"""Log lines of one file: entries that match the table, and lines that are no entry.

Most lines are of no interest. So a line in Kafka's own layout is first looked up by its last bytes, the end of its
logger's name; only then a regular expression reads it.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import tzinfo
from typing import Final, NamedTuple

from emulator.runs.importing.byte_lines import ByteLines
from emulator.runs.importing.line_forms import Found, Matcher, fields_of, literals_of, matcher
from emulator.runs.importing.line_layouts import KNOWN_PATTERNS, LineLayout
from emulator.runs.importing.line_table import FORMS, SHORT_LOGGERS

KEY_BYTES: Final = 12
"""Last bytes of a line that stand for its logger, such as `er.Partition)`."""
DAMAGE_SHOWN_MAX: Final = 1_000
SAMPLE_LINES: Final = 400
BACKWARDS_MS: Final = 1_000
"""Threads of one process may write their lines a little out of order."""
SILENCE_MS: Final = 1_000
SILENCES_KEPT_MAX: Final = 32
STRAY_LINES_MIN: Final = 3
"""Entries of a sample that must fit a layout."""
_ESCAPES: Final = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[@-_])")
_CONTINUES: Final = re.compile(
    rb"\s|Caused by:|Suppressed:|\.\.\.|[\w.$]+(?:Exception|Error|Throwable)\b|\)|\}|\]|$|<", re.IGNORECASE
)
"""Lines that Java writes after an entry: frames of a stack, causes, values of settings."""
CONFIG: Final = b"KafkaConfig values:"
"""First line of a start's settings, which follow on lines of their own."""
BEGINNINGS: Final = frozenset(("process-begins", "server-starts", "broker-starts", "controller-starts"))
"""Forms of a process's start, of which the time of the entry before matters."""
_INDENTED: Final = (b"\t", b" ", b"")
"""Beginnings of lines that continue an entry."""
FULL_DISK: Final = b"No space left on device"


class Damage(NamedTuple):
    """A line that is no whole entry. `what`: truncated, headless, foreign, too-long."""

    line: int
    what: str
    text: bytes


class Dispatch:
    """Matchers by the last part of a logger's name."""

    def __init__(self) -> None:
        self.of_logger: defaultdict[bytes, list[Matcher]] = defaultdict(list)
        common = Counter(literal for form in FORMS for literal in literals_of(form))
        for form in FORMS:
            compiled = matcher(form, common)
            for name in form.logger.split("|"):
                self.of_logger[name.encode()].append(compiled)
        names = [name.decode() for name in self.of_logger]
        self.keys = frozenset(f"{name})".encode()[-KEY_BYTES:] for name in _full_names(names))
        self.every = list({id(one): one for some in self.of_logger.values() for one in some}.values())

    def match(self, logger: bytes, message: bytes) -> tuple[str, dict[str, str]] | None:
        """(name of the form, fields) of a message, by its logger; without a logger by all forms."""
        simple = logger[logger.rfind(b".") + 1 :]
        for one in self.of_logger.get(simple, ()) if logger else self.every:
            if one.needle in message:
                fields = fields_of(one, message)
                if fields is not None:
                    return one.form.name, fields
        return None


def _full_names(names: Iterable[str]) -> Iterator[str]:
    """Loggers' names, of short ones with their packages; of long ones the last part is enough."""
    for name in names:
        assert len(name) >= KEY_BYTES - 1 or name in SHORT_LOGGERS, name
        yield from SHORT_LOGGERS.get(name, (name,))


DISPATCH: Final = Dispatch()


class LogReader:
    """Reads one file.

    After `found`: `lines`, `entries`, `first_ms` and `last_ms` of its entries, `damage` (of which DAMAGE_SHOWN_MAX are
    kept, `damaged` counts all), `backwards`: entries whose time is more than BACKWARDS_MS before their predecessor's.
    `silences`: the longest times without an entry, as (its length, since when) in ms.

    `after_ms`: time of the last entry of the file before, of rotated ones.
    """

    def __init__(self, source: ByteLines, layout: LineLayout, after_ms: float | None = None) -> None:
        self._source = source
        self._layout = layout
        self._after_ms = after_ms
        self.lines = 0
        self.entries = 0
        self.first_ms: float | None = None
        self.last_ms: float | None = None
        self.damage: list[Damage] = []
        self.damaged: Counter[str] = Counter()
        self.backwards = 0
        self.full_disk_at: list[float] = []
        self.silences: list[tuple[float, float]] = []
        self._open = False
        self._second = b""
        self._hours: dict[bytes, float] = {}
        self._last: bytes = b""

    def found(self) -> Iterator[Found]:
        """Matched lines in the file's order. Raises DamagedArchive, OSError."""
        step = self._kafkas if self._layout.is_kafkas else self._others
        for block in self._source.blocks():
            yield from step(block)
            for number in self._source.too_long[self.damaged["too-long"] :]:
                self._damaged(number, "too-long", b"")
        if self._open:
            self._damaged(self.lines, "truncated", self._last)
        if self.last_ms is not None and self._last:
            self.last_ms = max(self.last_ms, self._time_of(self._last, self.last_ms))

    def _kafkas(self, block: list[bytes]) -> Iterator[Found]:
        """Kafka's own layout: `[` begins an entry, `(logger)` ends it."""
        keys, number, second, open_entry, last = DISPATCH.keys, self.lines, self._second, self._open, self._last
        entries = 0
        for line in block:
            number += 1
            if line[:2] != b"[2":
                if line[:1] in _INDENTED and line[-1:] != b")" and FULL_DISK not in line:
                    continue
                self.lines, self._open, self._last = number, open_entry, last
                self._continued(line)
                open_entry = self._open
                continue
            if line[-1:] != b")":
                line = line.rstrip(b"\r ")
            if b"\x1b" in line:
                line = _ESCAPES.sub(b"", line)
            if open_entry:
                self.lines = number
                self._damaged(number - 1, "truncated", last)
            open_entry = line[-1:] != b")"
            entries += 1
            if line[:20] != second:
                self.lines, self._open = number, open_entry
                if not self._timed(line):
                    open_entry = False
                second = line[:20]
            if open_entry and CONFIG in line:
                yield from self._config(line, number, last)
            elif line[-KEY_BYTES:] in keys:
                found = self._matched(line, number, last)
                if found is not None:
                    yield found
            last = line
        self.lines, self._second, self._open, self._last = number, second, open_entry, last
        self.entries += entries

    def _matched(self, line: bytes, number: int, before: bytes) -> Found | None:
        """The match of a whole entry; None: no form has it."""
        logger = line[line.rfind(b"(") + 1 : -1]
        header: tuple[float, bytes] | None = None
        for one in DISPATCH.of_logger.get(logger[logger.rfind(b".") + 1 :], ()):
            if one.needle not in line:
                continue
            if header is None:
                header = self._header(line)
                if header is None:
                    self._damaged(number, "truncated", line)
                    return None
            wall_ms, message = header
            fields = fields_of(one, message)
            if fields is not None:
                name = one.form.name
                before_ms = self._time_before(before, wall_ms) if name in BEGINNINGS else wall_ms
                return Found(wall_ms, name, fields, number, before_ms)
        return None

    def _header(self, line: bytes) -> tuple[float, bytes] | None:
        """(time, message) of a whole entry in Kafka's layout; the hour of the last entries is known."""
        base_ms, begin = self._hours.get(line[1:14]), line.find(b" ", 26) + 1
        minute, second, millis = line[15:17], line[18:20], line[21:24]
        if base_ms is None or line[20:21] != b"," or line[24:26] != b"] " or not (minute + second + millis).isdigit():
            header = self._layout.header(line)
            return None if header is None else (header.wall_ms, header.message)
        wall_ms = base_ms + int(minute) * 60_000 + int(second) * 1_000 + int(millis)
        return wall_ms, line[begin : line.rfind(b" (")]

    def _time_before(self, line: bytes, wall_ms: float) -> float:
        """Time of the entry before a start: a line, or the last one of the file before."""
        if line or self._after_ms is None:
            return self._time_of(line, wall_ms)
        return min(self._after_ms, wall_ms)

    def _time_of(self, line: bytes, default: float) -> float:
        """Time of an entry, whole or not."""
        header = self._layout.header(line) or self._layout.header(line + b" (x)")
        return default if header is None else header.wall_ms

    def _config(self, line: bytes, number: int, before: bytes) -> Iterator[Found]:
        found = self._layout.header(line + b" (kafka.server.KafkaConfig)")
        if found is not None:
            yield Found(found.wall_ms, "config", {}, number, self._time_before(before, found.wall_ms))

    def _others(self, block: list[bytes]) -> Iterator[Found]:
        header, match = self._layout.header, DISPATCH.match
        for line in block:
            self.lines += 1
            line = line.removesuffix(b"\r")
            if b"\x1b" in line:
                line = _ESCAPES.sub(b"", line)
            found = header(line)
            if found is None:
                self._continued(line)
                continue
            self.entries += 1
            self._last = line
            before_ms = self.last_ms if self.last_ms is not None else self._after_ms
            self._note_time(found.wall_ms)
            matched = match(found.logger, found.message)
            if matched is not None:
                yield Found(found.wall_ms, *matched, self.lines, found.wall_ms if before_ms is None else before_ms)

    def _continued(self, line: bytes) -> None:
        """A line that begins no entry."""
        if FULL_DISK in line and self.last_ms is not None:
            self.full_disk_at.append(self.last_ms)
        if not line.strip():
            return
        ends = line[-1:] == b")" and b"(" in line and line[-KEY_BYTES:] in DISPATCH.keys
        if self._open and line[-1:] == b")" and b" (" in line:
            self._open = False
            return
        if ends and self._layout.is_kafkas:
            self._damaged(self.lines, "headless", line)
        elif not self._open and not _CONTINUES.match(line):
            self._damaged(self.lines, "foreign", line)

    def _timed(self, line: bytes) -> bool:
        """Note an entry's time, in seconds; False: its date is none."""
        base_ms = self._hours.get(line[1:14])
        minute, second = line[15:17], line[18:20]
        if base_ms is not None and minute.isdigit() and second.isdigit() and line[14:15] == b":" == line[17:18]:
            self._note_time(base_ms + int(minute) * 60_000 + int(second) * 1_000)
            return True
        header = self._layout.header(line) or self._layout.header(line + b" (x)")
        if header is None:
            self._damaged(self.lines, "truncated", line)
            return False
        if minute.isdigit() and second.isdigit():
            whole_ms = header.wall_ms - header.wall_ms % 1_000
            self._hours = {line[1:14]: whole_ms - int(minute) * 60_000 - int(second) * 1_000}
        self._note_time(header.wall_ms)
        return True

    def _note_time(self, at: float) -> None:
        if self.last_ms is None:
            self.first_ms = at
            if self._after_ms is not None and at - self._after_ms >= SILENCE_MS:
                self.silences.append((at - self._after_ms, self._after_ms))
        elif at < self.last_ms:
            self.backwards += self.last_ms - at > BACKWARDS_MS
            return
        elif at - self.last_ms >= SILENCE_MS:
            self.silences.append((at - self.last_ms, self.last_ms))
            if len(self.silences) > 2 * SILENCES_KEPT_MAX:
                self.silences = sorted(self.silences, reverse=True)[:SILENCES_KEPT_MAX]
        self.last_ms = at

    def _damaged(self, number: int, what: str, text: bytes) -> None:
        self.damaged[what] += 1
        if len(self.damage) < DAMAGE_SHOWN_MAX:
            self.damage.append(Damage(number, what, text[:500]))
        self._open = self._open and what not in ("truncated",)


def layout_of(sample: Sequence[bytes], layouts: Sequence[LineLayout]) -> LineLayout | None:
    """The layout that most lines of a sample fit.

    None: fewer than STRAY_LINES_MIN fit any, and the others do not all continue an entry.
    """
    lines = [line for line in sample[:SAMPLE_LINES] if line.strip()]
    fitting = {index: [line for line in lines if _fits(layout, line)] for index, layout in enumerate(layouts)}
    best = max(fitting, key=lambda index: (len(fitting[index]), -index), default=None)
    if best is None or not fitting[best]:
        return None
    begun = {id(line) for line in fitting[best]}
    if len(begun) < STRAY_LINES_MIN and not all(id(line) in begun or _CONTINUES.match(line) for line in lines):
        return None
    return layouts[best]


def _fits(layout: LineLayout, line: bytes) -> bool:
    found = layout.header(_ESCAPES.sub(b"", line.removesuffix(b"\r")))
    return found is not None and (not layout.has_logger or b"." in found.logger)


def known_layouts(pattern: str | None, zone: tzinfo) -> list[LineLayout]:
    """The layout of `--pattern`, or all known ones. Raises UnusablePattern."""
    return [LineLayout(one, zone) for one in ((pattern,) if pattern else KNOWN_PATTERNS)]
