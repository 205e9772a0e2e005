"""Requests of commands to a running cluster, their output and exit codes."""

import sys
from collections.abc import Callable
from typing import Any

import msgspec
from rich.console import Console

from emulator.cli.cluster_options import ClusterOptions
from emulator.cli.commands.command_errors import CommandFailed
from emulator.cluster.cluster_registry import NoCluster, choose
from emulator.cluster.control_client import ask
from emulator.cluster.control_limits import unfit
from emulator.cluster.control_requests import WAIT_S, WAIT_S_MAX, ControlRequest, Refused
from emulator.exit_codes import HELD
from emulator.screen import Screen

Show = Callable[[Console, dict[str, Any]], None]
PIPE_WIDTH = 10_000


def ask_cluster(
    options: ClusterOptions, what: ControlRequest, show: Show, judge: Callable[[dict[str, Any]], int] | None = None
) -> int:
    """Send a request, print its result; returns the exit code. Raises CommandFailed.

    `judge`: exit code of a successful result.
    """
    wait_s = WAIT_S if options.wait_s is None else options.wait_s
    if not 0 <= wait_s <= WAIT_S_MAX:
        raise CommandFailed(f"--wait {wait_s:g}: from 0 to {WAIT_S_MAX:g} seconds")
    if why := unfit(what):
        raise CommandFailed(why)
    try:
        answer = ask(choose(options.cluster).registration, what, wait_s)
    except (NoCluster, Refused) as error:
        raise CommandFailed(error) from error
    if options.json:
        given = {"error": answer.error} if answer.error else {}
        print(msgspec.json.encode({**answer.result, **given}).decode())
    elif answer.code == HELD or answer.result:
        show(console(), answer.result)
    code = judge(answer.result) if answer.code == HELD and judge is not None else answer.code
    if answer.error and not options.json:
        raise CommandFailed(answer.error, code)
    return code


def console() -> Console:
    """Console that wraps only on a terminal, between words."""
    terminal = sys.stdout.isatty()
    return Screen(width=None if terminal else PIPE_WIDTH, highlight=False, soft_wrap=not terminal)
