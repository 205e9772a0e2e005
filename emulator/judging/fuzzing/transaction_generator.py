"""Draws the transactions of a schedule: producers, transforms, settings of their clients.

The rest of the schedule is drawn as without transactions.
"""

import random
from typing import Any, Final

from msgspec.structs import replace

from emulator.judging.fuzzing.schedule import COORDINATED, LOAD, TOPIC
from emulator.scenario import scenario_model as m
from emulator.topology import Node, Topology
from protocol.gates import gates_for
from protocol.ids import BrokerId
from protocol.versions import since

OUTPUT: Final = "o"
"""Topic that transformed records are written to."""
GROUPS_TOPIC: Final = "__consumer_offsets"
COPIES_MAX: Final = 3
CLIENTS: Final = (1, 2, 2)
"""Numbers of clients, one in each AZ."""
SETTINGS: Final[dict[str, Any]] = {
    "transaction.state.log.num.partitions": 1,
    "transaction.state.log.min.isr": 2,
    "offsets.topic.num.partitions": 1,
    "group.initial.rebalance.delay.ms": 1_000,
}
REQUEST_TIMEOUTS_MS: Final = (2_000, 5_000, 30_000)
DELIVERY_TIMEOUTS_MS: Final = (500, 5_000, 120_000)
"""Beyond the request's time-out."""
DELIVERY_TIMEOUT_SINCE: Final = "2.1"
TRANSACTION_TIMEOUTS_MS: Final = (8_000, 15_000, 60_000)
BLOCK_MS: Final = (10_000, 60_000)
RECORDS: Final = (1, 2, 3, 5, 5)
"""Records of a transaction."""
RATES_PER_S: Final = (0.2, 0.5, 1, 2)
ABORTED: Final = (0.0, 0.5, 0.5)
TRANSFORMS: Final = 0.5
"""Share of schedules with a consume-transform-produce loop."""
FORMER_CLIENTS: Final = 0.2
"""Share of schedules with older producers, where brokers have transaction version 2."""
FORMER_VERSION: Final = "3.9"
SHARED: Final = 0.15
"""Share of schedules whose clients share a transactional id: the last one fences others."""


def with_transactions(scenario: m.Scenario, draw: random.Random, version: str, fixed: dict[str, Any]) -> m.Scenario:
    """The scenario up to its workload, with transactional clients.

    `fixed`: settings that are not drawn. Raises ValueError for a version without transactions.
    """
    if not gates_for(version).transactions:
        raise ValueError(f"Kafka {version} has no transactions; they begin with 0.11")
    brokers = len(scenario.topology.with_role("broker"))
    replicas = min(COPIES_MAX, brokers)
    topology = _with_clients(scenario.topology, draw.choice(CLIENTS))
    transforms = draw.random() < TRANSFORMS
    created = [_topic(draw, COORDINATED, 1, brokers, replicas), _topic(draw, GROUPS_TOPIC, 1, brokers, replicas)]
    if transforms:
        created.append(_topic(draw, OUTPUT, draw.choice((1, 2)), brokers, min(brokers, 2)))
    settings = {**scenario.settings, **SETTINGS, "transaction.state.log.replication.factor": replicas}
    settings["offsets.topic.replication.factor"] = replicas
    head = [step for step in scenario.steps if not isinstance(step, m.Workload)]
    steps = (*head, *created, *_workloads(draw, version, transforms))
    return replace(scenario, topology=topology, settings={**settings, **fixed}, steps=steps)


def _with_clients(topology: Topology, clients: int) -> Topology:
    """The topology with so many clients, in AZs of their own as far as there are so many."""
    *nodes, last = topology.nodes
    azs = sorted({node.az for node in nodes})
    more = [Node(f"client-{number}", ("client",), number, azs[number]) for number in range(1, min(clients, len(azs)))]
    return replace(topology, nodes=(*nodes, *more, last))


def _topic(draw: random.Random, name: str, partitions: int, brokers: int, replicas: int) -> m.CreateTopic:
    rows = (draw.sample(range(brokers), replicas) for _ in range(partitions))
    assignment = tuple(tuple(map(BrokerId, row)) for row in rows)
    return m.CreateTopic(topic=name, assignment=assignment, configs={"min.insync.replicas": 2})


def _workloads(draw: random.Random, version: str, transforms: bool) -> list[m.AnyStep]:
    """Producers of the topic, and perhaps a loop that reads it."""
    client_version = draw.choice((version, version, version, ""))
    if gates_for(version).transaction_version > 1 and draw.random() < FORMER_CLIENTS:
        client_version = FORMER_VERSION
    settings = _producer(draw, version)
    shared = draw.random() < SHARED
    isolated = {"isolation.level": "read_committed", "auto.offset.reset": "earliest"}
    steps: list[m.AnyStep] = [
        m.Workload(
            name=LOAD,
            topic=TOPIC,
            rate_per_s=draw.choice(RATES_PER_S),
            client_version=client_version,
            settings={**settings, "transactional.id": LOAD} if shared else settings,
            consumer_settings=isolated,
            consumers=not transforms or draw.random() < 0.5,
            transactional_id="" if shared else LOAD,
            records_per_transaction=draw.choice(RECORDS),
            abort_ratio=draw.choice(ABORTED),
        )
    ]
    if transforms:
        steps.append(
            m.Workload(
                name="x",
                topic=TOPIC,
                client_version=client_version,
                settings=settings,
                consumer_settings={
                    **isolated, "session.timeout.ms": 6_000, "heartbeat.interval.ms": 1_000,
                    "max.poll.interval.ms": 10_000,
                },
                producers=False,
                group="x",
                output=OUTPUT,
                transactional_id="x",
                records_per_transaction=draw.choice(RECORDS),
            )
        )  # fmt: skip
    return steps


def _producer(draw: random.Random, version: str) -> dict[str, Any]:
    """Settings of the producers; the default time-outs of the clients among them."""
    request_ms = draw.choice(REQUEST_TIMEOUTS_MS)
    settings: dict[str, Any] = {
        "request.timeout.ms": request_ms,
        "transaction.timeout.ms": draw.choice(TRANSACTION_TIMEOUTS_MS),
        "max.block.ms": draw.choice(BLOCK_MS),
        "retry.backoff.ms": 500,
    }
    further_ms = draw.choice(DELIVERY_TIMEOUTS_MS)
    if since(version, DELIVERY_TIMEOUT_SINCE):
        settings["delivery.timeout.ms"] = request_ms + further_ms
    return settings
