"""The live page of a running cluster: `faultline page`, and what `up` starts for it."""

import sys
import webbrowser
from collections.abc import Sequence
from typing import Annotated
from urllib.parse import quote

import msgspec
from cyclopts import Parameter

from emulator.cli.cluster_options import CLUSTER, ClusterOptions
from emulator.cli.command_options import UpOptions
from emulator.cli.commands.command_errors import CommandFailed, reports_errors
from emulator.cli.commands.control_calls import console
from emulator.cluster.cluster_registry import NoCluster, Registration, choose
from emulator.cluster.control_client import ask
from emulator.cluster.control_requests import Status
from emulator.cluster.http.access_tokens import read_only_token, run_id
from emulator.exit_codes import HELD
from emulator.runs.deployment_options import UnusableOption
from emulator.runs.resolve_named import find_in_mode
from emulator.scenario.scenario_model import Scenario
from emulator.settings.properties_files import SettingsFile
from emulator.topology import Topology


@reports_errors("page", NoCluster)
def page_command(
    *,
    open_: Annotated[bool, Parameter(name="--open", negative=())] = False,
    options: ClusterOptions = CLUSTER,
) -> int:
    """Print the page's address, and one that can only read; both have the cluster's token.

    Parameters
    ----------
    open_
        Open the page in a browser.
    """
    found = choose(options.cluster)
    answer = ask(found.registration, Status())
    if answer.code != HELD:
        raise CommandFailed(answer.error, answer.code)
    if not answer.result["cluster"]["page"]:
        raise CommandFailed(
            f"cluster {found.name}: it serves no page; start it with `faultline up --page`, or in containers with "
            "FAULTLINE_PAGE=yes"
        )
    if options.json:
        at = found.registration
        document = {"page": page_address(at), "read_only": page_address(at, read_only=True)}
        print(msgspec.json.encode(document).decode())
    show_page("page", found.registration, opens=open_, prints=not options.json)
    return HELD


def page_address(at: Registration, *, read_only: bool = False) -> str:
    """Address of the live page, with its token. A browser sends the part after `#` to no server."""
    token = read_only_token(at.token.encode()).decode() if read_only else at.token
    return f"{at.http}/#token={quote(token)}&run={run_id(at.token.encode())}"


def show_page(command: str, at: Registration, *, opens: bool, prints: bool) -> None:
    """Print the addresses of the live page; open it if a browser is there."""
    opened = opens and webbrowser.open(page_address(at))
    if opens and not opened:
        print(f"faultline {command}: no browser was found; open the page's address yourself", file=sys.stderr)
    if prints:
        console().print(f"page: {page_address(at)}", markup=False)
        console().print(f"page, read-only: {page_address(at, read_only=True)}", markup=False)


def shows_page(options: UpOptions) -> bool:
    """Whether the cluster serves the live page."""
    return options.page or options.open or options.story is not None


def story_scenario(options: UpOptions, files: Sequence[SettingsFile]) -> Scenario | None:
    """The scenario of `--story`, in the cluster's mode. Raises the errors of `find_in_mode`."""
    if options.story is None:
        return None
    scenario, _ = find_in_mode(options.story, options.settings.kafka_version, (), options.metadata or "", files)
    return scenario


def check_story(scenario: Scenario, topology: Topology) -> None:
    """Check that the cluster has the scenario's brokers and AZs. Raises UnusableOption."""
    wanted, there = (
        [(node.name, node.az) for node in one.with_role("broker")] for one in (scenario.topology, topology)
    )
    if wanted != there:
        needs = ", ".join(f"{name} in {az}" for name, az in wanted)
        raise UnusableOption(f"--story {scenario.id}: it needs {needs}; give a topology that has them")
    if scenario.settings_by_broker:
        raise UnusableOption(f"--story {scenario.id}: it has settings of single brokers; play it with `faultline run`")
