"""What a person types into a watch: keys go in, the bottom line and what is to be done come out. Pure.

At rest a key begins an order (`c`: cut), its places are typed, Enter gives it and Esc does not: nothing is broken by
one key. What came of the last order stands where the keys were, until the next key.
"""

from typing import Final, NamedTuple

import msgspec

VERBS: Final = {
    "c": ("cut", "az-0, broker-0 broker-1"),
    "h": ("heal", "nothing for every fault, or az-0, broker-0 broker-1"),
    "k": ("kill", "broker-0, az-0, leader:t-0"),
    "p": ("pause", "broker-0"),
    "r": ("resume", "broker-0"),
    "s": ("start", "broker-0"),
    "f": ("filter", "part of a partition's name, nothing for all"),
}
"""{key: (order, such as)}."""
WITHOUT_PLACES: Final = frozenset(("heal", "filter"))
QUIT: Final = "q"
ENTER: Final = "\r\n"
BACKSPACE: Final = "\x7f\b"
ERASE_LINE: Final = "\x15"
"""Ctrl-U."""
ESCAPE: Final = "\x1b"
TYPED_MAX: Final = 200
LINE: Final = "  ".join([*(f"{key} {verb}" for key, (verb, _) in VERBS.items()), f"{QUIT} quit"])


class Order(NamedTuple):
    """To be asked of the cluster: `faultline VERB WORD...`."""

    verb: str
    words: tuple[str, ...]


class Typed(msgspec.Struct, frozen=True):
    """`verb` "": at rest. `said`: what came of the last order. `shown`: part of the names of partitions to be seen."""

    verb: str = ""
    text: str = ""
    said: str = ""
    shown: str = ""
    quits: bool = False

    def line(self) -> str:
        """The bottom line."""
        if not self.verb:
            only = f"   only {self.shown}" if self.shown else ""
            return self.said or LINE + only
        such_as = "" if self.text else f"  ({next(such for verb, such in VERBS.values() if verb == self.verb)})"
        return f"{self.verb}: {self.text}_{such_as}   Enter: do it   Esc: leave it"


def pressed(typed: Typed, key: str) -> tuple[Typed, Order | None]:
    """One key, a character or a whole escape sequence, such as an arrow's, which means nothing here."""
    if not typed.verb:
        return _at_rest(typed, key), None
    if key in ENTER:
        return _entered(typed)
    if key == ESCAPE:
        return _rest(typed), None
    if key in BACKSPACE:
        return msgspec.structs.replace(typed, text=typed.text[:-1]), None
    if key == ERASE_LINE:
        return msgspec.structs.replace(typed, text=""), None
    if len(key) == 1 and key.isprintable() and len(typed.text) < TYPED_MAX:
        return msgspec.structs.replace(typed, text=typed.text + key), None
    return typed, None


def told(typed: Typed, said: str) -> Typed:
    """What came of an order."""
    return msgspec.structs.replace(typed, said=said)


def keys_in(text: str) -> list[str]:
    """What a terminal sent, key by key: an escape sequence is one."""
    found, at = [], 0
    while at < len(text):
        end = at + 1
        if text[at] == ESCAPE and text[end : end + 1] in ("[", "O"):
            end += 1
            while end < len(text) and not "@" <= text[end] <= "~":
                end += 1
            end += 1
        found.append(text[at:end])
        at = end
    return found


def _at_rest(typed: Typed, key: str) -> Typed:
    if key == QUIT:
        return msgspec.structs.replace(typed, quits=True)
    verb = VERBS[key][0] if key in VERBS else ""
    return msgspec.structs.replace(typed, verb=verb, text=typed.shown if verb == "filter" else "", said="")


def _rest(typed: Typed, said: str = "") -> Typed:
    return msgspec.structs.replace(typed, verb="", text="", said=said)


def _entered(typed: Typed) -> tuple[Typed, Order | None]:
    words = tuple(typed.text.split())
    if typed.verb == "filter":
        return msgspec.structs.replace(_rest(typed), shown=" ".join(words)), None
    if not words and typed.verb not in WITHOUT_PLACES:
        return typed, None
    return _rest(typed, f"{typed.verb} {' '.join(words)} ..."), Order(typed.verb, words)
