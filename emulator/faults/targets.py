"""Nodes that are named by their role at the moment of a step. Pure.

    leader of t-0        leader:t-0
    active controller    active-controller

Either form is accepted; the second is the canonical one. `resolved` is the one resolution: scenarios and live commands
pass what the session service holds when the step begins. The leader is that of the partition's state znode, the
controller that of `/controller`.
"""

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final

from emulator.topology import Node, Topology, node_name
from protocol.ids import NO_LEADER, topic_partition_of

ACTIVE_CONTROLLER: Final = "active-controller"
LEADER: Final = "leader:"
FORMS: Final = ("leader of TOPIC-N", "active controller")
"""As messages and documents show them."""
_LEADER: Final = re.compile(r"leader(?:\s*:|\s+of(?=\s|$)|$)\s*(\S*)\s*", re.IGNORECASE)
_CONTROLLER: Final = re.compile(r"active(?:-|\s+)controller\s*", re.IGNORECASE)


class NoTarget(Exception):
    """A target that means no node now, or no partition: one line with what to do."""


class UnknownPartition(NoTarget):
    """The partition of a target does not exist."""


def target_in(word: str) -> str | None:
    """The canonical form of a target; None: the word is something else.

    What follows `leader:` is not checked."""
    if _CONTROLLER.fullmatch(word):
        return ACTIVE_CONTROLLER
    found = _LEADER.fullmatch(word)
    return None if found is None else f"{LEADER}{found[1]}"


def partition_of(target: str) -> str:
    """`t-0` of `leader:t-0`; "" of the active controller."""
    return target.removeprefix(LEADER) if target.startswith(LEADER) else ""


def shown(target: str) -> str:
    """As a person writes it."""
    return "active controller" if target == ACTIVE_CONTROLLER else f"leader of {partition_of(target)}"


def candidates(topology: Topology, target: str) -> tuple[Node, ...]:
    """The nodes that a target can mean."""
    return topology.with_role("controller" if target == ACTIVE_CONTROLLER else "broker")


def joined(words: Iterable[str]) -> list[str]:
    """The words of a command, with each target as one word in canonical form.

    Places around an arrow are taken apart; options and their values stay as they are."""
    parts: list[str] = []
    for word in words:
        is_value = bool(parts) and parts[-1].startswith("--") and "=" not in parts[-1]
        parts += [word] if is_value else _around_arrow(word)
    found: list[str] = []
    while parts:
        if parts[0].startswith("--"):
            length = 1 if "=" in parts[0] else 2
            found += parts[:length]
            del parts[:length]
            continue
        longest = 3 if parts[0].lower() in ("leader", "leader:", "active") else 1
        for length in range(longest, 0, -1):
            target = target_in(" ".join(parts[:length]))
            if target is not None or length == 1:
                found.append(parts[0] if target is None else target)
                del parts[:length]
                break
    return found


def _around_arrow(word: str) -> list[str]:
    if "->" not in word or word.startswith("--"):
        return [word]
    left, _, right = word.partition("->")
    return [part for part in (left, "->", right) if part]


def resolved(target: str, leaders: Mapping[str, int], controller: int | None) -> str:
    """The name of the node that a canonical target means now.

    `leaders`: {partition: broker id, or NO_LEADER} of the partitions' states; `controller`: broker id of
    `/controller`. Raises NoTarget."""
    if target == ACTIVE_CONTROLLER:
        if controller is None:
            raise NoTarget("active controller: there is none now; wait for one first")
        return node_name(controller)
    name = partition_of(target)
    if name not in leaders:
        if topic_partition_of(name) is None:
            raise UnknownPartition(f"{shown(target)}: names no partition; write {FORMS[0]}, such as leader of t-0")
        near = get_close_matches(name, leaders, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}?" if near else "create its topic first"
        raise UnknownPartition(f"{shown(target)}: there is no such partition; {hint}")
    if leaders[name] == NO_LEADER:
        raise NoTarget(f"{shown(target)}: the partition has none now; wait for one first")
    return node_name(leaders[name])
