"""`faultline scenarios`: the catalogue, one scenario, or the errors of a file."""

import io
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from ruamel.yaml import YAML

from emulator.cli.commands.command_errors import reports_errors
from emulator.cli.commands.control_calls import PIPE_WIDTH
from emulator.cli.commands.unusable import UNUSABLE_SCENARIO
from emulator.exit_codes import HELD, UNUSABLE
from emulator.old_names import OldName
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import catalogue, find_scenario, recordings_of
from emulator.scenario.load import ScenarioErrors
from emulator.scenario.scenario_model import Scenario
from emulator.scenario.write import written
from emulator.scenario.yaml_places import place_of_problem
from emulator.screen import Screen
from emulator.settings.properties_files import UnusableFile
from emulator.settings.setting_registry import UnusableSetting
from protocol.versions import UnusableProtocolVersion

TITLE_WIDTH_MIN = 40
"""Minimum characters for a title's column; with fewer, a title gets its own lines."""
INDENT = 4


class Fault(msgspec.Struct, frozen=True):
    """An error of a scenario file. Line and column count from 1; 0: the file as a whole."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return ":".join((self.file, *(str(at) for at in (self.line, self.column) if at))) + f": {self.message}"


@reports_errors("", *UNUSABLE_SCENARIO)
def list_command(*, json: bool = False) -> int:
    """Print id, title, versions (the default first) and number of recordings of real Kafka."""
    found = list(map(find_scenario, catalogue()))
    if json:
        print(msgspec.json.encode([{"id": s.id, "title": s.title, "kafka": s.kafka} for s in found]).decode())
        return HELD
    print_list(Screen(width=None if sys.stdout.isatty() else PIPE_WIDTH), found)
    return HELD


def print_list(screen: Screen, scenarios: Sequence[Scenario]) -> None:
    """Print the catalogue as a table; on a narrow screen each title is below its scenario.

    An id is never wrapped: users copy it into the next command.
    """
    rows = [
        (one.id, " ".join(one.kafka), str(sum(len(recordings_of(one.id, version)) for version in one.kafka)), one.title)
        for one in scenarios
    ]
    headings = ("scenario", "Kafka", "recorded", "what happens")
    widths = [max(len(row[column]) for row in (headings, *rows)) for column in range(3)]
    if screen.width - sum(widths) - 2 * len(widths) >= TITLE_WIDTH_MIN:
        table = Table(box=None, pad_edge=False)
        for heading in headings:
            table.add_column(heading, no_wrap=heading != "what happens")
        for row in rows:
            table.add_row(*map(Text, row))
        screen.print(table)
        return
    for scenario_id, versions, recorded, title in rows:
        times = f", {recorded} recording{'' if recorded == '1' else 's'}" if recorded != "0" else ""
        screen.print(Text(f"{scenario_id}  {versions}{times}"))
        screen.print(Padding(Text(title), (0, 0, 0, INDENT)))


@reports_errors("", *UNUSABLE_SCENARIO)
def show_command(scenario: str, /, *, json: bool = False) -> int:
    """Print the scenario as YAML or as JSON.

    Parameters
    ----------
    scenario
        A catalogue id, a YAML file, or a recording.
    json
        Print it as JSON.
    """
    text = written(find_scenario(scenario))
    if json:
        print(msgspec.json.encode(YAML(typ="safe", pure=True).load(io.StringIO(text))).decode())
    else:
        print(text, end="")
    return HELD


def check_command(files: list[Path], /, *, json: bool = False) -> int:
    """Print one line per error, with file, line and column, as editors and CI expect.

    Settings are checked on every version of the scenario.

    Parameters
    ----------
    files
        YAML files.
    json
        Print the errors as JSON.
    """
    faults: dict[str, list[Fault]] = {}
    notices: dict[str, list[str]] = {}
    for path in files:
        with warnings.catch_warnings(record=True, action="always", category=OldName) as caught:
            faults[str(path)] = list(faults_of(path))
        notices[str(path)] = [str(one.message) for one in caught]
    if json:
        documents = [
            {"file": name, "usable": not found, "faults": found, "warnings": notices[name]}
            for name, found in faults.items()
        ]
        print(msgspec.json.encode(documents).decode())
    for name, found in faults.items() if not json else ():
        for line in (*found, *(f"warning: {one}" for one in notices[name])):
            print(line, file=sys.stderr)
        if not found:
            print(f"{name}: usable")
    return UNUSABLE if any(faults.values()) else HELD


def faults_of(path: Path) -> Iterator[Fault]:
    """Errors of a scenario file; none: it can be played."""
    try:
        scenario = find_scenario(str(path))
    except ScenarioErrors as error:
        for problem in error.problems:
            yield Fault(error.name, problem.line, problem.column, problem.message)
        return
    except UNUSABLE_SCENARIO as error:
        yield Fault(str(path), 0, 0, str(error).removeprefix(f"{path}: "))
        return
    for version in scenario.kafka:
        try:
            resolve(scenario, version)
        except (UnusableSetting, UnusableFile, UnusableProtocolVersion) as error:
            text = path.read_text(encoding="utf-8") if path.is_file() else ""
            for line in str(error).splitlines():
                yield Fault(str(path), *place_of_problem(text, line), f"on Kafka {version}: {line}")
            return
