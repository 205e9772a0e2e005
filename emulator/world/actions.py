"""What the scenario's player asks of the world itself: faults, starts, snapshots. Only the player's machine uses these.

`Act` is an effect beside those of `protocol.machine`; its outcome comes back as the input `ActDone`. Both worlds
carry out the same actions, so the player cannot tell them apart either. """

from typing import Any

import msgspec

from protocol.link_rules import LinkRule


class StartNode(msgspec.Struct, frozen=True, tag="start"):
    """Begin a life of `node` (its next incarnation), from now on with another binary (`version` "": the same) and these
    settings besides (None: no longer given)."""

    node: str
    version: str = ""
    settings: dict[str, Any] = {}


class KillNode(msgspec.Struct, frozen=True, tag="kill"):
    """SIGKILL."""

    node: str


class StopNode(msgspec.Struct, frozen=True, tag="stop"):
    """SIGTERM; done when the process has ended."""

    node: str


class PauseNode(msgspec.Struct, frozen=True, tag="pause"):
    """SIGSTOP."""

    node: str


class ResumeNode(msgspec.Struct, frozen=True, tag="resume"):
    """SIGCONT."""

    node: str


class PowerLoss(msgspec.Struct, frozen=True, tag="power-loss"):
    """The machine dies and loses of what was not synced all but `batches_kept` batches of each log (-1: the seed
    decides); of one partition's log alone, if it is named."""

    node: str
    batches_kept: int = -1
    partition: str = ""


class LoseUnsynced(msgspec.Struct, frozen=True, tag="lose-unsynced"):
    """Of a dead node: its log of a partition is cut to `batches_kept` batches."""

    node: str
    partition: str
    batches_kept: int


class LoseDisk(msgspec.Struct, frozen=True, tag="lose-disk"):
    """Of a dead node: its disk, or that log directory, is another, and empty."""

    node: str
    directory: str = ""


class DiskFull(msgspec.Struct, frozen=True, tag="disk-full"):
    """From now on the node's disk, or that log directory, takes nothing more, in this life."""

    node: str
    directory: str = ""


class DiskError(msgspec.Struct, frozen=True, tag="disk-error"):
    """From now on the node's disk, or that log directory, fails, until it is lost."""

    node: str
    directory: str = ""


def unfit(action: object, *, alive: bool, paused: bool) -> str:
    """Why this cannot be done to a node as it is now; "": it can. A dead node that is killed stays dead, and its
    machine may still lose its power."""
    match action:
        case StartNode(node) if alive:
            return f"{node} runs already"
        case StopNode(node) | PauseNode(node) | ResumeNode(node) | DiskFull(node) if not alive:
            return f"{node} does not run"
        case PauseNode(node) if paused:
            return f"{node} is paused already"
        case ResumeNode(node) if not paused:
            return f"{node} is not paused"
        case StopNode(node) | DiskFull(node) if paused:
            return f"{node} is paused, and hears nothing: resume it first"
        case LoseDisk(node) | LoseUnsynced(node) if alive:
            return f"{node} runs: its disk cannot be lost under it"
    return ""


class ApplyRule(msgspec.Struct, frozen=True, tag="apply"):
    """A fault on links, in force at both ends when done."""

    rule: LinkRule


class HealRules(msgspec.Struct, frozen=True, tag="heal"):
    """Lift these rules; empty: all."""

    rules: tuple[str, ...] = ()


class Snapshot(msgspec.Struct, frozen=True, tag="snapshot"):
    """Read a partition's files at these nodes, dead or alive. Result: {node: `inspect.read_partition`}."""

    partition: str
    nodes: tuple[str, ...]


class Batches(msgspec.Struct, frozen=True, tag="batches"):
    """Like Snapshot, but wrapper by wrapper: {node: `inspect.batches_of`}."""

    partition: str
    nodes: tuple[str, ...]


class LogSizes(msgspec.Struct, frozen=True, tag="log-sizes"):
    """How large the logs of these nodes are, dead or alive. Result: {node: `inspect.log_sizes`}."""

    nodes: tuple[str, ...]


Action = (
    StartNode | KillNode | StopNode | PauseNode | ResumeNode | PowerLoss | LoseUnsynced | LoseDisk | DiskFull
    | DiskError | ApplyRule | HealRules | Snapshot | Batches | LogSizes
)  # fmt: skip


class Act(msgspec.Struct, frozen=True, tag="act"):
    """Effect: carry out `action`; ActDone(number) follows."""

    number: int
    action: Action


class ActDone(msgspec.Struct, frozen=True, tag="act-done"):
    """Input: `result` as the action describes, or {}; `error` "" or why it could not be done."""

    number: int
    result: dict[str, object]
    error: str = ""
