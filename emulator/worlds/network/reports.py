"""The supervisor's reports: ends of processes, rules in force, impossible orders."""

import msgspec


class ClusterError(Exception):
    """An impossible order: to an unknown node, one that runs already, one that does not run."""


class NodeExit(msgspec.Struct, frozen=True):
    """A process that ended. `code`: its exit code, or minus the signal.

    `expected`: the supervisor requested it.
    """

    node: str
    incarnation: int
    code: int
    expected: bool
    at_ms: float


class AppliedReport(msgspec.Struct, frozen=True):
    """`in_force_ms`: {node: since when}. A paused node gets the rule when it goes on.

    A dead one gets it at its start.
    """

    rule: str
    requested_ms: float
    in_force_ms: dict[str, float]


class HealReport(msgspec.Struct, frozen=True):
    """`healed_ms`: {node: since when}.

    `frames_stopped`: {node: held, dropped, delayed or lost there}.

    Ended incarnations are not included.
    """

    rule: str
    requested_ms: float
    healed_ms: dict[str, float]
    frames_stopped: dict[str, int]


def only(error: BaseException) -> BaseException:
    """The one error in the groups of nurseries, or the first group of several."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
