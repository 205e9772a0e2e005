"""docs/versions.md, from protocol/versions.py: every gate, and its boundary on the ladder."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from docs.generate.boundaries import READ, STEPS, TAGS
from docs.generate.markdown_tables import code, notice, table
from docs.generate.source import Field, fields_of
from docs.generate.uses import FILE_OF_GATES, users_of
from protocol.versions import DEFAULT_VERSION, LADDER, gates_for, rank

_NAMES = ("binary", "inter_broker_protocol")

_HEAD = """# Versions and gates

The emulator plays these versions of Kafka, and a broker has two of them:

- its *binary* (`--kafka-version`, in scenarios `kafka`): defaults, and what its log and its controller do;
- `inter.broker.protocol.version` (IBP): what it says to other brokers. By default the binary's own, never
  newer.

Ladder: {ladder}. A patch release counts as its line (`2.6.3` is 2.6), `2.0` alone means 2.0.1. The default
is {default}.

No code compares versions. It asks a *gate*, such as `gates.truncates_on_fetch`; protocol/versions.py is the
one module that knows which version opens it. In the tables, a value stands where it begins to hold, and
holds to the right until another one stands there. *Decided by*: what the gate depends on, found out by
trying all pairs of the two versions.
"""

_READ_AT = """## Around 2.0 and 2.2

Between other neighbours a gate's side follows from the tags of the last patch releases. Around 2.0, whose two releases
differ, and 2.2 each gate that changes was read at all of {tags}; none falls between 2.2.0 and 2.2.2.
"""


def page(root: Path) -> str:
    fields = [field for field in fields_of(root / FILE_OF_GATES[0], "Gates") if field.name not in _NAMES]
    head = _HEAD.format(ladder=", ".join(LADDER), default=DEFAULT_VERSION)
    parts = [notice(FILE_OF_GATES[0]), head]
    for heading, group in groupby(fields, key=lambda field: field.heading):
        parts.append(f"## {heading[0].upper()}{heading[1:]}\n")
        members = list(group)
        parts.append(table(("gate", "decided by", *LADDER), [_values(field) for field in members]))
        parts.append(table(("gate", "what it says", "asked by"), [_meaning(root, field) for field in members]))
    parts.append(_READ_AT.format(tags=", ".join(TAGS)))
    parts.append(table(("gate", "changes at", "read in"), [(code(g), ", ".join(changes_at(g)), READ[g]) for g in READ]))
    return "\n".join(parts)


def changes_at(gate: str) -> list[str]:
    """Members of `STEPS` with another value than the one before."""
    values = [getattr(gates_for(step), gate) for step in STEPS]
    pairs = zip(STEPS[1:], values, values[1:], strict=False)
    return [step for step, before, after in pairs if before != after]


def _values(field: Field) -> Sequence[object]:
    values = [_shown(getattr(gates_for(version), field.name)) for version in LADDER]
    changes = [value if index == 0 or value != values[index - 1] else "" for index, value in enumerate(values)]
    return (code(field.name), decided_by(field.name), *changes)


def decided_by(gate: str) -> str:
    """`binary`, `IBP`, both, or neither."""
    by_binary = any(
        len({getattr(gates_for(binary, ibp), gate) for binary in LADDER if rank(binary) >= rank(ibp)}) > 1
        for ibp in LADDER
    )
    by_ibp = any(
        len({getattr(gates_for(binary, ibp), gate) for ibp in LADDER if rank(ibp) <= rank(binary)}) > 1
        for binary in LADDER
    )
    return {(True, True): "both", (True, False): "binary", (False, True): "IBP", (False, False): "always"}[
        by_binary, by_ibp
    ]


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _meaning(root: Path, field: Field) -> Sequence[object]:
    users = users_of(root, field.name, FILE_OF_GATES)
    return (code(field.name), field.text, ", ".join(code(user) for user in users) or "nothing yet")
