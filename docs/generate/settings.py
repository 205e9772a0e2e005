"""docs/settings.md, from emulator/scenario/settings.py: every setting, and the ways to give one a value."""

from pathlib import Path
from typing import Any

from docs.generate.markdown import code, notice, table
from docs.generate.uses import FILES_OF_SETTINGS, used_names
from emulator.broker.settings import TOPIC_OVERRIDES
from emulator.scenario.setting import BROKER, CONSUMER, ENSEMBLE, PRODUCER, TOPIC
from emulator.scenario.settings import INT_MAX, LONG_MAX, TOPIC_LEVEL, documented

_SCOPES = {
    BROKER: ("Brokers and controller", "Given under `settings`, or for single brokers under `settings_by_broker`."),
    TOPIC: ("Single topics", "Given as `configs` of `create-topic`, as are these settings of brokers: {topic_level}."),
    ENSEMBLE: ("The session ensemble", "ZooKeeper's own names, as in `zoo.cfg`."),
    PRODUCER: ("Producers", "Of `library-produce` and of clients' workloads; Kafka's name follows after `producer.`."),
    CONSUMER: ("Consumers", "Kafka's name follows after `consumer.`."),
}

_HEAD = """# Settings

Every setting has Kafka's own name. A scenario gives it a value (see [scenarios.md](scenarios.md)); so does
the command line, as often as you like:

```
faultline run az-isolated-leader --set replica.lag.time.max.ms=5000 --set min.insync.replicas=2
```

A name that is not in these tables is an error that gives the nearest one; so is a value out of range, or a
setting that the version does not have. What was in force, per node, stands in a run's `settings.json`.

A default that changed is written with the version it changed in: "10000; 2.5: 30000" is 10000 at first and 30000
since 2.5.

The column *read* says whether the emulator acts on the setting today. The others are accepted, because
recordings name them, and change nothing yet.
"""


def page(root: Path) -> str:
    settings = documented()
    read = used_names(root, FILES_OF_SETTINGS)
    parts = [notice("emulator/scenario/settings.py"), _HEAD]
    for scope, (title, words) in _SCOPES.items():
        parts.append(f"## {title}\n")
        parts.append(words.format(topic_level=", ".join(code(name) for name in TOPIC_LEVEL[:2])) + "\n")
        rows = [_row(setting, read) for setting in settings if setting["scope"] == scope]
        parts.append(table(("name", "default", "unit", "allowed", "versions", "read"), rows))
    return "\n".join(parts)


def _row(setting: dict[str, Any], read: set[str]) -> tuple[object, ...]:
    name = str(setting["name"])
    return (
        code(name),
        "; ".join(_default(first, value, index) for index, (first, value) in enumerate(setting["defaults"])),
        setting["unit"],
        _allowed(setting),
        _lifetime(setting["since"], setting["until"]),
        "yes" if _attribute(name) in read else "",
    )


def _attribute(name: str) -> str:
    """`replica.lag.time.max.ms` -> `replica_lag_time_max_ms`; a topic's own as the broker's field that it overrides."""
    if name in TOPIC_OVERRIDES:
        return TOPIC_OVERRIDES[name]
    return name.removeprefix("producer.").removeprefix("consumer.").replace(".", "_")


def _default(first: str, value: object, index: int) -> str:
    shown = _number(value) if isinstance(value, int) and not isinstance(value, bool) else str(value).lower()
    shown = shown or "the binary's version"
    return shown if index == 0 else f"{first}: {shown}"


def _number(value: int) -> str:
    return {LONG_MAX: "2^63-1", INT_MAX: "2^31-1"}.get(value, str(value))


def _allowed(setting: dict[str, Any]) -> str:
    if setting["kind"] == "bool":
        return "true, false"
    if setting["kind"] == "text":
        return ", ".join(setting["words"]) or "text"
    high = "" if setting["high"] is None else _number(setting["high"])
    return f"{setting['low']} to {high}" if high else f"{setting['low']} or more"


def _lifetime(since: str, until: str) -> str:
    if not since and not until:
        return "all"
    return f"{since} on" if since else f"up to {until}"
