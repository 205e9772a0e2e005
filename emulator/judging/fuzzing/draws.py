"""A scenario drawn from a seed and a number: how many brokers, a topic, writes, and what is done to nodes and links.

Everything drawn is a scenario like those of the catalogue. In the end all is mended, and there is time to settle, so
that what is broken then is broken for good. Faults come in the neighbourhood of each other: most of what is wrong with
replication needs two or three of them within a few seconds, and some replicas that are kept apart meanwhile.
"""

import random
from typing import Any

from msgspec.structs import replace

from emulator.judging.fuzzing.faults import SELDOM, USUAL, Fault
from emulator.judging.fuzzing.schedule import TOPIC, Cluster, Schedule, at_once, cluster_of
from emulator.judging.fuzzing.sequences import SEQUENCES
from emulator.scenario import model as m
from emulator.topology import broker_name, three_azs
from protocol.ids import BrokerId
from protocol.versions import gates_for

BEGIN_S = 10.0
END_S = 52.0
"""Of the faults, in the scenario's time: before them the cluster starts, after them it is mended."""
REST_S = 12.0
"""From the last fault to the mending."""
SETTLE_S = 14.0
"""With writes; who has not settled by then has more time, without."""
JUDGED_LAG_MS = 10_000
"""Replicas that may lag no longer are given all the time that anything may take in peace, with writes: then requests
without an answer are judged, and copies counted. With longer lags that would be minutes."""
SPARE_S = 5.0
"""From the mending until the first traffic of the last link."""
TIMEOUT_MS = 30_000
"""Of brokers' requests and connections."""
GAPS_S = ((0.1, 1.0), (1.0, 4.0), (6.0, 11.0))
"""Between two faults: at once, before anybody's session has expired, and after that."""
FAULTS = (3, 9)
SAFE: dict[str, Any] = {
    "zookeeper.session.timeout.ms": 6000,
    "min.insync.replicas": 2,
    "unclean.leader.election.enable": False,
    "auto.create.topics.enable": False,
    "offsets.topic.replication.factor": 1,
}
"""Under which nothing that all in sync have answered for may be lost while disks keep what they hold."""
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
"""Drawn among values with which the promises are the same."""
SELDOM_CHOSEN: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("log.flush.interval.messages", (1, 3)),
    ("log.segment.bytes", (2_000,)),
    ("controlled.shutdown.enable", (False,)),
    ("tickTime", (500, 2_000)),
    ("log.dirs", ("d0,d1",)),
)
"""The same; left to their defaults most of the time."""
SELDOM_SHARE = 0.08
RETRY: dict[str, Any] = {"producer.retry.backoff.ms": 1_000}
"""By default a producer asks ten times a second again: half of all that happens would be refusals."""
PATIENT = {"zookeeper.session.timeout.ms": 20_000}
"""Of one broker in some runs: it is missed later than others."""
OWN = {"max.message.bytes": 500_000}
"""What the topic says itself in some runs."""
OWN_SHARE = 0.25
WITH_SEQUENCE = 0.55
SELDOM_KINDS = (0, 5)
"""How many of those kinds of faults a schedule is drawn among."""


def drawn(
    seed: int, number: int, version: str, fixed: dict[str, Any], by_broker: dict[int, dict[str, Any]] | None = None
) -> m.Scenario:
    """`fixed`, `by_broker`: settings that are given, and not drawn. The run's own chance comes from `number`, too."""
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
        chosen["syncLimit"] = 30  # an ensemble that is slow to notice that it has lost its leader
    first = _started(draw, brokers, assignment)
    own = {broker: dict(given) for broker, given in (by_broker or {}).items() if broker < brokers}
    if draw.random() < 0.4 and "zookeeper.session.timeout.ms" not in fixed:
        own.setdefault(first[0], dict(PATIENT))
    steps: list[m.AnyStep] = [at_once([m.Start(node=broker_name(broker)) for broker in first])]
    if draw.random() < 0.7:
        # One after another: the first is the controller, whoever leads.
        steps = [m.Start(node=broker_name(broker)) for broker in first]
    configs = dict(OWN) if draw.random() < OWN_SHARE else {}
    steps += [m.CreateTopic(topic=TOPIC, assignment=assignment, configs=configs), _workload(draw, version)]
    scenario = m.Scenario(
        id=f"fuzz-{seed}-{number}",
        title=f"drawn from seed {seed}, number {number}",
        kafka=(version,),
        topology=topology,
        settings={**SAFE, **RETRY, **chosen, **fixed},
        settings_by_broker=own,
        steps=tuple(steps),
    )
    cluster = cluster_of(scenario, alters=gates_for(version).settings_change_while_running)
    return replace(scenario, steps=(*steps, *_faults(draw, cluster, settle_s(scenario))))


def settle_s(scenario: m.Scenario) -> float:
    """How long there are writes after the mending."""
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


def _started(draw: random.Random, brokers: int, assignment: tuple[tuple[BrokerId, ...], ...]) -> list[int]:
    """In which order. Often one without replicas comes first: it does nothing but control."""
    order = draw.sample(range(brokers), brokers)
    idle = [broker for broker in order if not any(broker in replicas for replicas in assignment)]
    if idle and draw.random() < 0.7:
        order.remove(idle[0])
        order.insert(0, idle[0])
    return order


def _workload(draw: random.Random, version: str) -> m.Workload:
    idempotent = draw.random() < 0.15 and gates_for(version).record_magic > 1
    return m.Workload(
        name="w",
        topic=TOPIC,
        rate_per_s=draw.choice((0.5, 1, 2, 5)),
        consumers=draw.random() < 0.1,
        idempotent=idempotent,
    )


def _faults(draw: random.Random, cluster: Cluster, rest_s: float) -> list[m.AnyStep]:
    """And what mends them."""
    s = Schedule(draw, cluster, BEGIN_S)
    kinds = {**USUAL, **{name: SELDOM[name] for name in draw.sample(sorted(SELDOM), draw.randint(*SELDOM_KINDS))}}
    sequence: Fault | None = None
    if draw.random() < WITH_SEQUENCE:
        sequence = draw.choices([do for do, _ in SEQUENCES.values()], [weight for _, weight in SEQUENCES.values()])[0]
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
    """Everything, some time after the last fault; and so long nothing is done any more."""
    s.mend(min(END_S, s.at_s + REST_S), rest_s)
