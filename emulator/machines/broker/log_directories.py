"""Log directories of a broker (`log.dirs`).

The live ones, the place of a new log, and the directory of an error. Kafka's setting lists paths; here they are
folders of the node's one disk. Without it the disk is the only log directory.
"""

from collections import Counter
from collections.abc import Iterable

from emulator.storage.files import LOG_DIRECTORY, Files, StorageError
from emulator.storage.log_directory import directory_names
from emulator.storage.subdirectory_files import Within
from protocol.ids import TopicPartition


class LogDirectories:
    """Log directories of one life.

    `live`: {name: files}, in the setting's order. `offline`: names of those that failed in this life. `names`: all,
    "d0,d1".
    """

    __slots__ = ("_preferred", "live", "names", "offline")

    def __init__(self, disk: Files, setting: str) -> None:
        folders: dict[str, Files] = {name: Within(disk, name) for name in directory_names(setting)}
        self.live = folders or {LOG_DIRECTORY: disk}
        self.offline: list[str] = []
        self._preferred: dict[TopicPartition, str] = {}
        self.names = ",".join(self.live)

    def of(self, error: StorageError) -> str | None:
        """The live directory of an error; None: one that is offline already."""
        if LOG_DIRECTORY in self.live:
            return LOG_DIRECTORY
        name = error.path.partition("/")[0]
        assert name in self.live or name in self.offline, f"an error in no log directory: {error}"
        return name if name in self.live else None

    def name_of(self, directory: Files) -> str:
        """Name of a live directory."""
        return next(name for name, files in self.live.items() if files is directory)

    def take_offline(self, name: str) -> None:
        del self.live[name]
        self.offline.append(name)

    def prefer(self, topic_partition: TopicPartition, name: str) -> None:
        """Choose the directory of a future log (LogManager.maybeUpdatePreferredLogDir)."""
        self._preferred[topic_partition] = name

    def for_new_log(self, topic_partition: TopicPartition, logs: Iterable[Files]) -> list[Files]:
        """Candidates for a new log, in order: the chosen directory alone, if it is live, else all.

        `logs`: the directory of each log.
        """
        preferred = self._preferred.pop(topic_partition, None)
        return [self.live[preferred]] if preferred in self.live else self.by_use(logs)

    def by_use(self, logs: Iterable[Files]) -> list[Files]:
        """Live directories in the order for a new log (LogManager.nextLogDirs).

        The one with the fewest logs first, the first of equals. `logs`: the directory of each existing log.
        """
        used = Counter(map(id, logs))
        return sorted(self.live.values(), key=lambda files: used[id(files)])
