"""docs/openapi.json: the control server's HTTP interface, for clients without a cluster."""

import json
from pathlib import Path

from emulator.cluster.http.description import description


def page(_root: Path) -> str:
    return json.dumps(description(), indent=1) + "\n"
