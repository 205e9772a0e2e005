"""Searches the smallest change of settings that ends a violation: parts, then pairs of them.

All changes of one size are tried before larger ones, so no part of a result suffices alone. Pure.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Final

import msgspec

from emulator.check_table import ADVICE
from emulator.judging.advice.advice_runs import IDEMPOTENT, Choice
from emulator.judging.advice.outcomes import Outcome
from emulator.settings.setting import BROKER
from emulator.settings.setting_registry import BY_SCOPE
from protocol.versions import KRAFT_LADDER, LADDER, ladder_name, since

PARTS_MAX: Final = 2
SAFE_VERSION: Final = "2.8"
"""Version that a change names for an older one with ZooKeeper; else the mode's newest."""
ELIGIBLE: Final = "eligible.leader.replicas.version"
"""Feature of KIP-966; a new cluster has it from 4.1 on."""
VERSION: Final = "--kafka-version"
IN_SYNC: Final = "min.insync.replicas=2"
OF_THE_TOPIC: Final = {
    "min.insync.replicas": "topic.min.insync.replicas",
    "unclean.leader.election.enable": "topic.unclean.leader.election.enable",
    "log.flush.interval.messages": "topic.flush.messages",
}
"""{broker setting: the topic's setting}"""
REPLICATED: Final = "default.replication.factor=3"


class Part(msgspec.Struct, frozen=True):
    """Part of a change.

    `word`: NAME=VALUE as `--set` takes it, or a version of Kafka. `checks`: promises that it may affect; all if empty.
    """

    word: str
    checks: tuple[str, ...] = ()


def parts_for(
    settings: Mapping[str, Any],
    version: str,
    replicas: int,
    brokers: int = 3,
    of_each: Sequence[Mapping[str, Any]] = (),
    in_kraft: bool = False,
) -> tuple[Part, ...]:
    """Parts that change something and are possible with so many brokers.

    `settings`: in force, by name, a producer's idempotence by default included. `of_each`: the same of each broker, any
    of which may lead. A topic's setting takes precedence over its brokers', so that the part changes the topic's where
    it is set.
    """
    each = of_each or (settings,)
    least, unclean, flush = (own if own in settings else name for name, own in OF_THE_TOPIC.items())
    acks, safe = str(settings.get("producer.acks", "")), _true(settings.get("producer.enable.idempotence"))
    stored = tuple(name for name, words in ADVICE.items() if words.copies)
    found = [
        (acks not in ("all", "-1") and not safe, Part("producer.acks=all")),
        (not safe, Part(IDEMPOTENT)),
        (any(int(own.get(least, 1)) < 2 for own in each) and brokers >= 2, Part(f"{least}=2", stored)),
        (_lacks_eligible(settings, version, in_kraft), Part(f"{ELIGIBLE}=1", stored)),
        (any(_true(own.get(unclean)) for own in each), Part(f"{unclean}=false", stored)),
        (replicas < 3 <= brokers, Part(REPLICATED, stored)),
        (any(int(own.get(flush, 0)) != 1 for own in each), Part(f"{flush}=1", stored)),
        (
            int(settings.get("producer.max.in.flight.requests.per.connection", 5)) > 1 and not safe,
            Part("producer.max.in.flight.requests.per.connection=1", ("reordered",)),
        ),
        *((True, Part(f"{VERSION} {newer}")) for newer in _newer(version, in_kraft)),
    ]
    return tuple(part for lacking, part in found if lacking)


def _lacks_eligible(settings: Mapping[str, Any], version: str, in_kraft: bool) -> bool:
    """Whether the cluster could have eligible leader replicas (KIP-966), and has none."""
    feature = BY_SCOPE[BROKER][ELIGIBLE]
    return in_kraft and feature.exists_in(version) and not int(settings.get(ELIGIBLE, feature.default_in(version)))


def _newer(version: str, in_kraft: bool) -> tuple[str, ...]:
    """The version that a change may name; none if there is no newer one."""
    newest = KRAFT_LADDER[-1] if in_kraft else LADDER[-1] if since(version, "3.0") else SAFE_VERSION
    return (newest,) if ladder_name(version) != newest else ()


def changes(parts: tuple[Part, ...], size: int, replicas: int = 3) -> Iterator[tuple[str, ...]]:
    """All changes of `size` parts, as words.

    With one replica `min.insync.replicas=2` is no remedy: it prevents all writes, and so all losses.
    """
    for chosen in combinations(parts, size):
        words = tuple(part.word for part in chosen)
        if replicas > 1 or REPLICATED in words or not any(word.endswith(IN_SYNC) for word in words):
            yield words


def bears_on(change: tuple[str, ...], parts: tuple[Part, ...], check: str) -> bool:
    """Whether each part of the change may affect that promise."""
    of = {part.word: part.checks for part in parts}
    return all(not of[word] or check in of[word] for word in change)


def changed(choice: Choice, change: tuple[str, ...]) -> Choice:
    """The choice with the change, which takes precedence over files and `--set`."""
    version = next((word.split()[1] for word in change if word.startswith(VERSION)), choice.kafka_version)
    words = tuple(word for word in change if not word.startswith(VERSION))
    names = {word.partition("=")[0] for word in words}
    kept = tuple(one for one in choice.overrides if one.partition("=")[0].strip() not in names)
    return Choice(version, (*kept, *words), choice.files)


def ends(check: str, before: frozenset[str], outcomes: list[Outcome]) -> bool:
    """Whether all runs are conclusive, keep the promise, and break no other one than `before`."""
    return bool(outcomes) and all(
        not one.inconclusive and check not in one.broken and set(one.broken) <= before for one in outcomes
    )


def _true(value: Any) -> bool:
    return str(value).lower() == "true"
