"""docs/settings-for-promises.md, from settings_for_promises.json: settings and promises."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs.generate.markdown_tables import code, notice, table
from docs.generate.swept import seconds

SOURCE = "verification/results/settings_for_promises.json"

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
DEFAULTS = {
    "producer.acks": "1",
    "min.insync.replicas": "1",
    "producer.enable.idempotence": "false",
    "producer.max.in.flight.requests.per.connection": "5",
    "log.flush.interval.messages": "",
}
"""Kafka's defaults up to 2.8; `unclean_default` has that of unclean elections."""
TITLES = {
    "lost-acknowledged": "No acknowledged record is lost",
    "duplicate": "No record is duplicate",
    "reordered": "Order is kept",
    "read-then-lost": "No record that was read is lost",
    "replica-divergence": "Replicas do not differ",
}
"""{check: heading}; other checks have a row each."""

_HEAD = """# Which settings for which promise

Each table has the settings that kept one promise, by version, under every single fault of
[`faultline advise`](advise.md). There are {faults} faults: of a broker, an AZ, a disk, a link, a ZooKeeper server, at
the moments that matter. The cluster has three brokers in three AZs, a partition with three replicas, and a client in
each AZ that writes and reads. Each cell is a run of each of these faults, {seeds}:

- `3 of 71`: so many runs broke the promise; the first fault that did follows. Runs with an unknown verdict are not
  counted.
- `held in 71 of 71` is an observation, **never a proof**: other seeds, two faults at once (`faultline advise --pairs`)
  or other loads may break the promise.
- Blank: this version has no idempotent producers.

With acks 0 and 1 `min.insync.replicas` has no effect. *Flushed each* is `log.flush.interval.messages=1`, which protects
against power loss. All other settings have the version's defaults. By default producers up to 2.0 send each record
once; from 2.1 on they retry for two minutes (`delivery.timeout.ms`).

Below each table:

- the smallest settings that held: those with the fewest values other than the version's defaults. acks=0 is left out:
  its writers receive no response, so there is little to duplicate or to refuse;
- their cost: the AZ whose writes wait longest, and the AZs whose writes are refused;
- a command that repeats a run that breaks the promise, with the last settings of the table that do.

`python -m verification.settings_for_promises` repeats all runs.
"""

_WAITS = """## Writes go on

Before the stroke: the number of runs in which writes of az-0, az-1 and az-2 waited a second or more, and the longest
wait. The first leader is in az-0. After the stroke: the number of runs in which each AZ's writes were refused.
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
    return tuple(profile.get(name, DEFAULTS.get(name, "")) for name in SHORT)


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
    own = {**DEFAULTS, "unclean.leader.election.enable": unclean_default(version)}
    return sum(value != own[name] for name, value in profile.items())


def unclean_default(version: str) -> str:
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
    """The command that repeats one run and prints the reason."""
    words = ["faultline", "advise", "--kafka-version", version, "--fault", fault, "--seeds", str(seed)]
    return shlex.join([*words, *(word for name, value in profile.items() for word in ("--set", f"{name}={value}"))])


def _words(profile: dict[str, str], version: str) -> str:
    own = {**DEFAULTS, "unclean.leader.election.enable": unclean_default(version)}
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
