"""One run: two producers in the AZ to cut off, two outside it.

The leader of both topics is in that AZ.
"""

import random
import time
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

import faultline
from verification.listener_cuts.application import Reports, Writer, log_of

VERSIONS: Final = ("1.1", "2.0", "2.6", "2.8")
"""Those of tests/kafka_clients that have idempotent producers."""
AZS: Final = 3
SETTINGS: Final[dict[str, Any]] = {"zookeeper.session.timeout.ms": 4_000, "replica.lag.time.max.ms": 4_000}
SETTLE_LIMIT_S: Final = 90.0
QUICK, SAFE = "quick", "safe"
"""The topics: written with acks=1, and with acks=all by idempotent producers."""
WITNESS: Final = "witness.json"


class Plan(msgspec.Struct, frozen=True):
    """Values drawn from the seed. `az`: the AZ to cut off; times in s."""

    seed: int
    version: str
    az: int
    before_s: float
    cut_s: float
    after_s: float
    recovery: Literal["rto", "instant"]
    per_s: float


class Witness(msgspec.Struct):
    """The application's final account. `logs`: {topic: (offset, value) of each record}."""

    plan: Plan
    reports: list[Reports]
    logs: dict[str, list[tuple[int, str]]]
    settled: bool


def plan_of(seed: int) -> Plan:
    chance = random.Random(seed)
    return Plan(
        seed=seed,
        version=chance.choice(VERSIONS),
        az=chance.randrange(AZS),
        before_s=round(chance.uniform(0.2, 2.5), 3),
        cut_s=round(chance.uniform(1.0, 9.0), 3),
        after_s=round(chance.uniform(0.1, 2.0), 3),
        recovery=chance.choice(("rto", "instant")),
        per_s=round(chance.uniform(3.0, 25.0), 1),
    )


def play(plan: Plan, directory: Path) -> Witness:
    """Leaves the run at `directory`, with the application's account in WITNESS."""
    inside, outside = f"az-{plan.az}", f"az-{(plan.az + 1) % AZS}"
    with faultline.Cluster(kafka_version=plan.version, settings=SETTINGS, directory=directory) as cluster:
        replicas = [(plan.az + number) % AZS for number in range(AZS)]
        for topic in (QUICK, SAFE):
            cluster.create_topic(topic, assignment=[replicas])
        writers = [
            Writer(cluster.bootstrap_servers(az), f"{topic}-{side}", topic, acks, plan.seed + number, plan.per_s)
            for number, (topic, acks, side, az) in enumerate(
                (topic, acks, side, az)
                for topic, acks in ((QUICK, 1), (SAFE, -1))
                for side, az in (("inside", inside), ("outside", outside))
            )
        ]
        for writer in writers:
            writer.begin()
        try:
            time.sleep(plan.before_s)
            cluster.cut(inside, recovery=plan.recovery)
            time.sleep(plan.cut_s)
            cluster.heal()
            time.sleep(plan.after_s)
        finally:
            for writer in writers:
                writer.end()
        for writer in writers:
            writer.flush()
        settled = cluster.settle(SETTLE_LIMIT_S)
        logs = {topic: log_of(cluster.bootstrap_servers(), topic) for topic in (QUICK, SAFE)}
    witness = Witness(plan, [writer.reports for writer in writers], logs, settled)
    (directory / WITNESS).write_bytes(msgspec.json.encode(witness))
    return witness
