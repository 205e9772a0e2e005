"""Faults on links as JSON: from a body to the words of a command. Pure.

    {"fault": "cut", "places": ["az-0"]}
    {"fault": "delay", "places": ["client-0", "broker-1"], "direction": "one-way", "delay_ms": 50, "jitter_ms": 10}
"""

from typing import Annotated, Final, Literal

import msgspec

from emulator.cluster.control_requests import LinkFault, Words

NAME: Final = "[A-Za-z][A-Za-z0-9_.-]*"
PLACE: Final = f"^(?:(?:leader:|leader of )[A-Za-z0-9_.-]+|(?:active )?{NAME})$"
Place = Annotated[str, msgspec.Meta(max_length=300, pattern=PLACE)]
"""A node, AZ or target (`leader:t-0`, `active-controller`).

Options and arrows, which a command's words may have, do not match.
"""
Milliseconds = Annotated[float, msgspec.Meta(ge=0.0, le=1e9)]


class LinkBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="fault", kw_only=True):
    """Fields of every fault on links.

    `places`: one, which is parted from all others, or two, and the links between them: a node, an AZ, `session`,
    `leader:TOPIC-N` or `active-controller`.
    `direction`: both ways, what the first sends, or connections that the first opens to the second. `only`: frames of
    these APIs, such as Fetch; `purposes`: connections of these kinds; `client_ids`: those of Kafka clients that call
    themselves so. `recovery`: after the heal data flows when TCP tries again, or at once."""

    places: Annotated[list[Place], msgspec.Meta(min_length=1, max_length=2)]
    direction: Literal["both", "one-way", "opened-by"] = "both"
    only: Words = []
    purposes: Words = []
    client_ids: Words = []
    recovery: Literal["rto", "instant"] = "rto"


class Cut(LinkBody, frozen=True, tag="cut"):
    """Packets vanish; nothing is reset."""


class Hold(LinkBody, frozen=True, tag="hold"):
    """Frames wait, in order, until the heal."""


class Delay(LinkBody, frozen=True, tag="delay"):
    """Each frame takes `delay_ms` longer, and up to `jitter_ms` more."""

    delay_ms: Milliseconds
    jitter_ms: Milliseconds = 0.0


class Loss(LinkBody, frozen=True, tag="loss"):
    """That share of the packets is lost, which TCP turns into delay."""

    share: Annotated[float, msgspec.Meta(gt=0.0, lt=1.0)]


class Bandwidth(LinkBody, frozen=True, tag="bandwidth"):
    """Limits a node's bytes per second over these links, all its connections together."""

    bytes_per_s: Annotated[float, msgspec.Meta(ge=1.0, le=1e12)]


AnyLinkBody = Cut | Hold | Delay | Loss | Bandwidth


def link_fault(body: AnyLinkBody) -> LinkFault:
    """The body as the command has it."""
    match body.direction, body.places:
        case "one-way", [a, *b]:
            places = [a, "->", *b]
        case "opened-by", [a, b]:
            places = ["opened_by", a, "to", b]
        case _:
            places = list(body.places) if body.direction == "both" else ["opened_by", *body.places]
    options = [f"--recovery={body.recovery}"]
    options += [f"--only={','.join(body.only)}"] if body.only else []
    options += [f"--purposes={','.join(body.purposes)}"] if body.purposes else []
    options += [f"--client-id={','.join(body.client_ids)}"] if body.client_ids else []
    return LinkFault([str(body.__struct_config__.tag), *places, *_amounts(body), *options])


def _amounts(body: AnyLinkBody) -> list[str]:
    match body:
        case Delay(delay_ms=delay_ms, jitter_ms=jitter_ms):
            return [f"{delay_ms!r}ms", f"{jitter_ms!r}ms"]
        case Loss(share=share):
            return [f"{share!r}"]
        case Bandwidth(bytes_per_s=bytes_per_s):
            return [f"{bytes_per_s!r}B"]
    return []
