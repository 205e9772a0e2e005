"""Faults on links as JSON bodies, derived from `emulator.faults.link_fault_kinds`. Pure.

    {"fault": "cut", "places": ["az-0"]}
    {"fault": "delay", "places": ["client-0", "broker-1"], "direction": "one-way", "delay_ms": 50, "jitter_ms": 10}
"""

from collections.abc import Iterable
from typing import Annotated, Any, Final, Literal, Union

import msgspec

from emulator.cluster.control_requests import LinkFault, NotThere, Word, Words
from emulator.faults.link_fault_kinds import (
    LINK_FAULTS,
    AnyLinkFault,
    AzLinks,
    Links,
    OneWayLinks,
    OpenedLinks,
    PairLinks,
    Recovery,
    ends_of,
)
from emulator.faults.link_rule_building import UnknownWord, fault_of

Direction = Literal["both", "one-way", "opened-by"]
DIRECTIONS: Final[dict[type, Direction]] = {OneWayLinks: "one-way", OpenedLinks: "opened-by"}
"""{form of links: its direction}; "both" of the others."""


class LinkBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="fault", kw_only=True):
    """Fields of every fault on links.

    `places`: one, which is parted from all others, or two, and the links between them: a node, an AZ, `session`,
    `leader:TOPIC-N` or `active-controller`.
    `direction`: both ways, what the first sends, or connections that the first opens to the second. `only`: frames of
    these APIs, such as Fetch, or connections of these purposes, such as fetcher; `client_ids`: connections of Kafka
    clients with these client ids. `recovery`: after the heal data flows when TCP tries again, or at once."""

    places: Annotated[list[Word], msgspec.Meta(min_length=1, max_length=2)]
    direction: Direction = "both"
    only: Words = []
    client_ids: Words = []
    recovery: Recovery = "rto"


def _bodies() -> Iterable[type[LinkBody]]:
    """The body of each fault: the common fields, and its own as they are encoded."""
    for verb, kind in LINK_FAULTS.items():
        own: list[Any] = [
            (one.encode_name, one.type) if one.required else (one.encode_name, one.type, one.default)
            for one in kind.own_fields()
        ]
        body: Any = msgspec.defstruct(
            kind.__name__, own, bases=(LinkBody,), namespace={"__doc__": kind.__doc__}, module=__name__, frozen=True,
            kw_only=True, forbid_unknown_fields=True, tag=verb,
        )  # fmt: skip
        yield body


BODIES: Final = tuple(_bodies())
AnyLinkBody: Final[Any] = Union[BODIES]  # noqa: UP007


def link_fault(body: LinkBody) -> LinkFault:
    """The request of a body. Raises NotThere, RuleError."""
    kind = str(body.__struct_config__.tag)
    own = {one.name: getattr(body, one.encode_name) for one in LINK_FAULTS[kind].own_fields()}
    try:
        fault = fault_of(
            kind, _links(body), body.only, client_ids=tuple(body.client_ids), recovery=body.recovery, **own
        )
    except UnknownWord as error:
        raise NotThere(str(error)) from error
    return LinkFault(fault)


def body_of(fault: AnyLinkFault) -> dict[str, Any]:
    """The body of a fault, ready to be encoded: the reverse of `link_fault`."""
    return {
        "fault": fault.VERB,
        "places": ends_of(fault.links),
        "direction": DIRECTIONS.get(type(fault.links), "both"),
        "only": (*fault.purposes, *fault.apis),
        "client_ids": fault.client_ids,
        "recovery": fault.recovery,
        **{one.encode_name: getattr(fault, one.name) for one in fault.own_fields()},
    }


def _links(body: LinkBody) -> Links:
    a, *more = body.places
    b = more[0] if more else ""
    match body.direction:
        case "one-way":
            return OneWayLinks(a, b)
        case "opened-by":
            return OpenedLinks(a, b)
        case "both":
            return PairLinks((a, b)) if b else AzLinks(a)
