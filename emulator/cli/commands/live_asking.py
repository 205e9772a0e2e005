"""How every command on a cluster that stays is asked, shown and ended."""

import sys
from collections.abc import Callable
from typing import Any

import msgspec
from rich.console import Console

from emulator.cluster.bounds import unfit
from emulator.cluster.control_client import ask
from emulator.cluster.registry import NoCluster, choose
from emulator.cluster.requests import WAIT_S, WAIT_S_MAX, Answer, Ask, Refused
from emulator.exit_codes import HELD, UNUSABLE
from emulator.screen import Screen

Show = Callable[[Console, dict[str, Any]], None]
PIPE_WIDTH = 10_000


class Asking(msgspec.Struct, frozen=True):
    """What all these commands take. `cluster`: a name or a directory; None: the only one. `wait_s` None: so long that
    the command answers within 2 s."""

    command: str
    cluster: str | None = None
    wait_s: float | None = None
    json: bool = False


def ask_cluster(asking: Asking, what: Ask, show: Show, judge: Callable[[dict[str, Any]], int] | None = None) -> int:
    """The exit code. `judge`: of a result, where not every answer is a success."""
    wait_s = WAIT_S if asking.wait_s is None else asking.wait_s
    if not 0 <= wait_s <= WAIT_S_MAX:
        return refused(asking.command, f"--wait {wait_s:g}: from 0 to {WAIT_S_MAX:g} seconds")
    if why := unfit(what):
        return refused(asking.command, why)
    try:
        answer = ask(choose(asking.cluster).registration, what, wait_s)
    except (NoCluster, Refused) as error:
        return refused(asking.command, error)
    return shown(asking, answer, show, judge)


def shown(asking: Asking, answer: Answer, show: Show, judge: Callable[[dict[str, Any]], int] | None = None) -> int:
    """Prints an answer; returns the exit code."""
    if asking.json:
        error = {"error": answer.error} if answer.error else {}
        print(msgspec.json.encode({**answer.result, **error}).decode())
    elif answer.code == HELD or answer.result:
        show(console(), answer.result)
    if answer.error and not asking.json:
        print(f"faultline {asking.command}: {answer.error}", file=sys.stderr)
    if answer.code == HELD and judge is not None:
        return judge(answer.result)
    return answer.code


def refused(command: str, error: object) -> int:
    """Code 2, and one line."""
    print(f"faultline {command}: {error}", file=sys.stderr)
    return UNUSABLE


def console() -> Console:
    """Wraps on a terminal only, and between words."""
    terminal = sys.stdout.isatty()
    return Screen(width=None if terminal else PIPE_WIDTH, highlight=False, soft_wrap=not terminal)
