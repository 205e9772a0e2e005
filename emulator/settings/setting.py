"""One setting: its type, unit, range, defaults by version, and versions.

Values are parsed as Kafka's ConfigDef does: surrounding blanks are dropped, `TRUE` is true, numbers have the range of
their type, words are case-sensitive.
"""

import math
import re
from typing import Any, Literal

import msgspec

from protocol.versions import since as is_since

Value = int | float | bool | str

BROKER, TOPIC, ENSEMBLE, PRODUCER, CONSUMER = "broker", "topic", "ensemble", "producer", "consumer"
PREFIXES = {BROKER: "", TOPIC: "topic.", ENSEMBLE: "", PRODUCER: "producer.", CONSUMER: "consumer."}
"""{scope: prefix of Kafka's name where settings of several kinds meet}"""

Kind = Literal["int", "long", "short", "double", "bool", "text", "list", "class", "password"]
NUMBERS: dict[str, tuple[int, int]] = {
    "short": (-(2**15), 2**15 - 1),
    "int": (-(2**31), 2**31 - 1),
    "long": (-(2**63), 2**63 - 1),
}
"""Ranges of Kafka's whole numbers."""
LONG_MAX = 2**63 - 1
INT_MAX = 2**31 - 1
DOUBLE_MAX = 1.7976931348623157e308

Defaults = tuple[tuple[str, Value | None], ...]
"""(first version, value), oldest first; None: it is not set."""
Bounds = tuple[tuple[str, float | None], ...]
"""(first version, bound), oldest first; None: there is none."""

FIRST = "0.8.2"

Update = Literal["", "cluster-wide", "per-broker", "per-client"]
"""Update mode of a setting in running brokers (KIP-226), in Kafka's words.

`per-client`: of users, clients and addresses, which no file has.
"""
ALTERED: tuple[Update, ...] = ("cluster-wide", "per-broker")
"""Update modes of one broker's overrides."""
CLUSTER_WIDE: dict[str, Any] = {"update": "cluster-wide", "update_since": "1.1"}
PER_BROKER: dict[str, Any] = {"update": "per-broker", "update_since": "1.1"}


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """A setting.

    `name`: Kafka's own. `unit`: ms, bytes, ...; "" for booleans and texts. `low` and `high` are allowed. `words`:
    values that a text, or each part of a list, may have; `words_since`, `words_until`: those of some versions. `form`:
    (a regular expression for the whole text, its description). `since`, `until`: first and last version that has it; ""
    is open. `follows`: the setting whose value in force is the default. `update`: how it can be altered in a running
    broker, since `update_since`; `only_update`: in no other way. `scala`: of the clients removed in 2.0; `java`: the
    Java clients' name.
    """

    name: str
    kind: Kind
    defaults: Defaults
    scope: str = BROKER
    unit: str = ""
    low: Bounds = ((FIRST, None),)
    high: Bounds = ((FIRST, None),)
    words: tuple[str, ...] = ()
    words_since: tuple[tuple[str, str], ...] = ()
    words_until: tuple[tuple[str, str], ...] = ()
    form: tuple[str, str] = ("", "")
    since: str = ""
    until: str = ""
    follows: str = ""
    update: Update = ""
    update_since: str = ""
    only_update: bool = False
    scala: bool = False
    java: str = ""

    @property
    def key(self) -> str:
        """The name where settings of several kinds meet: `producer.acks`."""
        return PREFIXES[self.scope] + self.name

    def exists_in(self, version: str) -> bool:
        begun = not self.since or is_since(version, self.since)
        return begun and (not self.until or is_since(self.until, version))

    def default_in(self, version: str) -> Value | None:
        """The last default that is not newer than `version`; None: it is not set."""
        return [value for first, value in self.defaults if is_since(version, first)][-1]

    def can_be_altered_in(self, version: str) -> bool:
        """Whether it can be altered at run time; a topic's always can."""
        updated = self.scope == TOPIC or (bool(self.update) and is_since(version, self.update_since))
        return updated and self.exists_in(version)

    @property
    def lifetime(self) -> str:
        """`it came with 2.1`, `it went after 0.8.2`, or both."""
        came = f"it came with {shown_version(self.since)}" if self.since else ""
        went = f"it went after {shown_version(self.until)}" if self.until else ""
        return " and ".join(word for word in (came, went) if word).replace(" and it ", " and ")

    def range_in(self, version: str | None) -> tuple[float | None, float | None]:
        """Least and most; without a version, the widest of all."""
        if version is not None:
            return _bound(self.low, version), _bound(self.high, version)
        lows, highs = [low for _, low in self.low], [high for _, high in self.high]
        least = None if None in lows else min(low for low in lows if low is not None)
        most = None if None in highs else max(high for high in highs if high is not None)
        return least, most

    def words_in(self, version: str | None) -> tuple[str, ...]:
        """Without a version, those of all."""
        late = [word for word, first in self.words_since if version is None or is_since(version, first)]
        early = [word for word, last in self.words_until if version is None or is_since(last, version)]
        return (*self.words, *late, *early)

    def read(self, value: object, version: str | None = None) -> tuple[str, Value]:
        """(problem, or ""; the value as this setting's type).

        Accepts texts of command lines, files and recordings.
        """
        if isinstance(value, str):
            value = value.strip()
        match self.kind:
            case "bool":
                return self._read_bool(value)
            case "double":
                return self._read_double(value, version)
            case "int" | "long" | "short":
                return self._read_whole(value, version)
            case _:
                return self._read_text(value, version)

    def _read_bool(self, value: object) -> tuple[str, Value]:
        if isinstance(value, bool):
            return "", value
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return "", value.lower() == "true"
        return f"expected true or false, got {value!r}", False

    def _read_text(self, value: object, version: str | None) -> tuple[str, Value]:
        if self.kind == "list" and isinstance(value, list | tuple):
            value = ",".join(map(str, value))
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return f"expected a text, got {value!r}", ""
        text = str(value)
        words = self.words_in(version)
        parts = [part.strip() for part in text.split(",")] if self.kind == "list" else [text]
        if words and any(part not in words for part in parts if part or self.kind != "list"):
            return f"expected {'some' if self.kind == 'list' else 'one'} of {', '.join(words)}, got {value!r}", ""
        pattern, meaning = self.form
        if pattern and not re.fullmatch(pattern, text):
            return f"expected {meaning}, got {value!r}", ""
        return "", text

    def _read_double(self, value: object, version: str | None) -> tuple[str, Value]:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return f"expected a number, got {value!r}", 0.0
        try:
            number = float(value)
        except ValueError:
            return f"expected a number, got {value!r}", 0.0
        if math.isnan(number):
            return f"expected a number, got {value!r}", 0.0
        return self._within(number, "a number", version), number

    def _read_whole(self, value: object, version: str | None) -> tuple[str, Value]:
        expected = f"a whole number of {self.unit}" if self.unit else "a whole number"
        if isinstance(value, str) and re.fullmatch(r"[+-]?\d{1,30}", value, re.ASCII):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            return f"expected {expected}, got {value!r}", 0
        return self._within(value, expected, version), value

    def _within(self, value: float, expected: str, version: str | None) -> str:
        low, high = self.range_in(version)
        least, most = NUMBERS.get(self.kind, (None, None))
        low, high = (least if low is None else low), (most if high is None else high)
        if low is not None and value < low:
            return f"expected {expected}, at least {low}, got {value}"
        if high is not None and value > high:
            return f"expected {expected}, at most {high}, got {value}"
        return ""


def shown_version(version: str) -> str:
    """As Kafka's minor releases are called: 2.0, not 2.0.0."""
    return version.removesuffix(".0") if version == "2.0.0" else version


def _bound(bounds: Bounds, version: str) -> float | None:
    return [bound for first, bound in bounds if is_since(version, first)][-1]


# --- one line of a table ---

Stepped = Any
"""A value, or (the first one, (version, the next), ...)."""


def _steps(given: Stepped) -> tuple[tuple[str, Any], ...]:
    """10000 or (10000, ("2.5", 30000)): the first from the oldest version on."""
    if not isinstance(given, tuple):
        return ((FIRST, given),)
    first, *later = given
    return ((FIRST, first), *later)


def _unit_of(name: str) -> str:
    units = {"ms": "ms", "bytes": "bytes", "minutes": "minutes", "hours": "h", "seconds": "s", "secs": "s"}
    return units.get(name.rpartition(".")[2], "")


def integer(
    name: str,
    default: Stepped = None,
    unit: str = "",
    *,
    low: Stepped = None,
    high: Stepped = None,
    kind: Kind = "int",
    **about: Any,
) -> Setting:
    unit = unit or _unit_of(name)
    return Setting(
        name=name, kind=kind, defaults=_steps(default), unit=unit, low=_steps(low), high=_steps(high), **about
    )


def long(name: str, default: Stepped = None, unit: str = "", **about: Any) -> Setting:
    return integer(name, default, unit, kind="long", **about)


def short(name: str, default: Stepped = None, unit: str = "", **about: Any) -> Setting:
    return integer(name, default, unit, kind="short", **about)


def double(name: str, default: Stepped = None, unit: str = "", **about: Any) -> Setting:
    return integer(name, default, unit, kind="double", **about)


def boolean(name: str, default: Stepped = False, **about: Any) -> Setting:
    return Setting(name=name, kind="bool", defaults=_steps(default), **about)


def text(name: str, default: Stepped = "", *, kind: Kind = "text", **about: Any) -> Setting:
    return Setting(name=name, kind=kind, defaults=_steps(default), **about)


def listing(name: str, default: Stepped = "", **about: Any) -> Setting:
    """Parts with commas between."""
    return text(name, default, kind="list", **about)


def class_name(name: str, default: Stepped = "", **about: Any) -> Setting:
    return text(name, default, kind="class", **about)


def password(name: str, **about: Any) -> Setting:
    return text(name, kind="password", **about)
