"""`faultline status` of a running cluster."""

import sys
from typing import Any

import msgspec

from emulator.cli.commands.control_calls import refused
from emulator.cli.commands.status_command import NoStatus, status_command
from emulator.cli.commands.watch_keys import outcome_text, request_of
from emulator.cluster.cluster_registry import NoCluster, choose, clusters, plays
from emulator.cluster.control_client import ask
from emulator.cluster.control_requests import Refused, Status
from emulator.cluster.dashboard.keys import Order
from emulator.cluster.newest_findings import read_newest
from emulator.cluster.orphaned_resources import left_by
from emulator.faults.link_fault_kinds import RuleError


def live_status_command(cluster: str | None, watch: bool, json: bool) -> int:
    """Print the status. `cluster`: a name or a directory; None: the only one."""
    try:
        found = choose(cluster)
    except NoCluster as error:
        code = refused("status", error)
        _print_other_clusters(cluster)
        return code
    registration = found.registration

    def look() -> dict[str, Any]:
        answer = ask(registration, Status())
        if answer.code != 0:
            raise NoStatus(answer.error)
        newest = read_newest(found.directory)
        document = {**answer.result, "http": registration.http}
        return document | ({"findings": msgspec.to_builtins(newest.newest)} if newest is not None else {})

    def act(order: Order) -> str:
        try:
            return outcome_text(order, ask(registration, request_of(order)))
        except (Refused, RuleError) as error:
            return f"{order.verb}: {error}"

    return status_command(look, watch, json, act=act)


def _print_other_clusters(cluster: str | None) -> None:
    for one in clusters():
        if one.stale and cluster in (None, one.name, one.directory.name, str(one.directory)):
            print(left_by(one), file=sys.stderr)
    for one in plays() if cluster is None else ():
        if one.running:
            print(f"{one.name} is being played by process {one.registration.pid}: {one.directory}", file=sys.stderr)
        elif one.stale:
            print(left_by(one), file=sys.stderr)
