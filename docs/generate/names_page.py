"""docs/names.md: the names of each operation on every surface, and the old names."""

from pathlib import Path

from docs.generate.markdown_tables import code, notice, table
from emulator.cli.app import app
from emulator.cluster.http.routes import ROUTES
from emulator.faults.link_fault_kinds import LINK_FAULTS
from emulator.old_names import RENAMED, as_recorded
from emulator.scenario.verbs import VERBS
from faultline.async_cluster import AsyncCluster

_HEAD = """# Names

A verb, a key or a field has one name in scenarios, on the command line, over HTTP, in Python and in events. An option
has hyphens instead of underscores: `operation_ms` is `--operation-ms`. A repeatable option or query parameter has the
singular: `--az` and `?place=`.

## Side by side

A blank means that the surface lacks the operation. Recordings and the texts of `scenario_step` events keep their names.
"""
_OLD = """
## Old names

Every surface accepts its old names and warns once: on stderr, in the output of `scenarios check`, as Python's
`OldName`, or in the response's `warning` header. A number of seconds after `pause` means `sleep`.
"""



def page(root: Path) -> str:
    del root
    rows = [
        (
            code(verb),
            _codes(grammar.keys),
            *(code(find(verb)) for find in (_command, _route, _method)),
            code(recorded if (recorded := _recorded(verb)) != verb else ""),
        )
        for verb, grammar in VERBS.items()
    ]
    head = ("scenario", "its keys", "command", "HTTP", "Python", "recording, if another")
    old = [
        (code(one.old), code(" ".join((one.name, *one.arguments))), ", ".join(one.surfaces), _codes(one.of))
        for one in RENAMED
    ]
    tables = (table(head, rows), _OLD, table(("old", "now", "surfaces", "of"), old))
    return "\n".join((notice("emulator/old_names.py and the surfaces"), _HEAD, *tables))


def _recorded(verb: str) -> str:
    return "pause" if verb == "sleep" else as_recorded(verb)


def _command(verb: str) -> str:
    """`topic create` of `create-topic`."""
    words = [verb]
    if verb not in app:
        does, _, subject = verb.rpartition("-")
        words = next(([group, does or "start"] for group in (subject, f"{subject[:-1]}") if group in app), [])
        if verb == "add-partitions":
            words = ["topic", verb]
    found = app
    for word in words:
        if word not in found:
            return ""
        found = found[word]
    return " ".join(words)


def _route(verb: str) -> str:
    names = ("break-links",) if verb in LINK_FAULTS else (verb, f"start-{verb}")
    return next((f"{route.method} {route.path}" for route in ROUTES if route.verb in names), "")


def _method(verb: str) -> str:
    name = verb.replace("-", "_")
    return name if hasattr(AsyncCluster, name) else ""


def _codes(names: tuple[str, ...]) -> str:
    return ", ".join(map(code, names))
