"""The cluster of a scenario file: its topology, and the plane of its metadata.

`metadata` is `zookeeper` or `kraft`; without it the version decides. In KRaft `nodes` says whether controllers are
nodes of their own (`separate`) or brokers too (`combined`).
"""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace
from ruamel.yaml.nodes import Node

from emulator.scenario.document import nearest, shown
from emulator.scenario.observations.observation_model import COMBINED, SEPARATE
from emulator.scenario.step_reader import StepReader
from emulator.topology import DEDICATED_FROM, KRAFT, ZOOKEEPER, NoSuchMode, Topology, metadata_of, three_azs
from emulator.topology import Node as ClusterNode
from protocol.numbers import number_in
from protocol.versions import since

ROLES = ("broker", "controller", "session", "client", "observer")

MAX_NODES = 100
FIRST_VOTERS = "initial_controllers"
VOTERS_SINCE = "3.9"


def read_topology(reader: StepReader, fields: Mapping[str, Node], version: str) -> Topology:
    """Topology of a file's `metadata`, `nodes` and `topology`.

    `version`: the scenario's default.
    """
    requested = nodes = None
    if "metadata" in fields:
        requested = reader.word(fields["metadata"], "place of the metadata", (ZOOKEEPER, KRAFT))
    if "nodes" in fields:
        nodes = reader.word(fields["nodes"], "kind of nodes", (SEPARATE, COMBINED))
    try:
        metadata = metadata_of(version, requested or "")
    except NoSuchMode as error:
        reader.problem(fields["metadata"], str(error))
        return three_azs()
    if "nodes" in fields and metadata != KRAFT:
        reader.problem(fields["nodes"], "nodes are separate or combined in KRaft alone; set `metadata: kraft`")
    given = fields.get("topology")
    if metadata == ZOOKEEPER:
        return three_azs() if given is None else _topology(reader, given, metadata, SEPARATE, version)
    if given is None:
        return three_azs(metadata=KRAFT, combined=nodes == COMBINED)
    return _topology(reader, given, metadata, nodes or SEPARATE, version)


def _topology(reader: StepReader, node: Node, metadata: str, nodes: str, version: str) -> Topology:
    """Counts (`brokers`, `sessions`, `clients`, `controllers`, `azs`), or `nodes` one by one.

    `initial_controllers`: numbers of the first voters of a quorum whose voters may change (KIP-853).
    """
    keys = ("brokers", "sessions", "clients", "controllers", "azs", "nodes", FIRST_VOTERS)
    fields = reader.fields(node, "topology", keys)
    first = fields.pop(FIRST_VOTERS, None)
    topology = _counted(reader, node, fields, metadata, nodes)
    return topology if first is None else _with_first_voters(reader, first, topology, version)


def _with_first_voters(reader: StepReader, node: Node, topology: Topology, version: str) -> Topology:
    numbers = reader.each(node, "controllers", lambda n: reader.integer(n, "a controller's number"), single=True) or ()
    known = {one.number: one.name for one in topology.with_role("controller")}
    if topology.metadata != KRAFT:
        reader.problem(node, f"{FIRST_VOTERS} are of KRaft's quorum; set `metadata: kraft`")
        return topology
    if not since(version, VOTERS_SINCE):
        reader.problem(node, f"{FIRST_VOTERS}: voters change from Kafka {VOTERS_SINCE} on; leave it out")
    for number in numbers:
        if number not in known:
            reader.problem(node, f"there is no controller {number}; one of: {', '.join(map(str, sorted(known)))}")
            return topology
    return replace(topology, initial_controllers=tuple(known[number] for number in sorted(set(numbers))))


def _counted(
    reader: StepReader, node: Node, fields: dict[str, Node], metadata: str, nodes: str
) -> Topology:
    """A topology by its counts or its nodes."""
    if "nodes" in fields:
        if len(fields) > 1:
            reader.problem(node, "a topology has either nodes or counts")
        return _nodes(reader, fields["nodes"], metadata)
    counts: dict[str, Any] = {key: reader.integer(value, key, 1, MAX_NODES) or 3 for key, value in fields.items()}
    if counts.get("sessions", 3) not in (1, 3, 5) and "sessions" in fields:
        reader.problem(fields["sessions"], "a session ensemble has 1, 3 or 5 servers")
    if metadata == KRAFT:
        if "sessions" in fields:
            reader.problem(fields["sessions"], "KRaft has no ZooKeeper servers; leave out sessions")
        return three_azs(**counts, metadata=KRAFT, combined=nodes == COMBINED)
    return three_azs(**counts)


def _nodes(reader: StepReader, node: Node, metadata: str) -> Topology:
    found = []
    pairs = reader.pairs(node, "nodes")
    if len(pairs) > MAX_NODES:
        reader.problem(node, f"at most {MAX_NODES} nodes")
    for name, key, value in pairs:
        stem, _, last = name.rpartition("-")
        number = number_in(last)
        if stem not in ROLES or number is None:
            reader.problem(
                key, f"a node is called after its role and number, as broker-0; got {shown(name)}{nearest(stem, ROLES)}"
            )
            continue
        if stem == "broker" and number >= DEDICATED_FROM:
            higher = "dedicated controllers have those from there"
            reader.problem(key, f"a broker's number is below {DEDICATED_FROM}; {higher}")
            continue
        fields = reader.fields(value, f"node {name}", ("az", "process.roles"), ("az",))
        az = reader.text(fields["az"], "an AZ") if "az" in fields else None
        if metadata == KRAFT and stem == "session":
            reader.problem(key, f"{name}: KRaft has no ZooKeeper servers; leave it out")
        default = ("broker", "controller") if stem == "broker" and metadata == ZOOKEEPER else (stem,)
        given = fields.get("process.roles")
        roles = (
            default
            if given is None
            else reader.each(given, "roles", lambda n: reader.word(n, "role", ROLES), single=True)
        )
        found.append(ClusterNode(name, roles, number, az or ""))
    observer = [n for n in three_azs().nodes if "observer" in n.roles]
    return Topology(tuple([*found, *observer]), metadata)
