"""The steps that break machines and links, and that mend them.

Nodes have their full names (`broker-2`, `session-0`), AZs too (`az-0`). `partition` None is the scenario's first.
"""

from typing import Any

import msgspec


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all steps."""

    at_s: float | None = None


# --- machines ---


class Start(Step, frozen=True, kw_only=True):
    """Starts a node and waits until it is ready: a broker when it is registered and answers. From then on it has the
    binary of that `version`, and these `settings` besides those it had (null: no longer)."""

    node: str
    version: str = ""
    settings: dict[str, Any] = {}


class Kill(Step, frozen=True, kw_only=True):
    """SIGKILL: what was written stays (the machine goes on), nothing else is said."""

    node: str


class Stop(Step, frozen=True, kw_only=True):
    """SIGTERM: an orderly shutdown."""

    node: str


class PauseNode(Step, frozen=True, kw_only=True):
    """SIGSTOP."""

    node: str


class ResumeNode(Step, frozen=True, kw_only=True):
    """SIGCONT."""

    node: str


class PowerLoss(Step, frozen=True, kw_only=True):
    """Dies with its page cache. Of the partition's log what was synced survives and of the rest the first
    batches, so that `batches_kept` are left in all; None: the run's seed says."""

    node: str
    batches_kept: int | None = None
    partition: str | None = None


class LoseUnsynced(Step, frozen=True, kw_only=True):
    """Cuts the partition's log file of a dead broker to its first `batches_kept` batches."""

    node: str
    batches_kept: int
    partition: str | None = None


class LoseDisk(Step, frozen=True, kw_only=True):
    """A dead broker's disk, or one log directory of it (`dir`), is replaced by an empty one, with which it will
    return."""

    node: str
    directory: str = ""


class DiskFull(Step, frozen=True, kw_only=True):
    """From now on every write to the node's disk, or to one log directory (`dir`), fails; who starts it again has made
    room."""

    node: str
    directory: str = ""


class DiskError(Step, frozen=True, kw_only=True):
    """From now on everything that a broker does with its disk, or with one log directory (`dir`), fails, until
    `lose-disk`."""

    node: str
    directory: str = ""


MachineStep = (
    Start | Kill | Stop | PauseNode | ResumeNode | PowerLoss | LoseUnsynced | LoseDisk | DiskFull | DiskError
)


class Together(Step, frozen=True, kw_only=True):
    """The same done to several machines at once, as when an AZ loses its power. Ends when all of it is done."""

    steps: tuple[MachineStep, ...]


# --- links ---


class AzLinks(msgspec.Struct, frozen=True):
    """Everything between that AZ and the others; a client outside every AZ is not affected."""

    az: str


class PairLinks(msgspec.Struct, frozen=True):
    """Between two nodes (or AZs), both ways, whoever opened the connection."""

    between: tuple[str, str]


class OpenedLinks(msgspec.Struct, frozen=True):
    """Connections that `opened_by` opens to `to`; those opened the other way work."""

    opened_by: str
    to: str


class OneWayLinks(msgspec.Struct, frozen=True):
    """What `source` sends to `to`; what comes back still arrives."""

    source: str
    to: str


Links = AzLinks | PairLinks | OpenedLinks | OneWayLinks


class LinkFault(Step, frozen=True, kw_only=True):
    """Base of rules on links. `purposes`, `apis`: only connections of these purposes
    (`protocol.purposes`), only messages of these APIs (`Fetch`); all if empty. `expects_traffic`: a rule
    that stopped nothing makes the run unknown, unless this is false."""

    links: Links
    purposes: tuple[str, ...] = ()
    apis: tuple[str, ...] = ()
    expects_traffic: bool = True


class Cut(LinkFault, frozen=True, kw_only=True):
    """Packets vanish; nothing is reset."""


class Hold(LinkFault, frozen=True, kw_only=True):
    """Frames wait at the rule and go on, in order, when it is healed."""


class Delay(LinkFault, frozen=True, kw_only=True):
    """Each frame takes `delay_ms` longer, and up to `jitter_ms` more."""

    delay_ms: float
    jitter_ms: float = 0.0


class Loss(LinkFault, frozen=True, kw_only=True):
    """`rate` (0 to 1) of the packets is lost, which TCP turns into delay."""

    rate: float


class Heal(Step, frozen=True, kw_only=True):
    """Ends the rules on exactly these links; None: every rule."""

    links: Links | None = None
