"""What lies in a run's directory, by name; imported by who reads one, without the worlds that write one.

    scenario.yaml  settings.json  events/NODE.INCARNATION.jsonl  events/NODE.INCARNATION.wire.jsonl
    data/NODE/...  observations.json  verdict.json
"""

from pathlib import Path
from typing import Final

EVENTS_FOLDER: Final = "events"
DATA_FOLDER: Final = "data"
SCENARIO_FILE: Final = "scenario.yaml"
SETTINGS_FILE: Final = "settings.json"
OBSERVATIONS_FILE: Final = "observations.json"
VERDICT_FILE: Final = "verdict.json"


def shown(path: Path) -> str:
    """As a person is told of it: relative to where we are, if it lies below."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
