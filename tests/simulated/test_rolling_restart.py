"""A rolling restart of six brokers in three AZs on slow links.
Every broker registers again (semantics 5.2, 11.10).

An orderly stop closes the broker's session, and waits for the close's answer. A kill does not: the broker's znode stays
until its session has expired. A start before that fails to register, as Kafka's does; 0.8.2 waits and tries again.
"""

import random
from collections.abc import Sequence
from typing import Any, Literal

import pytest

from emulator.machines.node.broker_node import BrokerNode
from emulator.worlds.simulated.latencies import CALM, ROUGH
from protocol.events import NodeStopped
from protocol.kinds import ExitKind
from protocol.versions import LADDER
from tests.simulated.cluster import Cluster

pytestmark = pytest.mark.slow

BROKERS = tuple(range(6))
SEEDS = 2
"""Of each version and way, in this suite."""
Way = Literal["stop", "kill"]


SESSION_MS = 18_000
"""zookeeper.session.timeout.ms, as 2.5 has it.
A client leaves a third of it to each attempt to connect, which takes four ways on slow links and a vote of the
ensemble: with the 6 s of older defaults, 500 ms a way are too much.
"""


def slow_links(draw: random.Random) -> str:
    """An AZ's, those between two AZs, or a broker's to the session service.
    1 to 500 ms each way.
    """
    delay_ms = round(draw.uniform(1.0, 500.0), 1)
    jitter_ms = round(draw.choice([0.0, draw.uniform(0.0, 500.0 - delay_ms)]), 1)
    places = [f"az: {draw.randrange(3)}", f"link: [{draw.randrange(6)}, session]", "link: [az-0, az-1]"]
    return f"{draw.choice(places)}, delay_ms: {delay_ms}, jitter_ms: {jitter_ms}"


def script(way: Way, slow: str, order: Sequence[int]) -> str:
    steps = [f"- start: {broker}" for broker in BROKERS]
    steps += ["- create-topic: {topic: t, assignment: [[0, 1, 2], [3, 4, 5], [5, 0, 4]]}"]
    steps += [f"- delay: {{{slow}, expects_traffic: false}}"]
    for broker in order:
        steps.append(f"- {way}: {broker}")
        if way == "kill":
            steps.append(f"- wait: {{until: {{session_expired: {broker}}}, limit_s: 60}}")
        steps.append(f"- start: {broker}")
        steps.append(f"- wait: {{until: {{registered: [{broker}]}}, limit_s: 60}}")
    return "\n" + "\n".join(f"  {step}" for step in steps) + "\n"


def rolled(version: str, way: Way, seed: int, session_ms: int = SESSION_MS) -> Cluster:
    """The whole of it; every step of the script was done."""
    draw = random.Random(seed)
    settings: dict[str, Any] = {"zookeeper.session.timeout.ms": session_ms}
    text = script(way, slow_links(draw), draw.sample(BROKERS, len(BROKERS)))
    cluster = Cluster(
        text,
        version=version,
        seed=seed,
        latencies=draw.choice((CALM, ROUGH)),
        topology="{brokers: 6}",
        **settings,
    )
    cluster.run(max_ms=3_600_000.0)
    cluster.go_on(10_000.0)  # the last one's registration has been seen, its answer may be on its way
    return cluster


def unregistered(cluster: Cluster) -> list[str]:
    """Unrequested ends of brokers, and brokers unregistered in their present session."""
    wrong = []
    for name, *_, event in cluster.world.trace.entries:
        if isinstance(event, NodeStopped) and event.kind is not ExitKind.REQUESTED:
            wrong.append(f"{name}: {event.reason}")
    for broker in BROKERS:
        machine = cluster.world.nodes[f"broker-{broker}"].machine
        if not isinstance(machine, BrokerNode) or machine._registered_in != machine.session.session_id:
            wrong.append(f"broker-{broker} is not registered")
    return wrong


@pytest.mark.parametrize("way", ["stop", "kill"])
@pytest.mark.parametrize("version", LADDER)
def test_every_broker_registers_again(version: str, way: Way) -> None:
    for seed in range(1, SEEDS + 1):
        cluster = rolled(version, way, seed)
        assert cluster.finished and not unregistered(cluster), (seed, unregistered(cluster))
