"""Requests to a cluster and their results, common to `Cluster` and `AsyncCluster`. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from emulator.cluster import control_requests as r
from emulator.exit_codes import UNKNOWN
from emulator.faults.link_fault_kinds import KINDS, LINK_FAULTS, Recovery, RuleError, of_kind
from emulator.faults.link_rule_building import one_of, picked
from emulator.faults.link_words import links_in, listed
from faultline.errors import Refused
from protocol.ids import BrokerId
from protocol.link_rules import LinkFaultKind

Setting = str | int | float | bool


def link_fault(
    kind: LinkFaultKind,
    places: Sequence[str],
    only: Sequence[str] = (),
    client_id: str = "",
    recovery: Recovery = "rto",
    **amounts: float,
) -> r.LinkFault:
    """A fault on links, as a request. `amounts`: by their names over HTTP. Raises Refused."""
    try:
        names = {one.encode_name: one.name for one in LINK_FAULTS[one_of("fault", kind, KINDS)].own_fields()}
        purposes, apis = picked(listed(",".join(only)))
        fault = of_kind(
            kind, links=links_in(kind, places), purposes=purposes, apis=apis,
            client_ids=listed(client_id), recovery=recovery,
            **{names[one_of(f"amount of {kind}", name, list(names))]: amount for name, amount in amounts.items()},
        )  # fmt: skip
        fault.check()
    except (RuleError, TypeError) as error:
        raise Refused(str(error)) from error
    return r.LinkFault(fault)


def machine(
    fault: str,
    nodes: Sequence[str],
    batches_kept: int = r.SYNCED,
    directory: str = "",
    given: Mapping[str, float] | None = None,
) -> r.Machine:
    """A fault of machines, as a request. Raises Refused."""
    if not nodes:
        raise Refused(f"{fault}: no nodes; give a node such as broker-0, an AZ, or a pattern such as broker-*")
    return r.Machine(fault, list(nodes), batches_kept, directory, given=dict(given or {}))


def create_topic(
    name: str,
    partitions: int,
    replicas: int,
    assignment: Sequence[Sequence[int]],
    settings: Mapping[str, Setting] | None,
) -> r.CreateTopic:
    own = dict(settings or {})
    if not assignment:
        return r.CreateTopic(name, partitions=partitions, replicas=replicas, settings=own)
    return r.CreateTopic(name, [[BrokerId(broker) for broker in one] for one in assignment], settings=own)


def done(answer: r.Answer) -> dict[str, Any]:
    """Result of a response. Raises Refused."""
    if answer.code != 0:
        raise Refused(answer.error, unknown=answer.code == UNKNOWN)
    return answer.result


def rule_of(result: Mapping[str, Any]) -> str:
    """Name of a link fault that was applied."""
    return str(result["applied"][0]["id"])
