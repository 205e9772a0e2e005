"""Each client's abilities by version, as this folder's tests prove: a table of a page.

The page is docs/kafka-clients.md.

A test that is marked `works(client, what, since)` runs against every version from `since` on, and is its proof; against
older ones it is skipped, for that Kafka has none of it. `python -m tests.kafka_clients.capabilities` writes the table.
"""

import importlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from protocol.versions import since as is_since

VERSIONS: Final = ("0.10.2", "1.1", "2.0", "2.6", "2.8")
CLIENTS: Final = ("librdkafka", "kafka-python", "aiokafka", "kcat", "rskafka")
FIRST: Final = ("test_clients", "test_groups")
"""Files whose lines come first."""
PAGE: Final = Path(__file__).parents[2] / "docs" / "kafka-clients.md"
BEGIN: Final = "<!-- written by python -m tests.kafka_clients.capabilities -->\n"
END: Final = "<!-- to here -->\n"


class Capability(NamedTuple):
    """`since`: the first version of Kafka in which the client has it."""

    client: str
    what: str
    since: str


def works(client: str, what: str, since: str = VERSIONS[0]) -> pytest.MarkDecorator:
    """Of a test with the fixture `cluster`."""
    assert client in CLIENTS, client
    return pytest.mark.capability(Capability(client, what, since))


def skip_older(marks: Iterable[pytest.Mark], version: str) -> None:
    """Skips a test of what this version has not."""
    for mark in marks:
        (of,) = mark.args
        if not is_since(version, of.since):
            pytest.skip(f"{of.what}: since {of.since}")


def declared() -> list[Capability]:
    """By the tests of this folder, each once, by client."""
    found: dict[Capability, None] = {}
    files = [path.stem for path in Path(__file__).parent.glob("test_*.py")]
    for name in sorted(files, key=lambda name: (name not in FIRST, name)):
        module = importlib.import_module(f"tests.kafka_clients.{name}")
        for test in vars(module).values():
            for mark in _marks(test):
                if mark.name == "capability":
                    found[mark.args[0]] = None
    return sorted(found, key=lambda one: CLIENTS.index(one.client))


def _marks(test: object) -> Iterator[pytest.Mark]:
    """Its own, and those of its parameters."""
    for mark in getattr(test, "pytestmark", ()) if callable(test) else ():
        yield mark
        if mark.name == "parametrize":
            yield from (own for given in mark.args[1] for own in getattr(given, "marks", ()))


def table(capabilities: Iterable[Capability]) -> str:
    lines = [f"| | {' | '.join(VERSIONS)} |", "|---" * (len(VERSIONS) + 1) + "|"]
    for one in capabilities:
        cells = ["yes" if is_since(version, one.since) else "no" for version in VERSIONS]
        lines.append(f"| {one.client}: {one.what} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def parts(page: str) -> tuple[str, str, str]:
    """Before the table, the table, behind it."""
    before, begin, rest = page.partition(BEGIN)
    shown, end, behind = rest.partition(END)
    assert begin and end, f"{PAGE.name} has no place for the table"
    return before + begin, shown, end + behind


if __name__ == "__main__":
    sys.path.insert(0, str(PAGE.parents[1]))
    before, _, behind = parts(PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(before + table(declared()) + behind, encoding="utf-8")
