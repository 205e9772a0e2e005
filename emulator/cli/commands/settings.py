"""`faultline settings [NAME|FILE]`: what a setting is here, what is made of a settings file, or how many there are."""

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from emulator.exit_codes import HELD, UNUSABLE
from emulator.runs.resolve import resolve
from emulator.runs.settings_files import read_settings_files
from emulator.scenario.model import Scenario
from emulator.screen import Screen
from emulator.settings.account import lines
from emulator.settings.bearing import MODELLED, NOT_MODELLED, SET_HERE, WITHOUT_BEARING
from emulator.settings.files import UnusableFile, wanted
from emulator.settings.registry import (
    A_SETTING_OF,
    GROUP_OF,
    REGISTRY,
    SCOPES,
    SETTINGS,
    UnusableSetting,
    bearing_of,
    nearest_setting,
)
from emulator.settings.setting import Setting, shown_version
from emulator.settings.words import allowed, default_in, lifetime, updates
from protocol.versions import DEFAULT_VERSION, UnknownVersion, UnusableProtocolVersion, ladder_name

FILE_ENDINGS = (".properties", ".conf", ".cfg", ".yml", ".yaml")
STANDINGS = (MODELLED, NOT_MODELLED, SET_HERE, WITHOUT_BEARING)


def settings_command(names: Sequence[str], kafka_version: str | None, json: bool) -> int:
    """2 for a name that nobody knows, or a file that cannot be used."""
    out = Screen(highlight=False, soft_wrap=True)
    try:
        version = ladder_name(kafka_version or DEFAULT_VERSION)
        if not names:
            return _counted(out, json)
        files = [name for name in names if _names_file(name)]
        told = [_told(one, version) for name in names if name not in files for one in _known(name)]
        account = _account(files, version) if files else None
    except (UnusableSetting, UnusableFile, UnknownVersion, UnusableProtocolVersion) as error:
        print(f"faultline settings: {error}", file=sys.stderr)
        return UNUSABLE
    if json:
        print(msgspec.json.encode({"settings": told, "account": account}).decode())
        return HELD
    for one in told:
        _show(out, one)
    if account is not None:
        for line in lines(account) or ["everything in it is modelled"]:
            out.print(line, markup=False)
    return HELD


def _names_file(name: str) -> bool:
    """Also one that is not there: no setting is called so."""
    path = wanted(name).path
    return name not in REGISTRY and (Path(path).exists() or path.endswith(FILE_ENDINGS) or "/" in path)


def _account(words: Sequence[str], version: str) -> Any:
    """Of files, as a cluster of three AZs would have them."""
    scenario = Scenario(id="settings", title="", kafka=(version,), steps=())
    return resolve(scenario, version, None, read_settings_files(words)).account


def _known(name: str) -> list[Setting]:
    """Of whichever kind. Raises UnusableSetting."""
    found = [REGISTRY[name]] if name in REGISTRY else []
    found += [setting for setting in SETTINGS if setting.name == name and setting not in found]
    if not found:
        raise UnusableSetting(f"unknown setting {name!r}{nearest_setting(name)}")
    return found


def _told(setting: Setting, version: str) -> dict[str, Any]:
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


def _show(out: Console, told: dict[str, Any]) -> None:
    out.print(f"[bold]{told['name']}[/], {A_SETTING_OF[told['kind']]} setting: {told['standing']}")
    if told["why"]:
        out.print(f"  {told['why']}", markup=False)
    if told["checks"]:
        out.print(f"  could change {told['checks']}; {told['bears']}", markup=False)
    if told["known"]:
        unit = f" {told['unit']}" if told["unit"] and isinstance(told["default"], int | float) else ""
        out.print(f"  default in {shown_version(told['kafka'])}: {told['default_words']}{unit}", markup=False)
    else:
        out.print(f"  Kafka {shown_version(told['kafka'])} does not know it", markup=False)
    out.print(f"  allowed: {told['allowed']}; versions: {told['versions']}", markup=False)
    if told["update"]:
        out.print(f"  can be altered while brokers run: {told['update']}", markup=False)


def _counted(out: Console, json: bool) -> int:
    counts = Counter((setting.scope, GROUP_OF[setting.key].standing) for setting in SETTINGS)
    table = {scope: {standing: counts[scope, standing] for standing in STANDINGS} for scope in SCOPES}
    if json:
        print(msgspec.json.encode(table).decode())
        return HELD
    for scope, of_scope in table.items():
        words = ", ".join(f"{count} {standing}" for standing, count in of_scope.items() if count)
        out.print(f"{A_SETTING_OF[scope]}: {sum(of_scope.values())} settings; {words}", markup=False)
    out.print("faultline settings NAME says what one is, FILE what is made of a file; all of them: docs/settings.md")
    return HELD
