"""Layouts of log lines: log4j and log4j2 conversion patterns, and the dates in them.

    [%d] %p %m (%c)%n                       Kafka's own configuration, all versions
    %d{yyyy-MM-dd HH:mm:ss,SSS} %p [%t] %c - %m%n

A layout is compiled to one regular expression over the bytes of a line. Of the converters `d`, `p`, `c` and `m` are
read; `t`, `x`, `X`, `C`, `F`, `L`, `M`, `r` and `n` are skipped.
"""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

KAFKA_PATTERN: Final = "[%d] %p %m (%c)%n"
"""Pattern of Kafka's config/log4j.properties, and of log4j2.yaml from 4.0 on."""
KNOWN_PATTERNS: Final = (
    KAFKA_PATTERN,
    "%d{ISO8601} %p %m (%c) [%t]%n",
    "%d{ISO8601} %p [%t] %c: %m%n",
    "%d %-5p [%t] %c - %m%n",
    "[%d] [%p] [%t] %c - %m%n",
    "%d %p %c: %m%n",
    "%d %p %m (%c)%n",
)
"""Patterns recognized without `--pattern`: Kafka's, and those of common distributions."""
_CONVERTER: Final = re.compile(r"%(-?\d*(?:\.-?\d+)?)([A-Za-z]+)(?:\{([^}]*)\})?(?:\{([^}]*)\})?")
_DATE_NAMES: Final = {
    "": "yyyy-MM-dd HH:mm:ss,SSS",
    "ISO8601": "yyyy-MM-dd HH:mm:ss,SSS",
    "DEFAULT": "yyyy-MM-dd HH:mm:ss,SSS",
    "ISO8601_BASIC": "yyyyMMdd'T'HHmmss,SSS",
    "ISO8601_OFFSET_DATE_TIME_HHMM": "yyyy-MM-dd'T'HH:mm:ss,SSSXX",
    "ISO8601_OFFSET_DATE_TIME_HHCMM": "yyyy-MM-dd'T'HH:mm:ss,SSSXXX",
    "DATE": "dd MMM yyyy HH:mm:ss,SSS",
    "COMPACT": "yyyyMMddHHmmssSSS",
    "UNIX_MILLIS": "",
}
_DATE_TOKEN: Final = re.compile(r"'([^']*)'|(y+|M+|d+|H+|m+|s+|S+|X+|Z+|z+)|(.)", re.DOTALL)
_TOKEN_PATTERNS: Final = {"M": r"\d{1,2}", "d": r"\d{1,2}", "H": r"\d{1,2}", "m": r"\d{1,2}", "s": r"\d{1,2}"}
_GROUPS: Final = {"y": "year", "M": "month", "d": "day", "H": "hour", "m": "minute", "s": "second", "S": "fraction"}
_ZONE: Final = r"Z|UTC|GMT|[+-]\d\d:?(?:\d\d)?"
_MONTHS: Final = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), start=1
    )
}
_SKIPPED: Final = {"t", "tn", "thread", "x", "NDC", "X", "MDC", "C", "class", "F", "file", "L", "line", "M", "method",
                   "l", "location", "r", "relative", "pid", "T", "tid"}  # fmt: skip


class UnusablePattern(ValueError):
    """A conversion pattern that cannot be read; the message says why."""


class UnknownZone(ValueError):
    """A time zone that this machine does not know."""


class Header(NamedTuple):
    """Fields of a line that begins an entry; `message` is the bytes after them."""

    wall_ms: float
    level: str
    logger: bytes
    message: bytes


class LineLayout:
    """A compiled conversion pattern, in a time zone."""

    def __init__(self, pattern: str, zone: tzinfo = UTC) -> None:
        """Raises UnusablePattern."""
        self.pattern = pattern
        self._zone = zone
        self._expression = _compiled(pattern)
        self._times = lru_cache(maxsize=4096)(self._wall_ms)
        self._names = set(self._expression.groupindex)
        self.is_kafkas = pattern.removesuffix("%n") == KAFKA_PATTERN.removesuffix("%n")

    @property
    def has_logger(self) -> bool:
        return "logger" in self._names

    def header(self, line: bytes) -> Header | None:
        """Fields of a line, without its end; None: it begins no entry, or its date is none."""
        found = self._expression.match(line)
        if found is None:
            return None
        date = tuple(found[name] if name in self._names else None for name in _DATE_GROUPS)
        wall_ms = self._times(date)
        if wall_ms is None:
            return None
        level = found["level"].decode("ascii", "replace") if "level" in self._names else ""
        return Header(wall_ms, level, found["logger"] if "logger" in self._names else b"", found["message"])

    def _wall_ms(self, date: tuple[bytes | None, ...]) -> float | None:
        millis, year, month, day, hour, minute, second, fraction, zone = (
            None if part is None else part.decode("ascii", "replace") for part in date
        )
        if millis is not None:
            return float(millis)
        try:
            number = int(month) if month and month.isdigit() else _MONTHS.get((month or "1")[:3].lower(), 0)
            at = datetime(
                int(year or 1970), number, int(day or 1), int(hour or 0), int(minute or 0), int(second or 0),
                tzinfo=_offset(zone) or self._zone,
            )  # fmt: skip
            return round(at.timestamp() * 1000) + int((fraction or "0")[:3].ljust(3, "0"))
        except (ValueError, OverflowError):
            return None


_DATE_GROUPS: Final = ("millis", "year", "month", "day", "hour", "minute", "second", "fraction", "zone")


def zone_named(name: str) -> tzinfo:
    """A time zone: `UTC`, `+02:00`, or a name such as `Europe/Vienna`. Raises UnknownZone."""
    offset = _offset(name.upper())
    if offset is not None:
        return offset
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise UnknownZone(
            f"time zone {name!r}: this machine does not know it; name one such as UTC, +02:00 or Europe/Vienna"
        ) from error


def _offset(zone: str | None) -> tzinfo | None:
    if not zone:
        return None
    if zone in ("Z", "UTC", "GMT"):
        return UTC
    found = re.fullmatch(r"([+-])(\d\d):?(\d\d)?", zone)
    if found is None or int(found[2]) > 14:
        return None
    minutes = int(found[2]) * 60 + int(found[3] or 0)
    return timezone(timedelta(minutes=minutes if found[1] == "+" else -minutes))


def _compiled(pattern: str) -> re.Pattern[bytes]:
    parts: list[str] = []
    seen: set[str] = set()
    position = 0
    text = pattern.removesuffix("%n")
    for found in _CONVERTER.finditer(text):
        parts.append(_literal(text[position : found.start()]))
        parts.append(_converter(pattern, found, seen))
        position = found.end()
    parts.append(_literal(text[position:]))
    for needed, what in (("date", "%d"), ("message", "%m")):
        if needed not in seen:
            raise UnusablePattern(f"pattern {pattern!r}: has no {what}; a line needs its date and its message")
    return re.compile("".join(parts).encode() + rb"\s*\Z", re.DOTALL)


def _literal(text: str) -> str:
    return re.sub(r"(?:\\ )+", " +", re.escape(text.replace("%%", "%")))


def _converter(pattern: str, found: re.Match[str], seen: set[str]) -> str:
    width, name, option = found[1], found[2], found[3]
    blanks = " *" if width else ""
    if name in ("d", "date"):
        _once(pattern, "date", seen)
        return _date(pattern, option or "")
    if name in ("p", "level"):
        return f"{blanks}(?P<level>[A-Z]+){blanks}"
    if name in ("c", "logger"):
        return rf"{blanks}(?P<logger>[\w.$/-]+){blanks}"
    if name in ("m", "msg", "message"):
        _once(pattern, "message", seen)
        return "(?P<message>.*)"
    if name in ("n", "ex", "throwable", "xEx", "rEx"):
        return ""
    if name in _SKIPPED:
        return ".*?"
    raise UnusablePattern(f"pattern {pattern!r}: unknown converter %{name}; known are %d %p %c %m %t %x %X %n")


def _once(pattern: str, name: str, seen: set[str]) -> None:
    if name in seen:
        raise UnusablePattern(f"pattern {pattern!r}: has the {name} twice; one is needed")
    seen.add(name)


def _date(pattern: str, option: str) -> str:
    format_ = _DATE_NAMES.get(option, option)
    if not format_:
        return r"(?P<millis>\d{11,14})"
    parts: list[str] = []
    named: set[str] = set()
    for quoted, token, other in _DATE_TOKEN.findall(format_):
        if other:
            parts.append("[ T]" if other == " " else "[.,]" if other in ",." else re.escape(other))
        elif not token:
            parts.append("[ T]" if quoted == "T" else re.escape(quoted))
        elif token[0] in "XZz":
            parts.append(f"(?P<zone>{_ZONE})")
        else:
            group = _GROUPS[token[0]]
            if group in named:
                raise UnusablePattern(f"pattern {pattern!r}: its date has the {group} twice")
            named.add(group)
            parts.append(f"(?P<{group}>{_token(token)})")
    lacking = sorted({"year", "month", "day", "hour", "minute", "second"} - named)
    if lacking:
        raise UnusablePattern(f"pattern {pattern!r}: its date lacks {', '.join(lacking)}; lines of days look alike")
    zone = "" if "(?P<zone>" in "".join(parts) else rf"(?: ?(?P<zone>{_ZONE}))?"
    return "".join(parts) + zone


def _token(token: str) -> str:
    if token[0] == "y":
        return r"\d{4}"
    if token[0] == "S":
        return r"\d{1,9}"
    if token.startswith("MMM"):
        return "[A-Za-z]{3,9}"
    return rf"\d{{{len(token)}}}" if len(token) == 2 else _TOKEN_PATTERNS[token[0]]
