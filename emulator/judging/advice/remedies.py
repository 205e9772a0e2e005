"""The smallest change of settings that ends a broken promise: parts that bear on it, tried alone, then by two.

All changes of one size are tried before a larger one, so no part of what is found suffices by itself. Pure.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Final

import msgspec

from emulator.judging.advice.outcomes import READS, Outcome
from emulator.judging.advice.playing import IDEMPOTENT, Choice

PARTS_MAX: Final = 2
SAFE_VERSION: Final = "2.8"
VERSION: Final = "--kafka-version"
IN_SYNC: Final = "min.insync.replicas=2"
OF_THE_TOPIC: Final = {
    "min.insync.replicas": "topic.min.insync.replicas",
    "unclean.leader.election.enable": "topic.unclean.leader.election.enable",
    "log.flush.interval.messages": "topic.flush.messages",
}
"""{a broker's setting: the topic's own}"""
REPLICATED: Final = "default.replication.factor=3"


class Part(msgspec.Struct, frozen=True):
    """`word`: NAME=VALUE as `--set` takes it, or a version of Kafka. `checks`: promises on which it bears; all if
    empty."""

    word: str
    checks: tuple[str, ...] = ()


def parts_for(
    settings: Mapping[str, Any],
    version: str,
    replicas: int,
    brokers: int = 3,
    of_each: Sequence[Mapping[str, Any]] = (),
) -> tuple[Part, ...]:
    """Those that are not so already, and can be had of so many brokers. `settings`: in force, by name; `of_each`: the
    same of each broker, of which any may lead. What the topic has of its own wins over its brokers', so there it is
    the topic's that has to change."""
    each = of_each or (settings,)
    least, unclean, flush = (own if own in settings else name for name, own in OF_THE_TOPIC.items())
    acks, safe = str(settings.get("producer.acks", "")), _true(settings.get("producer.enable.idempotence"))
    stored = ("lost-acknowledged", "replica-divergence", *READS)
    found = [
        (acks not in ("all", "-1") and not safe, Part("producer.acks=all")),
        (not safe, Part(IDEMPOTENT)),
        (any(int(own.get(least, 1)) < 2 for own in each) and brokers >= 2, Part(f"{least}=2", stored)),
        (any(_true(own.get(unclean)) for own in each), Part(f"{unclean}=false", stored)),
        (replicas < 3 <= brokers, Part(REPLICATED, stored)),
        (any(int(own.get(flush, 0)) != 1 for own in each), Part(f"{flush}=1", stored)),
        (
            int(settings.get("producer.max.in.flight.requests.per.connection", 5)) > 1 and not safe,
            Part("producer.max.in.flight.requests.per.connection=1", ("reordered",)),
        ),
        (version != SAFE_VERSION, Part(f"{VERSION} {SAFE_VERSION}")),
    ]
    return tuple(part for lacking, part in found if lacking)


def changes(parts: tuple[Part, ...], size: int, replicas: int = 3) -> Iterator[tuple[str, ...]]:
    """All of so many parts, as words. Where there is one replica, nobody asks for two in sync: what is never written
    cannot be lost, and that is no help."""
    for chosen in combinations(parts, size):
        words = tuple(part.word for part in chosen)
        if replicas > 1 or REPLICATED in words or not any(word.endswith(IN_SYNC) for word in words):
            yield words


def bears_on(change: tuple[str, ...], parts: tuple[Part, ...], check: str) -> bool:
    """Whether each part of it may matter for that promise."""
    of = {part.word: part.checks for part in parts}
    return all(not of[word] or check in of[word] for word in change)


def changed(choice: Choice, change: tuple[str, ...]) -> Choice:
    """The choice with the change made: the last word on what files and `--set` say."""
    version = next((word.split()[1] for word in change if word.startswith(VERSION)), choice.kafka_version)
    words = tuple(word for word in change if not word.startswith(VERSION))
    names = {word.partition("=")[0] for word in words}
    kept = tuple(one for one in choice.overrides if one.partition("=")[0].strip() not in names)
    return Choice(version, (*kept, *words), choice.files)


def ends(check: str, before: frozenset[str], outcomes: list[Outcome]) -> bool:
    """Whether none of these runs breaks the promise, nor one that was kept `before`; and all of them tell."""
    return bool(outcomes) and all(
        not one.untold and check not in one.broken and set(one.broken) <= before for one in outcomes
    )


def _true(value: Any) -> bool:
    return str(value).lower() == "true"
