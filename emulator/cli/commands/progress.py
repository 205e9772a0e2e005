"""Progress line on a terminal: the scenario's clock, and Spark's start; no output in a pipe."""

from typing import Self

from rich.console import Console
from rich.status import Status
from rich.text import Text

from emulator.cli.commands.spark_ahead import Spark
from emulator.worlds.network.node_supervisor import Cluster


class Progress:
    """A context manager. `spark`: shown while it starts; `text`: the first text."""

    def __init__(self, console: Console, spark: Spark | None = None, text: str = "starting the cluster") -> None:
        self._status = Status(text, console=console) if console.is_terminal else None
        self._spark = spark

    def began(self, cluster: Cluster) -> None:
        """The cluster runs: the line shows the scenario's clock from now on."""
        if self._status is not None:
            self._status.update(ScenarioClock(cluster, self._spark))

    def say(self, text: str) -> None:
        if self._status is not None:
            self._status.update(text)

    def __enter__(self) -> Self:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._status is not None:
            self._status.stop()


class ScenarioClock:
    """Text that is rendered at each refresh of the terminal."""

    def __init__(self, cluster: Cluster, spark: Spark | None) -> None:
        self._cluster = cluster
        self._spark = spark

    def __rich__(self) -> Text:
        starting = self._spark is not None and not self._spark.ready_s
        beside = "; Spark starts beside it" if starting else ""
        return Text(f"{self._cluster.now_ms() / 1000:.1f} s of the scenario played{beside}", style="dim")
