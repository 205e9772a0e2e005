"""`faultline status` of a running cluster."""

from collections.abc import Iterator
from typing import Any

import msgspec

from emulator.cli.cluster_options import CLUSTER, ClusterOptions
from emulator.cli.commands.command_errors import CommandFailed, reports_errors
from emulator.cli.commands.status_command import NoStatus, status_command
from emulator.cli.commands.watch_keys import outcome_text, request_of
from emulator.cluster.cluster_registry import NoCluster, choose, clusters, plays
from emulator.cluster.control_client import ask
from emulator.cluster.control_requests import Refused, Status
from emulator.cluster.dashboard.keys import Order
from emulator.cluster.newest_findings import read_newest
from emulator.cluster.orphaned_resources import left_by
from emulator.faults.link_fault_kinds import RuleError


@reports_errors("status")
def live_status_command(*, watch: bool = False, options: ClusterOptions = CLUSTER) -> int:
    """Print the status.

    Parameters
    ----------
    watch
        Refresh every half second until Ctrl-C or q; keys cut, heal, kill, pause, resume, start and filter.
    """
    try:
        found = choose(options.cluster)
    except NoCluster as error:
        raise CommandFailed("\n".join((str(error), *_other_clusters(options.cluster)))) from error
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

    return status_command(look, watch, options.json, act=act)


def _other_clusters(cluster: str | None) -> Iterator[str]:
    for one in clusters():
        if one.stale and cluster in (None, one.name, one.directory.name, str(one.directory)):
            yield left_by(one)
    for one in plays() if cluster is None else ():
        if one.running:
            yield f"{one.name} is being played by process {one.registration.pid}: {one.directory}"
        elif one.stale:
            yield left_by(one)
