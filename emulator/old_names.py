"""Old names of verbs, keys, options and fields, each with its present name. Pure.

A name is Kafka's, or that of the event's field, else the most frequent one. Every surface accepts an old name and gives
one notice. Recordings keep the old names of scenarios: their format is fixed.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, get_args

import msgspec

from protocol.link_rules import LinkFaultKind

Surface = Literal["scenario", "command", "http", "python", "sql"]
HOLD: Final = ("--kind", "hold")


class OldName(FutureWarning):
    """A notice for the user of an old name: one line with the new one."""


class Renamed(msgspec.Struct, frozen=True):
    """An old name.

    `of`: the verbs whose key it is; none: `old` and `name` are verbs, or tables of `sql`.

    `applies`: whether a value has the old meaning, where another meaning has the same name now.
    """

    old: str
    name: str
    surfaces: tuple[Surface, ...]
    of: tuple[str, ...] = ()
    applies: Callable[[object], bool] | None = None
    arguments: tuple[str, ...] = ()
    """Additional arguments of a command with the new name."""
    hint: str = ""
    """The end of its notice."""


def is_seconds(value: object) -> bool:
    """Whether the value of `pause` is a time, not nodes."""
    if isinstance(value, Mapping):
        return "s" in value
    return isinstance(value, int | float) and not isinstance(value, bool)


_DISK: Final = ("disk-full", "disk-error", "lose-disk")
RENAMED: Final = (
    Renamed("pause", "sleep", ("scenario",), applies=is_seconds, hint=", or 'pause: broker-N' to pause a node"),
    Renamed("pause-node", "pause", ("scenario",)),
    Renamed("resume-node", "resume", ("scenario",)),
    Renamed("release", "heal", ("command",), arguments=HOLD),
    Renamed("rate", "share", ("scenario",), ("loss",)),
    Renamed("ms", "delay_ms", ("python",), ("delay",)),
    Renamed("purposes", "only", ("command", "http"), (*get_args(LinkFaultKind), "break-links")),
    Renamed("dir", "directory", ("scenario", "command", "http"), _DISK),
    Renamed("takes_ms", "operation_ms", ("scenario", "command", "http", "python"), ("slow-disk",)),
    Renamed("keep", "batches_kept", ("command",), ("power-loss",)),
    Renamed("version", "kafka_version", ("scenario", "http"), ("start",)),
    Renamed("unset", "remove", ("command",), ("start",)),
    Renamed("configs", "settings", ("scenario",), ("create-topic", "alter-topic", "alter-broker")),
    Renamed("removed", "remove", ("http",), ("alter-topic", "alter-broker", "alter-brokers")),
    Renamed("targets", "partitions", ("http",), ("reassign",)),
    Renamed("rate_per_s", "rate", ("http",), ("start-workload",)),
    Renamed("from_offset", "offset", ("command",), ("consume",)),
    Renamed("max", "records_max", ("command",), ("consume",)),
    Renamed("records", "appends", ("sql",)),
)
"""Every old name. `of` has verbs; `break-links` is POST /v1/faults."""


def renamed_verb(surface: Surface, verb: str, value: object = None) -> Renamed | None:
    """The entry of an old verb with that value."""
    for one in RENAMED:
        if not one.of and one.old == verb and surface in one.surfaces and (one.applies is None or one.applies(value)):
            return one
    return None


def renamed_key(surface: Surface, verb: str, key: str) -> Renamed | None:
    """The entry of an old key of a verb."""
    return next((one for one in RENAMED if one.old == key and verb in one.of and surface in one.surfaces), None)


def as_recorded(verb: str, key: str = "") -> str:
    """The name that a recording has: the scenario's old one."""
    for one in RENAMED:
        if "scenario" in one.surfaces and one.applies is None:
            if key and one.name == key and verb in one.of:
                return one.old
            if not key and one.name == verb and not one.of:
                return one.old
    return key or verb


def notice(one: Renamed, where: str = "") -> str:
    """The line for the user. `where`: the verb, or the place of the name."""
    subject = f"{where}: " if where else ""
    now = " ".join((one.name, *one.arguments))
    return f"{subject}'{one.old}' is the old name of '{now}'; write '{now}'{one.hint}"


def current(surface: Surface, verb: str, given: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The values by the names of now, and a notice of each old name.

    Lists under both names are joined. Other values keep an old name whose new one is there, too, so that the surface
    refuses it.
    """
    named: dict[str, Any] = {}
    notices = []
    for key, value in given.items():
        one, lists = renamed_key(surface, verb, key), isinstance(value, list)
        if one is not None and (lists or one.name not in given):
            notices.append(notice(one, verb))
            key = one.name
        named[key] = [*named[key], *value] if lists and isinstance(named.get(key), list) else value
    return named, tuple(notices)
