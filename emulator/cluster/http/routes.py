"""Every operation over HTTP. Pure.

Faults of machines get their paths from `emulator.faults.machine_fault_kinds`: a new fault needs nothing here.
"""

from typing import Annotated, Any, Final

import msgspec
from msgspec.structs import FieldInfo

from emulator.cluster import control_requests as r
from emulator.cluster.http.link_bodies import AnyLinkBody, body_of, link_fault
from emulator.cluster.http.metrics_route import METRICS_ROUTE
from emulator.cluster.http.protocol_fault_routes import PROTOCOL_FAULT_ROUTES
from emulator.cluster.http.route import (
    AUDIT,
    DESCRIPTION,
    EVENT_STREAM,
    MACHINES,
    STREAM,
    Method,
    Nothing,
    Route,
    route_of,
    struct_of,
)
from emulator.faults.machine_fault_kinds import LIVE_FAULTS, MachineStep, Start
from protocol.numbers import number_in

READY_WAIT_S: Final = 0.5
"""A client that waits for a container polls, and limits each request to a second."""
AUDIT_WAIT_S: Final = 120.0
NOT_OF_HERE: Final = frozenset({"partition"})
"""Fields of a fault of machines that only a scenario can set."""
OWN_FIELDS: Final = {
    "directory": "directory", "batches_kept": "batches_kept", "kafka_version": "version", "settings": "settings",
    "from_files": "from_files",
}  # fmt: skip
"""{key of a fault: field of the request}; others are `given`."""
NODES_CHARACTERS_MAX: Final = 4_096
SEVERAL: Final = ","
"""Between the nodes of a path that has several."""
DELETE: Final[Method] = "DELETE"
GET: Final[Method] = "GET"
PATCH: Final[Method] = "PATCH"
POST: Final[Method] = "POST"


class _OfNode(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    node: Annotated[str, msgspec.Meta(max_length=NODES_CHARACTERS_MAX)]


class _OfFault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    fault: r.Word


class StreamInputs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`after`: id of the last event that the reader has; by default the header Last-Event-ID."""

    after: Annotated[str, msgspec.Meta(max_length=64)] = ""


def _heal_one(inputs: Any, _body: None) -> r.Heal:
    prefix, _, number = inputs.fault.partition("-")
    if prefix != "rule" or number_in(number) is None:
        raise r.NotThere(f"no fault {inputs.fault!r}; they are called rule-1, rule-2, ...: GET /v1/faults")
    return r.Heal([inputs.fault])


def _machine_routes() -> list[Route]:
    return [_machine_route(word, step) for word, step in LIVE_FAULTS.items()]


def _machine_route(word: str, step: type[MachineStep]) -> Route:
    def make(inputs: Any, body: msgspec.Struct) -> r.Machine:
        fields_set = {name: getattr(body, name) for name in body.__struct_fields__ if getattr(body, name) is not None}
        own = {OWN_FIELDS[name]: value for name, value in fields_set.items() if name in OWN_FIELDS}
        given = {name: value for name, value in fields_set.items() if name not in OWN_FIELDS}
        node = inputs.node.split(SEVERAL) if SEVERAL in inputs.node else inputs.node
        return r.Machine(word, node, **own, given=given)

    def given_in(ask: r.ControlRequest) -> dict[str, Any] | None:
        if not isinstance(ask, r.Machine) or ask.fault != word:
            return None
        unset = r.Machine(word, "")
        own = {name: getattr(ask, of) for name, of in OWN_FIELDS.items() if getattr(ask, of) != getattr(unset, of)}
        return {"node": ask.node if isinstance(ask.node, str) else SEVERAL.join(ask.node), **own, **ask.given}

    fields = [_bounded(field) for field in step.own_fields() if field.name not in NOT_OF_HERE]
    if step is Start:
        fields += [field for field in msgspec.structs.fields(r.Machine) if field.name == "from_files"]
    body = struct_of(_name_of(word), fields) if fields else Nothing
    says = " ".join((step.__doc__ or "").split())
    return Route(POST, f"{MACHINES}{{node}}/{word}", _name_of(word), says, _OfNode, body, make, given_in)


def _name_of(word: str) -> str:
    """PowerLossNode, KillNode."""
    return "".join(part.capitalize() for part in word.split("-")) + "Node"


def _bounded(field: FieldInfo) -> FieldInfo:
    """The field with the bounds of the request to the cluster."""
    own = {one.name: one for one in msgspec.structs.fields(r.Machine)}
    same = own.get(OWN_FIELDS.get(field.encode_name, ""))
    if same is None:
        return field
    batches = Annotated[int, msgspec.Meta(ge=0, le=r.BATCHES_KEPT_MAX)] | None
    kept = batches if field.name == "batches_kept" else same.type
    return FieldInfo(field.name, field.encode_name, kept, field.default, field.default_factory)


ROUTES: Final[tuple[Route, ...]] = (
    Route(GET, DESCRIPTION, "Description", "This description."),
    Route(
        GET, STREAM, "Stream", "Server-sent events: a snapshot of the state, then its changes, at most five a second.",
        StreamInputs, media_type=EVENT_STREAM,
    ),
    route_of(
        r.Ready, GET, "/v1/ready",
        "Whether every server and broker is there and a controller: 200, 409 where one has ended by itself, else 503.",
        wait_s=READY_WAIT_S,
    ),
    route_of(r.Status, GET, "/v1/status", "Running nodes, each node's own view, and the faults in force."),
    METRICS_ROUTE,
    route_of(r.Down, POST, "/v1/down", "Ends the cluster."),
    Route(
        POST, AUDIT, "Audit", "Judges what has happened so far, by Spark: a verdict.json. Takes some ten seconds.",
        body=Nothing, wait_s=AUDIT_WAIT_S,
    ),
    # --- links ---
    route_of(
        r.Status, GET, "/v1/faults", "Faults of links: those in force, and the last that were healed.", name="Faults",
        shape=lambda result: {"faults": result["faults"]},
    ),
    Route(
        POST, "/v1/faults", "BreakLinks", "A fault on links; `applied` has its `id`.", body=AnyLinkBody,
        make=lambda _inputs, body: link_fault(body), status=201,
        fields=lambda ask: body_of(ask.fault) if isinstance(ask, r.LinkFault) else None,
    ),
    Route(DELETE, "/v1/faults/{fault}", "HealFault", "Heals one.", _OfFault, make=_heal_one),
    route_of(r.Heal, DELETE, "/v1/faults", "Heals those that name every `place`, or of that `kind`; else all."),
    *PROTOCOL_FAULT_ROUTES,
    # --- machines: a node, all of an AZ (az-0) or of a pattern (broker-*), or several with commas ---
    *_machine_routes(),
    # --- topics ---
    route_of(r.DescribeTopic, GET, "/v1/topics", "Every topic.", name="Topics", without=("topic",)),
    route_of(r.CreateTopic, POST, "/v1/topics", "Creates a topic; done when every partition has a leader.", status=201),
    route_of(r.DescribeTopic, GET, "/v1/topics/{topic}", "One topic, as the session service and each broker has it."),
    route_of(r.AlterTopic, PATCH, "/v1/topics/{topic}", "Sets and removes settings of a topic."),
    route_of(r.DeleteTopic, DELETE, "/v1/topics/{topic}", "Deletes a topic; returns when every replica is deleted."),
    route_of(r.TopicOffsets, GET, "/v1/topics/{topic}/offsets", "First and last offsets of its partitions."),
    route_of(r.AddPartitions, POST, "/v1/topics/{topic}/partitions", "Sets the number of its partitions.", status=201),
    route_of(r.Produce, POST, "/v1/topics/{topic}/records", "Writes records; `attempts` has the outcome of each."),
    route_of(r.Consume, GET, "/v1/topics/{topic}/records", "Reads a partition from an offset on."),
    route_of(r.Reassign, POST, "/v1/reassignments", "Moves partitions to other brokers."),
    route_of(r.ElectPreferred, POST, "/v1/elections", "Elects preferred leaders."),
    # --- the quorum of KRaft ---
    route_of(r.AddController, POST, "/v1/voters", "Makes a running controller a voter.", status=201),
    route_of(r.RemoveController, DELETE, "/v1/voters/{controller}", "Takes a controller from the voters."),
    # --- settings ---
    route_of(r.DescribeSettings, GET, "/v1/settings", "Settings of brokers and topics, at their start and since."),
    route_of(
        r.AlterBroker, PATCH, "/v1/brokers", "Sets and removes settings of all brokers.", name="AlterBrokers",
        without=("broker",),
    ),
    route_of(r.AlterBroker, PATCH, "/v1/brokers/{broker}", "Sets and removes settings of a broker."),
    # --- workloads ---
    route_of(r.WorkloadStatus, GET, "/v1/workloads", "Counts so far, by client."),
    route_of(r.StartWorkload, POST, "/v1/workloads", "Starts producers and consumers.", status=201),
    route_of(r.StopWorkload, DELETE, "/v1/workloads/{name}", "Stops one."),
    route_of(r.StopWorkload, DELETE, "/v1/workloads", "Stops all.", name="StopWorkloads", without=("name",)),
)  # fmt: skip
