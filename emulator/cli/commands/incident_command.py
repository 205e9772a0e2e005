"""`faultline incident RUN`: an imported incident, its page, records and scenario."""

from pathlib import Path

import msgspec

from emulator.cli.commands.command_errors import CommandFailed, reports_errors
from emulator.exit_codes import HELD
from emulator.regular_files import write_whole
from emulator.runs.importing.import_record import NoImportRecord
from emulator.runs.importing.incident_run import read_incident, recovered, scenario_of, write_page
from emulator.runs.importing.incident_scenario import NotPlayable
from emulator.runs.run_events import NoEvents, TooManyEvents
from protocol.records.errors import RecordsError


@reports_errors("incident", NoImportRecord, NoEvents, TooManyEvents, NotPlayable, RecordsError)
def incident_command(
    run_directory: Path, /, *, recover: Path | None = None, scenario: Path | None = None, json: bool = False
) -> int:
    """Print the incident, and write incident.html into the run.

    Parameters
    ----------
    run_directory
        Directory of an imported run.
    recover
        File for the removed records that a collected copy has, as JSON lines.
    scenario
        File for a scenario that plays the incident again.
    json
        Print the incident as JSON.
    """
    found = read_incident(run_directory)
    page = write_page(run_directory, found)
    if json:
        print(msgspec.json.encode(found.incident).decode())
    else:
        for line in found.incident.lines:
            print(line.encode(errors="backslashreplace").decode())
        print(f"page: {page}")
    if recover is not None:
        lines = list(recovered(run_directory, found.incident))
        if not lines:
            raise CommandFailed(f"{recover}: no collected copy has a removed record; nothing was written")
        write_whole(recover, b"".join(lines))
        if not json:
            print(f"{len(lines)} records: {recover}")
    if scenario is not None:
        write_whole(scenario, scenario_of(run_directory, found).encode())
        if not json:
            print(f"scenario: {scenario}; play it: faultline run {scenario} --world sim")
    return HELD
