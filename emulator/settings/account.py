"""What is said about a run's settings: which are not modelled, which count for nothing, what else is in force than was
asked for. A part of settings.json and of verdict.json."""

from collections.abc import Iterable
from typing import Any

import msgspec


class NotModelled(msgspec.Struct, frozen=True):
    """A setting with a bearing on replication that is not modelled, at a value that can change something: `checks`,
    in a run that lasts `from_ms` or longer (scenario time). `why`: what is here instead. `where`: who gave it."""

    name: str
    value: Any
    checks: tuple[str, ...]
    why: str
    from_ms: float = 0.0
    where: str = ""

    def bears_on(self, check: str, lasted_ms: float) -> bool:
        return check in self.checks and lasted_ms >= self.from_ms


class Dropped(msgspec.Struct, frozen=True):
    """A setting that was given and counts for nothing, and why."""

    name: str
    why: str
    where: str = ""


class SetHere(msgspec.Struct, frozen=True):
    """A setting that the topology or the emulator itself sets. `instead`: to what, or how."""

    name: str
    instead: str
    where: str = ""


class InForce(msgspec.Struct, frozen=True):
    """A setting whose value in force is not the one that was asked for, because something else bounds it."""

    name: str
    asked: Any
    value: Any
    because: str
    where: str = ""


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """`without_bearing`: names of what is accepted and changes nothing, harmless values of other settings among them.
    `passed_on`: names that are not Kafka's, which it would pass to plug-ins. `warnings`: what Kafka accepts, too, and
    hardly anybody means."""

    not_modelled: tuple[NotModelled, ...] = ()
    without_bearing: tuple[str, ...] = ()
    set_here: tuple[SetHere, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    passed_on: tuple[str, ...] = ()
    in_force: tuple[InForce, ...] = ()
    warnings: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is anything to say."""
        return any(getattr(self, field) for field in self.__struct_fields__)

    def doubts_about(self, check: str, lasted_ms: float) -> str:
        """Why a check of a run that lasted so long cannot be judged; "": it can."""
        named = [f"{one.name}={one.value}" for one in self.not_modelled if one.bears_on(check, lasted_ms)]
        return f"{', '.join(dict.fromkeys(named))} could change it, and is not modelled" if named else ""

    def reasons_about(self, check: str, lasted_ms: float) -> list[str]:
        """The same, one sentence for each setting."""
        bearing = [one for one in self.not_modelled if one.bears_on(check, lasted_ms)]
        return [f"{one.name}={one.value}{_at(one.where)} is not modelled: {one.why}" for one in bearing]


def merged(*accounts: Account) -> Account:
    """What all of them say, each thing once."""
    told: dict[str, dict[Any, None]] = {}
    for one in accounts:
        for name, said in msgspec.structs.asdict(one).items():
            told.setdefault(name, {}).update(dict.fromkeys(said))
    return Account(**{name: tuple(said) for name, said in told.items()})


def lines(account: Account) -> list[str]:
    """For people, one line for each thing to say; settings without bearing share one."""
    told = [f"warning: {warning}" for warning in account.warnings]
    told += [f"warning: {one.name}={one.asked} is in force as {one.value}: {one.because}" for one in account.in_force]
    for one in account.not_modelled:
        when = f" in a run of {one.from_ms / 1000:g} s or more" if one.from_ms else ""
        told.append(f"not modelled: {one.name}={one.value}{_at(one.where)} could change {', '.join(one.checks)}{when}")
    told += _together("dropped", [(one.name, _file(one.where), one.why) for one in account.dropped])
    told += _together("set here", [(one.name, "", one.instead) for one in account.set_here])
    if account.passed_on:
        told.append(f"not Kafka's own, ignored: {', '.join(account.passed_on)}")
    if account.without_bearing:
        told.append(f"without bearing on replication: {', '.join(account.without_bearing)}")
    return told


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
