"""One setting: its type, unit, range, and what its default is since which version."""

import re
from typing import Literal

import msgspec

from protocol.versions import since as is_since

Value = int | bool | str

BROKER, TOPIC, ENSEMBLE, PRODUCER, CONSUMER = "broker", "topic", "ensemble", "producer", "consumer"

Defaults = tuple[tuple[str, Value], ...]
"""(first version, value), oldest first."""

FIRST = "0.8.2"


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """`unit`: ms, bytes, ...; "" for truths and texts. `low` and `high` are allowed. `words`: all that a
    text may be. `form`: (a regular expression for the whole text, what that is in words).
    `since`, `until`: first and last version that has it; "" is open."""

    name: str
    kind: Literal["int", "bool", "text"]
    defaults: Defaults
    scope: str = BROKER
    unit: str = ""
    low: int | None = None
    high: int | None = None
    words: tuple[str, ...] = ()
    form: tuple[str, str] = ("", "")
    since: str = ""
    until: str = ""

    def exists_in(self, version: str) -> bool:
        begun = not self.since or is_since(version, self.since)
        return begun and (not self.until or is_since(self.until, version))

    def default_in(self, version: str) -> Value:
        """The last default that is not newer than `version`."""
        return [value for first, value in self.defaults if is_since(version, first)][-1]

    @property
    def lifetime(self) -> str:
        """`it came with 2.1`, `it went after 0.8.2`."""
        return f"it came with {self.since}" if self.since else f"it went after {self.until}"

    def read(self, value: object) -> tuple[str, Value]:
        """(what is wrong, ""; the value as this setting's type). Texts of command lines and recordings are
        understood."""
        if self.kind == "bool":
            return self._read_bool(value)
        if self.kind == "text":
            return self._read_text(value)
        return self._read_int(value)

    def _read_bool(self, value: object) -> tuple[str, Value]:
        if isinstance(value, bool):
            return "", value
        if value in ("true", "false"):
            return "", value == "true"
        return f"expected true or false, got {value!r}", False

    def _read_text(self, value: object) -> tuple[str, Value]:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return f"expected a text, got {value!r}", ""
        if self.words and str(value) not in self.words:
            return f"expected one of {', '.join(self.words)}, got {value!r}", ""
        pattern, meaning = self.form
        if pattern and not re.fullmatch(pattern, str(value)):
            return f"expected {meaning}, got {value!r}", ""
        return "", str(value)

    def _read_int(self, value: object) -> tuple[str, Value]:
        expected = f"a whole number of {self.unit}"
        if isinstance(value, str) and value.removeprefix("-").isdecimal():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            return f"expected {expected}, got {value!r}", 0
        if self.low is not None and value < self.low:
            return f"expected {expected}, at least {self.low}, got {value}", 0
        if self.high is not None and value > self.high:
            return f"expected {expected}, at most {self.high}, got {value}", 0
        return "", value


def _defaults(given: Value | tuple[Value | tuple[str, Value], ...]) -> Defaults:
    """10000 or (10000, ("2.5", 30000)): the first from the oldest version on."""
    if not isinstance(given, tuple):
        return ((FIRST, given),)
    first, *later = given
    assert not isinstance(first, tuple)
    changes = [change for change in later if isinstance(change, tuple)]
    return ((FIRST, first), *changes)


def _unit_of(name: str) -> str:
    return next((unit for unit in ("ms", "bytes") if name.endswith(f".{unit}")), "")


def integer(
    name: str,
    default: int | tuple[Value | tuple[str, Value], ...],
    unit: str = "",
    scope: str = BROKER,
    *,
    low: int = 0,
    high: int | None = None,
    since: str = "",
    until: str = "",
) -> Setting:
    return Setting(
        name=name, kind="int", defaults=_defaults(default), unit=unit or _unit_of(name), scope=scope,
        low=low, high=high, since=since, until=until,
    )  # fmt: skip


def boolean(
    name: str, default: bool | tuple[Value | tuple[str, Value], ...], *, scope: str = BROKER, since: str = ""
) -> Setting:
    return Setting(name=name, kind="bool", defaults=_defaults(default), scope=scope, since=since)


def text(
    name: str,
    default: str = "",
    *,
    words: tuple[str, ...] = (),
    form: tuple[str, str] = ("", ""),
    scope: str = BROKER,
    since: str = "",
) -> Setting:
    return Setting(
        name=name, kind="text", defaults=_defaults(default), words=words, form=form, scope=scope, since=since
    )
