"""An interrupt ends a run where the player waits.
What is under way in this process is not torn.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
import trio

from emulator.cli.command_options import RunOptions
from emulator.cli.commands import run_scenario
from emulator.cli.commands.run_scenario import run_command
from emulator.exit_codes import INTERRUPTED


def test_an_interrupt_comes_between_two_steps_and_not_in_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    steps: list[str] = []

    async def step() -> None:
        steps.append("begun")
        signal.raise_signal(signal.SIGINT)
        steps.append("done")

    async def play(*_: object, **__: object) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(step)
            await trio.sleep_forever()

    monkeypatch.setattr(run_scenario, "play_network", play)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert run_command("az-isolated-leader", RunOptions(out=tmp_path / "run", audit="none")) == INTERRUPTED
    finally:
        signal.signal(signal.SIGINT, before)
    assert steps == ["begun", "done"]
    assert capsys.readouterr().err.startswith("faultline run: interrupted; its files are in ")
