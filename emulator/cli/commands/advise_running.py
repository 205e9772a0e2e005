"""`faultline advise --cluster [NAME]`: settings are what a cluster that runs says of itself; clients' still come from
files and `--set`. It is asked one question, and nothing is done to it."""

from pathlib import Path

import msgspec

from emulator.cluster.control_client import ask
from emulator.cluster.registry import Found, choose
from emulator.cluster.requests import DescribeSettings
from emulator.exit_codes import HELD
from emulator.judging.advice.cluster import Cluster
from emulator.judging.advice.running import Running, of_running
from emulator.judging.campaigns.space import UnusableSpace
from emulator.runs.settings_files import read_settings_files
from emulator.settings.files import wanted
from emulator.settings.registry import A_SETTING_OF, found
from emulator.settings.setting import CONSUMER, PRODUCER
from protocol.undecodable import UNDECODABLE, why

OF_CLIENTS = (PRODUCER, CONSUMER)


class NotAsked(Exception):
    """The cluster runs, and did not say: one line."""


class AskedRunning(msgspec.Struct, frozen=True):
    """`files`: those that were named, wherever they stood."""

    cluster: Cluster
    files: tuple[str, ...]


def running_cluster(
    words: tuple[str, ...], files: tuple[str, ...], sets: tuple[str, ...], topic: str | None
) -> AskedRunning:
    """`words`: what stands behind `--cluster`: a cluster's name, if the first is none's of a file, and files. Raises
    NoCluster, NotAsked, UnusableSpace, UnusableFile."""
    name, files = _apart(words, files)
    _check_clients_only(files, sets)
    chosen = choose(name)
    return AskedRunning(of_running(_told_by(chosen), topic), files)


def _apart(words: tuple[str, ...], files: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    """(The name, if any; all files.) Raises NoCluster."""
    if not words or _is_file(words[0]):
        return None, (*words, *files)
    return words[0], (*words[1:], *files)


def _is_file(word: str) -> bool:
    asked = wanted(word)
    return bool(asked.scope) or Path(word).is_file()


def _check_clients_only(files: tuple[str, ...], sets: tuple[str, ...]) -> None:
    """Raises UnusableSpace, UnusableFile."""
    for file in read_settings_files(files):
        if file.scope not in OF_CLIENTS:
            whose = f"{A_SETTING_OF[file.scope].removeprefix('a ')} settings"
            raise UnusableSpace(f"{file.name} holds {whose}, which --cluster asks the cluster for: one of them")
    for word in sets:
        setting = found(word.partition("=")[0].strip())
        if setting is not None and setting.scope not in OF_CLIENTS:
            raise UnusableSpace(
                f"--set {word}: it is {A_SETTING_OF[setting.scope]} setting, which --cluster asks the cluster for; "
                "alter it there, or ask without --cluster"
            )


def _told_by(cluster: Found) -> Running:
    """Raises NotAsked."""
    answer = ask(cluster.registration, DescribeSettings())
    if answer.code != HELD:
        raise NotAsked(answer.error)
    try:
        return msgspec.convert(answer.result, Running)
    except UNDECODABLE as error:
        raise NotAsked(f"cluster {cluster.name}: its settings cannot be understood: {why(error)}") from error
