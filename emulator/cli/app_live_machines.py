"""Commands for faults of machines and disks in a running cluster.

`emulator.cluster.machine_faults` implements the faults.
"""

import inspect
from collections.abc import Callable
from typing import Annotated

from cyclopts import App, Parameter

from emulator.cli.app_live import LIVE
from emulator.cli.cluster_options import WAITING, Waiting
from emulator.cli.play_options import Files, Setting
from emulator.faults.machine_fault_kinds import LIVE_FAULTS, HardwareFault

Dir = Annotated[str | None, Parameter(help="One of the broker's log.dirs; by default the whole disk.")]

Removed = Annotated[list[str] | None, Parameter(negative=())]

HARDWARE = {word: fault for word, fault in LIVE_FAULTS.items() if issubclass(fault, HardwareFault)}

app = App(name="live-machines")


def add_to(main: App) -> None:
    """Mount every command of this module beside those of `main`."""
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
    options: Waiting,
    kept: int | None = None,
    directory: str | None = None,
    given: dict[str, float] | None = None,
) -> int:
    from emulator.cli.commands.live_faults import machine_command

    return machine_command(options.call(fault), fault, nodes, kept, directory or "", given or {})


@app.command
def kill(*nodes: Nodes, options: Waiting = WAITING) -> int:
    """SIGKILL a node; its written data stays."""
    return _machine("kill", nodes, options)


@app.command
def stop(*nodes: Nodes, options: Waiting = WAITING) -> int:
    """SIGTERM a node: an orderly shutdown that may take its time."""
    return _machine("stop", nodes, options)


@app.command
def pause(*nodes: Nodes, options: Waiting = WAITING) -> int:
    """SIGSTOP a node: its process is paused, its connections stay open."""
    return _machine("pause", nodes, options)


@app.command
def resume(*nodes: Nodes, options: Waiting = WAITING) -> int:
    """SIGCONT: a paused node continues, with the faults in force now."""
    return _machine("resume", nodes, options)


@app.command
def start(
    *nodes: Nodes,
    kafka_version: str | None = None,
    set_: Setting = None,
    remove: Removed = None,
    settings: Files = None,
    options: Waiting = WAITING,
) -> int:
    """Start a stopped node; frees a full disk.

    Parameters
    ----------
    kafka_version
        Version of the broker's binary from now on, such as 2.8.
    set_
        A broker setting from now on, `key=value`; repeatable.
    remove
        A broker setting to remove; repeatable.
    settings
        A server.properties with settings from now on; repeatable.
    """
    from emulator.cli.commands.live_faults import start_command

    call = options.call("start")
    return start_command(call, nodes, kafka_version, tuple(set_ or ()), tuple(remove or ()), tuple(settings or ()))


@app.command
def power_loss(*nodes: Nodes, batches_kept: int | None = None, options: Waiting = WAITING) -> int:
    """Kill a node and discard its page cache.

    Parameters
    ----------
    batches_kept
        Number of batches of each log that survive; by default the synced ones.
    """
    return _machine("power-loss", nodes, options, batches_kept)


@app.command
def disk_full(*nodes: Nodes, directory: Dir = None, options: Waiting = WAITING) -> int:
    """Fill a node's disk: a broker dies at its next write; the disk has room at its next start.

    One of several log directories may be full: since Kafka 1.0 the broker continues with the others.
    """
    return _machine("disk-full", nodes, options, directory=directory)


@app.command
def disk_error(*nodes: Nodes, directory: Dir = None, options: Waiting = WAITING) -> int:
    """Fail every disk operation of a broker until `lose-disk` replaces the disk.

    One of several log directories may fail: since Kafka 1.0 the broker continues with the others.
    """
    return _machine("disk-error", nodes, options, directory=directory)


@app.command
def lose_disk(*nodes: Nodes, directory: Dir = None, options: Waiting = WAITING) -> int:
    """Replace a stopped broker's disk with an empty one."""
    return _machine("lose-disk", nodes, options, directory=directory)


def _hardware_command(fault: type[HardwareFault]) -> Callable[..., int]:
    """A command made from a fault's definition, with an option for each of its fields."""

    def command(*nodes: Nodes, options: Waiting = WAITING, **given: float) -> int:
        return _machine(fault.VERB, nodes, options, given=given)

    field_options = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=float,
            default=inspect.Parameter.empty if field.required else field.default,
        )
        for field in fault.own_fields()
    ]
    own = inspect.signature(command)
    nodes, options, _ = own.parameters.values()
    command.__signature__ = own.replace(parameters=[nodes, *field_options, options])  # type: ignore[attr-defined]
    command.__annotations__ |= {option.name: float for option in field_options}
    command.__doc__ = " ".join((fault.__doc__ or "").split())
    return command


for _fault in HARDWARE.values():
    app.command(_hardware_command(_fault), name=_fault.VERB)

_COMMANDS = (
    "kill", "stop", "pause", "resume", "start", "power-loss", "disk-full", "disk-error", "lose-disk", *HARDWARE,
)  # fmt: skip
