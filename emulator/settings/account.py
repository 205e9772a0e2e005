"""Notes on a run's settings: not modelled, dropped, replaced. Part of settings.json."""

from collections.abc import Iterable
from typing import Any

import msgspec


class NotModelled(msgspec.Struct, frozen=True):
    """A setting that is not modelled, with a value that can change a run.

    It can change `checks` in a run that lasts `from_ms` or longer (scenario time). `why`: the behaviour here. `where`:
    its source.
    """

    name: str
    value: Any
    checks: tuple[str, ...]
    why: str
    from_ms: float = 0.0
    where: str = ""

    def bears_on(self, check: str, lasted_ms: float) -> bool:
        return check in self.checks and lasted_ms >= self.from_ms


class Dropped(msgspec.Struct, frozen=True):
    """A given setting without effect, with the reason."""

    name: str
    why: str
    where: str = ""


class SetHere(msgspec.Struct, frozen=True):
    """A setting that the topology or the emulator sets. `instead`: the value, or its source."""

    name: str
    instead: str
    where: str = ""


class InForce(msgspec.Struct, frozen=True, rename={"requested": "asked"}):
    """A setting whose value in force differs from the given one, because of another bound."""

    name: str
    requested: Any
    value: Any
    because: str
    where: str = ""


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """All notes.

    `without_bearing`: names of accepted settings without effect, including harmless values of other settings.
    `passed_on`: names that are not Kafka's, which it would pass to plug-ins. `warnings`: values that Kafka accepts too,
    and that are probably mistakes.
    """

    not_modelled: tuple[NotModelled, ...] = ()
    without_bearing: tuple[str, ...] = ()
    set_here: tuple[SetHere, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    passed_on: tuple[str, ...] = ()
    in_force: tuple[InForce, ...] = ()
    warnings: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether there are any notes."""
        return any(getattr(self, field) for field in self.__struct_fields__)

    def doubts_about(self, check: str, lasted_ms: float) -> str:
        """Reason why a check of a run of that length cannot be judged; "": it can."""
        named = [f"{one.name}={one.value}" for one in self.not_modelled if one.bears_on(check, lasted_ms)]
        return f"{', '.join(dict.fromkeys(named))} could change it, and is not modelled" if named else ""

    def reasons_about(self, check: str, lasted_ms: float) -> list[str]:
        """The same, one sentence for each setting."""
        bearing = [one for one in self.not_modelled if one.bears_on(check, lasted_ms)]
        return [f"{one.name}={one.value}{_at(one.where)} is not modelled: {one.why}" for one in bearing]


def merged(*accounts: Account) -> Account:
    """All notes, each once."""
    notes: dict[str, dict[Any, None]] = {}
    for one in accounts:
        for name, values in msgspec.structs.asdict(one).items():
            notes.setdefault(name, {}).update(dict.fromkeys(values))
    return Account(**{name: tuple(values) for name, values in notes.items()})


def lines(account: Account) -> list[str]:
    """Text of the notes, one line each; settings without bearing share one."""
    text = [f"warning: {warning}" for warning in account.warnings]
    bounded = account.in_force
    text += [f"warning: {one.name}={one.requested} is in force as {one.value}: {one.because}" for one in bounded]
    for one in account.not_modelled:
        when = f" in a run of {one.from_ms / 1000:g} s or more" if one.from_ms else ""
        text.append(f"not modelled: {one.name}={one.value}{_at(one.where)} could change {', '.join(one.checks)}{when}")
    text += _together("dropped", [(one.name, _file(one.where), one.why) for one in account.dropped])
    text += _together("set here", [(one.name, "", one.instead) for one in account.set_here])
    if account.passed_on:
        text.append(f"not a known setting of Kafka, ignored: {', '.join(account.passed_on)}")
    if account.without_bearing:
        text.append(f"without bearing on replication: {', '.join(account.without_bearing)}")
    return text


def _at(where: str) -> str:
    return f" ({where})" if where else ""


def _file(where: str) -> str:
    """Without the line."""
    name, _, line = where.rpartition(":")
    return name if line.isdecimal() else where


def _together(what: str, named: Iterable[tuple[str, str, str]]) -> list[str]:
    """(name, where, why): names of one place and with one reason share a line."""
    alike: dict[tuple[str, str], list[str]] = {}
    for name, where, why in named:
        alike.setdefault((where, why), []).append(name)
    return [f"{what}: {', '.join(names)}{_at(where)}: {why}" for (where, why), names in alike.items()]
