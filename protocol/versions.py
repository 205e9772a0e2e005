"""Kafka's versions: the ladders of those that are played, and the names that stand for them.

ZooKeeper mode has a ladder up to 3.9, KRaft one from 3.3 on; both are parts of `VERSIONS`.
"""

from functools import lru_cache

LADDER: tuple[str, ...] = (
    "0.8.2",
    "0.10.2",
    "0.11",
    "1.0",
    "1.1",
    "2.0.0",
    "2.0.1",
    "2.1",
    "2.2",
    "2.3",
    "2.4",
    "2.5",
    "2.6",
    "2.7",
    "2.8",
    "3.0",
    "3.1",
    "3.2",
    "3.3",
    "3.4",
    "3.5",
    "3.6",
    "3.7",
    "3.8",
    "3.9",
)
"""Every version emulated with ZooKeeper, oldest first.

Each is its last patch release (1.0 as 1.0.2).
"""
VERSIONS: tuple[str, ...] = (*LADDER, "4.0", "4.1", "4.2", "4.3", "4.4")
"""Every version emulated, oldest first; Kafka has no ZooKeeper mode from 4.0 on."""
KRAFT_LADDER: tuple[str, ...] = VERSIONS[LADDER.index("3.3") :]
"""Every version emulated in KRaft mode, which is for production from 3.3 on (KIP-833)."""

BETWEEN: tuple[str, ...] = ("0.9", "0.10.0", "0.10.1")
"""Kafka's minor releases between the ladder's first two steps, which are not emulated.

Tables of first versions may name them.
"""

DEFAULT_VERSION = "2.6"

_ALIASES = {"2.0": "2.0.1", "0.11.0": "0.11", "0.8": "0.8.2", "0.10": "0.10.2"}


class UnknownVersion(ValueError):
    """A version that is on no ladder; the message names those that are."""


def rank(version: str) -> int:
    """Position in VERSIONS; accepts patch releases (`2.6.3` is 2.6, `0.10.2.2` is 0.10.2).

    Raises UnknownVersion."""
    name = _ALIASES.get(version, version)
    best = -1
    for index, step in enumerate(VERSIONS):
        if name == step or name.startswith(step + "."):
            best = index
    if best < 0:
        raise UnknownVersion(f"unknown Kafka version {version!r}; one of: {', '.join(VERSIONS)}")
    return best


def ladder_name(version: str) -> str:
    """`2.6.3` -> `2.6`. Raises UnknownVersion."""
    return VERSIONS[rank(version)]


def releases() -> tuple[str, ...]:
    """All of Kafka's minor releases, oldest first."""
    return (VERSIONS[0], *BETWEEN, *VERSIONS[1:])


@lru_cache(maxsize=256)
def _place(version: str) -> int:
    if version in BETWEEN:
        return 1 + BETWEEN.index(version)
    place = rank(version)
    return place + len(BETWEEN) if place else 0


def since(version: str, first: str) -> bool:
    """Whether `version` is `first` or newer; either may be any of `releases`.

    For tables of defaults and gates only.
    """
    return _place(version) >= _place(first)


def has_zookeeper_mode(version: str) -> bool:
    """Whether Kafka has it. Raises UnknownVersion."""
    return not since(ladder_name(version), "4.0")


def has_kraft_mode(version: str) -> bool:
    """Whether Kafka has it for production (KIP-833). Raises UnknownVersion."""
    return since(ladder_name(version), KRAFT_LADDER[0])


Steps = tuple[tuple[str, str], ...]
"""Values with the version from which they hold: [(first version, value)], oldest first."""


def in_force(version: str, steps: Steps) -> str:
    """The value of the last step that `version` has reached; the first is the oldest version's."""
    assert steps[0][0] == LADDER[0], steps
    return [value for first, value in steps if since(version, first)][-1]


PROTOCOL_VERSIONS: dict[str, str] = {
    "0.8.0": "", "0.8.1": "", "0.8.2": "", "0.9.0": "", "0.10.0": "IV1", "0.10.1": "IV2", "0.10.2": "IV0",
    "0.11.0": "IV2", "1.0": "IV0", "1.1": "IV0", "2.0": "IV1", "2.1": "IV2", "2.2": "IV1", "2.3": "IV1", "2.4": "IV1",
    "2.5": "IV0", "2.6": "IV0", "2.7": "IV2", "2.8": "IV1", "3.0": "IV1", "3.1": "IV0", "3.2": "IV0", "3.3": "IV3",
    "3.4": "IV0", "3.5": "IV2", "3.6": "IV2", "3.7": "IV4", "3.8": "IV0", "3.9": "IV0",
}  # fmt: skip
"""Values of inter.broker.protocol.version and log.message.format.version (ApiVersion).

Each has its last internal version, `2.7-IV2`, which is the same as `2.7`.
"""


def protocol_release(text: str) -> str:
    """`2.7`, `2.7.2` or `2.7-IV2` -> `2.7`, one of PROTOCOL_VERSIONS. Raises UnknownVersion."""
    parts = text.partition("-")[0].split(".")
    short = ".".join(parts[: 3 if parts[0] == "0" else 2])
    short = {"0.11": "0.11.0"}.get(short, short)
    if short not in PROTOCOL_VERSIONS:
        raise UnknownVersion(f"unknown protocol version {text!r}; one of: {', '.join(PROTOCOL_VERSIONS)}")
    return short


def protocol_version(text: str) -> str:
    """The ladder's version of an inter.broker.protocol.version. Raises UnknownVersion.

    Errors: no such version, one that is not emulated, or an internal version between releases.
    """
    short, internal = protocol_release(text), text.partition("-")[2]
    if internal and internal != PROTOCOL_VERSIONS[short]:
        raise UnknownVersion(f"protocol version {text!r} lies between releases, and those alone are played: {short}")
    if text in LADDER:
        return text
    return "2.0.0" if short == "2.0" else ladder_name(short)


def message_format_magic(text: str) -> int:
    """Record format of a log.message.format.version: 0, 1 or 2. Raises UnknownVersion."""
    order = list(PROTOCOL_VERSIONS)
    place = order.index(protocol_release(text))
    return sum(place >= order.index(first) for first in ("0.10.0", "0.11.0"))


class UnusableProtocolVersion(ValueError):
    """inter.broker.protocol.version newer than the binary."""
