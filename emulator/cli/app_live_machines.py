"""Commands for faults of machines and disks in a running cluster.

`emulator.cluster.machine_faults` implements the faults.
"""

import inspect
from collections.abc import Callable
from typing import Annotated, Any, Final

from cyclopts import Parameter
from msgspec.structs import FieldInfo

from emulator.cli.app_live import LIVE
from emulator.cli.cluster_options import WAIT, Nodes, WaitOptions
from emulator.cli.root_app import app
from emulator.faults.machine_fault_kinds import LIVE_FAULTS, HardwareFault, MachineStep

OPTIONS: Final[dict[str, Any]] = {
    "batches_kept": Annotated[
        int | None, Parameter(help="Number of batches of each log that survive; by default the synced ones.")
    ],
    "directory": Annotated[str | None, Parameter(help="One of the broker's log.dirs; by default the whole disk.")],
}
"""Options of faults by the field of the fault."""
AMOUNTS: Final = {
    "jump_ms": "Milliseconds to move the clock; negative: backwards.",
    "operation_ms": "Milliseconds more for each operation.",
    "fsync_ms": "Milliseconds more for each fsync.",
}
"""Help of amounts of hardware faults, by the field of the fault."""
HELP: Final = {
    "kill": "SIGKILL a node; its written data stays.",
    "stop": "SIGTERM a node: an orderly shutdown that may take its time.",
    "pause": "SIGSTOP a node: its process is paused, its connections stay open.",
    "resume": "SIGCONT: a paused node continues, with the faults in force now.",
    "start": "Start a stopped node; frees a full disk.",
    "power-loss": "Kill a node and discard its page cache.",
    "disk-full": """Fill a node's disk: a broker dies at its next write; the disk has room at its next start.

    One of several log directories may be full: since Kafka 1.0 the broker continues with the others.
    """,
    "disk-error": """Fail every disk operation of a broker, or controller of KRaft, until `lose-disk` replaces it.

    One of several log directories may fail: since Kafka 1.0 the broker continues with the others.
    """,
    "lose-disk": "Replace the disk of a stopped broker, or controller of KRaft, with an empty one.",
}
"""Help of the commands; the others have the text of the fault."""


def _machine_command(fault: type[MachineStep]) -> Callable[..., int]:
    """A command made from a fault's definition, with an option for each of its fields."""

    def command(*nodes: Nodes, options: WaitOptions = WAIT, **given: Any) -> int:
        from emulator.cli.commands.live_faults import machine_command

        return machine_command(fault.VERB, options, nodes, given)

    own = inspect.signature(command)
    nodes, options, _ = own.parameters.values()
    fields = [
        _option(field) for field in fault.own_fields() if field.name in OPTIONS or issubclass(fault, HardwareFault)
    ]
    command.__signature__ = own.replace(parameters=[nodes, *fields, options])  # type: ignore[attr-defined]
    command.__annotations__ |= {field.name: field.annotation for field in fields}
    return command


def _option(field: FieldInfo) -> inspect.Parameter:
    default = inspect.Parameter.empty if field.required else None if field.name in OPTIONS else field.default
    annotation = OPTIONS.get(field.name) or Annotated[float, Parameter(help=AMOUNTS[field.name])]
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


for _verb in dict.fromkeys((*HELP, *LIVE_FAULTS)):
    _fault = LIVE_FAULTS[_verb]
    _help = HELP.get(_verb) or " ".join((_fault.__doc__ or "").split())
    _command = "emulator.cli.commands.live_faults:start_command" if _verb == "start" else _machine_command(_fault)
    app.command(_command, name=_verb, help=_help, group=LIVE)
