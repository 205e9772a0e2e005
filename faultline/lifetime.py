"""Start and end of a cluster, common to `Cluster` and `AsyncCluster`. Both block."""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from emulator.cli.commands.live_up import UNUSABLE_INPUT, UpOptions, prepared, remove_unused
from emulator.cluster import control_requests as r
from emulator.cluster.cluster_registry import PROGRAM_PREFIX, Found
from emulator.cluster.control_client import ask
from emulator.cluster.ending import end
from emulator.cluster.launch import Held, NotUp, launch_held
from faultline.errors import FaultlineError, NotStarted, Refused
from faultline.request_builders import Setting, done


class Lifetime:
    """Base of both clusters. `Cluster` documents the arguments."""

    def __init__(
        self,
        topology: str = "three-az",
        *,
        kafka_version: str | None = None,
        settings: Mapping[str, Setting] | None = None,
        seed: int = 1,
        directory: Path | str | None = None,
        ready_s: float = 60.0,
    ) -> None:
        self._topology = topology
        self._kafka_version = kafka_version
        self._settings = tuple(f"{name}={_spelt(value)}" for name, value in (settings or {}).items())
        self._seed = seed
        self._directory = Path(directory) if directory is not None else None
        self._ready_s = ready_s
        self._held: Held | None = None
        self._bootstrap: dict[str, str] = {}

    # --- what there is ---

    @property
    def directory(self) -> Path:
        """The run's directory, which `faultline audit`, `log`, `explain`, `sql` take at any time."""
        if self._held is not None:
            return self._held.found.directory
        if self._directory is None:
            raise FaultlineError(f"the cluster has not been started; use {self._in_a_block()}")
        return self._directory

    @property
    def azs(self) -> tuple[str, ...]:
        """AZs with clients."""
        return tuple(az for az in self._bootstrap if az)

    def bootstrap_servers(self, az: str = "") -> str:
        """Bootstrap servers for a Kafka client in `az`, which is then subject to that AZ's cuts.

        "": for a client outside every AZ, which no cut of an AZ affects. Raises Refused.
        """
        self._running()
        if az not in self._bootstrap:
            raise Refused(f"no clients in {az!r}; AZs with clients: {', '.join(self.azs)}, and '' for outside")
        return self._bootstrap[az]

    # --- beginning and end ---

    def _begin(self, look: Callable[[], object] = lambda: None) -> None:
        """Start the cluster. Raises NotStarted.

        An exception of `look` ends the start: no process and no file is left then.
        """
        if self._held is not None:
            raise FaultlineError("the cluster runs already; use another object for a second cluster")
        directory = self._directory or Path(tempfile.mkdtemp(prefix="faultline-"))
        options = UpOptions(
            self._topology, name=PROGRAM_PREFIX + directory.name, kafka_version=self._kafka_version,
            settings=self._settings, seed=self._seed, out=directory, kafka=True,
        )  # fmt: skip
        try:
            run, _account = prepared(options)
        except UNUSABLE_INPUT as error:
            raise NotStarted(str(error)) from error
        try:
            held = launch_held(run, self._ready_s, look=look)
        except BaseException as error:
            remove_unused(run)
            if isinstance(error, NotUp):
                raise NotStarted(str(error)) from error
            raise
        self._held = held
        try:
            self._bootstrap = done(ask(held.found.registration, r.Ready(), self._ready_s))["bootstrap"]
        except BaseException:
            self._finish()  # the block does not begin, so its end does not call this
            raise

    def _finish(self) -> None:
        """End the cluster; none of its processes survives."""
        held, self._held = self._held, None
        if held is not None:
            self._directory = held.found.directory
            end(held.found)
            assert held.process.stdin is not None
            held.process.stdin.close()
            held.process.wait()

    def _running(self) -> Found:
        if self._held is None:
            raise FaultlineError(f"the cluster does not run; use {self._in_a_block()}")
        return self._held.found

    def _in_a_block(self) -> str:
        """Code that runs the cluster, for messages."""
        raise NotImplementedError


def _spelt(value: Setting) -> str:
    """A setting's value as in a .properties file."""
    return str(value).lower() if isinstance(value, bool) else str(value)
