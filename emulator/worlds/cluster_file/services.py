"""Services of a compose file that are nodes: name, roles and AZ, environment, networks.

A service with the label `faultline.roles` is a node; the others (control, Spark) are not. Keys that the container
engine reads, such as limits and volumes, are left to it.
"""

from collections.abc import Mapping
from typing import Final

import msgspec
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from emulator.scenario.document import Reader, is_null, nearest
from emulator.topology import DEDICATED_FROM
from emulator.topology import Node as ClusterNode
from emulator.worlds.cluster_file.interpolation import NotInterpolated, interpolate
from emulator.worlds.cluster_file.networks import name_on, networks_of
from protocol.numbers import number_in

ROLES_LABEL, AZ_LABEL = "faultline.roles", "faultline.az"
LABELS: Final = (ROLES_LABEL, AZ_LABEL)

ROLES: Final = {
    "broker": (("broker",), ("broker", "controller")),
    "controller": (("controller",),),
    "session": (("session",),),
    "client": (("client",),),
}
"""{prefix of a node's name: the roles it may have}, in the order of a topology."""
SECRET_CHARACTERS_MIN: Final = 4
"""Shorter values are hidden in a message only as whole words: no secret is so short."""


class Entry(msgspec.Struct, frozen=True):
    """One label or variable, filled in. `place`: position for an error about its value."""

    value: str
    key: Node
    place: Node


class Service(msgspec.Struct, frozen=True):
    """A service that is a node. `networks`: {network: aliases on it}.

    `place`: its name in the file.
    """

    node: ClusterNode
    environment: dict[str, Entry]
    networks: dict[str, tuple[str, ...]]
    place: Node


class ComposeReader(Reader):
    """A reader that knows merge keys (`<<`) and fills in variables."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        super().__init__()
        self._environment = environment
        self._taken: dict[str, str] = {}
        """{filled-in value: its variable}: it may be a secret, and messages do not show it."""

    def pairs(self, node: Node, what: str) -> list[tuple[str, ScalarNode, Node]]:
        """A mapping's own keys, then those that `<<` adds."""
        written = super().pairs(node, what)
        found = [pair for pair in written if pair[0] != "<<"]
        for _, _, value in (pair for pair in written if pair[0] == "<<"):
            for source in value.value if isinstance(value, SequenceNode) else (value,):
                known = {key for key, _, _ in found}
                found += [pair for pair in self.pairs(source, what) if pair[0] not in known]
        return found

    def value(self, node: Node) -> str:
        """The value as written, variables filled in; "" for nothing."""
        if is_null(node):
            return ""
        try:
            return interpolate(self.text(node) or "", self._environment, self._take)
        except NotInterpolated as error:
            self.problem(node, str(error))
            return ""

    def problem(self, node: Node, message: str) -> None:
        for value in sorted(self._taken, key=len, reverse=True):
            variable = f"${{{self._taken[value]}}}"
            message = message.replace(repr(value), variable)
            if len(value) >= SECRET_CHARACTERS_MIN:
                message = message.replace(value, variable)
        super().problem(node, message)

    def _take(self, variable: str, value: str) -> None:
        if value:
            self._taken[value] = variable

    def entries(self, node: Node, what: str) -> dict[str, Entry]:
        """Entries of `NAME: value`, or of a list of `NAME=value`.

        A name alone takes its value from the environment, or is left out.
        """
        given: list[tuple[str, str | None, Node, Node]]
        if isinstance(node, MappingNode):
            pairs = self.pairs(node, what)
            given = [(key, None if is_null(value) else self.value(value), at, value) for key, at, value in pairs]
        else:
            split = [(self.value(item).partition("="), item) for item in self.items(node, what)]
            given = [(name, value if equals else None, item, item) for (name, equals, value), item in split]
        found: dict[str, Entry] = {}
        for name, value, at, place in given:
            there = self._environment.get(name) if value is None else value
            if value is None and there:
                self._take(name, there)
            if there is not None:
                found[name] = Entry(there, at, place)
        return found


def read_services(reader: ComposeReader, services: Node) -> list[Service]:
    """All nodes, in the order of a topology."""
    found = []
    for name, place, body in reader.pairs(services, "services"):
        fields = {key: value for key, _, value in reader.pairs(body, f"service {name}")}
        labels = reader.entries(fields["labels"], "labels") if "labels" in fields else {}
        _check_labels(reader, labels)
        if ROLES_LABEL not in labels:
            continue
        node = _node(reader, name, place, labels)
        if node is not None:
            environment = reader.entries(fields["environment"], "variables") if "environment" in fields else {}
            networks = _networks(reader, fields["networks"]) if "networks" in fields else {}
            found.append(Service(node, environment, networks, place))
    order = list(ROLES)
    return sorted(found, key=lambda service: (order.index(service.node.name.rpartition("-")[0]), service.node.number))


def check_networks(reader: ComposeReader, services: list[Service]) -> None:
    """Check that every node has the networks and aliases that the others use."""
    azs = tuple(sorted({service.node.az for service in services}))
    for service in services:
        name = service.node.name
        for network in networks_of(service.node, azs):
            alias = name_on(name, network)
            if network not in service.networks:
                reader.problem(service.place, f"{name} is not on the network {network}")
            elif alias not in service.networks[network]:
                reader.problem(service.place, f"{name} has no alias {alias} on the network {network}")


def _check_labels(reader: ComposeReader, labels: dict[str, Entry]) -> None:
    for label, entry in labels.items():
        if label.startswith("faultline.") and label not in LABELS:
            reader.problem(entry.key, f"unknown label {label!r}{nearest(label, LABELS)}")


def _node(reader: ComposeReader, name: str, place: Node, labels: dict[str, Entry]) -> ClusterNode | None:
    stem, _, last = name.rpartition("-")
    number = number_in(last)
    if stem not in ROLES or number is None or last != str(number):
        reader.problem(place, f"a node is called after its role and number, as broker-0; got {name!r}")
        return None
    if stem == "broker" and number >= DEDICATED_FROM:
        reader.problem(
            place, f"a broker's number is below {DEDICATED_FROM}; dedicated controllers have those from there"
        )
    roles = tuple(sorted(word.strip() for word in labels[ROLES_LABEL].value.split(",")))
    if roles not in ROLES[stem]:
        usable = " or ".join(",".join(some) for some in ROLES[stem])
        given = labels[ROLES_LABEL]
        reader.problem(given.place, f"the roles of a {stem} are {usable}; got {given.value!r}")
    az = labels[AZ_LABEL].value if AZ_LABEL in labels else ""
    if not az:
        reader.problem(place, f"{name} needs the label {AZ_LABEL}, as {AZ_LABEL}: az-0")
    return ClusterNode(name, roles, int(number), az)


def _networks(reader: ComposeReader, node: Node) -> dict[str, tuple[str, ...]]:
    if isinstance(node, SequenceNode):
        return {reader.value(item): () for item in node.value}
    found: dict[str, tuple[str, ...]] = {}
    for network, _, options in reader.pairs(node, "networks"):
        fields = {} if is_null(options) else {key: value for key, _, value in reader.pairs(options, "a network")}
        aliases = fields.get("aliases")
        found[network] = () if aliases is None else tuple(map(reader.value, reader.items(aliases, "aliases")))
    return found
