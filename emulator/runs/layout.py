"""What lies in a run's directory, by name; imported by who reads one, without the worlds that write one.

    scenario.yaml  settings.json  events/NODE.INCARNATION.jsonl  events/NODE.INCARNATION.wire.jsonl
    data/NODE/...  observations.json  verdict.json
"""

from typing import Final

EVENTS_FOLDER: Final = "events"
DATA_FOLDER: Final = "data"
SCENARIO_FILE: Final = "scenario.yaml"
SETTINGS_FILE: Final = "settings.json"
OBSERVATIONS_FILE: Final = "observations.json"
VERDICT_FILE: Final = "verdict.json"
