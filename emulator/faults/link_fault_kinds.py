"""Faults on links: each defined once.

A class is the step of a scenario, the live command, the body over HTTP and the request of the Python API. Its fields
are the keys of all of them. `emulator.faults.link_rule_building` makes the rule that nodes receive. A new fault needs a
class here, its kind and fields in `protocol.link_rules`, and its effect on frames in `emulator.faults.link_paths`.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar, Final, Literal, get_args

import msgspec
from msgspec.structs import FieldInfo

from emulator.faults.machine_fault_kinds import Step
from protocol.link_rules import LinkFaultKind

KINDS: Final[tuple[LinkFaultKind, ...]] = get_args(LinkFaultKind)
DELAY_MS_MAX: Final = 86_400_000.0
"""A day; also of the jitter."""
RESET_EVERY_MS_MIN: Final = 1.0
BYTES_PER_S_MAX: Final = 1e12
BYTES: Final = {"MB": 1_000_000.0, "kB": 1_000.0, "B": 1.0}

HealedKind = Literal["", LinkFaultKind]
""""": of every kind."""
Recovery = Literal["rto", "instant"]
Milliseconds = Annotated[float, msgspec.Meta(ge=0.0, le=1e9)]
Word = Annotated[str, msgspec.Meta(max_length=300)]
"""As long as `leader of TOPIC-N` with the longest name of a topic."""
Words = Annotated[tuple[Word, ...], msgspec.Meta(max_length=64)]


class RuleError(ValueError):
    """A fault on links that is impossible: one sentence with the nearest valid word."""


class AzLinks(msgspec.Struct, frozen=True, tag=True):
    """Everything between that AZ (or node) and the others.

    A client outside every AZ is not affected.
    """

    az: Word


class PairLinks(msgspec.Struct, frozen=True, tag=True):
    """Links between two nodes (or AZs), both ways, whichever opened the connection."""

    between: tuple[Word, Word]


class OpenedLinks(msgspec.Struct, frozen=True, tag=True):
    """Connections that `opened_by` opens to `to`; those opened the other way work."""

    opened_by: Word
    to: Word


class OneWayLinks(msgspec.Struct, frozen=True, tag=True):
    """Traffic from `source` to `to` ("": to all others); the opposite direction passes."""

    source: Word
    to: Word = ""


Links = AzLinks | PairLinks | OpenedLinks | OneWayLinks


def ends_of(links: Links) -> tuple[str, ...]:
    """Nodes, AZs or targets, in the order of the fields."""
    match links:
        case AzLinks(az=az):
            return (az,)
        case PairLinks(between=between):
            return between
        case OneWayLinks(source=source, to=""):
            return (source,)
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
            return OneWayLinks(name(one), name(other) if other else "")


class LinkFault(Step, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="fault"):
    """Base of the faults on links.

    `purposes`, `apis`, `client_ids`: only connections of these purposes (`protocol.purposes`), only messages of these
    APIs (`Fetch`), only connections of Kafka clients with these client ids; all if empty. `recovery`: after the heal
    data flows when TCP tries again, or at once. `expects_traffic`: a rule that stopped nothing makes the run unknown,
    unless this is false.

    - VERB: name in scenarios, on the command line and over HTTP, and the rule's kind.
    - HELP: what the command does. HELP_AMOUNTS: the words after its places, with an example.
    - AMOUNTS: {own field: the rule's field}. SHOWN: amounts as the command line takes them; "": none.
    - RANK: on a map that shows one fault of a link, that of the lowest rank.
    """

    VERB: ClassVar[LinkFaultKind]
    HELP: ClassVar[str]
    HELP_AMOUNTS: ClassVar[str] = ""
    RANK: ClassVar[int] = 0
    AMOUNTS: ClassVar[dict[str, str]] = {}
    SHOWN: ClassVar[str] = ""

    links: Links
    purposes: Words = ()
    apis: Words = ()
    client_ids: Words = ()
    recovery: Recovery = "rto"
    expects_traffic: bool = True

    @classmethod
    def own_fields(cls) -> tuple[FieldInfo, ...]:
        """Its amounts. `encode_name`: the field over HTTP."""
        return tuple(field for field in msgspec.structs.fields(cls) if field.name in cls.AMOUNTS)

    @classmethod
    def amounts_in(cls, texts: Sequence[str]) -> dict[str, float] | None:
        """Amounts of a command by field; None: too many or too few. Raises RuleError."""
        return None if texts else {}

    def check(self) -> None:
        """Raises RuleError if the amounts are impossible."""

    def amount_text(self) -> str:
        """Amounts as the rule's text has them, each with a space before it."""
        return ""


class Cut(LinkFault, frozen=True, kw_only=True, tag="cut"):
    """Packets vanish; nothing is reset."""

    VERB = "cut"
    HELP = "Drop all packets between two places; connections are not reset."


class Hold(LinkFault, frozen=True, kw_only=True, tag="hold"):
    """Frames wait at the rule and go on, in order, when it is healed."""

    VERB = "hold"
    HELP = "Queue frames between two places, in order, until `heal`."
    RANK = 1


class Delay(LinkFault, frozen=True, kw_only=True, tag="delay"):
    """Each frame takes `delay_ms` longer, and up to `jitter_ms` more."""

    VERB = "delay"
    HELP = "Delay frames between two places."
    HELP_AMOUNTS = "the delay in milliseconds, then an optional jitter: az-0 50ms 10ms"
    RANK = 4
    AMOUNTS = {"delay_ms": "delay_ms", "jitter_ms": "jitter_ms"}
    SHOWN = "milliseconds, then jitter if any, such as 50ms 10ms"

    delay_ms: Milliseconds
    jitter_ms: Milliseconds = 0.0

    @classmethod
    def amounts_in(cls, texts: Sequence[str]) -> dict[str, float] | None:
        names = ("delay_ms", "jitter_ms")
        return dict(zip(names, (number(one, "ms") for one in texts), strict=False)) if 1 <= len(texts) <= 2 else None

    def check(self) -> None:
        if not (self.delay_ms >= 0 and self.jitter_ms >= 0 and self.delay_ms + self.jitter_ms > 0):
            raise RuleError("a delay needs milliseconds above 0")
        if max(self.delay_ms, self.jitter_ms) > DELAY_MS_MAX:
            raise RuleError(f"a delay is at most a day, {DELAY_MS_MAX:.0f} ms")

    def amount_text(self) -> str:
        return f" {self.delay_ms:g}ms" + (f" {self.jitter_ms:g}ms" if self.jitter_ms else "")


class Loss(LinkFault, frozen=True, kw_only=True, tag="loss"):
    """A share (0 to 1) of the packets is lost, which TCP turns into delay."""

    VERB = "loss"
    HELP = "Lose a share of the packets, which TCP turns into delay."
    HELP_AMOUNTS = "the share: az-0 5%"
    RANK = 2
    AMOUNTS = {"share": "loss"}
    SHOWN = "one share such as 0.05 or 5%"

    share: Annotated[float, msgspec.Meta(gt=0.0, lt=1.0)]

    @classmethod
    def amounts_in(cls, texts: Sequence[str]) -> dict[str, float] | None:
        if len(texts) != 1:
            return None
        share = number(texts[0], "%")
        return {"share": share / 100 if texts[0].endswith("%") else share}

    def check(self) -> None:
        if not 0 < self.share < 1:
            raise RuleError(f"a loss is a share of frames above 0 and below 1, not {self.share:g}")

    def amount_text(self) -> str:
        return f" {self.share:.3g}"


class Bandwidth(LinkFault, frozen=True, kw_only=True, tag="bandwidth"):
    """A node's traffic over these links has `bytes_per_s` of scenario time, in all connections."""

    VERB = "bandwidth"
    HELP = "Limit a node's bytes per second over a link, all its connections together."
    HELP_AMOUNTS = "the bytes per second: az-0 10kB"
    RANK = 3
    AMOUNTS = {"bytes_per_s": "bytes_per_s"}
    SHOWN = "bytes a second such as 500B, 10kB or 1MB"

    bytes_per_s: Annotated[float, msgspec.Meta(ge=1.0, le=BYTES_PER_S_MAX)]

    @classmethod
    def amounts_in(cls, texts: Sequence[str]) -> dict[str, float] | None:
        if len(texts) != 1:
            return None
        text = texts[0].removesuffix("/s")
        unit = next((unit for unit in BYTES if text.endswith(unit)), "")
        return {"bytes_per_s": number(text, unit or "B") * BYTES.get(unit, 1.0)}

    def check(self) -> None:
        if not self.bytes_per_s >= 1:
            raise RuleError(f"a bandwidth is at least 1 byte a second, not {self.bytes_per_s:g}")
        if self.bytes_per_s > BYTES_PER_S_MAX:
            raise RuleError(f"a bandwidth is at most {BYTES_PER_S_MAX:g} bytes a second, not {self.bytes_per_s:g}")

    def amount_text(self) -> str:
        return f" {shown_bytes(self.bytes_per_s)}/s"


class Reset(LinkFault, frozen=True, kw_only=True, tag="reset"):
    """Connections are reset once; with `every_ms` later ones, too, each at that age."""

    VERB = "reset"
    HELP = "Reset all connections between two places, once or at an age."
    HELP_AMOUNTS = "the age in milliseconds at which each later connection is reset, if any: az-0 500ms"
    RANK = 2
    AMOUNTS = {"every_ms": "every_ms"}
    SHOWN = "milliseconds at most once, such as 500ms"

    every_ms: Milliseconds = 0.0

    @classmethod
    def amounts_in(cls, texts: Sequence[str]) -> dict[str, float] | None:
        return {"every_ms": number(texts[0], "ms")} if len(texts) == 1 else None if texts else {}

    def check(self) -> None:
        if self.every_ms and not RESET_EVERY_MS_MIN <= self.every_ms <= DELAY_MS_MAX:
            raise RuleError(f"a reset is every {RESET_EVERY_MS_MIN:g} ms to a day, not {self.every_ms:g} ms")
        if self.apis:
            raise RuleError(f"a reset ends whole connections, not frames of {', '.join(self.apis)}; name a purpose")

    def amount_text(self) -> str:
        return f" {self.every_ms:g}ms" if self.every_ms else ""


AnyLinkFault = Cut | Hold | Delay | Loss | Bandwidth | Reset
LINK_FAULTS: Final[dict[str, type[LinkFault]]] = {kind.VERB: kind for kind in get_args(AnyLinkFault)}
"""{verb: its class}."""


class Heal(Step, frozen=True, kw_only=True):
    """End the rules on exactly these links; None: on all.

    `kind`: only of that kind.
    """

    links: Links | None = None
    kind: HealedKind = ""


def of_kind(kind: str, **fields: Any) -> AnyLinkFault:
    """The fault of a verb with these fields."""
    fault: AnyLinkFault = LINK_FAULTS[kind](**fields)  # type: ignore[assignment]
    return fault


def number(text: str, suffix: str) -> float:
    """An amount without its unit. Raises RuleError."""
    try:
        return float(text.removesuffix(suffix))
    except ValueError:
        raise RuleError(f"{text!r} is no number (of {suffix})") from None


def shown_bytes(count: float) -> str:
    """A bandwidth as a command takes it: 500B, 10kB, 1.5MB."""
    unit = next((unit for unit, of in BYTES.items() if count >= of), "B")
    return f"{count / BYTES[unit]:g}{unit}"
