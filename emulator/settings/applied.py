"""Settings files for one version and one topology: values in force, and notes on the others.

A name that the version does not have is dropped. An unknown name is an error if it resembles a known one; otherwise
Kafka would pass it to a plug-in. Topics have no plug-ins. All errors of all files are reported together, with file and
line. Settings of one broker take precedence over those of all.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from emulator.settings.account import Dropped, SetHere
from emulator.settings.bearing import SET_HERE, WITHOUT_BEARING
from emulator.settings.properties import Entry
from emulator.settings.properties_files import SettingsFile, UnusableFile
from emulator.settings.setting import BROKER, ENSEMBLE, TOPIC, Setting, Value
from emulator.settings.setting_registry import (
    A_SETTING_OF,
    BY_SCOPE,
    GROUP_OF,
    PASSED_ON,
    SCOPES,
    SERVERS,
    UnusableSetting,
    nearest_setting,
    slip_of,
    usable_value,
)
from emulator.settings.setting_rules import ENABLED, MECHANISM
from protocol.gates import gates_for
from protocol.versions import UnknownVersion, UnusableProtocolVersion


class Given(msgspec.Struct, frozen=True):
    """A value and its source: `server.properties:12`, `--set`, `settings`.

    `noted`: notes on it exist already.
    """

    value: Value
    where: str
    noted: bool = False


class Layer(msgspec.Struct):
    """Settings of files.

    {name with its kind: value} for the whole cluster, of single brokers, and of dedicated controllers; and notes on
    ineffective ones. `harmless`: names that are no settings of their own, such as those of one listener.
    """

    cluster: dict[str, Given] = {}
    by_broker: dict[int, dict[str, Given]] = {}
    controllers: dict[str, Given] = {}
    dropped: list[Dropped] = []
    set_here: list[SetHere] = []
    passed_on: list[str] = []
    harmless: list[str] = []
    warnings: list[str] = []


def applied(files: Sequence[SettingsFile], version: str, brokers: dict[int, str]) -> Layer:
    """Settings of files; later files take precedence. `brokers`: {broker: its AZ}.

    Raises UnusableFile with every error.
    """
    layer, problems = Layer(), []
    for file in files:
        reading = _Reading(file, version, brokers, layer)
        problems += reading.read()
    if problems:
        raise UnusableFile("\n".join(problems))
    layer.warnings += _of_one_broker_only(files, brokers)
    return layer


def _of_one_broker_only(files: Sequence[SettingsFile], brokers: Mapping[int, str]) -> list[str]:
    """Files that are for one broker by their broker.id, where other brokers have none."""
    of_brokers = [file for file in files if file.scope == BROKER and not file.of_controllers]
    if any(file.broker is None for file in of_brokers) or {file.broker for file in of_brokers} >= set(brokers):
        return []
    every = "for all brokers: --settings broker:"
    return [
        f"{file.name} is broker-{file.broker}'s, by its {_id_name(file)}; {every}{file.name}"
        for file in of_brokers
        if file.by_id
    ]


def _id_name(file: SettingsFile) -> str:
    return "broker.id" if any(entry.name == "broker.id" for entry in file.entries) else "node.id"


class _Reading:
    """Reader of one file."""

    def __init__(self, file: SettingsFile, version: str, brokers: dict[int, str], layer: Layer) -> None:
        self._file = file
        self._version = version
        self._brokers = brokers
        self._layer = layer
        self._known = BY_SCOPE[file.scope]
        self._problems: list[str] = []

    def read(self) -> list[str]:
        """Read the file; returns errors, one line each."""
        file = self._file
        if file.broker is not None and file.broker not in self._brokers:
            there = ", ".join(f"broker-{number}" for number in sorted(self._brokers))
            every = f"; for all of them: --settings broker:{file.name}" if file.by_id else ""
            return [f"{file.name}: there is no broker-{file.broker} in the topology ({there}){every}"]
        for name, lines in file.twice:
            earlier = ", ".join(map(str, lines))
            self._layer.warnings.append(f"{file.name}: {name} is repeated; line {earlier} has no effect")
        for entry in file.entries:
            self._entry(entry)
        self._mechanisms_of_listeners()
        return self._problems

    def _entry(self, entry: Entry) -> None:
        setting = self._known.get(entry.name)
        if setting is None:
            self._unknown(entry)
        elif setting.only_update:
            self._drop(entry, "it is given to running brokers only, by kafka-configs")
        elif not setting.exists_in(self._version):
            self._drop(entry, f"not a setting of Kafka {self._version}: {setting.lifetime}")
        else:
            self._known_entry(entry, setting)

    def _known_entry(self, entry: Entry, setting: Setting) -> None:
        standing = GROUP_OF[setting.key].standing
        if "${" in entry.value and standing == WITHOUT_BEARING:
            self._layer.harmless.append(setting.key)
            return
        if "${" in entry.value and standing == SET_HERE:
            self._layer.set_here.append(SetHere(setting.key, GROUP_OF[setting.key].why, self._where(entry)))
            return
        try:
            value = self._value(entry, setting)
            if setting.key == "inter.broker.protocol.version":
                gates_for(self._version, str(value))
        except (UnusableSetting, UnusableProtocolVersion, UnknownVersion) as error:
            self._problems.append(f"{self._where(entry)}: {error}")
            return
        if standing == SET_HERE:
            self._set_here(entry, setting)
        self._give(setting.key, value, entry)

    def _value(self, entry: Entry, setting: Setting) -> Value:
        if setting.key == "log.dirs":
            return self._folders(entry)
        if "${" in entry.value:
            raise UnusableSetting(f"{setting.key}: {entry.value!r} is not filled in")
        return usable_value(setting, entry.value, self._version)

    def _folders(self, entry: Entry) -> str:
        """Several directories become folders of a broker's disk with their names; one is the disk."""
        paths = [path.strip() for path in entry.value.split(",") if path.strip()]
        if not paths:
            raise UnusableSetting("log.dirs: no directory; name at least one")
        if len(set(paths)) < len(paths):
            raise UnusableSetting(f"log.dirs: a directory is there twice: {entry.value.strip()!r}")
        names = [re.sub(r"[^\w-]+", "_", path.rstrip("/").rpartition("/")[2]) for path in paths]
        if len(set(names)) < len(names) or not all(names):
            names = [f"d{number}" for number in range(len(paths))]
        instead = f"folders {', '.join(names)} of a broker's disk" if len(paths) > 1 else "a broker's disk"
        self._layer.set_here.append(SetHere("log.dirs", instead, self._where(entry)))
        return ",".join(names) if len(paths) > 1 else ""

    def _give(self, key: str, value: Value, entry: Entry) -> None:
        given = Given(value, self._where(entry), noted=True)
        if self._file.of_controllers:
            self._layer.controllers[key] = given
        elif self._file.broker is None:
            self._layer.cluster[key] = given
        else:
            self._layer.by_broker.setdefault(self._file.broker, {})[key] = given

    def _set_here(self, entry: Entry, setting: Setting) -> None:
        instead = GROUP_OF[setting.key].why
        if setting.key == "broker.id":
            if self._file.broker is not None:
                return
            instead = "this file is for every broker"
        if setting.key == "broker.rack":
            azs = self._brokers if self._file.broker is None else {self._file.broker: self._brokers[self._file.broker]}
            if set(azs.values()) == {entry.value.strip()}:
                return
            instead = "the AZ of the topology, " + ", ".join(f"{az} of broker-{one}" for one, az in sorted(azs.items()))
        self._layer.set_here.append(SetHere(setting.key, instead, self._where(entry)))

    def _mechanisms_of_listeners(self) -> None:
        """Add the mechanisms of single listeners, and of placeholders.

        Kafka checks those of the listener between brokers.
        """
        entries = [entry for entry in self._file.entries if entry.name.endswith(ENABLED)]
        more = [entry for entry in entries if entry.name != ENABLED or "${" in entry.value]
        if self._file.scope != BROKER or not more or not self._known[ENABLED].exists_in(self._version):
            return
        wanted = [entry.value for entry in self._file.entries if entry.name == MECHANISM]
        values = [wanted[-1] if "${" in entry.value and wanted else entry.value for entry in entries]
        self._give(ENABLED, ",".join(values), more[-1])

    # --- names that are none of this kind ---

    def _unknown(self, entry: Entry) -> None:
        scope = self._file.scope
        if not entry.name:
            self._problems.append(f"{self._where(entry)}: a value without a name: {entry.value!r}")
            return
        passed_on = PASSED_ON.fullmatch(entry.name) if scope == BROKER else None
        if scope == ENSEMBLE and SERVERS.fullmatch(entry.name):
            self._layer.set_here.append(SetHere(entry.name, "the topology sets it", self._where(entry)))
            return
        elsewhere = [other for other in SCOPES if entry.name in BY_SCOPE[other]]
        if passed_on is None and elsewhere:
            whose = " or ".join(A_SETTING_OF[other] for other in elsewhere)
            self._drop(entry, f"it is {whose} setting, not {A_SETTING_OF[scope]}")
            return
        known = [name for name, setting in self._known.items() if setting.exists_in(self._version)] or list(self._known)
        if scope == TOPIC:
            near = nearest_setting(entry.name, known)
            self._problems.append(f"{self._where(entry)}: {entry.name!r} is not a setting of a topic{near}")
            return
        name = entry.name if passed_on is None else re.sub(r"^listener\.name\.[^.]+\.", "", entry.name)
        if passed_on is not None and (name.startswith("config.providers.") or _of_listener(name, self._known)):
            self._layer.harmless.append(entry.name)
            return
        slip = slip_of(name, known)
        if slip:
            self._problems.append(f"{self._where(entry)}: unknown setting {entry.name!r}; nearest: {slip}")
        else:
            self._layer.passed_on.append(entry.name)

    def _drop(self, entry: Entry, why: str) -> None:
        self._layer.dropped.append(Dropped(entry.name, why, self._where(entry)))

    def _where(self, entry: Entry) -> str:
        return f"{self._file.name}:{entry.line}"


def _of_listener(name: str, known: Iterable[str]) -> bool:
    """`ssl.keystore.location`, or behind a mechanism: `scram-sha-256.sasl.jaas.config`."""
    return any(name == one or name.endswith(f".{one}") for one in known)


def values_of(given: Mapping[str, Given]) -> dict[str, Any]:
    return {key: one.value for key, one in given.items()}
