"""A fault as the text of a scenario, in which a client in each AZ writes and reads."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from emulator.judging.advice.advice_cluster import THREE_AZS, Cluster
from emulator.judging.advice.single_faults import MOMENTS, Fault, Step
from emulator.topology import KRAFT, three_azs

TOPIC: Final = "advice"
RATE: Final = 2
"""Rate of each client in records per second."""
HEAD: Final = "# Written by faultline advise; play it with the settings under test.\n"


def scenario_text(
    fault: Fault, version: str, replicas: int, settings: Mapping[str, Any], cluster: Cluster = THREE_AZS
) -> str:
    """The scenario's text.

    `settings`: values that the user left to defaults and the scenario needs.
    """
    steps = _steps(fault, version, replicas, cluster)
    title = f"{fault.text} {MOMENTS[fault.moment]}"
    return HEAD + text_of_steps(fault.name, title, version, cluster, {**cluster.settings, **settings}, steps)


def text_of_steps(
    name: str, title: str, version: str, cluster: Cluster, settings: Mapping[str, Any], steps: Iterable[Step]
) -> str:
    """The text of a scenario on a cluster. `settings`: of all its nodes."""
    lines = [
        f"id: {name}",
        f"title: {_json(title)}",
        f"kafka: [{_json(version)}]",
        *topology_lines(cluster),
        f"settings: {_json(settings)}",
        *([f"settings_by_broker: {_json(cluster.by_broker)}"] if cluster.by_broker else []),
        "steps:",
        *(f"  - {_json(step)}" for step in steps),
    ]
    return "\n".join(lines) + "\n"


def topology_lines(cluster: Cluster) -> Iterator[str]:
    """The topology; none for three AZs, a scenario's default in its metadata mode."""
    default = THREE_AZS.topology
    if cluster.in_kraft:
        yield "metadata: kraft"
        default = three_azs(metadata=KRAFT)
    if cluster.topology == default:
        return
    yield "topology:"
    yield "  nodes:"
    for node in cluster.topology.nodes:
        if node.az:
            yield f"    {node.name}: {_json({'az': node.az, 'process.roles': node.roles})}"


def started(cluster: Cluster) -> Iterator[Step]:
    """Start dedicated controllers, then brokers, the last replica holder first."""
    for node in cluster.dedicated:
        yield {"start": node}
    holders = cluster.holders()
    for broker in (*reversed(holders), *(one for one in cluster.brokers if one not in holders)):
        yield {"start": broker}


def _steps(fault: Fault, version: str, replicas: int, cluster: Cluster) -> Iterator[Step]:
    """All steps; clients have the brokers' version, as the user's clients are unknown."""
    leader, *followers = cluster.holders()
    yield from started(cluster)
    yield {"create-topic": {"topic": TOPIC, "assignment": list(cluster.holders(replicas))}}
    load = {"workload": {"name": "clients", "rate": RATE, "client_version": version}}
    yield load
    yield {"sleep": 6}
    match fault.moment:
        case "idle":
            yield {"stop-workload": {"name": "clients", "limit_s": 10}}
            yield {"sleep": 1}
        case "election":
            yield {"kill": leader}
            yield {"wait": {"until": "new leader", "limit_s": 40, "may_time_out": True}}
        case "restart":
            yield {"kill": followers}
            yield {"sleep": fault.lasts_s}
            yield {"background": "back", "start": followers}
            yield {"wait": {"until": {"registered": followers}, "limit_s": 30, "may_time_out": True}}
        case "alone":
            for follower in followers:
                yield {"stop": [follower]}
            yield {"sleep": 4}
    yield from (fault.strike, *fault.further)
    if fault.then is not None:
        if fault.then.gap_s:
            yield {"sleep": fault.then.gap_s}
        yield from (fault.then.fault.strike, *fault.then.fault.further)
    if fault.moment == "alone":
        yield {"background": "back", "start": followers}
    yield {"sleep": fault.lasts_s}
    yield from _mended(fault, leader, cluster)
    if fault.moment == "idle":
        yield {"workload": {"name": "clients-again", "rate": RATE, "client_version": version}}
    limit = {"until": "isr restored", "limit_s": 60, "may_time_out": True}
    yield {"wait": limit}
    yield {"sleep": 3}
    yield {"stop-workload": {"limit_s": 60}}
    yield {"settle": {"quiet_s": 1, "limit_s": 20}}


def _mended(fault: Fault, leader: int, cluster: Cluster) -> Iterator[Step]:
    sessions = len(cluster.names("session"))
    if fault.then is not None:
        yield from _in_order([fault.mend, fault.then.fault.mend], fault)
    elif sessions and 2 * len(fault.apart) >= sessions:
        yield from _in_order([fault.mend], fault)
    else:
        yield fault.mend
    if fault.moment in ("restart", "alone"):
        yield {"await": "back"}
    if fault.moment == "election":
        yield {"start": leader}


def _in_order(mends: Iterable[Step], fault: Fault) -> Iterator[Step]:
    """Mends in a safe order: links, ZooKeeper servers or dedicated controllers, brokers.

    A broker finds its own registration and exits, if it returns to a ZooKeeper server that was separated, or while most
    of them are missing, so that no session expires.
    """
    late: list[Step] = []
    for step in mends:
        if "start" not in step:
            yield step
            continue
        nodes = step["start"] if isinstance(step["start"], list) else [step["start"]]
        sessions = [node for node in nodes if str(node).startswith(("session-", "controller-"))]
        if sessions:
            yield {"start": sessions}
        if brokers := [node for node in nodes if node not in sessions]:
            late.append({"start": brokers})
    if late and fault.apart:
        yield {"sleep": fault.lasts_s}
    yield from late


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
