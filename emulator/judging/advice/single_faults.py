"""Single faults of a cluster, each at several moments of the scenario. Pure.

With three AZs broker-0 leads, broker-1 and broker-2 follow. With ZooKeeper broker-2 is the controller; in KRaft mode
the controllers elect one of them. `strike` (the fault) and `mend` (its end) are steps as in a scenario's file.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from emulator.judging.advice.advice_cluster import THREE_AZS, Cluster
from emulator.topology import broker_name

MOMENTS: Final = {
    "idle": "while no client writes",
    "load": "under load",
    "election": "as a new leader is elected",
    "restart": "as the followers come back from a crash",
    "alone": "while the followers are restarted and the leader is alone",
}
SLOW_MS: Final = 400
MARGIN_S: Final = 5.0

Step = dict[str, Any]


class Fault(msgspec.Struct, frozen=True):
    """One fault.

    `lasts_s`: from strike to mend. `ends`: nodes that it kills or pauses. `apart`: ZooKeeper servers that it separates
    from the others. `then`: the second fault of a pair. `further`: steps of the strike after the first one.
    """

    name: str
    text: str
    moment: str
    strike: Step
    mend: Step
    lasts_s: float = 0.0
    ends: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    then: "Then | None" = None
    further: tuple[Step, ...] = ()

    @property
    def struck(self) -> tuple[str, ...]:
        """Descriptions of the faults that strike."""
        return (self.text,) if self.then is None else (self.then.before, self.then.fault.text)


class Then(msgspec.Struct, frozen=True):
    """Second fault of a pair: `fault` strikes `gap_s` after the first one, called `before`.

    Both end when the second has lasted its time, the first before the second.
    """

    fault: Fault
    gap_s: float
    before: str


def single_faults(
    session_timeout_ms: float, request_timeout_ms: float, cluster: Cluster = THREE_AZS
) -> tuple[Fault, ...]:
    """All single faults.

    Each lasts longer than a broker's session, so that the session expires. A cut of clients lasts longer than the
    producers' `request_timeout_ms`, so that records are sent again, or to another leader.
    """
    lasts_s = session_timeout_ms / 1000.0 + MARGIN_S
    client_s = request_timeout_ms / 1000.0 + MARGIN_S
    found = (*_machines(cluster), *_azs(cluster, max(lasts_s, client_s)), *_links(cluster, client_s))
    return tuple(fault if fault.lasts_s else msgspec.structs.replace(fault, lasts_s=lasts_s) for fault in found)


def _alive_at(moment: str, cluster: Cluster) -> tuple[int, ...]:
    """Brokers that may be struck at that moment; none if it needs followers and has none."""
    leader, *followers = cluster.holders()
    if moment in ("idle", "load"):
        return cluster.brokers
    if not followers:
        return ()
    return tuple(one for one in cluster.brokers if one != leader) if moment == "election" else (leader,)


def _moments(cluster: Cluster, *moments: str) -> Iterator[str]:
    return (moment for moment in moments if _alive_at(moment, cluster))


def _machines(cluster: Cluster) -> Iterator[Fault]:
    for moment in MOMENTS:
        for broker in _alive_at(moment, cluster):
            name, own = f"broker-{broker}", _named(broker)
            yield _fault(f"{name} crashes", moment, {"kill": broker}, {"start": broker}, ends=own)
            yield _fault(f"{name} loses power", moment, {"power-loss": broker}, {"start": broker}, ends=own)
            if moment in ("load", "election"):
                yield _fault(f"{name} is paused", moment, {"pause": name}, {"resume": broker}, ends=own)
    for broker in cluster.holders():  # the other brokers write nothing
        slow: Step = {"slow-disk": {"node": broker, "operation_ms": SLOW_MS, "fsync_ms": SLOW_MS}}
        yield _fault(f"broker-{broker}'s disk is slow", "load", slow, {"slow-disk": broker})
        full: Step = {"disk-full": broker}
        yield _fault(f"broker-{broker}'s disk is full", "load", full, {"start": broker}, ends=_named(broker))
    for node in (*cluster.dedicated, *cluster.names("session")):
        yield _fault(f"{node} crashes", "load", {"kill": node}, {"start": node}, ends=(node,))
    if cluster.in_kraft and cluster.dedicated:
        yield from _controllers(cluster)


def _controllers(cluster: Cluster) -> Iterator[Fault]:
    """Faults of KRaft's dedicated controllers, besides the crash of one."""
    for node in cluster.dedicated:
        yield _fault(f"{node} loses power", "load", {"power-loss": node}, {"start": node}, ends=(node,))
        yield _fault(f"{node} is paused", "load", {"pause": node}, {"resume": node}, ends=(node,))
        first, *further = (_cut({"link": [node, place]}) for place in _all_others(cluster, node))
        fault = _fault(f"{node} is cut off", "load", first, {"heal": None})
        yield msgspec.structs.replace(fault, further=tuple(further))
    every = list(cluster.dedicated)
    for moment in _moments(cluster, "load", "election"):
        yield _fault("every controller crashes", moment, {"kill": every}, {"start": every}, ends=every)
    yield _fault("every controller loses power", "load", {"power-loss": {"node": every}}, {"start": every}, ends=every)


def _all_others(cluster: Cluster, node: str) -> tuple[str, ...]:
    """Places of all other nodes: the other AZs, and the other nodes of its own AZ."""
    topology = cluster.topology
    own = topology.node(node).az
    beside = (one.name for one in topology.in_az(own) if one.name != node)
    return (*beside, *(az for az in topology.azs if az != own))


def _azs(cluster: Cluster, cut_s: float) -> Iterator[Fault]:
    for az in cluster.topology.azs:
        nodes = cluster.servers_in(az)
        for moment in _moments(cluster, "idle", "load", "election", "restart"):
            if len(cluster.topology.azs) == 1:
                break  # there is no other AZ
            cut: Step = {"cut": {"az": az, "expects_traffic": False}}
            heal: Step = {"heal": {"az": az}}
            yield _fault(f"{az} is cut off", moment, cut, heal, lasts_s=cut_s, apart=_sessions(nodes))
        if nodes:
            yield _fault(f"{az} crashes", "load", {"kill": nodes}, {"start": nodes}, ends=nodes)
            yield _fault(f"{az} loses power", "load", {"power-loss": {"node": nodes}}, {"start": nodes}, ends=nodes)
    every = list(cluster.brokers)
    for moment in ("idle", "load"):
        own = _named(*every)
        yield _fault("every broker crashes", moment, {"kill": every}, {"start": every}, ends=own)
        yield _fault("every broker loses power", moment, {"power-loss": {"node": every}}, {"start": every}, ends=own)


def _links(cluster: Cluster, client_s: float) -> Iterator[Fault]:
    """Cuts between replica holders, of each broker, and of each client with the leader."""
    holders = cluster.holders()
    for one, other in ((one, other) for one in holders for other in holders if one != other):
        links: Step = {"from": one, "to": other}
        name = f"what broker-{one} sends to broker-{other} is lost"
        yield _fault(name, "load", _cut(links), {"heal": links})
    yield from _from_controllers(cluster) if cluster.in_kraft else _from_sessions(cluster)
    leader = broker_name(holders[0])
    for client in cluster.names("client"):
        for source, to in ((client, leader), (leader, client)):
            links = {"from": source, "to": to}
            name = f"what {source} sends to {to} is lost"
            yield _fault(name, "load", _cut(links), {"heal": links}, lasts_s=client_s)


def _from_sessions(cluster: Cluster) -> Iterator[Fault]:
    for broker in cluster.brokers:
        apart: Step = {"link": [broker, "session"]}
        name = f"broker-{broker} and the session service are cut apart"
        yield _fault(name, "load", _cut(apart), {"heal": apart})


def _from_controllers(cluster: Cluster) -> Iterator[Fault]:
    """An AZ loses the controllers of all other AZs: its broker is fenced and keeps serving."""
    voters = cluster.topology.with_role("controller")
    for az in cluster.topology.azs:
        others = [node.number for node in voters if node.az != az]
        if others and cluster.servers_in(az):
            cut: Step = {"cut-controllers": {"az": az, "controllers": others}}
            yield _fault(f"{az} loses the controllers of other AZs", "load", cut, {"heal": None})


def _cut(links: Step) -> Step:
    return {"cut": {**links, "expects_traffic": False}}


def _named(*brokers: int) -> tuple[str, ...]:
    return tuple(map(broker_name, brokers))


def _fault(
    text: str,
    moment: str,
    strike: Step,
    mend: Step,
    *,
    lasts_s: float = 0.0,
    ends: Iterable[str] = (),
    apart: tuple[str, ...] = (),
) -> Fault:
    words = text.replace("'s", "").replace("what ", "").lower().split()
    name = "-".join([*words, moment])
    return Fault(name, text, moment, strike, mend, lasts_s, tuple(ends), apart or _sessions(ends))


def _sessions(nodes: Iterable[str]) -> tuple[str, ...]:
    return tuple(node for node in nodes if node.startswith("session-"))
