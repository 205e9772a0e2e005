"""The options that commands on a cluster that stays have in common, said once."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

if TYPE_CHECKING:
    from emulator.cli.commands.live_asking import Asking

Cluster = Annotated[str | None, Parameter(name="--cluster", help="A cluster's name, or its run's directory.")]
Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print the answer as JSON.")]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Asked:
    """Which cluster is meant, and how its answer is printed."""

    cluster: Cluster = None
    json: Json = False

    def asking(self, command: str) -> "Asking":
        """As commands take it."""
        return _asking(command, self, None)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Waiting(Asked):
    """And how long it is waited for."""

    wait: Annotated[float | None, Parameter(name="--wait", help="Seconds to wait for the end; else about 1.5.")] = None

    def asking(self, command: str) -> "Asking":
        return _asking(command, self, self.wait)


ASKED: Final = Asked()
WAITING: Final = Waiting()


def _asking(command: str, asked: Asked, wait_s: float | None) -> "Asking":
    from emulator.cli.commands.live_asking import Asking  # what a command does is imported when it is called

    return Asking(command, asked.cluster, wait_s, asked.json)
