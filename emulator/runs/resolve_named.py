"""Resolution of a scenario by its name, with errors that name the place in its file."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from emulator.runs.metadata_mode import in_mode, mode_of_files
from emulator.runs.resolve import Resolved, resolve
from emulator.runs.scenario_sources import catalogue, find_scenario, place_in_file
from emulator.runs.settings_files import read_settings_files
from emulator.scenario.scenario_model import Scenario
from emulator.settings.properties_files import SettingsFile
from emulator.settings.setting_registry import UnusableSetting


def resolve_named(
    given: str,
    kafka_version: str | None = None,
    overrides: Mapping[str, Any] | None = None,
    files: Sequence[str] = (),
    parameters: Sequence[str] = (),
    metadata: str = "",
) -> Resolved:
    """Resolve a scenario by catalogue id or file, with the command line's settings.

    `files`: as `--settings` takes them. `metadata`: the requested mode, "" none. Raises the errors of `find_in_mode`
    and `resolve_found`.
    """
    settings_files = read_settings_files(files)
    scenario, note = find_in_mode(given, kafka_version, parameters, metadata, settings_files)
    return resolve_found(given, scenario, kafka_version, dict(overrides or {}), settings_files, note)


def find_in_mode(
    given: str,
    kafka_version: str | None,
    parameters: Sequence[str] = (),
    metadata: str = "",
    settings_files: Sequence[SettingsFile] = (),
) -> tuple[Scenario, str]:
    """The scenario in the metadata mode of that version, and a note if it is another form.

    `settings_files` choose the mode if `metadata` is "". Raises the errors of `find_scenario` and `in_mode`.
    """
    metadata = metadata or mode_of_files(settings_files, kafka_version)

    def twin(name: str) -> Scenario | None:
        return find_scenario(name, parameters) if name in catalogue() else None

    return in_mode(given, find_scenario(given, parameters), kafka_version, metadata, twin)


def resolve_found(
    given: str,
    scenario: Scenario,
    kafka_version: str | None,
    overrides: dict[str, Any],
    settings_files: Sequence[SettingsFile],
    note: str = "",
) -> Resolved:
    """Resolve the scenario that was found by the name `given`.

    `note`: a further warning about it, "" none. Raises the errors of `resolve`; one about the file's own settings
    begins with `FILE:LINE:COLUMN: `.
    """
    try:
        resolved = resolve(scenario, kafka_version, overrides, settings_files)
    except UnusableSetting as error:
        lines = str(error).splitlines()
        raise UnusableSetting("\n".join(f"{place_in_file(given, line)}{line}" for line in lines)) from error
    if not note:
        return resolved
    account = msgspec.structs.replace(resolved.account, warnings=(note, *resolved.account.warnings))
    return msgspec.structs.replace(resolved, account=account)
