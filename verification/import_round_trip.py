"""`python -m verification.import_round_trip`: a run's own log lines, imported again.

Each scenario of the catalogue is played in the simulated world. Its nodes' lines (`log --as-kafka`) and disks are
collected as an operator would, and imported. Roles, truncations, requested ISRs and final logs must then be those of
the run's events, as far as the lines of the version carry them.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC
from pathlib import Path
from shutil import copytree
from typing import Any, NamedTuple

from emulator.run_layout import DATA_FOLDER, EVENTS_FOLDER, event_paths
from emulator.runs.directory import prepare, write_simulated
from emulator.runs.finished import brokers_of
from emulator.runs.importing.collected_nodes import collect
from emulator.runs.importing.imported_run import RunImport
from emulator.runs.importing.log_reader import known_layouts
from emulator.runs.kafka_lines import kafka_lines
from emulator.runs.kafka_log.pattern import FILES
from emulator.runs.resolve_named import resolve_named
from emulator.runs.run_events import Line, read
from emulator.runs.scenario_sources import catalogue
from emulator.runs.simulated import play
from emulator.scenario.observations.recording_parsing import plain
from emulator.toplevel_errors import ended
from emulator.topology import identifier_named
from protocol.versions import rank

LEADERS_SINCE, FOLLOWERS_SINCE = "0.11", "2.6"
"""First versions whose lines have a leader's role with its log end, and a follower's."""
TRUNCATIONS_SINCE = "1.0"
"""First version whose lines say whether a truncation removed records."""


class Difference(NamedTuple):
    """A fact that the run's events and the import do not have in common."""

    what: str
    of_run: list[Any]
    of_import: list[Any]


def simulate(scenario: str, folder: Path, version: str | None = None, seed: int = 1) -> str:
    """Play a scenario into `folder`. Returns its version."""
    resolved = resolve_named(scenario, version)
    prepare(folder)
    played = play(resolved, seed, wire_events=True)
    write_simulated(folder, resolved, seed, played.world, plain(played.observations))
    return resolved.spec.kafka_version


def collect_as_operator(run: Path, target: Path) -> None:
    """Write each node's log files, settings and disk below `target`."""
    for node, versions in brokers_of(run).items():
        if not event_paths(run / EVENTS_FOLDER, node):  # never started
            continue
        folder = target / node
        folder.mkdir(parents=True)
        texts: dict[str, list[str]] = {name: [] for name in FILES}
        for line in kafka_lines(run, node):
            texts[line.file].append(f"{line}\n")
        for name, lines in texts.items():
            (folder / f"{name}.log").write_text("".join(lines))
        (folder / "server.properties").write_text(_properties(run, node))
        (folder / "version").write_text(versions.binary)
        if (run / DATA_FOLDER / node).is_dir():
            copytree(run / DATA_FOLDER / node, folder / "data")


def _properties(run: Path, node: str) -> str:
    """The settings that an operator's file would have: its id, and its roles or ZooKeeper."""
    number = identifier_named(node)
    if not any(read(run, ("quorum_state_changed",), node)):
        return f"broker.id={number}\nzookeeper.connect=zk:2181\nzookeeper.session.timeout.ms=6000\n"
    role = "controller" if node.startswith("controller") else "broker"
    return f"node.id={number}\nprocess.roles={role}\n"


def import_collected(folder: Path, out: Path, version: str) -> None:
    """Import what was collected."""
    out.mkdir()
    collected = collect([folder], known_layouts(None, UTC))
    nodes = [node._replace(version=node.version or version) for node in collected.nodes]
    RunImport(out, nodes, lambda read_bytes: None).run(None, collected.unread)


def differences(run: Path, imported: Path, version: str) -> Iterator[Difference]:
    """Facts that differ, of those that the version's lines carry."""
    for what, facts in (("roles", _roles), ("truncations", _truncations), ("requested ISRs", _isrs)):
        of_run, of_import = facts(run, version), facts(imported, version)
        if of_run != of_import:
            yield Difference(what, of_run, of_import)
    logs, logs_again = _logs(run), _logs(imported)
    for place in sorted(logs.keys() | logs_again.keys()):
        node, partition = place.split(" ")
        if not [*(run / DATA_FOLDER / node).rglob(partition)]:  # its disk is lost
            continue
        if logs.get(place) != logs_again.get(place):
            yield Difference(f"log of {place}", logs.get(place, []), logs_again.get(place, []))


def _sorted(run: Path, *names: str) -> list[Line]:
    found = [one for one in read(run, names) if not str(one.get("topic", "")).startswith("__")]
    return sorted(found, key=lambda one: (one["node"], one["incarnation"], one["seq"]))


def _roles(run: Path, version: str) -> list[Any]:
    carried = [role for role, since in (("leader", LEADERS_SINCE), ("follower", FOLLOWERS_SINCE))
               if rank(version) >= rank(since)]  # fmt: skip
    found: list[Any] = []
    last: dict[tuple[str, str, int], tuple[int, str, int]] = {}
    for one in _sorted(run, "role_changed"):
        replica = (one["node"], one["topic"], one["partition"])
        role = (one["incarnation"], one["role"], one["leader_epoch"])
        # a broker of KRaft logs no role that it has already, in the same leader epoch
        if one["role"] in carried and (one["role"] != "leader" or last.get(replica) != role):
            found.append((*replica, one["role"], one["leader_epoch"], one["log_end"]))
        last[replica] = role
    return found


def _truncations(run: Path, version: str) -> list[Any]:
    if rank(version) < rank(TRUNCATIONS_SINCE):
        return []
    return [
        (one["node"], one["topic"], one["partition"], one["to"], one["effective"])
        for one in _sorted(run, "log_truncated")
        if one["reason"] != "full" and one["effective"]
    ]


def _isrs(run: Path, version: str) -> list[Any]:
    del version
    return [
        (one["node"], one["topic"], one["partition"], one["was"], one["now"])
        for one in _sorted(run, "isr_change_asked")
        if one["change"] == "shrink"
    ]


def _logs(run: Path) -> dict[str, list[Any]]:
    """{replica: its batches at the end}, folded from appends and cuts."""
    logs: dict[str, list[Any]] = {}
    for one in _sorted(run, "batch_appended", "log_truncated", "log_loaded", "log_created", "log_deleted"):
        log = logs.setdefault(f"{one['node']} {one['topic']}-{one['partition']}", [])
        if one["event"] == "batch_appended":
            log.append((one["base_offset"], one["last_offset"], one["leader_epoch"], one["digest"]))
            continue
        end = {"log_truncated": one.get("to"), "log_loaded": one.get("log_end")}.get(one["event"]) or 0
        if one["event"] == "log_truncated" and one["reason"] == "full":
            end = 0
        log[:] = [entry for entry in log if entry[1] < end]
    return {place: log for place, log in logs.items() if log}


def round_trip(scenario: str, version: str | None = None, seed: int = 1) -> list[Difference]:
    """Play, collect, import and compare one scenario."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        played = simulate(scenario, folder / "run", version, seed)
        collect_as_operator(folder / "run", folder / "collected")
        import_collected(folder / "collected", folder / "imported", played)
        return list(differences(folder / "run", folder / "imported", played))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="verification.import_round_trip", description=__doc__)
    parser.add_argument("scenarios", nargs="*", help="catalogue ids; by default all")
    parser.add_argument("--kafka-version", help="version; by default each scenario's first")
    options = parser.parse_args(arguments)
    failed = 0
    names = options.scenarios or sorted(catalogue())
    for name in names:
        found = round_trip(name, options.kafka_version)
        failed += bool(found)
        print(f"{name}: {'equal' if not found else f'{len(found)} differences'}")
        for one in found[:3]:
            print(f"  {one.what}: run {one.of_run[:6]}, import {one.of_import[:6]}")
    print(f"{len(names) - failed} of {len(names)} scenarios are equal")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(ended("verification.import_round_trip", lambda: main(sys.argv[1:])))
