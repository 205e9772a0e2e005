"""A cluster of real processes that Kafka clients can use, while a `with` block runs."""

from collections.abc import Awaitable, Callable
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import Concatenate, ParamSpec, TypeVar

from faultline.async_cluster import AsyncCluster
from faultline.blocking import run_blocking
from faultline.verdict import Verdict

P = ParamSpec("P")
T = TypeVar("T")


def blocking(
    method: Callable[Concatenate[AsyncCluster, P], Awaitable[T]],
) -> Callable[Concatenate["Cluster", P], T]:
    """The method of `Cluster` that waits for a method of `AsyncCluster`."""

    @wraps(method)
    def waits(self: "Cluster", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return run_blocking(lambda: method(self._on_trio, *args, **kwargs))

    return waits


def made_by(cls: Callable[P, AsyncCluster]) -> Callable[Concatenate["Cluster", P], None]:
    """The `__init__` of `Cluster` with the arguments of `AsyncCluster`."""

    @wraps(AsyncCluster.__init__)
    def init(self: "Cluster", /, *args: P.args, **kwargs: P.kwargs) -> None:
        self._on_trio = cls(*args, **kwargs)
        self._on_trio._block = "with faultline.Cluster() as cluster"

    return init


class Cluster:
    """A cluster for a `with` block: three brokers in three AZs, with ZooKeeper or in KRaft mode.

    `topology` (a name, or a compose file) selects another one. The cluster is ready when the block begins. It ends with
    the block, and also when the program ends or is killed; its directory stays.

    Args:
        kafka_version: version that the nodes emulate, 0.8.2 to 4.4; by default 2.6, with `metadata="kraft"` 4.4.
        settings: any Kafka settings, for every broker: `{"min.insync.replicas": 2}`.
        metadata: "zookeeper" or "kraft"; by default ZooKeeper up to 3.2, KRaft from 3.3 on.
        controllers: in KRaft mode nodes of their own ("separate", the default), or brokers, too ("combined").
        initial_controllers: in KRaft from 3.9 on, number of voters at first; they change (KIP-853). By default static.
        seed: seed of all random choices.
        directory: the run's, new or empty; by default a new one below the system's directory for temporary files.
        ready_s: time limit for the cluster to become ready, in seconds.

    Every method raises Refused for an impossible request, and FaultlineError outside the block.
    """

    _on_trio: AsyncCluster
    __init__ = made_by(AsyncCluster)

    def __enter__(self) -> "Cluster":
        """Start the cluster. Raises NotStarted."""
        run_blocking(self._on_trio.__aenter__)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        run_blocking(lambda: self._on_trio.__aexit__(kind, error, trace))

    @property
    def directory(self) -> Path:
        """As `AsyncCluster.directory`."""
        return self._on_trio.directory

    @property
    def azs(self) -> tuple[str, ...]:
        """As `AsyncCluster.azs`."""
        return self._on_trio.azs

    def bootstrap_servers(self, az: str = "") -> str:
        """As `AsyncCluster.bootstrap_servers`."""
        return self._on_trio.bootstrap_servers(az)

    status = blocking(AsyncCluster.status)

    # --- links ---

    cut = blocking(AsyncCluster.cut)
    hold = blocking(AsyncCluster.hold)
    delay = blocking(AsyncCluster.delay)
    loss = blocking(AsyncCluster.loss)
    bandwidth = blocking(AsyncCluster.bandwidth)
    reset = blocking(AsyncCluster.reset)
    link_fault = blocking(AsyncCluster.link_fault)
    protocol_fault = blocking(AsyncCluster.protocol_fault)
    hits = blocking(AsyncCluster.hits)
    heal = blocking(AsyncCluster.heal)

    # --- machines ---

    kill = blocking(AsyncCluster.kill)
    stop = blocking(AsyncCluster.stop)
    start = blocking(AsyncCluster.start)
    pause = blocking(AsyncCluster.pause)
    resume = blocking(AsyncCluster.resume)
    power_loss = blocking(AsyncCluster.power_loss)
    disk_full = blocking(AsyncCluster.disk_full)
    disk_error = blocking(AsyncCluster.disk_error)
    lose_disk = blocking(AsyncCluster.lose_disk)
    slow_disk = blocking(AsyncCluster.slow_disk)
    clock_jump = blocking(AsyncCluster.clock_jump)

    # --- topics ---

    create_topic = blocking(AsyncCluster.create_topic)
    add_controller = blocking(AsyncCluster.add_controller)
    remove_controller = blocking(AsyncCluster.remove_controller)
    settle = blocking(AsyncCluster.settle)

    # --- the audit ---

    def audit(self) -> Verdict:
        """Audit the run so far with Spark: the clients' responses against the logs.

        Works within the block or after it. Replicas that have not caught up since a heal differ, so call `settle`
        first. Takes some ten seconds. Raises Refused when no audit is possible.
        """
        from faultline.audit_call import audited

        return audited(self.directory)
