"""Health check of a container with all nodes: `python -m emulator cluster-ready`."""

import sys
from typing import Final

from emulator.cluster.attached import HERE
from emulator.cluster.cluster_registry import NoCluster, choose
from emulator.cluster.control_client import ask
from emulator.cluster.control_requests import Ready
from emulator.exit_codes import HELD, UNKNOWN

LIMIT_S: Final = 3.0


def main() -> int:
    """Exit code 3 while the cluster is not ready."""
    try:
        answer = ask(choose(None, HERE).registration, Ready(), LIMIT_S)
    except NoCluster as error:
        print(f"faultline: {error}", file=sys.stderr)
        return UNKNOWN
    if answer.code:
        print(f"faultline: {answer.error}", file=sys.stderr)
    return UNKNOWN if answer.code else HELD
