"""Draws a scenario from a seed and a number: brokers, a topic, writes, faults.

A drawn scenario has the form of those of the catalogue. At its end all faults are healed, and there is time to settle,
so that remaining damage is permanent. Faults come close to each other: most errors of replication need two or three
faults within a few seconds, and some separated replicas.
"""

import random
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from emulator.judging.fuzzing.fault_generator import SPACE, Fault
from emulator.judging.fuzzing.fault_tables import fault_tables
from emulator.judging.fuzzing.schedule import TOPIC, Cluster, Schedule, at_once, cluster_of
from emulator.judging.fuzzing.transaction_generator import with_transactions
from emulator.scenario import scenario_model as m
from emulator.topology import broker_name, three_azs
from protocol.gates import gates_for
from protocol.ids import BrokerId

BEGIN_S = 10.0
END_S = 52.0
"""Period of the faults, scenario seconds, between the cluster's start and the healing."""
REST_S = 12.0
"""Time from the last fault to the healing."""
SETTLE_S = 14.0
"""Time to settle with writes; an unsettled cluster gets more time, without writes."""
JUDGED_LAG_MS = 10_000
"""Maximum lag for a long settling time with writes.

Replicas with at most this lag get the longest time that anything may take in a quiescent period. Then unanswered
requests are judged, and copies are counted. Longer lags would need minutes.
"""
SPARE_S = 5.0
"""Time from the healing to the first traffic on the last link."""
TIMEOUT_MS = 30_000
"""Timeout of brokers' requests and connections."""
GAPS_S = ((0.1, 1.0), (1.0, 4.0), (6.0, 11.0))
"""Gaps between two faults: at once, before any session has expired, and after that."""
FAULTS = (3, 9)
SAFE: dict[str, Any] = {
    "zookeeper.session.timeout.ms": 6000,
    "min.insync.replicas": 2,
    "unclean.leader.election.enable": False,
    "auto.create.topics.enable": False,
    "offsets.topic.replication.factor": 1,
}
"""Settings that forbid the loss of a record with acks=all while disks keep their contents."""
LAGS: tuple[dict[str, Any], ...] = (
    {"replica.lag.time.max.ms": 4_000, "replica.fetch.wait.max.ms": 500},
    {"replica.lag.time.max.ms": 10_000, "replica.fetch.wait.max.ms": 500},
    {"replica.lag.time.max.ms": 10_000, "replica.fetch.wait.max.ms": 5_000},
    {"replica.lag.time.max.ms": 120_000, "replica.fetch.wait.max.ms": 500},
    {"replica.lag.time.max.ms": 120_000, "replica.fetch.wait.max.ms": 20_000},
    {"replica.lag.time.max.ms": 120_000, "replica.fetch.wait.max.ms": 20_000},
)
CHOSEN: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("auto.leader.rebalance.enable", (False, False, True)),
    ("replica.high.watermark.checkpoint.interval.ms", (1_000, 5_000)),
)
"""Settings drawn among values with equal promises."""
SELDOM_CHOSEN: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("log.flush.interval.messages", (1, 3)),
    ("log.segment.bytes", (2_000,)),
    ("controlled.shutdown.enable", (False,)),
    ("tickTime", (500, 2_000)),
    ("log.dirs", ("d0,d1",)),
)
"""The same; mostly left at their defaults."""
SELDOM_SHARE = 0.08
RETRY: dict[str, Any] = {"producer.retry.backoff.ms": 1_000}
"""The default retries ten times a second: half of all events would be refusals."""
PATIENT = {"zookeeper.session.timeout.ms": 20_000}
"""Setting of one broker in some runs: its session expires later than others."""
OWN = {"max.message.bytes": 500_000}
"""Setting of the topic in some runs."""
OWN_SHARE = 0.25
WITH_SEQUENCE = 0.55
SELDOM_KINDS = (0, 5)
"""Minimum and maximum count of seldom fault types in a schedule."""


def drawn(
    seed: int,
    number: int,
    version: str,
    fixed: dict[str, Any],
    by_broker: dict[int, dict[str, Any]] | None = None,
    space: int = SPACE,
    transactions: bool = False,
) -> m.Scenario:
    """A scenario. `fixed`, `by_broker`: given settings, which are not drawn.

    `number` also seeds the run. `space`: version of the table of fault types. `transactions`: of its clients.
    """
    draw = random.Random(f"fuzz {seed} {number}")
    brokers = draw.choice((2, 3, 3, 3, 4))
    sessions = draw.choice((1, 1, 1, 1, 3))
    azs = 3 if sessions == 3 else draw.choice((2, 3))
    topology = three_azs(brokers, sessions=sessions, clients=1, azs=min(brokers, azs))
    lag = draw.choice(LAGS)
    chosen = {} if fixed.keys() & lag.keys() else dict(lag)
    chosen |= {name: draw.choice(values) for name, values in CHOSEN}
    chosen |= {name: draw.choice(values) for name, values in SELDOM_CHOSEN if draw.random() < SELDOM_SHARE}
    replicas = draw.randint(2, brokers)
    partitions = draw.choice((1, 1, 2))
    assignment = tuple(tuple(map(BrokerId, draw.sample(range(brokers), replicas))) for _ in range(partitions))
    if sessions == 3 and draw.random() < 0.5:
        chosen["syncLimit"] = 30  # the ensemble notices late that it has lost its leader
    first = started_order(draw, brokers, assignment)
    own = {broker: dict(given) for broker, given in (by_broker or {}).items() if broker < brokers}
    if draw.random() < 0.4 and "zookeeper.session.timeout.ms" not in fixed:
        own.setdefault(first[0], dict(PATIENT))
    steps: list[m.AnyStep] = [at_once([m.Start(node=broker_name(broker)) for broker in first])]
    if draw.random() < 0.7:
        # One after another: the first one is the controller, whichever broker leads.
        steps = [m.Start(node=broker_name(broker)) for broker in first]
    configs = dict(OWN) if draw.random() < OWN_SHARE else {}
    steps += [m.CreateTopic(topic=TOPIC, assignment=assignment, configs=configs), workload_drawn(draw, version)]
    scenario = m.Scenario(
        id=f"fuzz-{seed}-{number}",
        title=f"drawn from seed {seed}, number {number}",
        kafka=(version,),
        topology=topology,
        settings={**SAFE, **RETRY, **chosen, **fixed},
        settings_by_broker=own,
        steps=tuple(steps),
    )
    if transactions:
        scenario = with_transactions(scenario, draw, version, fixed)
    cluster = cluster_of(scenario, alters=gates_for(version).settings_change_while_running, space=space)
    return replace(scenario, steps=(*scenario.steps, *_faults(draw, cluster, settle_s(scenario))))


def settle_s(scenario: m.Scenario) -> float:
    """Time with writes after the healing."""
    brokers = [scenario.settings, *(scenario.settings | own for own in scenario.settings_by_broker.values())]
    lag_ms, session_ms, request_ms, socket_ms = (
        max(int(given.get(name, default)) for given in brokers)
        for name, default in (
            ("replica.lag.time.max.ms", 30_000), ("zookeeper.session.timeout.ms", 18_000),
            ("request.timeout.ms", TIMEOUT_MS), ("replica.socket.timeout.ms", TIMEOUT_MS),
        )
    )  # fmt: skip
    if lag_ms > JUDGED_LAG_MS:
        return SETTLE_S
    return (2 * lag_ms + session_ms + max(request_ms, socket_ms)) / 1000.0 + SPARE_S


def started_order(draw: random.Random, brokers: int, assignment: tuple[tuple[BrokerId, ...], ...]) -> list[int]:
    """Order of starts; often a broker without replicas comes first, which only controls."""
    order = draw.sample(range(brokers), brokers)
    idle = [broker for broker in order if not any(broker in replicas for replicas in assignment)]
    if idle and draw.random() < 0.7:
        order.remove(idle[0])
        order.insert(0, idle[0])
    return order


def workload_drawn(draw: random.Random, version: str) -> m.Workload:
    idempotent = draw.random() < 0.15 and gates_for(version).record_magic > 1
    return m.Workload(
        name="w",
        topic=TOPIC,
        rate_per_s=draw.choice((0.5, 1, 2, 5)),
        consumers=draw.random() < 0.1,
        idempotent=idempotent,
    )


def _faults(draw: random.Random, cluster: Cluster, rest_s: float) -> list[m.AnyStep]:
    """Faults, and the steps that heal them."""
    usual, some, sequences = fault_tables(cluster)
    kinds = {**usual, **{name: some[name] for name in draw.sample(sorted(some), draw.randint(*SELDOM_KINDS))}}
    return faults_drawn(draw, cluster, rest_s, kinds, sequences)


def faults_drawn(
    draw: random.Random,
    cluster: Cluster,
    rest_s: float,
    kinds: Mapping[str, tuple[Fault, int]],
    sequences: Mapping[str, tuple[Fault, int]],
) -> list[m.AnyStep]:
    """Faults of these kinds and often a sequence, and the steps that heal them."""
    s = Schedule(draw, cluster, BEGIN_S)
    sequence: Fault | None = None
    if draw.random() < WITH_SEQUENCE:
        sequence = draw.choices([do for do, _ in sequences.values()], [weight for _, weight in sequences.values()])[0]
    count = draw.randint(*FAULTS) if sequence is None else draw.randint(0, FAULTS[0])
    when = draw.randint(0, min(2, count)) if sequence is not None else -1
    weights = [weight for _, weight in kinds.values()]
    faults = [do for do, _ in kinds.values()]
    for number in range(count + 1):
        s.later(*draw.choice(GAPS_S))
        if s.at_s > END_S:
            break
        if number == when and sequence is not None:
            sequence(s)
        elif number < count:
            draw.choices(faults, weights)[0](s)
    mend(s, rest_s)
    return s.steps


def mend(s: Schedule, rest_s: float) -> None:
    """Heal everything some time after the last fault, then rest for `rest_s`."""
    s.mend(min(END_S, s.at_s + REST_S), rest_s)
