"""docs/settings-for-promises.md, from settings_for_promises.json: settings and promises."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs.generate.markdown_tables import code, notice, table
from docs.generate.swept import seconds

SOURCE = "benchmarks/results/settings_for_promises.json"

Cell = dict[str, Any]
Profiles = list[dict[str, str]]

SHORT = {
    "producer.acks": "acks",
    "min.insync.replicas": "min. in sync",
    "unclean.leader.election.enable": "unclean",
    "producer.enable.idempotence": "idempotent",
    "producer.max.in.flight.requests.per.connection": "in flight",
    "log.flush.interval.messages": "flushed each",
}
"""{setting: its short name in tables}"""
UNTOLD = {
    "producer.acks": "1",
    "min.insync.replicas": "1",
    "producer.enable.idempotence": "false",
    "producer.max.in.flight.requests.per.connection": "5",
    "log.flush.interval.messages": "",
}
"""Kafka's defaults up to 2.8; `unclean_untold` has that of unclean elections."""
TITLES = {
    "lost-acknowledged": "No acknowledged record is lost",
    "duplicate": "None is there twice",
    "reordered": "Order is kept",
    "read-then-lost": "Nothing is read and then gone",
    "replica-divergence": "Replicas do not differ",
}
"""{check: heading}; other checks have a row each."""

_HEAD = """# Which settings for which promise

For each promise: which settings kept it, by version, against every single fault that [`faultline advise`](advise.md)
knows, {faults} of them (a broker, a zone, a disk, a link, a session server, at the moments that matter). Three brokers
in three zones, a partition with three replicas, a client in each zone that writes and reads. Each cell is a run of each
of these faults, {seeds}:

- `3 of 71` runs broke the promise, and by which fault first. A run that could tell nothing is not counted.
- `held in 71 of 71` is what was seen, and **never a proof**: other seeds, two faults at once
  (`faultline advise --pairs`) or other loads may break it.

Blank: this version has no idempotent producers. With acks 0 and 1 `min.insync.replicas` is not looked at. *Flushed
each*: `log.flush.interval.messages=1`, which is for power that is lost. What is not named is the version's own:
producers up to 2.0 send each record once, from 2.1 on again and again for two minutes (`delivery.timeout.ms`).

Below each table: the smallest settings of those played that held, the fewest that are not the version's own (without
acks=0, which tells writers nothing, so that there is little to double or to refuse); what they cost, which is who
waits for its writes longest and who is refused; and a command that plays a run that breaks the promise, by the last
settings of the table that do.

`python -m benchmarks.settings_for_promises` plays all of it again.
"""

_WAITS = """## Writes go on

In how many runs the writes of the zones az-0 (the first leader's), az-1 and az-2 waited a second or more, and the
longest wait of all; behind the stroke, in how many runs each zone's writes were refused.
"""


def page(root: Path) -> str:
    found = json.loads((root / SOURCE).read_text(encoding="utf-8"))
    profiles, cells = found["profiles"], found["cells"]
    versions = list(found["seeds"])
    counts = {f"{version}: {_seeds(count)}" for version, count in found["seeds"].items()}
    every = {_seeds(count) for count in found["seeds"].values()}
    head = _HEAD.format(faults=len(found["faults"]), seeds="; ".join(sorted(every if len(every) == 1 else counts)))
    parts = [notice(SOURCE), head]
    for check, title in TITLES.items():
        parts.append(f"## {title}\n")
        parts.append(table((*SHORT.values(), *versions), _rows(check, profiles, cells, versions, found["faults"])))
        parts.append("\n".join(_smallest(check, profiles, cells, versions)) + "\n")
    parts.append(_others(found, cells))
    parts.append(_WAITS)
    parts.append(table((*SHORT.values(), *versions), _wait_rows(profiles, cells, versions)))
    return "\n".join(parts)


def _seeds(count: int) -> str:
    return f"with seeds 1 to {count}" if count > 1 else "with seed 1"


def _cell(cells: list[Cell], version: str, at: int) -> Cell | None:
    return next((one for one in cells if one["version"] == version and one["profile"] == at), None)


def _broken(cell: Cell, check: str) -> int:
    return sum(map(len, cell["broken"].get(check, {}).values()))


def _settings(profile: dict[str, str]) -> tuple[str, ...]:
    return tuple(profile.get(name, UNTOLD.get(name, "")) for name in SHORT)


def _rows(
    check: str, profiles: Profiles, cells: list[Cell], versions: list[str], faults: dict[str, list[str]]
) -> Iterator[tuple[str, ...]]:
    for at, profile in enumerate(profiles):
        yield (*_settings(profile), *(_share(_cell(cells, version, at), check, faults) for version in versions))


def _share(cell: Cell | None, check: str, faults: dict[str, list[str]]) -> str:
    if cell is None:
        return ""
    if not (broken := _broken(cell, check)):
        return f"held in {cell['runs']} of {cell['runs']}"
    text, moment = faults[next(iter(cell["broken"][check]))]
    return f"**{broken} of {cell['runs']}**: {text} ({moment})"


# --- the smallest settings ---


def size_of(profile: dict[str, str], version: str) -> int:
    """Number of settings with another value than the version's default."""
    own = {**UNTOLD, "unclean.leader.election.enable": unclean_untold(version)}
    return sum(value != own[name] for name, value in profile.items())


def unclean_untold(version: str) -> str:
    """Kafka's own: true before 0.11."""
    return "true" if version.startswith("0.10") else "false"


def _smallest(check: str, profiles: Profiles, cells: list[Cell], versions: list[str]) -> Iterator[str]:
    for version in versions:
        of = [one for one in cells if one["version"] == version and profiles[one["profile"]]["producer.acks"] != "0"]
        held = [cell for cell in of if not _broken(cell, check)]
        breaking = [cell for cell in of if _broken(cell, check)]
        if held:
            chosen = min(held, key=lambda cell: (size_of(profiles[cell["profile"]], version), cell["profile"]))
            kept = f"smallest that held: {_words(profiles[chosen['profile']], version)}; {_cost(chosen)}"
        else:
            chosen = min(breaking, key=lambda cell: (_broken(cell, check), size_of(profiles[cell["profile"]], version)))
            kept = (
                f"none of these held; fewest, {_broken(chosen, check)} of {chosen['runs']}: "
                f"{_words(profiles[chosen['profile']], version)}; {_cost(chosen)}"
            )
        yield f"- **{version}**, {kept}."
        if breaking:
            first = breaking[-1]
            fault = next(iter(first["broken"][check]))
            seed = first["broken"][check][fault][0]
            yield f"  One that breaks it: `{replay(profiles[first['profile']], version, fault, seed)}`"


def replay(profile: dict[str, str], version: str, fault: str, seed: int) -> str:
    """The command that plays one run, and tells why."""
    words = ["faultline", "advise", "--kafka-version", version, "--fault", fault, "--seeds", str(seed)]
    return shlex.join([*words, *(word for name, value in profile.items() for word in ("--set", f"{name}={value}"))])


def _words(profile: dict[str, str], version: str) -> str:
    own = {**UNTOLD, "unclean.leader.election.enable": unclean_untold(version)}
    return ", ".join(code(f"{name}={value}") for name, value in profile.items() if value != own[name]) or "Kafka's own"


def _cost(cell: Cell) -> str:
    """The AZ with the longest wait, and the wait."""
    az, worst = max(cell["waits"].items(), key=lambda one: one[1]["ms"])
    cost = f"writes of {az} wait longest, {seconds(worst['ms'])} ({worst['fault']})"
    runs = {az: of["runs"] for az, of in cell["refused"].items()}
    refused = ", ".join(f"{az} in {count}" for az, count in runs.items() if count)
    return f"{cost}; refused: {refused} of {cell['runs']} runs" if refused else f"{cost}; none is refused"


# --- the rest ---


def _others(found: dict[str, Any], cells: list[Cell]) -> str:
    rows = []
    for check, words in found["promises"].items():
        if check in TITLES:
            continue
        broken, runs = sum(_broken(cell, check) for cell in cells), sum(cell["runs"] for cell in cells)
        by = [cell for cell in cells if _broken(cell, check)]
        where = ", ".join(dict.fromkeys(cell["version"] for cell in by))
        rows.append((words, f"**{broken} of {runs}** ({where})" if broken else f"held in {runs} of {runs}"))
    head = "## Other promises to readers\n\nOver all settings and versions of this page:\n"
    return f"{head}\n{table(('promise', 'broken in'), rows)}"


def _wait_rows(profiles: Profiles, cells: list[Cell], versions: list[str]) -> Iterator[tuple[str, ...]]:
    for at, profile in enumerate(profiles):
        yield (*_settings(profile), *(_wait(_cell(cells, version, at)) for version in versions))


def _wait(cell: Cell | None) -> str:
    if cell is None:
        return ""
    waits, refused = cell["waits"].values(), cell["refused"]
    runs = ", ".join(str(one["runs"]) for one in waits)
    longest = seconds(max(one["ms"] for one in waits))
    of = ", ".join(str(refused[az]["runs"] if az in refused else 0) for az in cell["waits"])
    return f"{runs} of {cell['runs']}, {longest} / {of}"
