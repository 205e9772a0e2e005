"""Progress on a terminal while a run is played."""

import io
from types import SimpleNamespace
from typing import Any

from rich.console import Console

from emulator.cli.commands.progress import Progress, ScenarioClock


def test_the_clock_goes_on_and_a_starting_spark_is_reported() -> None:
    cluster: Any = SimpleNamespace(now_ms=lambda: 1_250.0)
    spark: Any = SimpleNamespace(ready_s=0.0)
    clock = ScenarioClock(cluster, spark)
    assert clock.__rich__().plain == "1.2 s of the scenario played; Spark starts beside it"
    cluster.now_ms, spark.ready_s = lambda: 9_000.0, 4.5
    assert clock.__rich__().plain == "9.0 s of the scenario played"


def test_a_terminal_sees_it_and_a_pipe_nothing() -> None:
    cluster: Any = SimpleNamespace(now_ms=lambda: 1_250.0)
    for terminal in (True, False):
        screen = io.StringIO()
        with Progress(Console(file=screen, force_terminal=terminal, width=100)) as progress:
            progress.began(cluster)
            progress.say("played; Spark starts")
        assert ("played; Spark starts" in screen.getvalue()) is terminal
        assert terminal or screen.getvalue() == ""
