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
        "As `configs` of `create-topic`, by `faultline topic create --set`; or for every topic that does not say "
        "otherwise, as `topic.NAME`. A topic's default is its broker's setting.",
    ),
    PRODUCER: (
        "Producers",
        "Kafka's name follows after `producer.`; as `settings` of a `produce` by a client it stands alone. Those that "
        "went with 1.1 are the Scala producer's.",
    ),
    CONSUMER: (
        "Consumers",
        "Kafka's name follows after `consumer.`; as `settings` of `consume`, `commit` and `committed` it stands alone.",
    ),
    ENSEMBLE: ("The session service", "ZooKeeper's own names, as in `zoo.cfg`."),
}

_HEAD = f"""# Settings

All {len(SETTINGS)} settings of Kafka {LADDER[0]} to {LADDER[-1]}, of its clients and of ZooKeeper, by their own names.
Each is one of four things here:

- **Modelled**: it does what it does in Kafka.
- **Not modelled**, with a bearing on replication. At a value that could change a run's outcome the verdict names it,
  and the checks that it could change are *unknown* (exit code 3). A default, or a value that changes nothing, is
  harmless.
- **Set here**: the topology says it, or the emulator.
- **Without bearing** on replication: accepted, and said in one line.

`faultline settings NAME` says which, and `faultline settings FILE` what is made of a file.

## How to give one a value

```
faultline run az-isolated-leader --set replica.lag.time.max.ms=5000 --set min.insync.replicas=2
faultline run az-isolated-leader --settings server.properties --settings producer:my.properties
```

`run`, `sim`, `up`, `topic create` and `workload start` take `--set` and `--settings` as often as you like. A scenario
has `settings`, `settings_by_broker`, `settings_by_version` and `settings_files` ([scenarios.md](scenarios.md)); a
compose file has variables ([compose.md](compose.md)). What comes later in this list counts:

1. the version's default
2. a compose file's variables; a scenario's `settings_files`
3. a scenario's `settings`, then its `settings_by_version`
4. files of the command line, the later before the earlier
5. `--set`

What is for one broker comes before what is for all; only `--set` comes before what a *file* says of one broker.

What was in force, per node, stands in a run's `settings.json`: not what was asked for, where something else bounds it.
There and in [verdict.json](verdict.md) is also what is to be said of the rest.

### Files

A file is Java's `.properties`: comments behind `#` and `!`, `=`, `:` or a blank between name and value, lines that go
on behind a backslash, `\\uXXXX`. A name that comes twice counts as its last line says, and is told. UTF-8 or Latin-1.

Whose settings they are is said before the file's name: `broker:`, `topic:`, `producer:`, `consumer:`, `zookeeper:` (a
zoo.cfg), `broker-0:` for one broker. Else the file's name tells (`server.properties`, `my-producer.properties`), else
what is in it. `broker.id` says which broker a file is for, unless the kind was said.

- `listeners`, `zookeeper.connect` and other addresses are the topology's; `broker.rack` is the AZ. Several `log.dirs`
  are so many folders of a broker's disk, one is the disk.
- A setting that the version does not have is dropped, with a word; from `--set` it is an error.
- An unknown name is an error if it resembles a known one, with file, line and that name. Otherwise Kafka would pass it
  to a plug-in. Topics have no plug-ins.
- A producer with settings of the Scala one (`metadata.broker.list`, `request.required.acks`) is played by the Java
  producer with what the other would have had.
- A value that Kafka's type does not take is an error with file and line, and so is what Kafka refuses to start with
  ([below](#what-kafka-refuses)).

A default that changed is written with the version it changed in: "10000; 2.5: 30000" is 10000 at first and 30000
since 2.5. A default that is a name is that setting's value. Passwords are never written down.
"""

_REFUSED = """## What Kafka refuses

These are checked together, in the versions that check them; what breaks one is an error that names file, line and rule.

Listeners are checked as Kafka does, though the topology says where nodes listen: each has a name of its own and a
security protocol, those advertised are among those listened on, and brokers have one between them.

Clients are checked, too: `enable.idempotence` and `transactional.id` need acks=all, retries, and few requests in
flight; `delivery.timeout.ms` is at least `linger.ms` and `request.timeout.ms` together; `heartbeat.interval.ms` is
below `session.timeout.ms`, and before 2.0 that is below `request.timeout.ms`.
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
    row = (_default(setting), setting.unit, allowed(setting), lifetime(setting), updates(setting))
    return (code(setting.name), *row)


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
