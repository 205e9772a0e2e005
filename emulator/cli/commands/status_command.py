"""`faultline status`: the view of every node of a cluster, once or continuously.

`--watch` on a terminal redraws every half second until Ctrl-C or `q`, and leaves the last picture on the screen. Keys
apply and end faults (`emulator.cluster.dashboard.keys`). In a pipe it prints a plain picture after each change, with
`--json` one line each. Ctrl-C is the regular end of a watch, so its exit code is 0, as `watch` and `top` have it (130
is for interrupted work).
"""

import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

import msgspec
from rich.console import Console, RenderableType
from rich.console import Group as Stack
from rich.live import Live
from rich.text import Text

from emulator.cli.commands.command_errors import reports_errors
from emulator.cli.commands.watch_keys import Hands, opened
from emulator.cluster.dashboard.keys import Order
from emulator.cluster.dashboard.view import view
from emulator.exit_codes import HELD
from emulator.screen import Screen

Status = Mapping[str, Any]
"""The JSON form of `emulator.cluster.cluster_status.ClusterStatus`."""
EVERY_S = 0.5
LOOKS_BACK = 4
"""Looks over which rates of clients are computed: two seconds, so that people can read them."""
PIPE_WIDTH = 100
RESET = "\x1b[0m"
"""Ctrl-C may interrupt a picture and leave a colour on; this resets it."""
CLOCK = "at_ms"
"""The only field that changes in a cluster at rest."""


class NoStatus(Exception):
    """The cluster did not respond; the reason, in one line."""


@reports_errors("status", unknown=(NoStatus,))
def status_command(
    ask: Callable[[], Status],
    watch: bool,
    json: bool,
    *,
    console: Console | None = None,
    wait: Callable[[float], None] = time.sleep,
    act: Callable[[Order], str] | None = None,
) -> int:
    """Print the status. `ask` raises NoStatus; then the exit code is 3.

    `wait` passes real seconds, and ends a watch by KeyboardInterrupt. `act`: runs an order from the keyboard, and
    returns its outcome.
    """
    console = console or Screen(width=None if sys.stdout.isatty() else PIPE_WIDTH, highlight=False)
    if not watch:
        _print(console, ask(), json)
    elif console.is_terminal and not json:
        with opened() if act is not None else nullcontext() as keyboard:
            hands = Hands(keyboard, act) if act is not None and keyboard is not None else None
            _watch_terminal(ask, console, wait, hands)
    else:
        _watch_pipe(ask, console, wait, json)
    return HELD


def _watch_terminal(
    ask: Callable[[], Status], console: Console, wait: Callable[[float], None], hands: Hands | None
) -> None:
    looks: deque[Status] = deque(maxlen=LOOKS_BACK + 1)
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:

        def draw() -> None:
            # The last line is the cursor's. A terminal may be resized between two looks.
            live.update(_picture(looks[-1], looks[0] if len(looks) > 1 else None, console, hands), refresh=True)

        try:
            while hands is None or not hands.typed.quits:
                looks.append(ask())
                draw()
                if hands is None:
                    wait(EVERY_S)
                else:
                    hands.until_next_look(EVERY_S, draw)
        except KeyboardInterrupt:
            console.file.write(RESET)
            return


def _picture(status: Status, previous: Status | None, console: Console, hands: Hands | None) -> RenderableType:
    if hands is None:
        return view(status, console.width, console.height - 1, previous)
    typed = hands.typed
    partitions = {name: one for name, one in status["partitions"].items() if typed.shown in name}
    bottom = Text(typed.line(), style="bold" if typed.verb else "", no_wrap=True, overflow="ellipsis")
    return Stack(view({**status, "partitions": partitions}, console.width, console.height - 2, previous), bottom)


def _watch_pipe(ask: Callable[[], Status], console: Console, wait: Callable[[float], None], json: bool) -> None:
    last: dict[str, Any] | None = None
    try:
        while True:
            status = ask()
            now = {key: value for key, value in status.items() if key != CLOCK}
            if now != last:
                last = now
                _print(console, status, json)
            wait(EVERY_S)
    except KeyboardInterrupt:
        return


def _print(console: Console, status: Status, json: bool) -> None:
    if json:
        console.file.write(msgspec.json.encode(status).decode() + "\n")
    else:
        width = console.width if console.is_terminal else PIPE_WIDTH
        console.print(view(status, width), width=width)
    console.file.flush()
