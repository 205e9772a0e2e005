"""Requests to a cluster and their results, common to `Cluster` and `AsyncCluster`. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from emulator.cluster import control_requests as r
from emulator.exit_codes import UNKNOWN
from faultline.errors import Refused
from protocol.ids import BrokerId

Setting = str | int | float | bool
Recovery = Literal["rto", "instant"]


def cut(places: Sequence[str], only: Sequence[str], client_id: str, recovery: Recovery) -> r.LinkFault:
    return _links("cut", [*places, "--recovery", recovery], only, client_id)


def hold(places: Sequence[str], only: Sequence[str], client_id: str) -> r.LinkFault:
    return _links("hold", places, only, client_id)


def delay(places: Sequence[str], ms: float, jitter_ms: float, only: Sequence[str], client_id: str) -> r.LinkFault:
    return _links("delay", [*places, f"{ms:g}ms", *([f"{jitter_ms:g}ms"] if jitter_ms else [])], only, client_id)


def loss(places: Sequence[str], share: float, only: Sequence[str], client_id: str) -> r.LinkFault:
    return _links("loss", [*places, f"{share:g}"], only, client_id)


def machine(fault: str, nodes: Sequence[str]) -> r.Machine:
    """A fault of machines, as a request. Raises Refused."""
    if not nodes:
        raise Refused(f"{fault}: no nodes; give a node such as broker-0, an AZ, or a pattern such as broker-*")
    return r.Machine(fault, list(nodes))


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


def _links(verb: str, words: Sequence[str], only: Sequence[str], client_id: str) -> r.LinkFault:
    frames = ["--only", ",".join(only)] if only else []
    return r.LinkFault([verb, *words, *frames, *(["--client-id", client_id] if client_id else [])])
