"""docs/openapi.json: what the control server says of itself over HTTP, for who makes a client without a cluster."""

import json
from pathlib import Path

from emulator.cluster.http.description import description


def page(_root: Path) -> str:
    return json.dumps(description(), indent=1) + "\n"
