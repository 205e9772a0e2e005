"""Keys typed into `status --watch`: requests, output, and a restored terminal."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from emulator.cli.commands import status_command as status_module
from emulator.cli.commands.status_command import status_command
from emulator.cli.commands.watch_keys import Hands, opened, outcome_text, request_of
from emulator.cluster.cluster_status import as_json
from emulator.cluster.control_requests import Answer, Heal, LinkFault, Machine
from emulator.cluster.dashboard.keys import Order
from emulator.faults.link_words import parse
from tests.emulator.cluster.dashboard.pictured import played, status
from tests.patience import PATIENCE_S
from tests.simulated.cluster import BEGIN


class Typist:
    """Types these, one at each read."""

    def __init__(self, *texts: str) -> None:
        self.left = list(texts)

    def read(self, limit_s: float) -> str:
        assert limit_s > 0
        return self.left.pop(0) if self.left else "q"


def watched(monkeypatch: pytest.MonkeyPatch, *texts: str, act: Callable[[Order], str] = lambda _: "done") -> str:
    class Opened:
        def __enter__(self) -> Typist:
            return Typist(*texts)

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(status_module, "opened", Opened)
    shown = as_json(status(played(BEGIN)))
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=100, height=35, legacy_windows=False)
    assert status_command(lambda: shown, True, False, console=console, act=act) == 0
    return file.getvalue()


def test_orders_are_given_and_what_came_of_them_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Order] = []

    def act(order: Order) -> str:
        given.append(order)
        return "rule-1: cut az-0"

    drawn = watched(monkeypatch, "c", "az-0\r", act=act)
    assert given == [Order("cut", ("az-0",))]
    steps = ("c cut  h heal", "cut: _", "cut: az-0_", "cut az-0 ...", "rule-1: cut az-0")
    places = [drawn.index(step) for step in steps]
    assert places == sorted(places)


def test_a_filter_shows_some_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = watched(monkeypatch, "f", "nothing-like-it\r", "\x1b[A")
    before, _, after = drawn.partition("only nothing-like-it")
    assert "t-0" in before and "no partition yet" in before, "the picture is above its line"
    assert after


def test_without_a_keyboard_it_is_a_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with opened() as keyboard:
        assert keyboard is None


@pytest.mark.parametrize(
    ("order", "ask"),
    [
        (Order("cut", ("az-0",)), LinkFault(parse(["cut", "az-0"]))),
        (Order("heal", ()), Heal([])),
        (Order("heal", ("rule-1",)), Heal(["rule-1"])),
        (Order("kill", ("broker-0", "az-1")), Machine("kill", ["broker-0", "az-1"])),
        (Order("start", ("broker-0",)), Machine("start", ["broker-0"])),
    ],
)
def test_orders_request_what_the_commands_do(order: Order, ask: object) -> None:
    assert request_of(order) == ask


def test_what_came_of_it_is_one_line() -> None:
    rule = {"id": "rule-1", "rule": "cut az-0"}
    machines = {"machines": [{"node": "broker-0"}, {"node": "broker-1"}], "left_out": {"broker-2": "broker-2 is dead"}}
    assert outcome_text(Order("cut", ("az-0",)), Answer(result={"applied": [rule]})) == "rule-1: cut az-0"
    assert outcome_text(Order("heal", ()), Answer(result={"healed": [rule]})) == "healed: rule-1 cut az-0"
    assert outcome_text(Order("heal", ()), Answer(result={"healed": []})) == "nothing was in force"
    killed = outcome_text(Order("kill", ()), Answer(result=machines))
    assert killed == "kill broker-0, broker-1: done; left out: broker-2 is dead"
    assert outcome_text(Order("cut", ("az-9",)), Answer(code=2, error="no place az-9; nearest: az-0")) == (
        "cut: no place az-9; nearest: az-0"
    )


def test_after_an_order_the_cluster_is_looked_at_again_at_once() -> None:
    typist = Typist("haz-0\r")
    hands = Hands(typist, lambda order: f"{order.verb} done")
    hands.until_next_look(60.0, lambda: None)
    assert hands.typed.message == "heal done" and typist.left == [], "it does not wait for a minute"


TYPED = """
import sys
from emulator.cli.commands.watch_keys import opened
with opened() as keyboard:
    print("ready", flush=True)
    print("typed", repr(keyboard.read(60.0)), flush=True)
"""


def test_a_terminal_gives_keys_without_enter_and_is_as_it_was_afterwards(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    with subprocess.Popen(
        [sys.executable, "-c", TYPED],
        stdin=theirs,
        stdout=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        os.write(ours, b"k")
        assert process.stdout.readline() == "typed 'k'\n"
        assert process.wait(PATIENCE_S) == 0
    assert termios.tcgetattr(theirs) == before
    os.close(ours)
    os.close(theirs)


def test_a_process_without_a_terminal_leaves_it_alone() -> None:
    """`status --watch &`: reading would stop it."""
    ours, theirs = pty.openpty()
    code = "from emulator.cli.commands.watch_keys import opened\nwith opened() as keyboard:\n    print(keyboard)"
    run = [sys.executable, "-c", code]
    done = subprocess.run(
        run, stdin=theirs, capture_output=True, start_new_session=True, timeout=PATIENCE_S, text=True, check=True
    )
    assert done.stdout == "None\n", done
    os.close(ours)
    os.close(theirs)
