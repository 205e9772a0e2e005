"""The effect of a power loss on a stopped node's logs: unsynced suffixes are cut off.

Docs/semantics.md 3: any suffix of the unsynced bytes may go. In memory each file has its synced size; on a disk a
journal beside the files has it (`synced_journal`).
"""

from collections.abc import Callable, Iterator

from emulator.storage.files import Files
from emulator.storage.inspect import NotSoMany, log_directories, partitions_in, segments_of
from emulator.storage.subdirectory_files import Within
from protocol.records import format as records

Survives = Callable[[str, int, int], int]
"""(path, bytes that were synced, bytes that were written) -> bytes that survive."""


def surviving_bytes(
    files: Files, synced_bytes: Callable[[str], int], survives: Survives, *, partition: str = "", batches: int = -1
) -> dict[str, int]:
    """{path of a segment: bytes that survive}, of the logs of `partition` ("t-0"; "": all).

    `batches`: number of batches of each log to keep at most; synced bytes stay in any case. -1: `survives` decides.
    Raises NotSoMany for a named partition with fewer batches.
    """
    found: dict[str, int] = {}
    for name, paths in _logs(files):
        for place, path in enumerate(paths):
            size = files.size(path)
            synced = min(size, synced_bytes(path))
            if partition not in ("", name):
                found[path] = size
            elif batches < 0:
                found[path] = survives(path, synced, size)
            else:
                end, lacking = _end_of(files, paths[: place + 1], batches)
                if lacking and name == partition and path == paths[-1]:
                    raise NotSoMany(f"{name} holds {batches - lacking} batches, {batches} of them cannot be kept")
                found[path] = max(synced, end)
    return found


def cut(files: Files, sizes: dict[str, int]) -> None:
    """Truncate these segments to their sizes; delete an empty one, unless it is its log's first."""
    for _, paths in _logs(files):
        for path in paths:
            if sizes[path] == 0 and path != paths[0]:
                files.delete(path)
            elif sizes[path] < files.size(path):
                files.truncate(path, sizes[path])


def _logs(files: Files) -> Iterator[tuple[str, list[str]]]:
    """(partition, its segments from the disk's root, oldest first)."""
    for directory in log_directories(files):
        folder = f"{directory.name}/" if isinstance(directory, Within) else ""
        for name in partitions_in(directory):
            yield name, [f"{folder}{path}" for path in segments_of(directory, name)]


def _end_of(files: Files, paths: list[str], batches: int) -> tuple[int, int]:
    """(end of the log's first `batches` batches in the last of these segments, missing batches)."""
    left, end = batches, 0
    for path in paths:
        headers = records.iter_headers(files.read(path, 0, files.size(path)))
        while left > 0 and next(headers, None) is not None:
            left -= 1
        end = headers.end
    return end, left
