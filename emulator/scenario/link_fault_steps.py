"""The steps that break machines and links, and that mend them.

Nodes have their full names (`broker-2`, `session-0`), AZs too (`az-0`). `partition` None is the scenario's first.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Final

import msgspec

from emulator.faults.machine_fault_kinds import MachineStep, Step
from emulator.faults.rule_model import rule
from emulator.topology import Topology
from protocol.link_rules import LinkRule


class Together(Step, frozen=True, kw_only=True):
    """The same fault on several machines at once, as when an AZ loses power.

    Ends when all are done.
    """

    steps: tuple[MachineStep, ...]


# --- links ---


class AzLinks(msgspec.Struct, frozen=True):
    """Everything between that AZ and the others; a client outside every AZ is not affected."""

    az: str


class PairLinks(msgspec.Struct, frozen=True):
    """Links between two nodes (or AZs), both ways, whichever opened the connection."""

    between: tuple[str, str]


class OpenedLinks(msgspec.Struct, frozen=True):
    """Connections that `opened_by` opens to `to`; those opened the other way work."""

    opened_by: str
    to: str


class OneWayLinks(msgspec.Struct, frozen=True):
    """Traffic from `source` to `to`; the opposite direction passes."""

    source: str
    to: str


Links = AzLinks | PairLinks | OpenedLinks | OneWayLinks


def ends_of(links: Links) -> tuple[str, ...]:
    """Nodes, AZs or targets, in the order of the fields."""
    match links:
        case AzLinks(az=az):
            return (az,)
        case PairLinks(between=between):
            return between
        case OpenedLinks(opened_by=one, to=other) | OneWayLinks(source=one, to=other):
            return one, other


def with_ends(links: Links, name: Callable[[str], str]) -> Links:
    """The same links with each end as `name` gives it."""
    match links:
        case AzLinks(az=az):
            return AzLinks(name(az))
        case PairLinks(between=(one, other)):
            return PairLinks((name(one), name(other)))
        case OpenedLinks(opened_by=one, to=other):
            return OpenedLinks(name(one), name(other))
        case OneWayLinks(source=one, to=other):
            return OneWayLinks(name(one), name(other))


class LinkFault(Step, frozen=True, kw_only=True):
    """Base of rules on links.

    `purposes`, `apis`: only connections of these purposes (`protocol.purposes`), only messages of these APIs (`Fetch`);
    all if empty. `expects_traffic`: a rule that stopped nothing makes the run unknown, unless this is false. VERB: of
    scenarios, and the rule's kind; AMOUNTS: {field: its name in `emulator.faults.rule_model.rule`}.
    """

    VERB: ClassVar[str]
    AMOUNTS: ClassVar[dict[str, str]] = {}

    links: Links
    purposes: tuple[str, ...] = ()
    apis: tuple[str, ...] = ()
    expects_traffic: bool = True


class Cut(LinkFault, frozen=True, kw_only=True):
    """Packets vanish; nothing is reset."""

    VERB = "cut"


class Hold(LinkFault, frozen=True, kw_only=True):
    """Frames wait at the rule and go on, in order, when it is healed."""

    VERB = "hold"


class Delay(LinkFault, frozen=True, kw_only=True):
    """Each frame takes `delay_ms` longer, and up to `jitter_ms` more."""

    VERB = "delay"
    AMOUNTS = {"delay_ms": "delay_ms", "jitter_ms": "jitter_ms"}

    delay_ms: float
    jitter_ms: float = 0.0


class Loss(LinkFault, frozen=True, kw_only=True):
    """`rate` (0 to 1) of the packets is lost, which TCP turns into delay."""

    VERB = "loss"
    AMOUNTS = {"rate": "loss"}

    rate: float


class Bandwidth(LinkFault, frozen=True, kw_only=True):
    """A node's traffic over these links has `bytes_per_s` of scenario time, in all connections."""

    VERB = "bandwidth"
    AMOUNTS = {"bytes_per_s": "bytes_per_s"}

    bytes_per_s: float


LINK_FAULTS: Final[tuple[type[LinkFault], ...]] = (Cut, Hold, Delay, Loss, Bandwidth)


def rule_of(topology: Topology, name: str, step: LinkFault) -> LinkRule:
    """The rule that a step puts in force, called `name`. Raises RuleError."""
    places: dict[str, Any]
    match step.links:
        case AzLinks(az=az):
            places = {"a": az}
        case PairLinks(between=(a, b)):
            places = {"a": a, "b": b}
        case OpenedLinks(opened_by=a, to=b):
            places = {"a": a, "b": b, "opened_by_a": True}
        case OneWayLinks(source=a, to=b):
            places = {"a": a, "b": b, "one_way": True}
    amounts: dict[str, Any] = {called: getattr(step, field) for field, called in step.AMOUNTS.items()}
    return rule(
        topology,
        name,
        step.VERB,
        **places,
        only=step.apis,
        purposes=step.purposes,
        expects_traffic=step.expects_traffic,
        **amounts,
    )


class Heal(Step, frozen=True, kw_only=True):
    """End the rules on exactly these links; None: on all.

    `kind`: only of that kind (`cut`), "": of every kind.
    """

    links: Links | None = None
    kind: str = ""
