"""The nodes whose files were collected: folders are searched, and files are grouped by node.

A folder belongs to the node that its server.properties or meta.properties names, or its lines, or at last its own name
(`broker-3`, `kafka3`). Within a folder rotated files are ordered by the times of their first lines. No symbolic link is
followed below the given folders.
"""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from emulator.runs.importing.byte_lines import ByteLines, DamagedArchive
from emulator.runs.importing.line_events import node_named
from emulator.runs.importing.line_layouts import LineLayout
from emulator.runs.importing.log_reader import SAMPLE_LINES, layout_of
from emulator.runs.importing.replica_contents import DataFolder, data_folder, is_segment, properties_of
from emulator.storage.log_directory import META_PROPERTIES
from protocol.ids import topic_partition_of

FILES_MAX: Final = 200_000
"""Files below the given folders; a broker with ten thousand partitions has some 50,000."""
NODES_MAX: Final = 200
SERVER_PROPERTIES: Final = "server.properties"
PROPERTIES_NAMES: Final = (SERVER_PROPERTIES, "broker.properties", "controller.properties", "kafka.properties")
_OTHER_LOGS: Final = re.compile(r"gc|request|authorizer|cleaner|stdout|\.out", re.IGNORECASE)
"""Names of files that repeat others' lines, or have none of the table."""
_LOG_NAME: Final = re.compile(r"\.(?:log|txt)(?:[.-][\w.-]+)?$|(?:log|server|controller|state-change)[\w.-]*\.gz$")
_ID_LINES: Final = re.compile(
    rb"\[(?:Broker|KafkaServer|BrokerServer|BrokerLifecycleManager|ControllerServer|QuorumController|SharedServer|"
    rb"Controller|RaftManager) id=(\d{1,9})|\[Kafka Server (\d{1,9})\],|ReplicaFetcherManager on broker (\d{1,9})\]|"
    rb"\[KafkaRaftServer nodeId=(\d{1,9})|^.{10,60}Broker (\d{1,9}) (?:received|ignoring)|"
    rb"\[Partition \S+ broker=(\d{1,9})\]|Partition \[\S+\] on broker (\d{1,9}):"
)
_FOLDER_ID: Final = re.compile(r"(?:^|[^a-z])(?:broker|controller|node|kafka|b|server)[-_.]?(\d{1,9})$", re.IGNORECASE)
_VERSION: Final = re.compile(rb"Kafka version ?: (\d+(?:\.\d+){1,3})")
ZOOKEEPER_DATA: Final = "version-2"
"""Folder of ZooKeeper's own data."""
VERSION_BYTES: Final = 4 << 20
"""The version comes after the settings, at a start."""


class LogFile(NamedTuple):
    """A file of log lines.

    `first_ms`: time of its first entry; `shown`: its path below the given folder.
    """

    path: Path
    shown: str
    size_bytes: int
    layout: LineLayout
    first_ms: float
    ids: tuple[int, ...]
    version: str
    kinds: frozenset[str]


class CollectedNode(NamedTuple):
    """A node. `copies`: earlier copies of its data folders, or of single partitions."""

    name: str
    number: int
    roles: str
    version: str
    properties: dict[str, str]
    logs: tuple[LogFile, ...]
    data: tuple[DataFolder, ...]
    copies: tuple[DataFolder, ...]


class Collected(NamedTuple):
    """`unread`: files that no layout fits, or that cannot be read, each with the reason."""

    nodes: tuple[CollectedNode, ...]
    unread: tuple[tuple[str, str], ...]


class NothingCollected(ValueError):
    """No broker's files are below the given folders; the message says what was looked for."""


class _Folder:
    """Contents of one folder, without those below it."""

    def __init__(self, path: Path, shown: str) -> None:
        self.path, self.shown = path, shown
        self.properties: dict[str, str] = {}
        self.logs: list[LogFile] = []
        self.data: DataFolder | None = None


def collect(given: Sequence[Path], layouts: Sequence[LineLayout]) -> Collected:
    """Find nodes and their files. Raises NothingCollected."""
    folders: list[_Folder] = []
    unread: list[tuple[str, str]] = []
    for top in given:
        if not top.is_dir():
            raise NothingCollected(f"{top}: is no folder; name folders with brokers' server.log and data")
        folders += _searched(top, len(given) > 1, layouts, unread)
    found: dict[tuple[str, int], list[_Folder]] = defaultdict(list)
    for folder in folders:
        for number, part in _by_number(folder, folders):
            found[_kind(part, folders), number].append(part)
    nodes = [_node(kind, number, parts) for (kind, number), parts in sorted(found.items())]
    nodes = [node for node in nodes if node.logs or node.data or node.copies]
    nodes = _merged(nodes)
    if not nodes:
        raise NothingCollected(
            f"{', '.join(map(str, given))}: holds no broker's log lines and no data folder; expected are server.log, "
            f"state-change.log, controller.log, or folders such as t-0 with segments. Lines of another layout need "
            f"--pattern"
        )
    if len(nodes) > NODES_MAX:
        raise NothingCollected(f"{len(nodes)} nodes found; at most {NODES_MAX} are imported at once")
    return Collected(tuple(nodes), tuple(unread))


def _searched(
    top: Path, several: bool, layouts: Sequence[LineLayout], unread: list[tuple[str, str]]
) -> Iterator[_Folder]:
    files = 0
    for path, names, file_names in os.walk(top, followlinks=False):
        names[:] = sorted(name for name in names if not (Path(path) / name).is_symlink())
        here = Path(path)
        files += len(file_names)
        if files > FILES_MAX:
            raise NothingCollected(f"{top}: more than {FILES_MAX} files; name the folders of single brokers")
        relative = here.relative_to(top)
        shown = str(Path(top.name) / relative) if several else str(relative)
        if here.name == ZOOKEEPER_DATA and any(name.startswith(("log.", "snapshot.")) for name in file_names):
            unread.append((shown, "ZooKeeper's snapshots and transaction logs are not read; collect controller.log"))
        folder = _Folder(here, "" if shown == "." else shown)
        if META_PROPERTIES in file_names or any(topic_partition_of(name) is not None for name in names):
            folder.data = data_folder(here)
        if folder.data is not None:  # its partitions hold no log lines
            names[:] = [name for name in names if topic_partition_of(name) is None]
        for name in sorted(file_names):
            if name in PROPERTIES_NAMES:
                folder.properties |= properties_of(here / name)
            elif _LOG_NAME.search(name) and not is_segment(name) and not _OTHER_LOGS.search(name):
                _sample(here / name, f"{folder.shown}/{name}".lstrip("/"), layouts, folder, unread)
        if folder.properties or folder.logs or folder.data is not None:
            yield folder


def _sample(
    path: Path, shown: str, layouts: Sequence[LineLayout], folder: _Folder, unread: list[tuple[str, str]]
) -> None:
    try:
        if path.is_symlink() or not path.is_file():
            unread.append((shown, "is no regular file"))
            return
        size = path.stat().st_size
        lines, version = _beginning(path)
    except (OSError, DamagedArchive) as error:
        unread.append((shown, str(error)))
        return
    layout = layout_of(lines, layouts)
    if layout is None:
        if size:
            unread.append((shown, "no known layout fits its lines; --pattern takes log4j's conversion pattern"))
        return
    times = [header.wall_ms for line in lines if (header := layout.header(line.rstrip(b"\r"))) is not None]
    text = b"\n".join(lines)
    counted = Counter(int(next(filter(None, found.groups()))) for found in _ID_LINES.finditer(text))
    ids = tuple(number for number, _ in counted.most_common(4))
    kinds = frozenset(
        kind for kind, mark in (("controller", b"ControllerServer"), ("broker", b"BrokerServer"),
                                ("broker", b"KafkaServer"), ("broker", b"ReplicaManager")) if mark in text
    )  # fmt: skip
    folder.logs.append(LogFile(path, shown, size, layout, times[0] if times else 0.0, ids, version, kinds))


def _readable(source: ByteLines) -> Iterator[list[bytes]]:
    """Blocks of a file up to its damage; an import reports that when it reads the file."""
    count = 0
    try:
        for block in source.blocks():
            count += 1
            yield block
    except DamagedArchive:
        if not count:
            raise


def _beginning(path: Path) -> tuple[list[bytes], str]:
    """(first lines, Kafka's version as the first part says it)."""
    source = ByteLines(path)
    lines: list[bytes] = []
    read = 0
    version = ""
    for block in _readable(source):
        lines += block[: max(0, 2 * SAMPLE_LINES - len(lines))]
        for line in block:
            read += len(line)
            if not version and b"Kafka version" in line and (found := _VERSION.search(line)) is not None:
                version = found[1].decode()
        if read > VERSION_BYTES or (version and len(lines) >= 2 * SAMPLE_LINES):
            break
    return lines, version


def _by_number(folder: _Folder, folders: Sequence[_Folder]) -> Iterator[tuple[int, _Folder]]:
    """The folder's parts by node id; files of several nodes may lie in one folder."""
    own = _number_of(folder)
    if own is None:
        above = [one for one in folders if one is not folder and folder.path.is_relative_to(one.path)]
        owned = [number for one in sorted(above, key=lambda one: -len(one.path.parts))
                 if (number := _number_of(one)) is not None]  # fmt: skip
        own = owned[0] if owned else None
    ids = {file.ids[0] for file in folder.logs if file.ids}
    if own is None and len(ids) == 1:
        own = next(iter(ids))
    if own is None:
        own = _number_in_path(folder.shown or folder.path.name)
    if own is not None:
        yield own, folder
        return
    by_id: dict[int, _Folder] = {}
    for file in folder.logs:
        number = file.ids[0] if file.ids else _number_in_path(Path(file.shown).name.split(".")[0])
        if number is not None:
            by_id.setdefault(number, _Folder(folder.path, folder.shown)).logs.append(file)
    yield from by_id.items()


def _number_of(folder: _Folder) -> int | None:
    for properties in (folder.properties, folder.data.properties if folder.data is not None else {}):
        for name in ("node.id", "broker.id"):
            if properties.get(name, "").isdigit():
                return int(properties[name])
    return None


def _number_in_path(shown: str) -> int | None:
    for part in reversed(Path(shown).parts):
        found = _FOLDER_ID.search(part)
        if found is not None:
            return int(found[1])
    return None


def _kind(folder: _Folder, folders: Sequence[_Folder]) -> str:
    """broker or controller: a node's id alone does not say which, as names of folders may."""
    roles = folder.properties.get("process.roles", "")
    if not roles:
        above = [one for one in folders if folder.path.is_relative_to(one.path) and one.properties]
        roles = above[-1].properties.get("process.roles", "") if above else ""
    if roles:
        return "broker" if "broker" in roles else "controller"
    kinds = frozenset[str]().union(*(file.kinds for file in folder.logs))
    return "controller" if kinds == {"controller"} else "broker"


def _node(kind: str, number: int, parts: Sequence[_Folder]) -> CollectedNode:
    properties: dict[str, str] = {}
    for part in parts:
        properties |= part.properties
    logs = sorted((file for part in parts for file in part.logs), key=lambda file: (file.first_ms, file.shown))
    folders = [part.data for part in parts if part.data is not None]
    whole = [folder for folder in folders if folder.is_whole]
    data = tuple(whole or folders)
    copies = tuple(folder for folder in folders if folder not in data)
    roles = properties.get("process.roles", "") or (
        "broker,controller" if kind == "broker" and any("controller" in file.kinds for file in logs) else kind
    )
    versions = [file.version for file in logs if file.version]
    roles = ",".join(sorted(role.strip() for role in roles.split(",")))
    return CollectedNode(
        node_named(number, roles), number, roles, versions[-1] if versions else "", properties, tuple(logs), data,
        copies,
    )  # fmt: skip


def _merged(nodes: Sequence[CollectedNode]) -> list[CollectedNode]:
    """Copies that no file says a role of belong to the broker of their number."""
    by_name: dict[str, CollectedNode] = {}
    for node in nodes:
        known = by_name.get(node.name)
        by_name[node.name] = node if known is None else known._replace(
            logs=known.logs + node.logs, data=known.data or node.data,
            copies=known.copies + node.copies + (node.data if known.data else ()),
        )  # fmt: skip
    return list(by_name.values())
