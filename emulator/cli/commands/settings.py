"""`faultline settings [NAME|FILE]`: treatment of a setting or a settings file; or counts."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from emulator.cli.commands.command_errors import reports_errors
from emulator.cli.play_options import KafkaVersion
from emulator.exit_codes import HELD
from emulator.runs.metadata_mode import mode_of_files
from emulator.runs.resolve import resolve
from emulator.runs.settings_files import read_settings_files
from emulator.scenario.scenario_model import Scenario
from emulator.screen import Screen
from emulator.settings.account import lines
from emulator.settings.bearing import MODELLED, NOT_MODELLED, SET_HERE, WITHOUT_BEARING
from emulator.settings.properties_files import UnusableFile, wanted
from emulator.settings.setting import Setting, shown_version
from emulator.settings.setting_registry import (
    A_SETTING_OF,
    GROUP_OF,
    REGISTRY,
    SCOPES,
    SETTINGS,
    UnusableSetting,
    bearing_of,
    nearest_setting,
)
from emulator.settings.setting_text import allowed, default_in, lifetime, updates
from emulator.topology import KRAFT, default_metadata, three_azs
from protocol.versions import DEFAULT_VERSION, KRAFT_LADDER, UnknownVersion, UnusableProtocolVersion, ladder_name

FILE_ENDINGS = (".properties", ".conf", ".cfg", ".yml", ".yaml")
STANDINGS = (MODELLED, NOT_MODELLED, SET_HERE, WITHOUT_BEARING)


@reports_errors("settings", UnusableSetting, UnusableFile, UnknownVersion, UnusableProtocolVersion)
def settings_command(*names: str, kafka_version: KafkaVersion = None, json: bool = False) -> int:
    """Returns 2 for an unknown name or an unusable file.

    Parameters
    ----------
    names
        Settings, such as log.retention.ms or producer.acks, or files as --settings takes them; none: only counts.
    json
        Print as JSON.
    """
    out = Screen(highlight=False, soft_wrap=True)
    version = ladder_name(kafka_version or (KRAFT_LADDER[-1] if _in_kraft(names) else DEFAULT_VERSION))
    if not names:
        return _counted(out, json)
    files = [name for name in names if _names_file(name)]
    documents = [_document(one, version) for name in names if name not in files for one in _known(name)]
    account = _account(files, version) if files else None
    if json:
        print(msgspec.json.encode({"settings": documents, "account": account}).decode())
        return HELD
    for one in documents:
        _show(out, one)
    if account is not None:
        for line in lines(account) or ["everything in it is modelled"]:
            out.print(line, markup=False)
    return HELD


def _names_file(name: str) -> bool:
    """Whether the name is a file's, existing or not, and no setting's."""
    path = wanted(name).path
    return name not in REGISTRY and (Path(path).exists() or path.endswith(FILE_ENDINGS) or "/" in path)


def _account(words: Sequence[str], version: str) -> Any:
    """Account of settings files in a cluster of three AZs."""
    files = read_settings_files(words)
    metadata = mode_of_files(files, version) or default_metadata(version)
    scenario = Scenario(id="settings", title="", kafka=(version,), steps=(), topology=three_azs(metadata=metadata))
    return resolve(scenario, version, None, files).account


def _in_kraft(names: Sequence[str]) -> bool:
    """Whether a file among the names is one of KRaft mode."""
    return mode_of_files(read_settings_files([name for name in names if _names_file(name)]), None) == KRAFT


def _known(name: str) -> list[Setting]:
    """Settings with that name, of any scope. Raises UnusableSetting."""
    found = [REGISTRY[name]] if name in REGISTRY else []
    found += [setting for setting in SETTINGS if setting.name == name and setting not in found]
    if not found:
        raise UnusableSetting(f"unknown setting {name!r}{nearest_setting(name)}")
    return found


def _document(setting: Setting, version: str) -> dict[str, Any]:
    return {
        "name": setting.key,
        "kind": setting.scope,
        "kafka": version,
        "known": setting.exists_in(version),
        "default": None if setting.follows or not setting.exists_in(version) else setting.default_in(version),
        "default_words": default_in(setting, version),
        "allowed": allowed(setting, version),
        "unit": setting.unit,
        "versions": lifetime(setting),
        "update": updates(setting),
        **bearing_of(setting.key),
    }


def _show(out: Console, one: dict[str, Any]) -> None:
    out.print(f"[bold]{one['name']}[/], {A_SETTING_OF[one['kind']]} setting: {one['standing']}")
    if one["why"]:
        out.print(f"  {one['why']}", markup=False)
    if one["checks"]:
        out.print(f"  could change {one['checks']}; {one['bears']}", markup=False)
    if one["known"]:
        unit = f" {one['unit']}" if one["unit"] and isinstance(one["default"], int | float) else ""
        out.print(f"  default in {shown_version(one['kafka'])}: {one['default_words']}{unit}", markup=False)
    else:
        out.print(f"  unknown to Kafka {shown_version(one['kafka'])}", markup=False)
    out.print(f"  allowed: {one['allowed']}; versions: {one['versions']}", markup=False)
    if one["update"]:
        out.print(f"  can be altered while brokers run: {one['update']}", markup=False)


def _counted(out: Console, json: bool) -> int:
    counts = Counter((setting.scope, GROUP_OF[setting.key].standing) for setting in SETTINGS)
    table = {scope: {standing: counts[scope, standing] for standing in STANDINGS} for scope in SCOPES}
    if json:
        print(msgspec.json.encode(table).decode())
        return HELD
    for scope, of_scope in table.items():
        words = ", ".join(f"{count} {standing}" for standing, count in of_scope.items() if count)
        out.print(f"{A_SETTING_OF[scope]}: {sum(of_scope.values())} settings; {words}", markup=False)
    out.print("faultline settings NAME or FILE shows how it is treated; docs/settings.md lists all settings")
    return HELD
