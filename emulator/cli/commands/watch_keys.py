"""Keyboard of a watch: reads keys while the picture is redrawn.

`emulator.cluster.dashboard.keys` defines the keys.
"""

import contextlib
import os
import select
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Protocol

from emulator.cluster.control_requests import Answer, ControlRequest, Heal, LinkFault, Machine
from emulator.cluster.dashboard.keys import Order, Typed, keys_in, pressed, with_message
from emulator.faults.link_words import parse

READ_BYTES: Final = 256
Act = Callable[[ControlRequest], Answer]
"""Sends a request to the cluster. Raises Refused."""


class Keyboard(Protocol):
    def read(self, limit_s: float) -> str:
        """Typed text; "" after `limit_s`, or after the end of input."""


class TerminalKeyboard:
    """Standard input's terminal, key by key, while `opened`."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._ended = False

    def read(self, limit_s: float) -> str:
        if self._ended:
            time.sleep(limit_s)
            return ""
        if not select.select([self._fd], [], [], limit_s)[0]:
            return ""
        data = os.read(self._fd, READ_BYTES)
        self._ended = not data
        return data.decode(errors="replace")


@contextlib.contextmanager
def opened() -> Iterator[Keyboard | None]:
    """The keyboard, or None without a terminal or while another program has it."""
    fd = _terminal()
    if fd is None:
        yield None
        return
    before = termios.tcgetattr(fd)
    tty.setcbreak(fd, termios.TCSANOW)  # Ctrl-C stays what it is
    try:
        yield TerminalKeyboard(fd)
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


def _terminal() -> int | None:
    try:
        fd = sys.stdin.fileno()
        return fd if os.isatty(fd) and os.tcgetpgrp(fd) == os.getpgrp() else None
    except (AttributeError, OSError, ValueError):  # standard input is closed, or none at all
        return None


class Hands:
    """Keyboard input of a watch. `act` raises Refused."""

    def __init__(self, keyboard: Keyboard, act: Callable[[Order], str]) -> None:
        self._keyboard = keyboard
        self._act = act
        self.typed = Typed()

    def until_next_look(self, seconds: float, redraw: Callable[[], None]) -> None:
        """Take typed keys for so many seconds; an order ends the wait at once."""
        ends_s = time.monotonic() + seconds
        while not self.typed.quits and (left_s := ends_s - time.monotonic()) > 0:
            for key in keys_in(self._keyboard.read(left_s)):
                self.typed, order = pressed(self.typed, key)
                redraw()
                if order is not None:
                    self.typed = with_message(self.typed, self._act(order))
                    ends_s = 0.0


def request_of(order: Order) -> ControlRequest:
    """The request of `faultline VERB WORD...`. Raises RuleError."""
    words = list(order.words)
    match order.verb:
        case "cut":
            return LinkFault(parse(["cut", *words]))
        case "heal":
            return Heal(words)
        case "kill" | "pause" | "resume" | "start" as fault:
            return Machine(fault, words)
        case _:
            raise AssertionError(order)


def outcome_text(order: Order, answer: Answer) -> str:
    """Outcome of an order, in one line."""
    if answer.error:
        return f"{order.verb}: {answer.error}"
    result: Mapping[str, Any] = answer.result
    if "applied" in result:
        return "; ".join(f"{one['id']}: {one['rule']}" for one in result["applied"])
    if "healed" in result:
        healed = ", ".join(f"{one['id']} {one['rule']}" for one in result["healed"])
        return f"healed: {healed}" if healed else "nothing was in force"
    done = ", ".join(one["node"] for one in result["machines"])
    left_out = "".join(f"; left out: {why}" for why in result["left_out"].values())
    return f"{order.verb} {done}: done{left_out}"
