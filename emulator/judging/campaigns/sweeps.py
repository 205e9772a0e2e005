"""A sweep as words of a command line, or as a file: a scenario, and the values of each axis.

    id: cap-choice
    title: what three settings keep and lose on each side of a cut
    scenario: cap-choice
    kafka: [2.8]
    set: {producer.acks: [0, 1, all], min.insync.replicas: [1, 2, 3]}
    param: {sleep#3: [10, 30]}
    seeds: 1..5
    measures: [isr_shrinks]

`scenarios/sweeps/` has the files that come with faultline. A single value is no axis: all cells have it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec
from ruamel.yaml.nodes import Node

from emulator.judging.campaigns.cell_text import title_of
from emulator.judging.campaigns.cells import MEASURES
from emulator.judging.campaigns.space import Axis, Kind, Space, UnusableSpace, checked, parse_seeds
from emulator.packaged import SCENARIOS
from emulator.regular_files import read_regular
from emulator.scenario.document import Problem, Reader, ScenarioErrors
from emulator.topology import KRAFT, ZOOKEEPER
from protocol.versions import ladder_name

FOLDER = "sweeps"
KEYS = ("id", "title", "scenario", "kafka", "metadata", "set", "param", "seeds", "measures")
REQUIRED = ("id", "title", "scenario")
FILE_BYTES_MAX = 1 << 20
VERSION = "kafka_version"
BRACKETS = {"[": "]", "{": "}"}
Named = tuple[str, tuple[str, ...]]
"""An axis, or a value of all cells: (name, values)."""


class Sweep(msgspec.Struct, frozen=True):
    """A space and how its table is shown.

    `measures`: shown besides those that every sweep shows. `file`: that it is from, "" for the command line;
    `places`: {key of that file, or name of an axis: its line and column}."""

    space: Space
    title: str = ""
    measures: tuple[str, ...] = ()
    file: str = ""
    places: dict[str, tuple[int, int]] = {}

    def placed(self, error: ValueError) -> ValueError:
        """The error with its place in the file, if the sweep is from one."""
        return _placed(self.file, self.places, error) if self.file else error


def sweep_of(
    scenario: str,
    *,
    sets: Sequence[str] = (),
    parameters: Sequence[str] = (),
    versions: str | None = None,
    seeds: range,
    settings_files: Sequence[str] = (),
    metadata: str = "",
) -> Space:
    """The space of `NAME=A,B` words. Raises UnusableSpace, UnknownVersion."""
    named: dict[Kind, Iterable[Named]] = {"setting": map(_named, sets), "parameter": map(_named, parameters)}
    return _space(scenario, named, tuple(values_in(versions or "")), seeds, settings_files, metadata)


def _space(
    scenario: str,
    named: Mapping[Kind, Iterable[Named]],
    versions: Sequence[str],
    seeds: range,
    settings_files: Sequence[str] = (),
    metadata: str = "",
) -> Space:
    """The space; a single value is no axis. Raises UnusableSpace, UnknownVersion."""
    axes = [Axis("version", VERSION, tuple(versions))] if len(versions) > 1 else []
    fixed: dict[Kind, tuple[str, ...]] = {}
    for kind, pairs in named.items():
        found = list(pairs)
        axes += [Axis(kind, name, values) for name, values in found if len(values) > 1]
        fixed[kind] = tuple(f"{name}={values[0]}" for name, values in found if len(values) == 1)
    space = checked(
        Space(
            scenario=scenario,
            axes=tuple(axes),
            first_seed=seeds.start,
            seeds=len(seeds),
            kafka_version=versions[0] if len(versions) == 1 else None,
            overrides=fixed["setting"],
            parameters=fixed["parameter"],
            settings_files=tuple(settings_files),
            metadata=metadata,
        )
    )
    _check_versions(versions if len(versions) > 1 else ())
    return space


def _check_versions(versions: Sequence[str]) -> None:
    """Check that versions differ, because rows identify cells by them.

    Raises UnusableSpace, UnknownVersion.
    """
    known: dict[str, str] = {}
    for word in versions:
        version = ladder_name(word)
        if version in known:
            raise UnusableSpace(f"{VERSION}: {known[version]} and {word} are one version, {version}")
        known[version] = word


def _named(word: str) -> Named:
    """(name, values) of `NAME=A,B`. Raises UnusableSpace."""
    name, equals, given = word.partition("=")
    values = tuple(values_in(given))
    if not equals or not name.strip() or not values:
        raise UnusableSpace(f"{word!r}: expected NAME=A,B")
    return name.strip(), values


def values_in(given: str) -> Iterator[str]:
    """Parts of `a,b`, without a split in brackets and quotes: `[0,1],[1,0]`, `"d0,d1",d2`."""
    value, quoted = "", ""
    closing: list[str] = []
    for character in given:
        if quoted:
            if character == quoted:
                quoted = ""
            else:
                value += character
            continue
        if character in "\"'" and not closing:
            quoted = character
            continue
        if character in BRACKETS:
            closing.append(BRACKETS[character])
        elif closing and character == closing[-1]:
            closing.pop()
        elif character == "," and not closing:
            yield value.strip()
            value = ""
            continue
        value += character
    if quoted or closing:
        raise UnusableSpace(f"{given!r}: {quoted or closing[-1]} is missing")
    if given:
        yield value.strip()


# --- files ---


def shipped() -> dict[str, Path]:
    """{name: file} of the sweeps that come with faultline."""
    return {path.stem: path for path in sorted((SCENARIOS / FOLDER).glob("*.yaml"))}


def find_sweep(given: str, seeds: range | None = None) -> Sweep | None:
    """A sweep by its name, or by its file; None: neither is a sweep.

    `seeds`: instead of its own. Raises ScenarioErrors, UnusableSpace, OSError.
    """
    path = shipped().get(given, Path(given))
    if path.suffix != ".yaml" or not path.is_file():
        return None
    text = read_regular(path, FILE_BYTES_MAX, follow=True).decode(errors="replace")
    reader = Reader()
    root = reader.document(text)
    if root is None or "steps" in {key for key, _, _ in Reader().pairs(root, "")}:
        return None  # a scenario, or a file whose errors the scenario reader reports
    fields = reader.fields(root, "a sweep", KEYS, REQUIRED)
    texts = {key: reader.text(fields[key]) or "" for key in REQUIRED if key in fields}
    own = reader.text(fields["seeds"]) if "seeds" in fields else None
    named: dict[Kind, list[Named]] = {
        "setting": [*_of_file(reader, fields.get("set"))],
        "parameter": [*_of_file(reader, fields.get("param"))],
    }
    versions = reader.each(fields["kafka"], "versions", reader.text, single=True) if "kafka" in fields else ()
    metadata = ""
    if "metadata" in fields:
        metadata = reader.word(fields["metadata"], "place of the metadata", (ZOOKEEPER, KRAFT)) or ""
    shown = reader.each(fields["measures"], "measures", reader.text, single=True) if "measures" in fields else ()
    if reader.problems:
        raise ScenarioErrors(str(path), reader.problems)
    places = _places(fields)
    try:
        if lacking := next((name for pairs in named.values() for name, values in pairs if not values), None):
            raise UnusableSpace(f"{lacking}: has no value")
        space = _space(texts["scenario"], named, versions, seeds or parse_seeds(own or "1"), metadata=metadata)
        measures = tuple(measure_named(name, f"measures: {name}") for name in shown)
    except ValueError as error:
        raise _placed(str(path), places, error) from error
    return Sweep(space, " ".join(texts["title"].split()), measures, str(path), places)


def _places(fields: Mapping[str, Node]) -> dict[str, tuple[int, int]]:
    """{key, or name of an axis: line and column of its value}."""
    found = {key: (node.start_mark.line + 1, node.start_mark.column + 1) for key, node in fields.items()}
    for key in ("set", "param"):
        for name, _, node in Reader().pairs(fields[key], "axes") if key in fields else ():
            found[name.strip()] = (node.start_mark.line + 1, node.start_mark.column + 1)
    return found


def _placed(file: str, places: Mapping[str, tuple[int, int]], error: ValueError) -> ValueError:
    """The place of the axis or key that the message begins with; else of the scenario's name."""
    if isinstance(error, ScenarioErrors) and error.name == file:
        return error
    message = str(error).partition("\n")[0]
    if isinstance(error, ScenarioErrors):  # of the scenario, with the values of a cell in it
        return ScenarioErrors(file, [Problem(*places.get("param", places.get("scenario", (1, 1))), message)])
    words = {VERSION: "kafka", "--seeds": "seeds"}
    named = re.match(r"[^:=\s]+", message)
    word = named[0] if named is not None else ""
    line, column = places.get(words.get(word, word), places.get("scenario", (1, 1)))
    return ScenarioErrors(file, [Problem(line, column, message)])


def _of_file(reader: Reader, node: Node | None) -> Iterator[Named]:
    for name, _, given in reader.pairs(node, "axes") if node is not None else ():
        yield name.strip(), tuple(reader.each(given, "values", reader.text, single=True))


def measure_named(name: str, where: str = "") -> str:
    """The name of a measure. `where`: its source; default: the command line.

    Raises UnusableSpace.
    """
    if name not in MEASURES:
        known = {**{one: one for one in MEASURES}, **{title_of(one): one for one in MEASURES}}
        close: list[Any] = get_close_matches(name, known, n=1)
        nearest = f"nearest: {known[close[0]]}" if close else f"there are: {', '.join(MEASURES)}"
        raise UnusableSpace(f"{where or f'--measure {name}'}: no such measure; {nearest}")
    return name
