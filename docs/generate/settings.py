"""docs/settings.md, from emulator/settings: all settings, their meaning, and their sources."""

from collections.abc import Iterable
from pathlib import Path

from docs.generate.markdown_tables import code, notice, table
from emulator.settings.bearing import MODELLED, NOT_MODELLED, SET_HERE, WITHOUT_BEARING, Group
from emulator.settings.setting import BROKER, CONSUMER, ENSEMBLE, PRODUCER, TOPIC, Setting
from emulator.settings.setting_registry import SETTINGS
from emulator.settings.setting_rules import RULES
from emulator.settings.setting_text import allowed, default, lifetime, lifetime_of, updates
from emulator.settings.tables import GROUPS
from protocol.versions import LADDER

_SCOPES = {
    BROKER: ("Brokers and controller", ""),
    TOPIC: (
        "Topics",
        "In `configs` of `create-topic` and with `faultline topic create --set` under Kafka's name. `topic.NAME` "
        "applies to every topic without a value of its own. A topic's default is its broker's setting.",
    ),
    PRODUCER: (
        "Producers",
        "`producer.` and Kafka's name; in `settings` of a `produce` by a client Kafka's name alone. Settings that 1.1 "
        "removed are the Scala producer's.",
    ),
    CONSUMER: (
        "Consumers",
        "`consumer.` and Kafka's name; in `settings` of `consume`, `commit` and `committed` Kafka's name alone.",
    ),
    ENSEMBLE: ("The session service", "ZooKeeper's own names, as in `zoo.cfg`."),
}

_HEAD = f"""# Settings

All {len(SETTINGS)} settings of Kafka {LADDER[0]} to {LADDER[-1]}, of its clients and of ZooKeeper, under their own
names. faultline treats each in one of four ways:

- **Modelled**: it has the effect that it has in Kafka.
- **Not modelled**, although it bears on replication. If a value could change a run's outcome, the verdict names the
  setting, and the checks that it could change are *unknown* (exit code 3). The default, or a value that changes
  nothing, is harmless.
- **Set here**: the topology or the emulator sets the value.
- **Without bearing** on replication: accepted, and listed in one line.

`faultline settings NAME` shows how a setting is treated; `faultline settings FILE` does it for each setting of a file.

## How to set a value

```
faultline run az-isolated-leader --set replica.lag.time.max.ms=5000 --set min.insync.replicas=2
faultline run az-isolated-leader --settings server.properties --settings producer:my.properties
```

`run`, `sim`, `up`, `topic create` and `workload start` take `--set` and `--settings` repeatedly. A scenario has
`settings`, `settings_by_broker`, `settings_by_version` and `settings_files` ([scenarios.md](scenarios.md)). A compose
file has variables ([compose.md](compose.md)). A later source in this list overrides an earlier one:

1. the version's default
2. a compose file's variables; a scenario's `settings_files`
3. a scenario's `settings`, then its `settings_by_version`
4. files of the command line; a later file overrides an earlier one
5. `--set`

A value for one broker overrides a value for all brokers. Only `--set` overrides a value that a *file* has for one
broker.

A run's `settings.json` has the values in force on each node. Where another setting bounds a value, it has the bounded
one. `settings.json` and [verdict.json](verdict.md) also list the settings that are not modelled.

### Files

A file has the format of Java's `.properties`: comments after `#` and `!`, continuation lines after a backslash,
`\\uXXXX`. `=`, `:` or a blank separates name and value. If a name occurs twice, its last line counts, with a warning.
The encoding is UTF-8 or Latin-1.

A prefix of the file's name states whose settings they are: `broker:`, `topic:`, `producer:`, `consumer:`, `zookeeper:`
(a zoo.cfg), or `broker-0:` for one broker. Without a prefix the file's name decides (`server.properties`,
`my-producer.properties`), else its contents. Without a prefix `broker.id` states the broker that a file is for.

- `listeners`, `zookeeper.connect` and other addresses come from the topology; `broker.rack` is the AZ. Several
  `log.dirs` are folders of one disk of the broker; a single one is the disk.
- A setting that the version does not have is dropped with a warning; in `--set` it is an error.
- An unknown name is an error if it resembles a known one. The error has file, line and the known name. Kafka would pass
  other names to a plug-in. Topics have no plug-ins.
- Settings of the Scala producer (`metadata.broker.list`, `request.required.acks`) are translated: the Java producer
  runs with the equivalent values.
- A value that Kafka's type does not accept is an error with file and line. So is a value with which Kafka does not
  start ([below](#what-kafka-refuses)).

A default that changed has the version of the change: "10000; 2.5: 30000" is 10000 at first and 30000 since 2.5. A
default that is a name is that setting's value. Passwords are never written down.
"""

_REFUSED = """## What Kafka refuses

The settings of each row are checked together, in the versions whose Kafka checks them. A violation is an error with
file, line and rule.

Listeners are checked as Kafka checks them, although the topology decides the addresses:

- each listener has a unique name and a security protocol;
- each advertised listener exists;
- one of them is for connections between brokers.

The rules for clients:

- `enable.idempotence` and `transactional.id` need acks=all, retries, and few requests in flight.
- `delivery.timeout.ms` is at least the sum of `linger.ms` and `request.timeout.ms`.
- `heartbeat.interval.ms` is below `session.timeout.ms`. Before 2.0 `session.timeout.ms` is below `request.timeout.ms`.
"""


def page(root: Path) -> str:
    parts = [notice("emulator/settings"), _HEAD]
    for scope, (title, words) in _SCOPES.items():
        parts += [f"## {title}\n", words + "\n" if words else ""]
        for heading, standing, columns, row in _PARTS:
            groups = [group for group in GROUPS if group.standing == standing and group.settings[0].scope == scope]
            parts += [f"### {title}: {heading}\n"] if groups else []
            for group in groups:
                parts += [_about(group), table(columns, (row(group, setting) for setting in group.settings))]
    parts += [_REFUSED, table(("settings", "of", "versions"), _rules())]
    return "\n".join(part for part in parts if part)


def _about(group: Group) -> str:
    """A line before its table."""
    why = f": {group.why}" if group.why else ""
    checks = f". Could change {', '.join(group.checks)}" if group.checks else ""
    return f"**{group.title}**{why}{checks}.\n"


def _default(setting: Setting) -> str:
    return code(default(setting)) if setting.follows else default(setting)


def _modelled(group: Group, setting: Setting) -> tuple[object, ...]:
    bears = group.bears.get(setting.name)
    values = allowed(setting) + (f"; not modelled: {bears.words}" if bears else "")
    return code(setting.name), _default(setting), setting.unit, values, lifetime(setting), updates(setting)


def _not_modelled(group: Group, setting: Setting) -> tuple[object, ...]:
    bears = group.bears[setting.name].words
    return code(setting.name), bears, _default(setting), setting.unit, allowed(setting), lifetime(setting)


def _other(group: Group, setting: Setting) -> tuple[object, ...]:
    return code(setting.name), _default(setting), setting.unit, allowed(setting), lifetime(setting)


_PARTS = (
    (
        "modelled",
        MODELLED,
        ("name", "default", "unit", "allowed", "versions", "altered while brokers run"),
        _modelled,
    ),
    (
        "not modelled",
        NOT_MODELLED,
        ("name", "values that bear", "default", "unit", "allowed", "versions"),
        _not_modelled,
    ),
    ("set here", SET_HERE, ("name", "default", "unit", "allowed", "versions"), _other),
    ("without bearing", WITHOUT_BEARING, ("name", "default", "unit", "allowed", "versions"), _other),
)


def _rules() -> Iterable[tuple[object, ...]]:
    for scope, rules in RULES.items():
        for rule in rules:
            yield ", ".join(map(code, rule.names)), scope, lifetime_of(rule.first, rule.last)
