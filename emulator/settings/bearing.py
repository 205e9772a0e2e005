"""Standing of a setting: modelled, without bearing on replication, set here, not modelled.

Of a setting that is not modelled, a table lists the checks that it can change, at which values, and from which scenario
time on. A default value, or one that can change nothing, is harmless.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from emulator.check_table import CHECKS, checks_of
from emulator.settings.setting import BROKER, Setting, Value

Standing = Literal["modelled", "without bearing", "set here", "not modelled"]
MODELLED: Standing = "modelled"
WITHOUT_BEARING: Standing = "without bearing"
SET_HERE: Standing = "set here"
NOT_MODELLED: Standing = "not modelled"

WRITES = checks_of("writes")
"""Checks of produced records."""
READS = (*checks_of("batches read"), *checks_of("positions"))
"""Checks of consumers' reads."""
RECORDS = checks_of("records")
"""Checks of records."""
CONTENT = (*RECORDS, *checks_of("bytes"))
"""Checks of records and their bytes."""
TERMS = checks_of("leaders")
"""Checks of terms of leaders."""
ALL = tuple(CHECKS)
"""Every check: for settings that change connections and timing."""


class Around(msgspec.Struct, frozen=True, kw_only=True):
    """Other settings in force beside a value.

    `broker`: by Kafka's names, defaults included; `topic`: a topic's own, for a topic's value.
    """

    version: str
    broker: Mapping[str, Any]
    topic: Mapping[str, Any] = {}

    def of_log(self, of_topic: str, *of_broker: tuple[str, float]) -> float:
        """A log's own value of `of_topic`, else the first of `of_broker` (name, factor) that is set.

        -1: unlimited.
        """
        given = [(self.topic.get(of_topic), 1.0), *((self.broker.get(name), factor) for name, factor in of_broker)]
        value, factor = next(((value, factor) for value, factor in given if value is not None), (-1, 1.0))
        return float("inf") if float(value) < 0 else float(value) * factor


FromMs = Callable[[Value, Around], float | None]
"""Scenario time from which a value can change a run, in ms; None: never."""


class Bears(msgspec.Struct, frozen=True):
    """Bearing of a value. `words`: the values that can change a run, as text."""

    words: str
    from_ms: FromMs


ALWAYS = Bears("any but the default", lambda value, around: 0.0)


def unless(*harmless: str) -> Bears:
    return Bears("not: " + ", ".join(harmless), lambda value, around: None if value in harmless else 0.0)


def below(least: int) -> Bears:
    return Bears(f"below {least}", lambda value, around: 0.0 if float(value) < least else None)


def from_itself(words: str = "in a run as long as that") -> Bears:
    """A time: no effect before so many ms have passed."""
    return Bears(words, lambda value, around: float(value) if float(value) >= 0 else None)


# --- groups of a table ---


class Group(msgspec.Struct, frozen=True):
    """Settings of one subject and standing.

    `why`: one sentence. `bears`: {name: values that are not modelled and can change a run}, and `checks`: the checks
    whose result they can change. A modelled setting may have such values, too.
    """

    title: str
    standing: Standing
    why: str
    settings: tuple[Setting, ...]
    checks: tuple[str, ...] = ()
    bears: Mapping[str, Bears] = {}


def modelled(title: str, *settings: Setting, scope: str = BROKER) -> Group:
    return Group(title, MODELLED, "", _of(scope, settings))


def modelled_in_part(
    title: str, why: str, checks: tuple[str, ...], *given: tuple[Setting, Bears], scope: str = BROKER
) -> Group:
    """Modelled settings, some of whose values are not."""
    return msgspec.structs.replace(not_modelled(title, why, checks, *given, scope=scope), standing=MODELLED)


def without_bearing(title: str, why: str, *settings: Setting, scope: str = BROKER) -> Group:
    return Group(title, WITHOUT_BEARING, why, _of(scope, settings))


def set_here(title: str, why: str, *settings: Setting, scope: str = BROKER) -> Group:
    return Group(title, SET_HERE, why, _of(scope, settings))


def not_modelled(
    title: str, why: str, checks: tuple[str, ...], *given: tuple[Setting, Bears], scope: str = BROKER
) -> Group:
    settings = _of(scope, tuple(setting for setting, _ in given))
    return Group(title, NOT_MODELLED, why, settings, checks, {setting.name: bears for setting, bears in given})


def _of(scope: str, settings: tuple[Setting, ...]) -> tuple[Setting, ...]:
    return tuple(msgspec.structs.replace(setting, scope=scope) for setting in settings)
