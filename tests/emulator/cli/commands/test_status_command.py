"""`faultline status`: once, watched on a terminal, watched in a pipe.
Fed with statuses, without a cluster.
"""

import io
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from rich.console import Console

from emulator.cli.commands.status_command import NoStatus, status_command
from emulator.cluster.cluster_status import as_json
from tests.emulator.cluster.dashboard.pictured import TWO_LEADERS, later, played, status
from tests.simulated.cluster import BEGIN

Status = Mapping[str, Any]


@pytest.fixture(scope="module")
def healthy() -> Status:
    return as_json(status(played(BEGIN)))


@pytest.fixture(scope="module")
def dual() -> Status:
    return as_json(status(played(TWO_LEADERS), "cut az-0"))


def console(*, terminal: bool, width: int = 100, height: int = 35) -> tuple[Console, io.StringIO]:
    file = io.StringIO()
    return Console(file=file, force_terminal=terminal, width=width, height=height, legacy_windows=False), file


def asking(*statuses: Status | Exception) -> tuple[Callable[[], Status], Callable[[float], None]]:
    """(ask, wait): one after the other; then the person presses Ctrl-C."""
    left = list(statuses)

    def ask() -> Status:
        one = left.pop(0)
        if isinstance(one, Exception):
            raise one
        return one

    def wait(seconds: float) -> None:
        assert seconds > 0
        if not left:
            raise KeyboardInterrupt

    return ask, wait


def test_once_prints_the_picture(dual: Status) -> None:
    to, file = console(terminal=False)
    assert status_command(lambda: dual, False, False, console=to) == 0
    text = file.getvalue()
    assert "DUAL LEADER of t-0  broker-0 (epoch 0) and broker-1 (epoch 1)" in text
    assert "\x1b" not in text


def test_json_is_the_status_and_nothing_else(dual: Status) -> None:
    to, file = console(terminal=True)
    assert status_command(lambda: dual, False, True, console=to) == 0
    assert json.loads(file.getvalue()) == json.loads(json.dumps(dual))


def test_a_watch_ends_with_ctrl_c_and_0_and_its_last_state_stays(healthy: Status, dual: Status) -> None:
    to, file = console(terminal=True)
    ask, wait = asking(healthy, dual)
    assert status_command(ask, True, False, console=to, wait=wait) == 0
    text = file.getvalue()
    assert text.index("★") < text.index("DUAL LEADER")
    last = text[text.rindex("faultline") :]
    assert "DUAL LEADER" in last and "\x1b[2K" not in last[last.index("DUAL LEADER") :], "not wiped"
    assert text.endswith("\x1b[?25h"), "the cursor is back"


def test_a_picture_that_ctrl_c_breaks_off_gives_no_colour_to_the_last_one(healthy: Status) -> None:
    """Broken off within a coloured word, wherever that was."""

    class BrokenOff(io.StringIO):
        def write(self, text: str) -> int:
            if "acked" in text and not self.getvalue().count("clients"):
                super().write(text[: text.index("acked") + 2])
                raise KeyboardInterrupt
            return super().write(text)

    file = BrokenOff()
    to = Console(file=file, force_terminal=True, width=100, height=35, legacy_windows=False, color_system="256")
    assert status_command(lambda: healthy, True, False, console=to) == 0
    broken_off, _, rest = file.getvalue().partition("ac\x1b[0m")
    assert "faultline" in broken_off and "faultline" in rest


def test_a_watch_fits_the_terminal_as_it_is_at_each_look(dual: Status) -> None:
    to, file = console(terminal=True, width=80, height=24)
    ask, wait = asking(dual)
    assert status_command(ask, True, False, console=to, wait=wait) == 0
    drawings = file.getvalue().split("faultline three-az")[1:]
    assert drawings and max(drawing.count("\n") for drawing in drawings) <= 24


def test_rates_are_those_of_the_last_looks() -> None:
    first = status(played(BEGIN))
    looks = [later(first, 500.0 * n, acked=5 * n) for n in range(8)]
    to, file = console(terminal=True)
    ask, wait = asking(*map(as_json, looks))
    status_command(ask, True, False, console=to, wait=wait)
    drawings = file.getvalue().split("faultline three-az")[1:]
    assert "480" in drawings[0] and "/s" not in drawings[0], "the first look has nothing to compare with"
    assert all(drawing.count("/s") == 3 for drawing in drawings[1:])
    assert "✓ 10 " in drawings[-1], "5 acknowledged in each half second"


def test_a_pipe_gets_a_picture_for_each_change(healthy: Status, dual: Status) -> None:
    to, file = console(terminal=False)
    ask, wait = asking(healthy, {**healthy, "at_ms": healthy["at_ms"] + 500.0}, dual, dual)
    assert status_command(ask, True, False, console=to, wait=wait) == 0
    text = file.getvalue()
    assert (text.count("faultline three-az"), text.count("DUAL LEADER")) == (2, 1)
    assert "\x1b" not in text


def test_a_watch_in_json_is_a_line_for_each_change(healthy: Status, dual: Status) -> None:
    to, file = console(terminal=True)
    ask, wait = asking(healthy, healthy, dual)
    assert status_command(ask, True, True, console=to, wait=wait) == 0
    lines = file.getvalue().splitlines()
    assert [json.loads(line)["faults"] == [] for line in lines] == [True, False]


@pytest.mark.parametrize(("watch", "terminal"), [(False, True), (True, True), (True, False)])
def test_a_cluster_that_does_not_answer_is_unknown(
    healthy: Status, capsys: pytest.CaptureFixture[str], watch: bool, terminal: bool
) -> None:
    to, _ = console(terminal=terminal)
    gone = NoStatus("cluster three-az did not answer within 1.9 s")
    ask, wait = asking(*([healthy] if watch else []), gone)
    assert status_command(ask, watch, False, console=to, wait=wait) == 3
    assert capsys.readouterr().err == "faultline status: cluster three-az did not answer within 1.9 s\n"
