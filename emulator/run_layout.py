"""Names of the files in a run's directory, for readers, without the worlds that write them.

    scenario.yaml  settings.json  events/NODE.INCARNATION.jsonl  events/NODE.INCARNATION.wire.jsonl
    data/NODE/...  observations.json  verdict.json

A node in a container has a folder of its own for its events, since it can write to any permitted folder: its files are
`events/NODE/NODE.INCARNATION.jsonl`, and lines about another node in them are not its events.
"""

import os
from pathlib import Path
from typing import Final

EVENTS_FOLDER: Final = "events"
DATA_FOLDER: Final = "data"
SCENARIO_FILE: Final = "scenario.yaml"
SETTINGS_FILE: Final = "settings.json"
OBSERVATIONS_FILE: Final = "observations.json"
VERDICT_FILE: Final = "verdict.json"
EVENT_SUFFIX: Final = ".jsonl"
WIRE_SUFFIX: Final = ".wire.jsonl"
CONTROL_FOLDER: Final = "control"
"""Of `events/`: the supervisor's own, where that is in a container, too."""


def event_paths(events: Path, node: str = "") -> list[Path]:
    """Event files in a run's folder `events`, of all nodes or of one, sorted by name.

    In a node's folder also those named after another one. A link to a folder is ignored.
    """
    names = f"{node}.*{EVENT_SUFFIX}" if node else f"*{EVENT_SUFFIX}"
    try:
        with os.scandir(events) as entries:
            folders = [Path(entry) for entry in entries if entry.is_dir(follow_symlinks=False)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted((path for folder in (events, *folders) for path in folder.glob(names)), key=lambda path: path.name)


def only_writer(path: Path) -> str:
    """The only node whose events an event file may hold; "": all nodes may write there."""
    folder = path.parent
    return folder.name if folder.parent.name == EVENTS_FOLDER and folder.name != CONTROL_FOLDER else ""


def is_foreign(path: Path) -> bool:
    """Whether an event file lies in the folder of another node than it is named after."""
    return only_writer(path) not in ("", path.name.partition(".")[0])


def shown(path: Path) -> str:
    """A path for messages: relative to the current directory, if it lies below."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
