"""Names in a command, matched with the existing ones. Pure."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches

from emulator.cluster.control_requests import NotThere, Refused
from emulator.faults.targets import NoTarget, UnknownPartition, joined, shown, target_in
from emulator.topology import SESSION_SERVICE, Node, Topology, identifier_of, is_group, machines_named
from protocol.ids import BrokerId, topic_partition_of
from protocol.numbers import number_in


def nearest(kind: str, given: str, known: Iterable[str]) -> str:
    """The known name of `given`, in any case. Raises NotThere with the nearest, or all."""
    by_lower = {name.lower(): name for name in known}
    if given.lower() in by_lower:
        return by_lower[given.lower()]
    close = get_close_matches(given.lower(), by_lower, n=1, cutoff=0.5)
    if close:
        raise NotThere(f"no {kind} {given!r}; did you mean {by_lower[close[0]]}?")
    raise NotThere(f"no {kind} {given!r}; there is {', '.join(by_lower.values()) or 'none'}")


def topics_of(partitions: Iterable[str]) -> dict[str, list[int]]:
    """{topic: numbers of its partitions}, sorted, of names such as t-0."""
    topics: dict[str, list[int]] = {}
    for topic, number in sorted(topic_partition_of(name) or ("", -1) for name in partitions):
        topics.setdefault(topic, []).append(number)
    return topics


def machines_meant(topology: Topology, words: Iterable[str]) -> dict[str, bool]:
    """{node: whether the command named it itself}; else it is of an AZ or a pattern.

    Raises Refused.
    """
    meant: dict[str, bool] = {}
    names = [node.name for node in topology.nodes if node.az]
    for word in words:
        if is_group(topology, word):
            found = machines_named(topology, word)
            if not found:
                raise NotThere(f"no node is called {word!r}; there is {', '.join(names)}")
            for node in found:
                meant.setdefault(node.name, False)
        else:
            meant[nearest("node", word, names)] = True
    return meant


def with_nodes(words: Iterable[str], node_of: Callable[[str], str]) -> tuple[list[str], dict[str, str]]:
    """The words with nodes in the place of targets (`leader:t-0`), and {target: its node}.

    `node_of`: the node that a canonical target means now. Raises Refused."""
    found: dict[str, str] = {}
    return [node_named(word, node_of, found) for word in joined(words)], found


def node_named(word: str, node_of: Callable[[str], str], found: dict[str, str]) -> str:
    """The node in the place of a target; other words as they are.

    `found`: {target: its node}, extended. Raises Refused.
    """
    target = target_in(word)
    if target is None:
        return word
    try:
        found[shown(target)] = node_of(target)
    except UnknownPartition as error:
        raise NotThere(str(error)) from error
    except NoTarget as error:
        raise Refused(str(error)) from error
    return found[shown(target)]


def broker_numbered(topology: Topology, number: int) -> Node:
    """Raises Refused."""
    brokers = {node.number: node for node in topology.with_role("broker")}
    if number not in brokers:
        raise NotThere(f"no broker {number}; there is {', '.join(map(str, brokers))}")
    return brokers[number]


def broker_meant(
    topology: Topology, given: BrokerId | str, node_of: Callable[[str], str], found: dict[str, str]
) -> BrokerId:
    """The broker of a number, a name or a target. `found` as in `node_named`. Raises Refused."""
    if isinstance(given, str):
        word = node_named(given, node_of, found)
        number = number_in(word.removeprefix("broker-"))
        if number is None:
            known = (one.name for one in topology.with_role("broker"))
            raise NotThere(f"no broker {word!r}; there is {', '.join(known)}")
        given = BrokerId(number)
    return identifier_of(broker_numbered(topology, given))


def client_in(topology: Topology, az: str) -> Node:
    """The first client of an AZ. Raises Refused."""
    clients = topology.with_role("client")
    az = nearest("AZ", az, topology.azs)
    for node in clients:
        if node.az == az:
            return node
    raise Refused(f"no client is in {az}; there is one in {', '.join(node.az for node in clients) or 'none'}")


def places_in(topology: Topology, words: Iterable[str]) -> tuple[str, ...]:
    """The nodes and AZs in the words, in their order: `cut az-0->broker-1` names two."""
    names = (*topology.azs, *(node.name for node in topology.nodes), SESSION_SERVICE)
    known = {name.lower(): name for name in names}
    parts = [part for word in words for part in word.split("->")]
    return tuple(known[part.lower()] for part in parts if part.lower() in known)
