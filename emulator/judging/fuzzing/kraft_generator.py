"""Draws a scenario of a KRaft cluster, with faults of controllers and brokers.

The controllers are apart from the brokers, or combined with them.
"""

import random
from typing import Any

from msgspec.structs import replace

from emulator.judging.fuzzing.fault_generator import SPACE
from emulator.judging.fuzzing.fault_tables import fault_tables
from emulator.judging.fuzzing.generator import (
    JUDGED_LAG_MS,
    LAGS,
    OWN,
    OWN_SHARE,
    SAFE,
    SELDOM_KINDS,
    SETTLE_S,
    SPARE_S,
    TIMEOUT_MS,
    faults_drawn,
    started_order,
    workload_drawn,
)
from emulator.judging.fuzzing.kraft_faults import VOTERS_MIN
from emulator.judging.fuzzing.schedule import TOPIC, at_once, cluster_of
from emulator.judging.fuzzing.transaction_generator import with_transactions
from emulator.scenario import scenario_model as m
from emulator.topology import KRAFT, broker_name, three_azs
from protocol.gates import gates_for
from protocol.ids import BrokerId

KRAFT_SAFE: dict[str, Any] = {name: value for name, value in SAFE.items() if not name.startswith("zookeeper.")}
"""Settings that forbid the loss of a record with acks=all while disks keep their contents."""
KRAFT_CHOSEN: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("broker.session.timeout.ms", (9_000, 9_000, 6_000)),
    ("broker.heartbeat.interval.ms", (2_000, 1_000)),
    ("auto.leader.rebalance.enable", (False, True)),
    ("leader.imbalance.check.interval.seconds", (300, 10)),
    ("replica.high.watermark.checkpoint.interval.ms", (1_000, 5_000)),
)
"""Settings drawn among values with equal promises."""
VOTERS = (3, 3, 3, 1, 5)
COMBINED_SHARE = 0.3
AZS = 3
VOTERS_SINCE, SNAPSHOTS_SINCE = 3, 3
"""First versions of the table of fault types with voters that change, and with snapshots."""
VOTERS_SHARE = 0.35
FURTHER_CONTROLLERS = (1, 1, 2)
"""Controllers that do not vote at first."""
SNAPSHOTS_SHARE = 0.35
SNAPSHOTS: dict[str, Any] = {
    "metadata.log.max.record.bytes.between.snapshots": 2_000,
    "metadata.max.retention.bytes": 10_000,
}
"""Snapshots within a minute, and a log that is deleted below them."""


def kraft_drawn(
    seed: int,
    number: int,
    version: str,
    fixed: dict[str, Any],
    by_broker: dict[int, dict[str, Any]] | None = None,
    space: int = SPACE,
    transactions: bool = False,
) -> m.Scenario:
    """A scenario. Arguments as of `generator.drawn`."""
    draw = random.Random(f"fuzz kraft {seed} {number}")
    brokers = draw.choice((2, 3, 3, 3, 4))
    combined = draw.random() < COMBINED_SHARE
    voters = min(brokers, draw.choice((1, 3, 3))) if combined else draw.choice(VOTERS)
    changes = (
        space >= VOTERS_SINCE
        and not combined
        and gates_for(version, metadata=KRAFT).kraft_version_max > 0
        and draw.random() < VOTERS_SHARE
    )
    if changes:
        voters = VOTERS_MIN + draw.choice(FURTHER_CONTROLLERS)
    topology = three_azs(brokers, clients=1, azs=AZS, controllers=voters, metadata=KRAFT, combined=combined)
    if changes:
        topology = replace(topology, initial_controllers=tuple(topology.voters.values())[:VOTERS_MIN])
    chosen = dict(draw.choice(LAGS))
    chosen |= {name: draw.choice(values) for name, values in KRAFT_CHOSEN}
    if space >= SNAPSHOTS_SINCE and draw.random() < SNAPSHOTS_SHARE:
        chosen |= SNAPSHOTS
    replicas = draw.randint(2, brokers)
    partitions = draw.choice((1, 1, 2))
    assignment = tuple(tuple(map(BrokerId, draw.sample(range(brokers), replicas))) for _ in range(partitions))
    first = started_order(draw, brokers, assignment)
    if combined:
        first.sort(key=lambda broker: broker >= voters)  # the quorum first, or nothing is ready
    controllers = [node.name for node in topology.with_role("controller") if "broker" not in node.roles]
    steps: list[m.AnyStep] = [at_once([m.Start(node=name) for name in controllers])] if controllers else []
    steps.append(at_once([m.Start(node=broker_name(broker)) for broker in first]))
    configs = dict(OWN) if draw.random() < OWN_SHARE else {}
    steps += [m.CreateTopic(topic=TOPIC, assignment=assignment, configs=configs), workload_drawn(draw, version)]
    own = {broker: dict(given) for broker, given in (by_broker or {}).items() if broker < brokers}
    scenario = m.Scenario(
        id=f"fuzz-{seed}-{number}",
        title=f"drawn from seed {seed}, number {number}",
        kafka=(version,),
        topology=topology,
        settings={**KRAFT_SAFE, "producer.retry.backoff.ms": 1_000, **chosen, **fixed},
        settings_by_broker=own,
        steps=tuple(steps),
    )
    if transactions:
        scenario = with_transactions(scenario, draw, version, fixed)
    cluster = cluster_of(scenario, alters=gates_for(version).settings_change_while_running, space=space)
    usual, some, sequences = fault_tables(cluster)
    kinds = {**usual, **{name: some[name] for name in draw.sample(sorted(some), draw.randint(*SELDOM_KINDS))}}
    faults = faults_drawn(draw, cluster, kraft_settle_s(scenario), kinds, sequences)
    return replace(scenario, steps=(*scenario.steps, *faults))


def kraft_settle_s(scenario: m.Scenario) -> float:
    """Time with writes after the healing."""
    lag_ms = int(scenario.settings["replica.lag.time.max.ms"])
    if lag_ms > JUDGED_LAG_MS:
        return SETTLE_S
    session_ms = int(scenario.settings["broker.session.timeout.ms"])
    return (2 * lag_ms + session_ms + TIMEOUT_MS) / 1000.0 + SPARE_S
