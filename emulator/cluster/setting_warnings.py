"""Warnings about settings of topics, brokers and incarnations changed after the start.

They go into the answer, and into settings.json, by which audits judge from then on.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from emulator.machines.node.specs import RunSpec
from emulator.run_layout import SETTINGS_FILE
from emulator.runs.directory import write_json
from emulator.settings.account import Account, lines, merged
from emulator.settings.accounting import account_of_altered
from emulator.settings.setting_registry import BY_SCOPE, usable_value
from protocol.undecodable import UNDECODABLE


class SettingWarnings:
    def __init__(self, run_dir: Path, spec: RunSpec) -> None:
        self._file = run_dir / SETTINGS_FILE
        self._spec = spec

    def with_warnings(self, result: dict[str, Any], scope: str, given: Mapping[str, Any], where: str) -> dict[str, Any]:
        """`result`, with "said" if there are remarks. `given`: {Kafka's name: usable value}."""
        version = self._spec.kafka_version
        values = {name: usable_value(BY_SCOPE[scope][name], value, version) for name, value in given.items()}
        brokers = next(iter(self._spec.settings.values()), {})
        remarks = self.add(account_of_altered(version, scope, values, where, brokers))
        return {**result, "said": remarks} if remarks else result

    def add(self, account: Account) -> list[str]:
        """Add the remarks to the run's; return their lines."""
        if not account:
            return []
        remarks = lines(account)
        try:
            settings = msgspec.json.decode(self._file.read_bytes()) if self._file.exists() else {}
            known = msgspec.convert(settings.get("settings", {}), Account)
            write_json(self._file, {**settings, "settings": merged(known, account)})
        except (OSError, AttributeError, *UNDECODABLE) as error:
            remarks.append(f"warning: audits cannot read it: {self._file}: {error}")
        return remarks
