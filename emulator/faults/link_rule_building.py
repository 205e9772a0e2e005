"""Rules of faults on links over a topology. Pure.

A place is a node, an AZ, or `session`: all session servers. One place means the links between it and all others. Two
places mean the link between them, both ways or one way. With `OpenedLinks` the rule stops only packets from the first
to the second of connections that the first opened. Their way back stays open, and so do connections that the second
opened.

- Nodes outside every AZ (the player) are never cut, nor is control.
- Two brokers mean a broker's port: session traffic passes, as in the recordings. So does the traffic of KRaft's
  controllers, which have a port of their own. Rules of whole AZs mean everything.
- `apis` stop single frames of a stream. That is not physical; the rule's text has this remark.
- `client_ids` mean the connections of Kafka clients with that client id, in an AZ with clients.
"""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, get_args

from emulator.faults.link_fault_kinds import (
    KINDS,
    LINK_FAULTS,
    AnyLinkFault,
    AzLinks,
    LinkFault,
    Links,
    OneWayLinks,
    OpenedLinks,
    PairLinks,
    Recovery,
    RuleError,
    ends_of,
    of_kind,
)
from emulator.topology import SESSION_SERVICE, ZOOKEEPER, Topology
from protocol.link_rules import LinkRule
from protocol.messages import REGISTRY
from protocol.purposes import ALL as ALL_PURPOSES
from protocol.purposes import BROKER_PORT, CONTROL, OBSERVE

RECOVERIES: Final[tuple[str, ...]] = get_args(Recovery)
API_NAMES: Final = tuple(sorted({m.API_NAME for m in REGISTRY.values()}))
PURPOSE_NAMES: Final = tuple(purpose for purpose in ALL_PURPOSES if purpose not in (CONTROL, OBSERVE))
MESSAGE_WORDS: Final = {re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower(): name for name in API_NAMES}
"""{`list-offsets`: `ListOffsets`}: message types as a scenario writes them."""
_DASHED: Final = {name.lower(): word for word, name in MESSAGE_WORDS.items()}


class UnknownWord(RuleError):
    """An unknown name of a node, an AZ, an API or the like."""


def rule_of(topology: Topology, name: str, fault: LinkFault) -> LinkRule:
    """The rule that puts a fault in force, called `name`. Raises RuleError."""
    one_of("recovery", fault.recovery, RECOVERIES)
    a, *more = ends_of(fault.links)
    if isinstance(fault.links, OpenedLinks) and not fault.links.to:
        raise wrong_places(fault.VERB, f"opened_by {a}")
    b = more[0] if more else None
    side_a = place_nodes(topology, a)
    side_b = _others(topology, a, side_a) if b is None else place_nodes(topology, b)
    both = sorted(set(side_a) & set(side_b))
    if both:
        raise RuleError(f"{both[0]} is on both sides of {a} and {b}")
    if not side_b:
        raise RuleError(f"nothing is outside {a}: there is no link to {fault.VERB}")
    known = tuple(purpose for purpose in ALL_PURPOSES if purpose != CONTROL)
    chosen = tuple(one_of("purpose", purpose, known) for purpose in fault.purposes)
    if not chosen and b is not None and _is_broker(topology, a) and _is_broker(topology, b):
        chosen = BROKER_PORT
    fault.check()
    what = f"{fault.VERB} {' '.join(place_words(fault.links))}{fault.amount_text()}"
    if fault.purposes:
        what += f" ({', '.join(chosen)} only)"
    if fault.client_ids:
        what += f" (clients {', '.join(fault.client_ids)} only)"
    if fault.apis:
        what += f" (frames of {', '.join(fault.apis)} out of their streams; not physical)"
    return LinkRule(
        rule=name, what=what, kind=fault.VERB, a=side_a, b=side_b,
        one_way=isinstance(fault.links, OneWayLinks), opened_by_a=isinstance(fault.links, OpenedLinks),
        purposes=chosen, apis=fault.apis, client_ids=fault.client_ids, recovery=fault.recovery,
        expects_traffic=fault.expects_traffic, **{of: getattr(fault, field) for field, of in fault.AMOUNTS.items()},
    )  # fmt: skip


def fault_of(kind: str, links: Links, only: Sequence[str], *, recovery: str = "rto", **own: Any) -> AnyLinkFault:
    """The fault of a kind, checked. `only`: as for `picked`; `own`: its other fields by name.

    Raises RuleError, TypeError: a field is missing.
    """
    purposes, apis = picked(only)
    fault = of_kind(
        one_of("fault", kind, KINDS), links=links, purposes=purposes, apis=apis,
        recovery=one_of("recovery", recovery, RECOVERIES), **own,
    )  # fmt: skip
    fault.check()
    return fault


def amounts_of(kind: str, given: Mapping[str, float]) -> dict[str, Any]:
    """Amounts of a fault by field; `given`: by their names over HTTP. Raises UnknownWord."""
    names = {one.encode_name: one.name for one in LINK_FAULTS[one_of("fault", kind, KINDS)].own_fields()}
    return {names[one_of(f"amount of {kind}", name, list(names))]: amount for name, amount in given.items()}


def picked(words: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(purposes, API names) of the words of `only`: `fetcher`, `Fetch`, `list-offsets`.

    Raises UnknownWord.
    """
    purposes, apis = [], []
    for word in words:
        if (purpose := word.lower()) in PURPOSE_NAMES:
            purposes.append(purpose)
        elif (dashed := _DASHED.get(word.lower(), word.lower())) in MESSAGE_WORDS:
            apis.append(MESSAGE_WORDS[dashed])
        else:
            near = get_close_matches(word.lower(), (*PURPOSE_NAMES, *MESSAGE_WORDS), n=1, cutoff=0.5)
            hint = f"; did you mean {near[0]}?" if near else f"; there is {', '.join(PURPOSE_NAMES)}, fetch, produce"
            raise UnknownWord(f"no purpose or message type {word!r}{hint}")
    return tuple(purposes), tuple(apis)


def place_nodes(topology: Topology, place: str) -> tuple[str, ...]:
    """The nodes of an AZ, the session servers, or the node itself. Raises RuleError."""
    names = tuple(node.name for node in topology.nodes)
    services = (SESSION_SERVICE,) if topology.metadata == ZOOKEEPER else ()
    name = one_of("node or AZ", place, (*names, *topology.azs, *services))
    if name in topology.azs:
        return tuple(node.name for node in topology.in_az(name))
    if name == SESSION_SERVICE:
        return tuple(node.name for node in topology.with_role("session"))
    if not topology.node(name).az:
        raise RuleError(f"{place} is outside every AZ and is never cut")
    return (name,)


def one_of(what: str, word: str, known: Sequence[str]) -> str:
    """The known word of any case. Raises UnknownWord with the nearest."""
    by_lower = {name.lower(): name for name in known}
    if word.lower() in by_lower:
        return by_lower[word.lower()]
    near = get_close_matches(word.lower(), by_lower, n=1, cutoff=0.5)
    hint = f"; did you mean {by_lower[near[0]]}?" if near else f"; there is {', '.join(known)}"
    raise UnknownWord(f"no {what} {word!r}{hint}")


def wrong_places(kind: str, places: str) -> RuleError:
    """The error for places that are no links."""
    return RuleError(f"{kind} takes PLACE, A B, A '->' B or opened_by A to B, not {places!r}")


def _others(topology: Topology, place: str, side: tuple[str, ...]) -> tuple[str, ...]:
    """Other side of a single place.

    Of an AZ the nodes of other AZs, of a node every node with an AZ.
    """
    return tuple(n.name for n in topology.nodes if n.az and n.name not in side and n.az != place)


def _is_broker(topology: Topology, place: str) -> bool:
    """Whether it is a node with a broker's port.

    With ZooKeeper a dedicated controller has one, too.
    """
    roles = {"broker", "controller"} if topology.metadata == ZOOKEEPER else {"broker"}
    return any(n.name == place and roles & set(n.roles) for n in topology.nodes)


def place_words(links: Links) -> list[str]:
    """Places as a command has them."""
    match links:
        case AzLinks(az=az):
            return [az]
        case PairLinks(between=between):
            return list(between)
        case OpenedLinks(opened_by=a, to=b):
            return ["opened_by", a, "to", b]
        case OneWayLinks(source=a, to=b):
            return [a, "->", b] if b else [a, "->"]
