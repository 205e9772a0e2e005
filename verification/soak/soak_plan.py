"""Options of a soak. All times are the scenario's: at speed 2 a minute takes half a minute."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from emulator.runs.deployment_options import Driver, Engine

TOPIC = "soak"
PARTITIONS = 6
REPLICAS = 3
VALUE_BYTES = 100
TOPIC_SETTINGS = {"min.insync.replicas": 2}
REQUEST_TIMEOUT_MS = 5_000
DELIVERY_TIMEOUT_MS = 30_000
"""delivery.timeout.ms of producers.

Kafka's default, 120 s, is longer than the time between cuts: then no operation would be outside the cuts.
"""
PRODUCER_SETTINGS = {"request.timeout.ms": REQUEST_TIMEOUT_MS, "delivery.timeout.ms": DELIVERY_TIMEOUT_MS}
SESSION_TIMEOUT_S = 6.0
"""The session time-out of three-az: a node that was cut off for longer must register again."""


class SoakOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`rate`: records per second of all producers together, half of them idempotent."""

    minutes: float = 60.0
    rate: float = 500.0
    cut_every_s: float = 60.0
    cut_for_s: float = 15.0
    speed: float = 1.0
    engine: Engine = "process"
    driver: Driver = "nodes"
    topology: str = "three-az"
    out: Path | None = None

    @property
    def margin_s(self) -> float:
        """Time after a heal in which an operation may still suffer from the cut.

        A TCP that has backed off during the cut retries, at the latest, after as long as it was cut: its pauses double.
        A broker that was away for longer than the session's time-out registers then, and receives its role.
        """
        return self.cut_for_s + SESSION_TIMEOUT_S

    @property
    def outside_share(self) -> float:
        """Of the time, in which no cut can be felt."""
        return max(0.0, 1.0 - (self.cut_for_s + self.margin_s) / self.cut_every_s)

    def problem(self) -> str:
        """Reason why it is impossible; "" if it is possible."""
        if not 0 < self.minutes <= 24 * 60:
            return f"--minutes {self.minutes:g}: more than 0, at most a day (1440)"
        if not 1 <= self.rate <= 100_000:
            return f"--rate {self.rate:g}: from 1 to 100000 records per second"
        if not 0 < self.cut_for_s < self.cut_every_s:
            return f"--cut-for-s {self.cut_for_s:g}: more than 0, less than --cut-every-s {self.cut_every_s:g}"
        if self.outside_share <= 0:
            return (
                f"--cut-every-s {self.cut_every_s:g}: a cut of {self.cut_for_s:g} s is felt for "
                f"{self.cut_for_s + self.margin_s:g} s, so nothing would be outside the cuts"
            )
        return ""


class PlannedCut(msgspec.Struct, frozen=True):
    """One cut of an AZ. `begins_s`: from the workload's start."""

    az: str
    begins_s: float
    duration_s: float


def planned_cuts(options: SoakOptions, azs: list[str]) -> Iterator[PlannedCut]:
    """Cuts of AZs in turn.

    The first comes after half of the interval, so that there is a time before; each ends, with its effects, before the
    run does.
    """
    begins_s, turn = options.cut_every_s / 2, 0
    while begins_s + options.cut_for_s + options.margin_s <= options.minutes * 60.0 + 1e-9:
        yield PlannedCut(azs[turn % len(azs)], begins_s, options.cut_for_s)
        begins_s += options.cut_every_s
        turn += 1
