"""Generated settings files.

Settings of one kind, with values at, beyond or beside their type.
"""

from __future__ import annotations

from random import Random

from emulator.settings.setting import BROKER, CONSUMER, ENSEMBLE, PRODUCER, TOPIC, Setting
from emulator.settings.setting_registry import BY_SCOPE

KINDS = {BROKER: "server", TOPIC: "topic", PRODUCER: "producer", CONSUMER: "consumer", ENSEMBLE: "zoo"}
"""{scope: the word in the file's name that says whose settings it holds}"""
NUMBERS = (
    "0", "1", "-1", "2", "7", "-2147483649", "-2147483648", "2147483647", "2147483648", "9223372036854775807",
    "9223372036854775808", "-9223372036854775808", "1e400", "-1e400", "nan", "Infinity", "0x10", "1_000", "1.5", "+3",
    "9" * 400, "-" + "9" * 400, "٣", "1 ms", "10s",
)  # fmt: skip
TEXTS = (
    "", " ", ",", ",,,", "true", "TRUE", "none", "all", "a", "a,b", "ä", "\\u0000", "\\uD800", "x" * 70_000, "${HOME}",
    "../../etc/passwd", "PLAINTEXT://a:1", "PLAINTEXT://a:1,SSL://b:1", "://", "[", "(?", "%s", "{0}", "\x1b[2J",
    "a:b:c", "2.8", "0.8.2", "2.9", "2.8-IV1", "delete,compact", "compact", "lz4", "zstd", "smallest", "range", "1:a",
    "a:1",
)  # fmt: skip

SCENARIO = """
id: generated-settings
title: Every client of a cluster, one broker killed
kafka: [2.8]
steps:
  - start: [0, 1, 2]
  - create-topic: {topic: t, assignment: [0, 1, 2]}
  - produce: {client: az-0, values: [a], acks: all}
  - workload: {name: load, rate: 5, group: readers}
  - sleep: 3
  - kill: 0
  - sleep: 3
  - start: 0
  - sleep: 3
  - snapshot: end
"""


def file_of(chance: Random) -> tuple[str, str]:
    """(name, text) of a file of one to five settings."""
    scope = chance.choice(tuple(KINDS))
    known = tuple(BY_SCOPE[scope].values())
    chosen = [chance.choice(known) for _ in range(chance.randrange(1, 6))]
    return f"{KINDS[scope]}.properties", "".join(f"{one.name}={value_of(one, chance)}\n" for one in chosen)


def value_of(setting: Setting, chance: Random) -> str:
    usual = setting.defaults[-1][1]
    bounds = [bound for _, bound in (*setting.low, *setting.high) if bound is not None]
    near = [f"{int(bound) + step}" for bound in bounds for step in (-1, 0, 1)]
    match chance.randrange(8):
        case 0 if usual is not None:
            return str(usual)
        case 1 | 2 if near:
            return chance.choice(near)
        case 3 if setting.words:
            return chance.choice(setting.words)
        case 4 if setting.kind in ("int", "long", "short", "double"):
            return chance.choice(TEXTS)
        case 5:
            return chance.choice((*NUMBERS, *TEXTS))
        case _:
            return chance.choice(NUMBERS if setting.kind in ("int", "long", "short", "double") else TEXTS)
