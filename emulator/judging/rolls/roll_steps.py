"""Orders of a rolling restart, and one roll as the text of a scenario. Pure.

A node is stopped in order, and started again when its faults are over. The next one follows when every replica is in
sync. A client in each AZ writes and reads meanwhile.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from emulator.judging.advice.advice_cluster import Cluster
from emulator.judging.advice.advice_workload import RATE, TOPIC, started, text_of_steps
from emulator.judging.advice.single_faults import Step
from emulator.topology import broker_name

HEAD: Final = "# Written by faultline plan roll; play it with the settings under test.\n"
STEADY_S: Final = 6
PROTOCOL: Final = "inter.broker.protocol.version"


class Strike(msgspec.Struct, frozen=True):
    """A fault while the node of step `at` is down.

    `strike`, `mend`: steps as in a scenario's file.
    """

    at: int
    text: str
    strike: Step
    mend: Step
    lasts_s: float


class Roll(msgspec.Struct, frozen=True):
    """A roll: nodes in their order. `strike`: the fault during it, if any."""

    name: str
    text: str
    order: tuple[str, ...]
    strike: Strike | None = None


def orders(cluster: Cluster) -> tuple[Roll, ...]:
    """Possible orders: the leader last or first, dedicated controllers before or after brokers."""
    leader, *followers = cluster.holders()
    rest = [broker for broker in cluster.brokers if broker not in cluster.holders()]
    last = tuple(map(broker_name, (*rest, *followers, leader)))
    first = tuple(map(broker_name, (leader, *followers, *rest)))
    controllers = cluster.dedicated
    if not controllers:
        return (Roll("leader-last", "the leader last", last), Roll("leader-first", "the leader first", first))
    return (
        Roll("controllers-first", "controllers, then brokers, the leader last", (*controllers, *last)),
        Roll("brokers-first", "brokers, the leader last, then controllers", (*last, *controllers)),
        Roll("leader-first", "controllers, then brokers, the leader first", (*controllers, *first)),
    )


def strikes(roll: Roll, cluster: Cluster, session_s: float, client_s: float) -> Iterator[Roll]:
    """The roll with one fault while one of its nodes is down.

    Another broker with a replica or another controller loses its power, or the AZ of another node is cut off.
    """
    holders = [broker_name(broker) for broker in cluster.holders()]
    for at, node in enumerate(roll.order):
        for other in (*holders, *cluster.dedicated):
            if other != node:
                power = Strike(at, f"{other} loses power", {"power-loss": other}, {"start": other}, session_s)
                yield _struck(roll, node, power)
        own = cluster.topology.node(node).az
        for az in cluster.topology.azs:
            if az != own:
                cut: Step = {"cut": {"az": az, "expects_traffic": False}}
                yield _struck(roll, node, Strike(at, f"{az} is cut off", cut, {"heal": {"az": az}}, client_s))


def _struck(roll: Roll, node: str, strike: Strike) -> Roll:
    name = f"{node}-is-down-{strike.text.replace(' ', '-')}"
    return Roll(name, f"{node} is down, {strike.text}", roll.order, strike)


def roll_text(
    roll: Roll, cluster: Cluster, version: str, to: str, replicas: int, left_open: Mapping[str, Any]
) -> str:
    """The roll's scenario, from `version` to the version `to`, which may be the same.

    `left_open`: values that the user left to defaults and the scenario needs.
    """
    settings = {**cluster.settings, **left_open}
    if to != version and not cluster.in_kraft:
        settings.setdefault(PROTOCOL, version)
    steps = _steps(roll, cluster, version, to, replicas)
    return HEAD + text_of_steps(roll.name, roll.text, version, cluster, settings, steps)


def _steps(roll: Roll, cluster: Cluster, version: str, to: str, replicas: int) -> Iterator[Step]:
    yield from started(cluster)
    yield {"create-topic": {"topic": TOPIC, "assignment": list(cluster.holders(replicas))}}
    yield {"workload": {"name": "clients", "rate": RATE, "client_version": version}}
    yield {"sleep": STEADY_S}
    for at, node in enumerate(roll.order):
        start: Step = {"start": node if to == version else {"node": node, "kafka_version": to}}
        yield {"stop": node}
        if roll.strike is not None and roll.strike.at == at:
            yield roll.strike.strike
            yield {"background": "back", **start}
            yield {"sleep": roll.strike.lasts_s}
            yield roll.strike.mend
            yield {"await": "back"}
        else:
            yield start
        yield {"wait": {"until": "isr restored", "limit_s": 60, "may_time_out": True}}
        yield {"sleep": 1}
        if roll.strike is not None and roll.strike.at == at:
            break
    yield {"sleep": 2}
    yield {"stop-workload": {"limit_s": 60}}
    yield {"settle": {"quiet_s": 1, "limit_s": 20}}
