"""Options common to all commands on a running cluster."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

if TYPE_CHECKING:
    from emulator.cli.commands.control_calls import ControlCall

Cluster = Annotated[str | None, Parameter(name="--cluster", help="A cluster's name, or its run's directory.")]
Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print the result as JSON.")]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """The cluster that a command addresses, and the format of its output."""

    cluster: Cluster = None
    json: Json = False

    def call(self, command: str) -> "ControlCall":
        """The options as `emulator.cli.commands` takes them."""
        return _call(command, self, None)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Waiting(ClusterOptions):
    """Options of a command that waits for an outcome."""

    wait: Annotated[float | None, Parameter(name="--wait", help="Time limit in seconds; by default about 1.5.")] = None

    def call(self, command: str) -> "ControlCall":
        return _call(command, self, self.wait)


DEFAULTS: Final = ClusterOptions()
WAITING: Final = Waiting()


def _call(command: str, options: ClusterOptions, wait_s: float | None) -> "ControlCall":
    from emulator.cli.commands.control_calls import ControlCall  # what a command does is imported when it is called

    return ControlCall(command, options.cluster, wait_s, options.json)
