"""Finds the run that a command reads, finished or still written, and its brokers."""

from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec

from emulator.regular_files import read_regular, reason
from emulator.run_layout import OBSERVATIONS_FILE, SETTINGS_FILE
from protocol.undecodable import UNDECODABLE, why

RUNS = Path("runs")
"""Folder of `faultline run`'s runs, below the working directory."""


ANOTHER = "another: --run DIR"
"""Hint beside a run that was taken by default."""


class NoRun(ValueError):
    """Not a run's directory, or there is none."""


class NoSuchPart(ValueError):
    """A node or a partition that the run does not have; the message has the nearest, or all."""


class Versions(msgspec.Struct, frozen=True):
    """Versions of a broker: its binary's, and inter.broker.protocol.version."""

    binary: str
    inter_broker_protocol: str


def find_run(given: Path | None) -> Path:
    """The run's directory; None: the newest in `runs/`, by its start. Raises NoRun."""
    if given is not None:
        if any((given / name).is_file() for name in (SETTINGS_FILE, OBSERVATIONS_FILE)):
            return given
        names = [run.name for run in _runs_in(given.parent)]
        close = get_close_matches(given.name, names, n=1)
        nearest = f"; nearest: {given.parent / close[0]}" if close else ""
        raise NoRun(f"{given}: no run's directory, for it holds no {SETTINGS_FILE}{nearest}")
    runs = _runs_in(RUNS)
    if not runs:
        raise NoRun(f"{RUNS}/ holds no run; name one with --run DIR")
    return runs[-1]


def _runs_in(folder: Path) -> list[Path]:
    """Runs in the order of their starts."""
    found = [(path.stat().st_mtime_ns, path.parent) for path in folder.glob(f"*/{SETTINGS_FILE}")]
    return [run for _, run in sorted(found)]


def brokers_of(run: Path) -> dict[str, Versions]:
    """{broker or dedicated controller: its versions}, as settings.json has them. Raises NoRun."""
    path = run / SETTINGS_FILE
    try:
        nodes: dict[str, dict[str, Any]] = msgspec.json.decode(read_regular(path))["nodes"]
        return {
            node: Versions(own["kafka.version"], own.get("inter.broker.protocol.version") or own["kafka.version"])
            for node, own in nodes.items()
            if "kafka.version" in own
        }
    except OSError as error:
        raise NoRun(f"{path}: cannot be read: {reason(error)}") from error
    except (*UNDECODABLE, KeyError, TypeError, AttributeError) as error:
        raise NoRun(f"{path}: is not the settings of a run: {why(error)}") from error


def version_of(run: Path) -> str:
    """Version of its brokers, as settings.json has it. Raises NoRun."""
    path = run / SETTINGS_FILE
    try:
        return str(msgspec.json.decode(read_regular(path))["kafka"])
    except OSError as error:
        raise NoRun(f"{path}: cannot be read: {reason(error)}") from error
    except (*UNDECODABLE, KeyError, TypeError) as error:
        raise NoRun(f"{path}: is not the settings of a run: {why(error)}") from error


def check_part(kind: str, given: str, known: list[str], where: Path) -> None:
    """Raises NoSuchPart unless `given` is one of `known`. `kind`: "broker", "partition"."""
    if given in known:
        return
    close = get_close_matches(given, known, n=1)
    nearest = f"nearest: {close[0]}" if close else f"there are: {', '.join(known) or 'none'}"
    raise NoSuchPart(f"no {kind} {given!r} in {where}; {nearest}")
