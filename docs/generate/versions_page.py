"""docs/versions.md, from protocol/gates.py: every gate, and its boundary on the ladder."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import msgspec

from docs.generate.markdown_tables import code, notice, table
from docs.generate.source import Field, fields_of
from docs.generate.uses import FILE_OF_GATES, users_of
from emulator.topology import KRAFT, ZOOKEEPER
from protocol.gates import GATES, Gate, Span, gates_for
from protocol.versions import DEFAULT_VERSION, KRAFT_LADDER, LADDER

_HEAD = """# Versions and gates

A broker has two versions of Kafka:

- its *binary* (`--kafka-version`, in scenarios `kafka`) decides defaults, and the behaviour of its log and controller;
- `inter.broker.protocol.version` (IBP) decides its protocol with other brokers. It is the binary's by default, and
  never newer. The record format is the IBP's, or that of `log.message.format.version` if it is older.

A gate of one plane of metadata, KRaft or ZooKeeper, holds there alone. In KRaft the IBP is the metadata version's
release, and the first table has the values of that plane.

The *ladder* has the emulated versions with ZooKeeper: `{ladder}`. In KRaft mode it is `{kraft_ladder}`.

A patch release counts as its line (`2.6.3` is 2.6); `2.0` means 2.0.1. The default is {default}. Each version is played
as its last patch release. 2.0.0 and 2.0.1 differ; no gate changes between 2.2.0 and 2.2.2.

No code compares versions. It tests a *gate*, such as `gates.truncates_on_fetch`. The table `Gates` of protocol/gates.py
has the versions of each ([add a gate](how-to-add-a-gate.md)). In the first table of a section, a value holds from its
column on, until the next value to the right. A boundary between 0.8.2 and 0.10.2 takes effect at 0.10.2.
"""

_VERSIONS = {"binary": "binary", "protocol": "IBP", "format": "record format"}


def page(root: Path) -> str:
    fields = [field for field in fields_of(root / FILE_OF_GATES[0], "Gates") if field.name in GATES]
    head = _HEAD.format(ladder=", ".join(LADDER), kraft_ladder=", ".join(KRAFT_LADDER), default=DEFAULT_VERSION)
    parts = [notice(FILE_OF_GATES[0]), head]
    for heading, group in groupby(fields, key=lambda field: field.heading):
        parts.append(f"## {heading[0].upper()}{heading[1:]}\n")
        members = list(group)
        ladder = KRAFT_LADDER if any(GATES[field.name].metadata == KRAFT for field in members) else LADDER
        parts.append(table(("gate", "decided by", *ladder), [_values(field.name, ladder) for field in members]))
        parts.append(
            table(("gate", "holds", "meaning", "read in", "used by"), [_meaning(root, field) for field in members])
        )
    return "\n".join(parts)


def _values(name: str, ladder: Sequence[str]) -> Sequence[object]:
    plane = GATES[name].metadata or ZOOKEEPER
    values = [_shown(getattr(gates_for(version, metadata=plane), name)) for version in ladder]
    changes = [value if index == 0 or value != values[index - 1] else "" for index, value in enumerate(values)]
    return (code(name), decided_by(GATES[name]), *changes)


def decided_by(gate: Gate) -> str:
    """The kinds of versions that the gate depends on."""
    spans = (gate, gate.and_within, gate.or_within)
    return ", ".join(dict.fromkeys(_VERSIONS[span.by] for span in spans if span))


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _holds(span: Span) -> str:
    """`2.2 to 2.4`, `from 0.9`, `up to 2.3`; `KRaft`, `KRaft from 3.5` in one plane alone."""
    if span.metadata:
        plane = {"kraft": "KRaft", "zookeeper": "ZooKeeper"}[span.metadata]
        return f"{plane} {_holds(msgspec.structs.replace(span, metadata=''))}" if span.since or span.until else plane
    if span.since == span.until:
        return span.since
    if span.since and span.until:
        return f"{span.since} to {span.until}"
    return f"from {span.since}" if span.since else f"up to {span.until}"


def _stretches(gate: Gate) -> str:
    if gate.steps:
        return ", ".join(f"{value} from {first}" for first, value in gate.steps)
    named = [f"{_VERSIONS[span.by]} {_holds(span)}" for span in (gate, gate.and_within or gate.or_within) if span]
    return (" and " if gate.and_within else " or ").join(named) if len(named) > 1 else _holds(gate)


def _meaning(root: Path, field: Field) -> Sequence[object]:
    users = users_of(root, field.name, FILE_OF_GATES)
    gate = GATES[field.name]
    used_by = ", ".join(code(user) for user in users) or "nothing yet"
    return (code(field.name), _stretches(gate), field.text, gate.source, used_by)
