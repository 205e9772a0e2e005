"""Requests of commands to a running cluster, their output and exit codes."""

import sys
from collections.abc import Callable
from typing import Any

import msgspec
from rich.console import Console

from emulator.cluster.cluster_registry import NoCluster, choose
from emulator.cluster.control_client import ask
from emulator.cluster.control_limits import unfit
from emulator.cluster.control_requests import WAIT_S, WAIT_S_MAX, Answer, ControlRequest, Refused
from emulator.exit_codes import HELD, UNUSABLE
from emulator.screen import Screen

Show = Callable[[Console, dict[str, Any]], None]
PIPE_WIDTH = 10_000


class ControlCall(msgspec.Struct, frozen=True):
    """Options common to commands on a running cluster.

    `cluster`: a name or a directory; None: the only one. `wait_s` None: a wait that ends within 2 s.
    """

    command: str
    cluster: str | None = None
    wait_s: float | None = None
    json: bool = False


def ask_cluster(
    call: ControlCall, what: ControlRequest, show: Show, judge: Callable[[dict[str, Any]], int] | None = None
) -> int:
    """Send a request; returns the exit code. `judge`: exit code of a successful result."""
    wait_s = WAIT_S if call.wait_s is None else call.wait_s
    if not 0 <= wait_s <= WAIT_S_MAX:
        return refused(call.command, f"--wait {wait_s:g}: from 0 to {WAIT_S_MAX:g} seconds")
    if why := unfit(what):
        return refused(call.command, why)
    try:
        answer = ask(choose(call.cluster).registration, what, wait_s)
    except (NoCluster, Refused) as error:
        return refused(call.command, error)
    return shown(call, answer, show, judge)


def shown(call: ControlCall, answer: Answer, show: Show, judge: Callable[[dict[str, Any]], int] | None = None) -> int:
    """Print a response; returns the exit code."""
    if call.json:
        error = {"error": answer.error} if answer.error else {}
        print(msgspec.json.encode({**answer.result, **error}).decode())
    elif answer.code == HELD or answer.result:
        show(console(), answer.result)
    if answer.error and not call.json:
        print(f"faultline {call.command}: {answer.error}", file=sys.stderr)
    if answer.code == HELD and judge is not None:
        return judge(answer.result)
    return answer.code


def refused(command: str, error: object) -> int:
    """Print one line of error; returns exit code 2."""
    print(f"faultline {command}: {error}", file=sys.stderr)
    return UNUSABLE


def console() -> Console:
    """Console that wraps only on a terminal, between words."""
    terminal = sys.stdout.isatty()
    return Screen(width=None if terminal else PIPE_WIDTH, highlight=False, soft_wrap=not terminal)
