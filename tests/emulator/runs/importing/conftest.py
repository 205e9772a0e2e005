"""Imported runs of real brokers, each imported once."""

from collections.abc import Callable, Iterator
from datetime import UTC, tzinfo
from pathlib import Path

import pytest

from emulator.runs.importing.clients_file import Sent
from emulator.runs.importing.collected_nodes import collect
from emulator.runs.importing.import_record import ImportRecord
from emulator.runs.importing.imported_run import RunImport
from emulator.runs.importing.log_reader import known_layouts
from tests.real_logs import unpacked


def import_folders(
    out: Path, *folders: Path, sent: Iterator[Sent] | None = None, zone: tzinfo = UTC
) -> ImportRecord:
    """Import folders as the command does."""
    out.mkdir(parents=True)
    collected = collect(folders, known_layouts(None, zone))
    return RunImport(out, collected.nodes, lambda read_bytes: None).run(sent, collected.unread)


@pytest.fixture(scope="session")
def real_logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked(tmp_path_factory.mktemp("real-logs"))


@pytest.fixture(scope="session")
def imported(real_logs: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """{name of a real run: the directory of its import}, made when it is first needed."""
    runs: dict[str, Path] = {}
    folder = tmp_path_factory.mktemp("imported")

    def imported(name: str) -> Path:
        if name not in runs:
            runs[name] = folder / name
            import_folders(runs[name], real_logs / name)
        return runs[name]

    return imported
