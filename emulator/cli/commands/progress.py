"""Progress line on a terminal: a scenario's clock, Spark's start, bytes read."""

from time import monotonic
from typing import Final, Self

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


MIB: Final = 1 << 20


class BytesRead:
    """Text with the share of bytes that were read, and their rate; a call adds bytes."""

    def __init__(self, progress: Progress, total_bytes: int) -> None:
        self._progress = progress
        self._total = max(total_bytes, 1)
        self._read = 0
        self._began_s = monotonic()

    def __call__(self, read_bytes: int) -> None:
        self._read += read_bytes
        rate = self._read / MIB / max(monotonic() - self._began_s, 0.001)
        self._progress.say(f"{100 * self._read // self._total} % of {self._total // MIB} MiB, {rate:.0f} MiB/s")


class ScenarioClock:
    """Text that is rendered at each refresh of the terminal."""

    def __init__(self, cluster: Cluster, spark: Spark | None) -> None:
        self._cluster = cluster
        self._spark = spark

    def __rich__(self) -> Text:
        starting = self._spark is not None and not self._spark.ready_s
        beside = "; Spark starts beside it" if starting else ""
        return Text(f"{self._cluster.now_ms() / 1000:.1f} s of the scenario played{beside}", style="dim")
