"""What lies in a run's directory, by name; imported by who reads one, without the worlds that write one.

    scenario.yaml  settings.json  events/NODE.INCARNATION.jsonl  events/NODE.INCARNATION.wire.jsonl
    data/NODE/...  observations.json  verdict.json

A node in a container has a folder of its own for its events, for it can write wherever it is let: its files are
`events/NODE/NODE.INCARNATION.jsonl`, and what they say of another node is none of its events.
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
    """The event files in a run's folder `events`, of all nodes or of one; sorted by name, wherever each node lived. In
    a node's folder also those that are named after another one. A link to a folder is none."""
    names = f"{node}.*{EVENT_SUFFIX}" if node else f"*{EVENT_SUFFIX}"
    try:
        with os.scandir(events) as entries:
            folders = [Path(entry) for entry in entries if entry.is_dir(follow_symlinks=False)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted((path for folder in (events, *folders) for path in folder.glob(names)), key=lambda path: path.name)


def only_writer(path: Path) -> str:
    """The one node whose events an event file may hold; "": it lies where all of them may write."""
    folder = path.parent
    return folder.name if folder.parent.name == EVENTS_FOLDER and folder.name != CONTROL_FOLDER else ""


def is_foreign(path: Path) -> bool:
    """Whether an event file lies in the folder of another node than it is named after."""
    return only_writer(path) not in ("", path.name.partition(".")[0])


def shown(path: Path) -> str:
    """As a person is told of it: relative to where we are, if it lies below."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
