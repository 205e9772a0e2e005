"""Link rules from commands: `cut az-0`, `delay az-0 az-1 50ms 10ms`, `heal rule-2`. Pure.

A place is a node, an AZ, or `session`: all session servers. One place means the links between it and all others. Two
places mean the link between them, both ways; with `->` between them one way (`cut broker-0 -> broker-1`). With
`opened_by A to B` the rule stops only packets from A to B of connections that A opened. Their way back stays open, and
so do connections that B opened.

- Nodes outside every AZ (the player) are never cut, nor is control.
- Between two brokers `A B`, `A -> B` and `opened_by` mean a broker's port: session traffic passes, as in the
  recordings. Rules of whole AZs mean everything.
- `--only fetch,produce` stops single frames of a stream. That is not physical; the rule's text has this remark.
  `--only fetcher` stops connections by their purpose. A scenario's `only` takes the same words (`picked`).
- `--client-id orders` means the connections of Kafka clients with that client id, in an AZ with clients.
"""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Final, get_args

import msgspec

from emulator.topology import SESSION_SERVICE, Topology
from protocol.link_rules import LinkFaultKind, LinkRule
from protocol.messages import REGISTRY
from protocol.purposes import ALL as ALL_PURPOSES
from protocol.purposes import BROKER_PORT, CONTROL, OBSERVE

KINDS: Final[tuple[LinkFaultKind, ...]] = get_args(LinkFaultKind)
RECOVERIES: Final = ("rto", "instant")
API_NAMES: Final = tuple(sorted({m.API_NAME for m in REGISTRY.values()}))
PURPOSE_NAMES: Final = tuple(purpose for purpose in ALL_PURPOSES if purpose not in (CONTROL, OBSERVE))
MESSAGE_WORDS: Final = {re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower(): name for name in API_NAMES}
"""{`list-offsets`: `ListOffsets`}: message types as a scenario writes them."""
DELAY_MS_MAX: Final = 86_400_000.0
"""A day; also of the jitter."""
BYTES_PER_S_MAX: Final = 1e12
ALL_RULES: Final = "all"
AMOUNTS: Final = {
    "delay": "milliseconds, then jitter if any, such as 50ms 10ms",
    "loss": "one share such as 0.05 or 5%",
    "bandwidth": "bytes a second such as 500B, 10kB or 1MB",
}
BYTES: Final = {"MB": 1_000_000.0, "kB": 1_000.0, "B": 1.0}


_DASHED: Final = {name.lower(): word for word, name in MESSAGE_WORDS.items()}


class RuleError(ValueError):
    """A command that names no fault: one sentence with the nearest valid word."""


class UnknownWord(RuleError):
    """An unknown name of a node, an AZ, an API or the like."""


class Heal(msgspec.Struct, frozen=True):
    """Lift `rule`; None: every rule in force."""

    rule: str | None


def parse(words: Sequence[str], topology: Topology, rule_id: str) -> LinkRule | Heal:
    """Parse one command as words. Raises RuleError.

    cut|hold PLACE [[->] PLACE]   delay PLACE [[->] PLACE] MS [JITTER]   loss PLACE [[->] PLACE] SHARE
    bandwidth PLACE [[->] PLACE] BYTES   cut|hold|delay|loss|bandwidth opened_by NODE to NODE ...   heal [RULE|all]
    Options: --only API|PURPOSE,...  --purposes PURPOSE,...  --client-id ID,...  --recovery rto|instant
    --expects-nothing
    """
    if not words:
        raise RuleError(f"a fault starts with {', '.join(KINDS)} or heal")
    kind = _one_of("fault", words[0], (*KINDS, "heal"))
    rest = [part for word in words[1:] for part in ([word] if word == "->" else _split_arrow(word))]
    if kind == "heal":
        if len(rest) > 1:
            raise RuleError(f"heal takes one rule or all, not {' '.join(rest)!r}")
        return Heal(None if not rest or rest[0] == ALL_RULES else rest[0])
    options, rest = _options(rest)
    amounts: list[str] = []
    while rest and (rest[-1][:1].isdigit() or rest[-1][:1] == "."):
        amounts.insert(0, rest.pop())
    if kind in AMOUNTS and not amounts and len(rest) > 1:
        raise RuleError(f"{kind} ends with {AMOUNTS[kind]}; {rest[-1]!r} is no number")
    places, one_way, opened = _places(kind, rest)
    of_kind = _amounts(kind, amounts)
    return rule(
        topology,
        rule_id,
        kind,
        *places,
        one_way=one_way,
        opened_by_a=opened,
        delay_ms=of_kind.get("delay_ms", 0.0),
        jitter_ms=of_kind.get("jitter_ms", 0.0),
        loss=of_kind.get("loss", 0.0),
        bytes_per_s=of_kind.get("bytes_per_s", 0.0),
        only=_listed(options.get("--only")),
        purposes=_listed(options.get("--purposes")),
        client_ids=_listed(options.get("--client-id")),
        recovery=options.get("--recovery") or "rto",
        expects_traffic="--expects-nothing" not in options,
    )


def rule(
    topology: Topology,
    rule_id: str,
    kind: str,
    a: str,
    b: str | None = None,
    *,
    one_way: bool = False,
    opened_by_a: bool = False,
    only: Sequence[str] = (),
    purposes: Sequence[str] = (),
    client_ids: Sequence[str] = (),
    delay_ms: float = 0.0,
    jitter_ms: float = 0.0,
    loss: float = 0.0,
    bytes_per_s: float = 0.0,
    recovery: str = "rto",
    expects_traffic: bool = True,
) -> LinkRule:
    """One rule between places `a` and `b` (None: all others). Raises RuleError.

    `only`: message types and purposes, as `picked` takes them.
    """
    _one_of("fault", kind, KINDS)
    _one_of("recovery", recovery, RECOVERIES)
    side_a = place_nodes(topology, a)
    side_b = _others(topology, a, side_a) if b is None else place_nodes(topology, b)
    both = sorted(set(side_a) & set(side_b))
    if both:
        raise RuleError(f"{both[0]} is on both sides of {a} and {b}")
    if not side_b:
        raise RuleError(f"nothing is outside {a}: there is no link to {kind}")
    picked_purposes, apis = picked(only)
    known = tuple(p for p in ALL_PURPOSES if p != CONTROL)
    purposes = (*picked_purposes, *purposes)
    chosen = tuple(_one_of("purpose", name, known) for name in purposes)
    if not chosen and b is not None and _is_broker(topology, a) and _is_broker(topology, b):
        chosen = BROKER_PORT
    if kind == "delay" and not (delay_ms >= 0 and jitter_ms >= 0 and delay_ms + jitter_ms > 0):
        raise RuleError("a delay needs milliseconds above 0")
    if kind == "delay" and max(delay_ms, jitter_ms) > DELAY_MS_MAX:
        raise RuleError(f"a delay is at most a day, {DELAY_MS_MAX:.0f} ms")
    if kind == "loss" and not 0 < loss < 1:
        raise RuleError(f"a loss is a share of frames above 0 and below 1, not {loss:g}")
    if kind == "bandwidth" and not bytes_per_s >= 1:
        raise RuleError(f"a bandwidth is at least 1 byte a second, not {bytes_per_s:g}")
    if kind == "bandwidth" and bytes_per_s > BYTES_PER_S_MAX:
        raise RuleError(f"a bandwidth is at most {BYTES_PER_S_MAX:g} bytes a second, not {bytes_per_s:g}")
    amount = {"delay": f" {delay_ms:g}ms", "loss": f" {loss:.3g}", "bandwidth": f" {shown_bytes(bytes_per_s)}/s"}
    jitter = f" {jitter_ms:g}ms" if jitter_ms else ""
    what = _text(kind, a, b, one_way, opened_by_a) + amount.get(kind, "") + jitter
    if purposes:
        what += f" ({', '.join(chosen)} only)"
    if client_ids:
        what += f" (clients {', '.join(client_ids)} only)"
    if apis:
        what += f" (frames of {', '.join(apis)} out of their streams; not physical)"
    return LinkRule(
        rule=rule_id, what=what, kind=kind, a=side_a, b=side_b, one_way=one_way, opened_by_a=opened_by_a,
        purposes=chosen, apis=apis, client_ids=tuple(client_ids), delay_ms=delay_ms, jitter_ms=jitter_ms, loss=loss,
        bytes_per_s=bytes_per_s, recovery=recovery, expects_traffic=expects_traffic,
    )  # fmt: skip


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


def isolate_every_az(topology: Topology, first_rule: str) -> tuple[LinkRule, ...]:
    """Preset: each AZ against all others; rules are named `first_rule`.az-0 and so on."""
    return tuple(rule(topology, f"{first_rule}.{az}", "cut", az) for az in topology.azs)


def halves(topology: Topology, first_rule: str, azs: Sequence[str]) -> tuple[LinkRule, ...]:
    """Preset: these AZs on one side, the others on the other; each side is whole in itself."""
    for az in azs:
        _one_of("AZ", az, topology.azs)
    others = [az for az in topology.azs if az not in azs]
    return tuple(rule(topology, f"{first_rule}.{a}.{b}", "cut", a, b) for a in azs for b in others)


def matrix(topology: Topology, rules: Iterable[LinkRule]) -> dict[tuple[str, str], tuple[str, ...]]:
    """{(from, to): texts of the rules that touch this direction}.

    Directions without a rule are left out.
    """
    touched: dict[tuple[str, str], tuple[str, ...]] = {}
    for it in rules:
        pairs = [(x, y) for x in it.a for y in it.b]
        if not (it.one_way or it.opened_by_a):
            pairs += [(y, x) for x, y in pairs]
        for pair in pairs:
            touched[pair] = (*touched.get(pair, ()), it.what)
    order = {node.name: position for position, node in enumerate(topology.nodes)}
    return dict(sorted(touched.items(), key=lambda entry: (order[entry[0][0]], order[entry[0][1]])))


def place_nodes(topology: Topology, place: str) -> tuple[str, ...]:
    """The nodes of an AZ, the session servers, or the node itself. Raises RuleError."""
    if place in topology.azs:
        return tuple(node.name for node in topology.in_az(place))
    if place == SESSION_SERVICE:
        return tuple(node.name for node in topology.with_role("session"))
    names = tuple(node.name for node in topology.nodes)
    name = _one_of("node or AZ", place, (*names, *topology.azs, SESSION_SERVICE))
    if not topology.node(name).az:
        raise RuleError(f"{place} is outside every AZ and is never cut")
    return (name,)


def _others(topology: Topology, place: str, side: tuple[str, ...]) -> tuple[str, ...]:
    """Other side of a single place.

    Of an AZ the nodes of other AZs, of a node every node with an AZ.
    """
    return tuple(n.name for n in topology.nodes if n.az and n.name not in side and n.az != place)


def _is_broker(topology: Topology, place: str) -> bool:
    return any(n.name == place and {"broker", "controller"} & set(n.roles) for n in topology.nodes)


def _one_of(what: str, word: str, known: Sequence[str]) -> str:
    """The known word of any case. Raises UnknownWord with the nearest."""
    by_lower = {name.lower(): name for name in known}
    if word.lower() in by_lower:
        return by_lower[word.lower()]
    near = get_close_matches(word.lower(), by_lower, n=1, cutoff=0.5)
    hint = f"; did you mean {by_lower[near[0]]}?" if near else f"; there is {', '.join(known)}"
    raise UnknownWord(f"no {what} {word!r}{hint}")


def _split_arrow(word: str) -> list[str]:
    left, arrow, right = word.partition("->")
    return [part for part in (left, arrow, right) if part] if arrow and not word.startswith("-->") else [word]


def _options(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    valued, flags = ("--only", "--purposes", "--client-id", "--recovery"), ("--expects-nothing",)
    options: dict[str, str] = {}
    rest: list[str] = []
    waiting = iter(words)
    for word in waiting:
        if not word.startswith("--"):
            rest.append(word)
            continue
        name, equals, value = word.partition("=")
        name = _one_of("option", name, (*valued, *flags))
        if name in valued and not equals:
            value = next(waiting, "")
        if name in valued and not value:
            raise RuleError(f"{name} needs a value")
        options[name] = value
    return options, rest


def _places(kind: str, words: list[str]) -> tuple[tuple[str, ...], bool, bool]:
    """(places, one way, opened by the first)."""
    match words:
        case ["opened_by", a, "to", b]:
            return (a, b), False, True
        case [a, "->", b]:
            return (a, b), True, False
        case [a] | [a, "->"] if a not in ("->", "opened_by"):
            return (a,), len(words) == 2, False
        case [a, b] if "->" not in words and "opened_by" not in words:
            return (a, b), False, False
    raise RuleError(f"{kind} takes PLACE, A B, A '->' B or opened_by A to B, not {' '.join(words)!r}")


def _amounts(kind: str, amounts: Sequence[str]) -> dict[str, float]:
    """The amounts as `rule` takes them. Raises RuleError."""
    if kind == "delay" and 1 <= len(amounts) <= 2:
        return dict(zip(("delay_ms", "jitter_ms"), (_number(amount, "ms") for amount in amounts), strict=False))
    if kind == "loss" and len(amounts) == 1:
        share = _number(amounts[0], "%")
        return {"loss": share / 100 if amounts[0].endswith("%") else share}
    if kind == "bandwidth" and len(amounts) == 1:
        text = amounts[0].removesuffix("/s")
        unit = next((unit for unit in BYTES if text.endswith(unit)), "")
        return {"bytes_per_s": _number(text, unit or "B") * BYTES.get(unit, 1.0)}
    if kind in ("cut", "hold") and not amounts:
        return {}
    not_these = f"not {' '.join(amounts)}" if amounts else "and none is given"
    raise RuleError(f"{kind} takes {AMOUNTS.get(kind, 'no amount')}, {not_these}")


def _number(text: str, suffix: str) -> float:
    try:
        return float(text.removesuffix(suffix))
    except ValueError:
        raise RuleError(f"{text!r} is no number (of {suffix})") from None


def _listed(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip()) if text else ()


def shown_bytes(count: float) -> str:
    """A bandwidth as a command takes it: 500B, 10kB, 1.5MB."""
    unit = next((unit for unit, of in BYTES.items() if count >= of), "B")
    return f"{count / BYTES[unit]:g}{unit}"


def _text(kind: str, a: str, b: str | None, one_way: bool, opened: bool) -> str:
    if b is None:
        places = f"{a} ->" if one_way else a
    else:
        places = f"opened_by {a} to {b}" if opened else f"{a} -> {b}" if one_way else f"{a} {b}"
    return f"{kind} {places}"
