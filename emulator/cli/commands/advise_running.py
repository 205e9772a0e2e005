"""`faultline advise --cluster [NAME]`: settings and topology of a running cluster.

Settings of clients come from files and `--set`. One request reads the cluster's settings; nothing else is sent to it.
"""

from pathlib import Path

import msgspec

from emulator.cluster.cluster_registry import Found, choose
from emulator.cluster.control_client import ask
from emulator.cluster.control_requests import DescribeSettings
from emulator.exit_codes import HELD
from emulator.judging.advice.advice_cluster import Cluster
from emulator.judging.advice.running import Running, of_running
from emulator.judging.campaigns.space import UnusableSpace
from emulator.runs.settings_files import read_settings_files
from emulator.settings.properties_files import wanted
from emulator.settings.setting import CONSUMER, PRODUCER
from emulator.settings.setting_registry import A_SETTING_OF, found
from protocol.undecodable import UNDECODABLE, why

OF_CLIENTS = (PRODUCER, CONSUMER)


class SettingsUnavailable(Exception):
    """The running cluster returned no settings: one line."""


class RunningCluster(msgspec.Struct, frozen=True):
    """A running cluster, and `files`: all settings files of the command line."""

    cluster: Cluster
    files: tuple[str, ...]


def running_cluster(
    words: tuple[str, ...], files: tuple[str, ...], sets: tuple[str, ...], topic: str | None
) -> RunningCluster:
    """Read a running cluster's settings.

    `words`: the words after `--cluster`: a cluster's name, if the first word is no file's, and files. Raises NoCluster,
    SettingsUnavailable, UnusableSpace, UnusableFile.
    """
    name, files = _apart(words, files)
    _check_clients_only(files, sets)
    chosen = choose(name)
    return RunningCluster(of_running(_settings_of(chosen), topic), files)


def _apart(words: tuple[str, ...], files: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    """(the cluster's name, if any; all files)."""
    if not words or _is_file(words[0]):
        return None, (*words, *files)
    return words[0], (*words[1:], *files)


def _is_file(word: str) -> bool:
    file = wanted(word)
    return bool(file.scope) or Path(word).is_file()


def _check_clients_only(files: tuple[str, ...], sets: tuple[str, ...]) -> None:
    """Check that only clients' settings are given. Raises UnusableSpace, UnusableFile."""
    for file in read_settings_files(files):
        if file.scope not in OF_CLIENTS:
            kind = f"{A_SETTING_OF[file.scope].removeprefix('a ')} settings"
            raise UnusableSpace(f"{file.name}: {kind} contradict --cluster, which reads the cluster's; give one")
    for word in sets:
        setting = found(word.partition("=")[0].strip())
        if setting is not None and setting.scope not in OF_CLIENTS:
            raise UnusableSpace(
                f"--set {word}: {A_SETTING_OF[setting.scope]} setting contradicts --cluster, which reads it from the "
                "cluster; alter it there, or leave out --cluster"
            )


def _settings_of(cluster: Found) -> Running:
    """Settings that the cluster reports. Raises SettingsUnavailable."""
    answer = ask(cluster.registration, DescribeSettings())
    if answer.code != HELD:
        raise SettingsUnavailable(answer.error)
    try:
        return msgspec.convert(answer.result, Running)
    except UNDECODABLE as error:
        raise SettingsUnavailable(f"cluster {cluster.name}: its settings cannot be decoded; {why(error)}") from error
