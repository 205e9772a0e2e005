"""Live faults of machines and disks, one command each. What they do is in `emulator.live.machine_faults`."""

from typing import Annotated, Literal

from cyclopts import App, Parameter

from emulator.cli_live import LIVE, Cluster, Files, Json, Setting, Wait

Dir = Annotated[str | None, Parameter(name="--dir", help="One of its log.dirs alone; else the whole disk.")]

Unset = Annotated[list[str] | None, Parameter(name="--unset", negative=())]

app = App(name="live-machines")


def add_to(main: App) -> None:
    """Mounts every command here beside those of `main`."""
    for name in _COMMANDS:
        app[name].group = LIVE
        main.command(app[name], name=name)


MachineFault = Literal[
    "kill", "stop", "pause", "resume", "start", "power-loss", "disk-full", "disk-error", "lose-disk"
]


Nodes = Annotated[
    str, Parameter(help="Such as broker-0; several, all of an AZ (az-0), or of a pattern ('broker-*').")
]


def _machine(
    fault: MachineFault,
    nodes: tuple[str, ...],
    wait: float | None,
    cluster: str | None,
    json: bool,
    kept: int = -1,
    directory: str | None = None,
) -> int:
    from emulator.commands.live_asking import Asking
    from emulator.commands.live_faults import machine_command

    return machine_command(Asking(fault, cluster, wait, json), fault, nodes, kept, directory or "")


@app.command
def kill(*nodes: Nodes, wait: Wait = None, cluster: Cluster = None, json: Json = False) -> int:
    """SIGKILL: what was written stays."""
    return _machine("kill", nodes, wait, cluster, json)


@app.command
def stop(*nodes: Nodes, wait: Wait = None, cluster: Cluster = None, json: Json = False) -> int:
    """SIGTERM: an orderly shutdown, in the node's own time."""
    return _machine("stop", nodes, wait, cluster, json)


@app.command
def pause(*nodes: Nodes, wait: Wait = None, cluster: Cluster = None, json: Json = False) -> int:
    """SIGSTOP: the node stands still, its connections stay."""
    return _machine("pause", nodes, wait, cluster, json)


@app.command
def resume(*nodes: Nodes, wait: Wait = None, cluster: Cluster = None, json: Json = False) -> int:
    """SIGCONT: a paused node goes on, with today's faults."""
    return _machine("resume", nodes, wait, cluster, json)


@app.command
def start(
    *nodes: Nodes,
    kafka_version: str | None = None,
    set_: Setting = None,
    unset: Unset = None,
    settings: Files = None,
    wait: Wait = None,
    cluster: Cluster = None,
    json: Json = False,
) -> int:
    """Begin a dead node's next life; a full disk has room again.

    Parameters
    ----------
    kafka_version
        The broker's binary from now on, such as 2.8.
    set_
        A setting from now on, `key=value`; repeatable.
    unset
        A setting that is no longer given; repeatable.
    settings
        A server.properties with settings from now on; repeatable.
    """
    from emulator.commands.live_asking import Asking
    from emulator.commands.live_faults import start_command

    asking = Asking("start", cluster, wait, json)
    return start_command(asking, nodes, kafka_version, tuple(set_ or ()), tuple(unset or ()), tuple(settings or ()))


@app.command
def power_loss(
    *nodes: Nodes, keep: int | None = None, wait: Wait = None, cluster: Cluster = None, json: Json = False
) -> int:
    """The node dies with its page cache.

    Parameters
    ----------
    keep
        So many batches of each log survive; by default those that were synced.
    """
    return _machine("power-loss", nodes, wait, cluster, json, -1 if keep is None else keep)


@app.command
def disk_full(
    *nodes: Nodes, directory: Dir = None, wait: Wait = None, cluster: Cluster = None, json: Json = False
) -> int:
    """The node's disk takes no more; a broker dies at its next write, and has room when it is started again.

    Of several log directories one may be full: since Kafka 1.0 the broker lives on with the others.
    """
    return _machine("disk-full", nodes, wait, cluster, json, directory=directory)


@app.command
def disk_error(
    *nodes: Nodes, directory: Dir = None, wait: Wait = None, cluster: Cluster = None, json: Json = False
) -> int:
    """Whatever a broker does with its disk fails, until lose-disk gives it another.

    Of several log directories one may fail: since Kafka 1.0 the broker lives on with the others.
    """
    return _machine("disk-error", nodes, wait, cluster, json, directory=directory)


@app.command
def lose_disk(
    *nodes: Nodes, directory: Dir = None, wait: Wait = None, cluster: Cluster = None, json: Json = False
) -> int:
    """A dead broker gets another disk, an empty one."""
    return _machine("lose-disk", nodes, wait, cluster, json, directory=directory)


_COMMANDS = (
    "kill", "stop", "pause", "resume", "start", "power-loss", "disk-full", "disk-error", "lose-disk",
)  # fmt: skip
