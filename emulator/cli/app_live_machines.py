"""Commands for faults of machines and disks in a running cluster.

`emulator.cluster.machine_faults` implements the faults.
"""

import inspect
from collections.abc import Callable
from typing import Annotated, Any

from cyclopts import App, Parameter

from emulator.cli.app_live import LIVE
from emulator.cli.cluster_options import START, WAIT, StartOptions, WaitOptions
from emulator.faults.machine_fault_kinds import LIVE_FAULTS, HardwareFault

Dir = Annotated[str | None, Parameter(help="One of the broker's log.dirs; by default the whole disk.")]

HARDWARE = {word: fault for word, fault in LIVE_FAULTS.items() if issubclass(fault, HardwareFault)}

app = App(name="live-machines")


def add_to(main: App) -> None:
    """Mount every command of this module beside those of `main`."""
    for name in _COMMANDS:
        app[name].group = LIVE
        main.command(app[name], name=name)


Nodes = Annotated[
    str,
    Parameter(help="Such as broker-0; several, all of an AZ (az-0), 'broker-*', leader:TOPIC-N, or active-controller."),
]


def _machine(fault: str, options: WaitOptions, nodes: tuple[str, ...], **given: Any) -> int:
    from emulator.cli.commands.live_faults import machine_command

    return machine_command(fault, options, nodes, **given)


@app.command
def kill(*nodes: Nodes, options: WaitOptions = WAIT) -> int:
    """SIGKILL a node; its written data stays."""
    return _machine("kill", options, nodes)


@app.command
def stop(*nodes: Nodes, options: WaitOptions = WAIT) -> int:
    """SIGTERM a node: an orderly shutdown that may take its time."""
    return _machine("stop", options, nodes)


@app.command
def pause(*nodes: Nodes, options: WaitOptions = WAIT) -> int:
    """SIGSTOP a node: its process is paused, its connections stay open."""
    return _machine("pause", options, nodes)


@app.command
def resume(*nodes: Nodes, options: WaitOptions = WAIT) -> int:
    """SIGCONT: a paused node continues, with the faults in force now."""
    return _machine("resume", options, nodes)


@app.command
def start(*nodes: Nodes, start: StartOptions = START, options: WaitOptions = WAIT) -> int:
    """Start a stopped node; frees a full disk."""
    from emulator.cli.commands.live_faults import start_command

    return start_command(options, nodes, start)


@app.command
def power_loss(*nodes: Nodes, batches_kept: int | None = None, options: WaitOptions = WAIT) -> int:
    """Kill a node and discard its page cache.

    Parameters
    ----------
    batches_kept
        Number of batches of each log that survive; by default the synced ones.
    """
    return _machine("power-loss", options, nodes, batches_kept=batches_kept)


@app.command
def disk_full(*nodes: Nodes, directory: Dir = None, options: WaitOptions = WAIT) -> int:
    """Fill a node's disk: a broker dies at its next write; the disk has room at its next start.

    One of several log directories may be full: since Kafka 1.0 the broker continues with the others.
    """
    return _machine("disk-full", options, nodes, directory=directory)


@app.command
def disk_error(*nodes: Nodes, directory: Dir = None, options: WaitOptions = WAIT) -> int:
    """Fail every disk operation of a broker until `lose-disk` replaces the disk.

    One of several log directories may fail: since Kafka 1.0 the broker continues with the others.
    """
    return _machine("disk-error", options, nodes, directory=directory)


@app.command
def lose_disk(*nodes: Nodes, directory: Dir = None, options: WaitOptions = WAIT) -> int:
    """Replace a stopped broker's disk with an empty one."""
    return _machine("lose-disk", options, nodes, directory=directory)


def _hardware_command(fault: type[HardwareFault]) -> Callable[..., int]:
    """A command made from a fault's definition, with an option for each of its fields."""

    def command(*nodes: Nodes, options: WaitOptions = WAIT, **given: float) -> int:
        return _machine(fault.VERB, options, nodes, given=given)

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
