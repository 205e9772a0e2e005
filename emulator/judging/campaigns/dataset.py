"""A campaign on disk: rows in Parquet, in bounded parts, each of which is whole or absent.

    DIR/campaign.json                                       options, and the format
    DIR/runs/scenario=ID/kafka_version=V/part-N.parquet     rows

A part is written under another name, synced, and renamed, at the latest after `PART_ROWS` rows or `PART_S` seconds. A
killed campaign loses the rows of its last part alone. The same command resumes it with the runs that no part has. Two
commands cannot write to one campaign: the writer holds a lock on the directory (`alone`), as a search of `fuzz` does.
"""

import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote

import msgspec

from emulator.judging.campaigns.columns import arrow_schema
from emulator.judging.campaigns.row import FORMAT, PARTITIONED_BY, Row
from emulator.judging.campaigns.space import Space
from emulator.regular_files import (
    NotRegular,
    named,
    open_regular,
    read_regular,
    reason,
    refuse_foreign_link,
    write_whole,
)
from protocol.undecodable import UNDECODABLE

if TYPE_CHECKING:
    import pyarrow.parquet as pq

ABOUT_FILE: Final = "campaign.json"
RUNS_FOLDER: Final = "runs"
PART_ROWS: Final = 1_000
PART_S: Final = 10.0
BATCH_ROWS: Final = 1_000
"""Rows read at once."""
UNSAID: Final = ("settings_digest", "recordings_digest")
"""Fields that an older faultline did not write."""


class UnusableCampaign(ValueError):
    """A directory without a campaign, with another one, or with a damaged one; one line."""


class About(msgspec.Struct, frozen=True, kw_only=True):
    """Contents of campaign.json.

    `command`: the command that began it, sim or sweep. `scenario_digest`: of the file at that time. `settings_digest`,
    `recordings_digest`: of settings files and of recordings for comparison, "" without such files, or in a campaign of
    an older faultline. `only`: size of a random sample of the space's runs; 0: all.
    """

    command: str
    space: Space
    scenario_digest: str
    faultline: str = ""
    only: int = 0
    settings_digest: str = ""
    recordings_digest: str = ""
    format: int = FORMAT


def is_campaign(directory: Path) -> bool:
    return (directory / ABOUT_FILE).is_file()


def about(directory: Path) -> About:
    """Read campaign.json. Raises UnusableCampaign."""
    path = directory / ABOUT_FILE
    try:
        found = msgspec.json.decode(read_regular(path), type=About)
    except OSError as error:
        raise UnusableCampaign(f"{path}: cannot be read: {reason(error)}") from error
    except UNDECODABLE as error:
        raise UnusableCampaign(f"{path}: is no campaign's: {error}") from error
    if found.format != FORMAT:
        raise UnusableCampaign(f"{path}: is of format {found.format}; this faultline reads {FORMAT}")
    return found


class Campaign:
    """A campaign that is being written. `done`: numbers of runs that it has already."""

    def __init__(self, directory: Path, done: frozenset[int]) -> None:
        self.done = done
        self._runs = directory / RUNS_FOLDER
        self._rows: list[Row] = []
        self._since_s = monotonic()

    def add(self, row: Row) -> None:
        """Add a row, in any order. Raises OSError."""
        if not self._rows:
            self._since_s = monotonic()
        self._rows.append(row)
        if len(self._rows) >= PART_ROWS or monotonic() - self._since_s >= PART_S:
            self.write_part()

    def write_part(self) -> None:
        """Write all added rows, a file per scenario and version. Raises OSError."""
        parts: dict[tuple[str, ...], list[Row]] = {}
        for row in self._rows:
            parts.setdefault(tuple(getattr(row, key) for key in PARTITIONED_BY), []).append(row)
        for values, rows in parts.items():
            words = (f"{key}={quote(value, safe='')}" for key, value in zip(PARTITIONED_BY, values, strict=True))
            folder = self._runs.joinpath(*words)
            folder.mkdir(parents=True, exist_ok=True)
            _write_part(folder / f"part-{min(row.number for row in rows):09}.parquet", rows)
        self._rows = []


@contextmanager
def writing(directory: Path, wanted: About) -> Iterator[Campaign]:
    """Begin a campaign in an empty directory, or resume the same one there.

    Added rows are written when the block ends, also on an error.

    Raises NotEmpty, ForeignDirectory, UnusableCampaign, OSError."""
    path = directory / ABOUT_FILE
    with alone(directory, ABOUT_FILE):
        if not path.exists() or not read_regular(path):  # no command has written its options yet
            write_whole(path, msgspec.json.format(msgspec.json.encode(wanted), indent=2) + b"\n")
        _refuse_another(directory, wanted)
        for left in (directory / RUNS_FOLDER).rglob(".part-*"):
            left.unlink()
        campaign = Campaign(directory, frozenset(numbers_of(directory)))
        try:
            yield campaign
        finally:
            campaign.write_part()


@contextmanager
def alone(directory: Path, file: str) -> Iterator[None]:
    """Lock a new directory, or one that has `file` and is resumed, for the block.

    Raises UnusableCampaign (another command writes to it), NotEmpty, ForeignDirectory, OSError."""
    from emulator.runs.directory import prepare  # it imports every machine, and queries of a campaign need none

    directory.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # a file system that locks no directories
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise UnusableCampaign(f"{directory}: another command is writing to it") from error
        if not (directory / file).exists():
            prepare(directory)
        yield
    finally:
        os.close(descriptor)


def rows_of(directory: Path) -> Iterator[Row]:
    """All rows, a bounded number at a time. Raises UnusableCampaign."""
    for values, path in _parts(directory):
        with _read(path) as parquet:
            for batch in parquet.iter_batches(BATCH_ROWS):
                for one in batch.to_pylist(maps_as_pydicts="strict"):
                    yield msgspec.convert({**values, **one}, Row)


def numbers_of(directory: Path) -> Iterator[int]:
    """Numbers of the campaign's runs. Raises UnusableCampaign."""
    for _, path in _parts(directory):
        with _read(path) as parquet:
            for batch in parquet.iter_batches(BATCH_ROWS, columns=["number"]):
                yield from batch.column("number").to_pylist()


def files_of(directory: Path) -> list[Path]:
    """Its parts, for other readers: each a regular file. Raises UnusableCampaign."""
    found = [path for _, path in _parts(directory)]
    for path in found:
        if path.is_symlink() or not path.is_file():
            raise UnusableCampaign(f"{path}: is no regular file")
    return found


def _refuse_another(directory: Path, wanted: About) -> None:
    """Raise UnusableCampaign if the campaign in the directory has other options."""
    found = about(directory)
    for field, what in (
        ("command", "was begun by another command"),
        ("space", "is of other runs"),
        ("only", "is of other runs"),
        ("scenario_digest", "was begun when the scenario was another"),
        ("settings_digest", "was begun when settings files were others"),
        ("recordings_digest", "was begun when recordings were others"),
        ("faultline", "was begun by another version of faultline"),
    ):
        if getattr(found, field) != getattr(wanted, field):
            if field in UNSAID and not getattr(found, field):
                continue
            raise UnusableCampaign(f"{directory}: holds a campaign that {what}; give --out another directory")


def _write_part(path: Path, rows: Sequence[Row]) -> None:
    """Write a part; it gets its name after the sync, so that a crash leaves no partial one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = [msgspec.to_builtins(row) for row in rows]
    kept: list[Mapping[str, Any]] = [{k: v for k, v in one.items() if k not in PARTITIONED_BY} for one in columns]
    schema = arrow_schema().with_metadata({"faultline.format": str(FORMAT)})
    beside = BytesIO()
    pq.write_table(pa.Table.from_pylist(kept, schema=schema), beside, compression="zstd")
    partial = path.with_name(f".{path.name}")
    with named(path):
        try:
            with partial.open("wb") as file:
                file.write(beside.getbuffer())
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


def _parts(directory: Path) -> Iterator[tuple[dict[str, str], Path]]:
    """({column: value} from its folders, file) of all parts, in order."""
    folder = directory / RUNS_FOLDER
    if not folder.is_dir():
        return
    try:
        refuse_foreign_link(folder)
    except OSError as error:
        raise UnusableCampaign(f"{folder}: {reason(error)}") from error
    for path in sorted(folder.glob("*/*/part-*.parquet")):
        pairs = [part.partition("=") for part in path.relative_to(folder).parts[:-1]]
        if tuple(key for key, _, _ in pairs) != PARTITIONED_BY:
            raise UnusableCampaign(f"{path}: is in no folder of a campaign's runs")
        yield {key: unquote(value) for key, _, value in pairs}, path


@contextmanager
def _read(path: Path) -> Iterator["pq.ParquetFile"]:
    """Open a part. Raises UnusableCampaign for every fault of the file."""
    import pyarrow.parquet as pq

    try:
        with open_regular(path) as file, pq.ParquetFile(file) as parquet:
            yield parquet
    except NotRegular as error:
        raise UnusableCampaign(f"{path}: {reason(error)}") from error
    except (OSError, ValueError, KeyError) as error:  # pyarrow's errors, and msgspec's, are some of these
        raise UnusableCampaign(f"{path}: is no part of a campaign: {' '.join(str(error).split())}") from error
