"""Rules on links from their texts in events, such as `cut az-0 (fetcher only)`. Pure."""

import re
from functools import lru_cache
from typing import Final

from emulator.faults.link_fault_kinds import RuleError
from emulator.faults.link_rule_building import rule_of
from emulator.faults.link_words import parse
from emulator.topology import Topology
from protocol.link_rules import LinkRule

TEXTS_MAX: Final = 256
_OF_SOME: Final = re.compile(r" \((?:(clients|frames of) )?([^)]*?)(?: only| out of their streams; not physical)\)")


@lru_cache(TEXTS_MAX)
def rule_in(topology: Topology, text: str) -> LinkRule | None:
    """The rule; None: the text names no links of this topology.

    That of a protocol fault names none.
    """
    options = []
    for kind, names in _OF_SOME.findall(text):
        options += ["--client-id" if kind == "clients" else "--only", names.replace(", ", ",")]
    try:
        return rule_of(topology, "", parse([*_OF_SOME.sub("", text).split(), *options]))
    except RuleError:
        return None
