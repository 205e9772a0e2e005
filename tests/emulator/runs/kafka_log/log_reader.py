"""Reads logs of any version as a person with grep does.

The recordings' `truncations`, `role_changes` and `isr_changes` were read from such lines.
"""

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import UNSET

from emulator.cli.commands.run_simulated import simulate_into
from emulator.runs.directory import prepare
from emulator.runs.kafka_lines import kafka_lines
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.scenario.observations.observation_model import Observations

BROKERS = (0, 1, 2)
TRUNCATION = re.compile(
    r"Truncating log \S+ to offset (\d+)|Truncating to offset (\d+)|Truncating to (\d+) has no effect"
)
ROLE = re.compile(
    r"(Leader|Follower) \S+ (?:with topic id \S+ )?starts at leader epoch (\d+) from offset (\d+) with "
    r"(?:partition epoch \d+(?:,| and) )?high watermark (\d+).*[Pp]revious leader epoch was (-?\d+)"
)
"""From 3.6 to 3.9 the previous epoch of a follower is the new one."""
ISR_CHANGE = re.compile(r"(?:Shrinking|Expanding) ISR (?:for partition \S+ )?from ([\d,]+) to ([\d,]+)")

Found = dict[str, list[tuple[Any, ...]]]


def simulated_logs(scenario: str, version: str, seed: int) -> dict[int, list[str]]:
    """{broker: its lines}, by way of a run's directory."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        prepare(run)
        simulate_into(run, resolve(find_scenario(scenario), version), seed)
        return {broker: [str(line) for line in kafka_lines(run, f"broker-{broker}")] for broker in BROKERS}


def read_log(lines: list[str], previous: bool = True) -> Found:
    """Truncations, roles and ISR changes; roles with their `previous` epoch or without.

    A truncation is (offset, whether anything was cut: None where the version does not report it).
    """
    return {
        "truncations": [
            (int(match[1] or match[2] or match[3]), None if match[1] else match[3] is None)
            for match in _found(TRUNCATION, lines)
        ],
        "roles": [
            (match[1].lower(), *map(int, match.groups()[1 : None if previous else -1])) for match in _found(ROLE, lines)
        ],
        "isr": once([match.groups() for match in _found(ISR_CHANGE, lines)]),
    }


def recorded(observations: Observations, broker: int) -> Found:
    """The same of a recording."""

    def entries(kind: list[Any], *fields: str) -> list[tuple[Any, ...]]:
        return [tuple(entry[field] for field in fields) for entry in kind if entry["broker"] == broker]

    role: tuple[str, ...] = ("role", "leader_epoch", "log_end", "high_watermark")
    role += ("previous_epoch",) if observations.mode is UNSET else ()
    return {
        "truncations": entries(observations.truncations, "to", "effective"),
        "roles": entries(observations.role_changes, *role),
        "isr": once(entries(observations.isr_changes, "was", "now")),
    }


def once(changes: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The number of repetitions by a cut-off leader before it learns of its successor is a race."""
    return [change for index, change in enumerate(changes) if index == 0 or change != changes[index - 1]]


def _found(pattern: re.Pattern[str], lines: list[str]) -> Iterator[re.Match[str]]:
    return (match for match in map(pattern.search, lines) if match)
