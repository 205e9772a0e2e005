"""Live faults of machines and disks, one command each. What they do is in `emulator.cluster.machine_faults`."""

import inspect
from collections.abc import Callable
from typing import Annotated

from cyclopts import App, Parameter

from emulator.cli.app_live import LIVE, Files, Setting
from emulator.cli.asked import WAITING, Waiting
from emulator.faults.machines import LIVE_FAULTS, HardwareFault

Dir = Annotated[str | None, Parameter(name="--dir", help="One of its log.dirs alone; else the whole disk.")]

Unset = Annotated[list[str] | None, Parameter(name="--unset", negative=())]

HARDWARE = {word: fault for word, fault in LIVE_FAULTS.items() if issubclass(fault, HardwareFault)}

app = App(name="live-machines")


def add_to(main: App) -> None:
    """Mounts every command here beside those of `main`."""
    for name in _COMMANDS:
        app[name].group = LIVE
        main.command(app[name], name=name)


Nodes = Annotated[
    str,
    Parameter(
        help="Such as broker-0; several, all of an AZ (az-0), 'broker-*', leader:TOPIC-N, or active-controller."
    ),
]


def _machine(
    fault: str,
    nodes: tuple[str, ...],
    asked: Waiting,
    kept: int | None = None,
    directory: str | None = None,
    given: dict[str, float] | None = None,
) -> int:
    from emulator.cli.commands.live_faults import machine_command

    return machine_command(asked.asking(fault), fault, nodes, kept, directory or "", given or {})


@app.command
def kill(*nodes: Nodes, asked: Waiting = WAITING) -> int:
    """SIGKILL: what was written stays."""
    return _machine("kill", nodes, asked)


@app.command
def stop(*nodes: Nodes, asked: Waiting = WAITING) -> int:
    """SIGTERM: an orderly shutdown, in the node's own time."""
    return _machine("stop", nodes, asked)


@app.command
def pause(*nodes: Nodes, asked: Waiting = WAITING) -> int:
    """SIGSTOP: the node stands still, its connections stay."""
    return _machine("pause", nodes, asked)


@app.command
def resume(*nodes: Nodes, asked: Waiting = WAITING) -> int:
    """SIGCONT: a paused node goes on, with today's faults."""
    return _machine("resume", nodes, asked)


@app.command
def start(
    *nodes: Nodes,
    kafka_version: str | None = None,
    set_: Setting = None,
    unset: Unset = None,
    settings: Files = None,
    asked: Waiting = WAITING,
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
    from emulator.cli.commands.live_faults import start_command

    asking = asked.asking("start")
    return start_command(asking, nodes, kafka_version, tuple(set_ or ()), tuple(unset or ()), tuple(settings or ()))


@app.command
def power_loss(*nodes: Nodes, keep: int | None = None, asked: Waiting = WAITING) -> int:
    """The node dies with its page cache.

    Parameters
    ----------
    keep
        So many batches of each log survive; by default those that were synced.
    """
    return _machine("power-loss", nodes, asked, keep)


@app.command
def disk_full(*nodes: Nodes, directory: Dir = None, asked: Waiting = WAITING) -> int:
    """The node's disk takes no more; a broker dies at its next write, and has room when it is started again.

    Of several log directories one may be full: since Kafka 1.0 the broker lives on with the others.
    """
    return _machine("disk-full", nodes, asked, directory=directory)


@app.command
def disk_error(*nodes: Nodes, directory: Dir = None, asked: Waiting = WAITING) -> int:
    """Whatever a broker does with its disk fails, until lose-disk gives it another.

    Of several log directories one may fail: since Kafka 1.0 the broker lives on with the others.
    """
    return _machine("disk-error", nodes, asked, directory=directory)


@app.command
def lose_disk(*nodes: Nodes, directory: Dir = None, asked: Waiting = WAITING) -> int:
    """A dead broker gets another disk, an empty one."""
    return _machine("lose-disk", nodes, asked, directory=directory)


def _hardware_command(fault: type[HardwareFault]) -> Callable[..., int]:
    """A command from a fault's definition: an option for each of its fields."""

    def command(*nodes: Nodes, asked: Waiting = WAITING, **given: float) -> int:
        return _machine(fault.WORD, nodes, asked, given=given)

    options = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=float,
            default=inspect.Parameter.empty if field.required else field.default,
        )
        for field in fault.own_fields()
    ]
    own = inspect.signature(command)
    nodes, asked, _ = own.parameters.values()
    command.__signature__ = own.replace(parameters=[nodes, *options, asked])  # type: ignore[attr-defined]
    command.__annotations__ |= {option.name: float for option in options}
    command.__doc__ = " ".join((fault.__doc__ or "").split())
    return command


for _fault in HARDWARE.values():
    app.command(_hardware_command(_fault), name=_fault.WORD)

_COMMANDS = (
    "kill", "stop", "pause", "resume", "start", "power-loss", "disk-full", "disk-error", "lose-disk", *HARDWARE,
)  # fmt: skip
