"""What is to be said of settings that a cluster that stays is given later, to topics, brokers and their next lives: at
once in the answer, and in settings.json, by which its audits judge from then on."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from emulator.layout import SETTINGS_FILE
from emulator.machines.node.specs import RunSpec
from emulator.runs.directory import write_json
from emulator.settings.account import Account, lines, merged
from emulator.settings.accounting import account_of_altered
from emulator.settings.registry import BY_SCOPE, usable_value


class SettingsTold:
    def __init__(self, run_dir: Path, spec: RunSpec) -> None:
        self._file = run_dir / SETTINGS_FILE
        self._spec = spec

    def with_said(self, result: dict[str, Any], scope: str, given: Mapping[str, Any], where: str) -> dict[str, Any]:
        """`result` of what gave them, {Kafka's name: usable value}; with "said", if there is anything to say."""
        version = self._spec.kafka_version
        values = {name: usable_value(BY_SCOPE[scope][name], value, version) for name, value in given.items()}
        brokers = next(iter(self._spec.settings.values()), {})
        said = self.add(account_of_altered(version, scope, values, where, brokers))
        return {**result, "said": said} if said else result

    def add(self, account: Account) -> list[str]:
        """From now on it holds for the run. Returns its lines."""
        if not account:
            return []
        told = lines(account)
        try:
            settings = msgspec.json.decode(self._file.read_bytes()) if self._file.exists() else {}
            known = msgspec.convert(settings.get("settings", {}), Account)
            write_json(self._file, {**settings, "settings": merged(known, account)})
        except (OSError, msgspec.MsgspecError, AttributeError) as error:
            told.append(f"warning: audits will not know of it: {self._file}: {error}")
        return told
