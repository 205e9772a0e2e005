"""Keys typed into `status --watch`: from keys to the bottom line and orders. Pure.

At rest a key begins an order (`c`: cut). Its places are typed; Enter confirms it and Esc cancels it: one key alone
breaks nothing. The result of the last order replaces the keys until the next key.
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
"""{key: (order, example)}."""
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
    """A command for the cluster: `faultline VERB WORD...`."""

    verb: str
    words: tuple[str, ...]


class Typed(msgspec.Struct, frozen=True):
    """The state of the input.

    `verb` "": at rest. `message`: result of the last order. `shown`: filter on partitions' names.
    """

    verb: str = ""
    text: str = ""
    message: str = ""
    shown: str = ""
    quits: bool = False

    def line(self) -> str:
        """The bottom line."""
        if not self.verb:
            only = f"   only {self.shown}" if self.shown else ""
            return self.message or LINE + only
        such_as = "" if self.text else f"  ({next(such for verb, such in VERBS.values() if verb == self.verb)})"
        return f"{self.verb}: {self.text}_{such_as}   Enter: do it   Esc: leave it"


def pressed(typed: Typed, key: str) -> tuple[Typed, Order | None]:
    """Handle one key, a character or a whole escape sequence; an arrow's has no meaning here."""
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


def with_message(typed: Typed, message: str) -> Typed:
    """The state with the result of an order."""
    return msgspec.structs.replace(typed, message=message)


def keys_in(text: str) -> list[str]:
    """A terminal's input, key by key: an escape sequence is one."""
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
    return msgspec.structs.replace(typed, verb=verb, text=typed.shown if verb == "filter" else "", message="")


def _rest(typed: Typed, message: str = "") -> Typed:
    return msgspec.structs.replace(typed, verb="", text="", message=message)


def _entered(typed: Typed) -> tuple[Typed, Order | None]:
    words = tuple(typed.text.split())
    if typed.verb == "filter":
        return msgspec.structs.replace(_rest(typed), shown=" ".join(words)), None
    if not words and typed.verb not in WITHOUT_PLACES:
        return typed, None
    return _rest(typed, f"{typed.verb} {' '.join(words)} ..."), Order(typed.verb, words)
