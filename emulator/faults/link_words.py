"""Words of the command line to faults on links: `az-0`, `az-0 az-1 50ms 10ms`. Pure.

    cut|hold PLACE [[->] PLACE]   delay PLACE [[->] PLACE] MS [JITTER]   loss PLACE [[->] PLACE] SHARE
    bandwidth PLACE [[->] PLACE] BYTES   reset PLACE [[->] PLACE] [MS]   KIND opened_by PLACE to PLACE ...
    Options: --only API|PURPOSE,...  --client-id ID,...  --recovery rto|instant
    --expects-nothing
"""

from collections.abc import Sequence

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
    RuleError,
)
from emulator.faults.link_rule_building import fault_of, one_of, place_words, wrong_places
from emulator.faults.targets import joined


def parse(words: Sequence[str]) -> AnyLinkFault:
    """Parse one command. Raises RuleError; names of nodes are not checked."""
    if not words:
        raise RuleError(f"a fault starts with {', '.join(KINDS[:-1])} or {KINDS[-1]}")
    kind = one_of("fault", words[0], KINDS)
    options, rest = _options(joined(words[1:]))
    amounts: list[str] = []
    while rest and (rest[-1][:1].isdigit() or rest[-1][:1] == "."):
        amounts.insert(0, rest.pop())
    shown = LINK_FAULTS[kind].SHOWN
    if not amounts and len(rest) > 1 and LINK_FAULTS[kind].amounts_in([]) is None:
        raise RuleError(f"{kind} ends with {shown}; {rest[-1]!r} is no number")
    links = links_in(kind, rest)
    own = LINK_FAULTS[kind].amounts_in(amounts)
    if own is None:
        not_these = f"not {' '.join(amounts)}" if amounts else "and none is given"
        raise RuleError(f"{kind} takes {shown or 'no amount'}, {not_these}")
    return fault_of(
        kind,
        links,
        listed(options.get("--only")),
        client_ids=listed(options.get("--client-id")),
        recovery=options.get("--recovery") or "rto",
        expects_traffic="--expects-nothing" not in options,
        **own,
    )


def words_of(fault: LinkFault) -> list[str]:
    """The words of a command: the reverse of `parse`."""
    options = {"--only": (*fault.purposes, *fault.apis), "--client-id": fault.client_ids}
    words = [word for name, given in options.items() if given for word in (name, ",".join(given))]
    if fault.recovery != "rto":
        words += ["--recovery", fault.recovery]
    if not fault.expects_traffic:
        words.append("--expects-nothing")
    return [fault.VERB, *place_words(fault.links), *fault.amount_text().split(), *words]


def links_in(kind: str, places: Sequence[str]) -> Links:
    """The links that places and arrows name; `kind`: of the fault. Raises RuleError."""
    words = joined(places)
    match words:
        case ["opened_by", a, "to", b]:
            return OpenedLinks(a, b)
        case [a, "->", b]:
            return OneWayLinks(a, b)
        case [a, "->"] if a not in ("->", "opened_by"):
            return OneWayLinks(a)
        case [a] if a not in ("->", "opened_by"):
            return AzLinks(a)
        case [a, b] if "->" not in words and "opened_by" not in words:
            return PairLinks((a, b))
    raise wrong_places(kind, " ".join(words))


def _options(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    valued, flags = ("--only", "--client-id", "--recovery"), ("--expects-nothing",)
    options: dict[str, str] = {}
    rest: list[str] = []
    waiting = iter(words)
    for word in waiting:
        if not word.startswith("--"):
            rest.append(word)
            continue
        name, equals, value = word.partition("=")
        name = one_of("option", name, (*valued, *flags))
        if name in valued and not equals:
            value = next(waiting, "")
        if name in valued and not value:
            raise RuleError(f"{name} needs a value")
        options[name] = value
    return options, rest


def listed(text: str | None) -> tuple[str, ...]:
    """The names in a text with commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip()) if text else ()
