"""The run: a cluster as of `faultline up`, workloads in every AZ, AZs cut and healed.

At its end every record has ended and every replica has caught up.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from emulator.cli.command_options import UpOptions
from emulator.cli.commands.live_up import prepared
from emulator.cluster import control_requests as r
from emulator.cluster.cluster_registry import Found
from emulator.cluster.control_client import ask
from emulator.cluster.ending import end
from emulator.cluster.launch import launch
from emulator.cluster.specification import LiveSpec, read_specification
from emulator.faults.link_words import parse
from emulator.topology import broker_name
from verification.soak.process_memory import Memory, Sample
from verification.soak.soak_plan import (
    DELIVERY_TIMEOUT_MS,
    PARTITIONS,
    PRODUCER_SETTINGS,
    REPLICAS,
    TOPIC,
    TOPIC_SETTINGS,
    VALUE_BYTES,
    PlannedCut,
    SoakOptions,
    planned_cuts,
)
from verification.soak.soak_verdict import Counts, Cut

ANSWER_S = 10.0
TOPIC_LIMIT_S = 30.0
STOP_LIMIT_S = DELIVERY_TIMEOUT_MS / 1000.0 + 30.0
SETTLE_LIMIT_S = 90.0
"""Real seconds, as all limits here."""
LOOK_S = 0.25
SAMPLE_EVERY_S = 2.0
TELL_EVERY_S = 2.0

Tell = Callable[[str], None]


class NotDone(Exception):
    """A command was not carried out: one line."""


class Played(msgspec.Struct):
    """Result of the run.

    `reported`: the clients' own counts. `read`: by all consumers. `in_sync`: {partition: brokers, the leader first} at
    the end. `idempotent`: prefix of such producers' values. `hours`: real, of the workload. `ended`: the cluster's end.
    """

    run: Path
    spec: LiveSpec
    cuts: list[Cut]
    planned: int
    samples: dict[str, list[Sample]]
    reported: Counts = msgspec.field(default_factory=Counts)
    read: int = 0
    in_sync: dict[str, list[str]] = {}
    unsettled: str = ""
    idempotent: list[str] = []
    hours: float = 0.0
    ended: str = ""


def play(options: SoakOptions, run: Path, tell: Tell) -> Played:
    """Play; no process is left afterwards. Raises NotDone, NotUp, and exceptions of `prepared`."""
    directory, _ = prepared(
        UpOptions(engine=options.engine, driver=options.driver, name=run.name, speed=options.speed, out=run),
        options.topology,
    )
    tell("starting the cluster")
    found = launch(directory)
    try:
        soak = _Soak(options, found, tell)
        soak.run()
    finally:
        ended = end(found)
    soak.played.ended = ended.how
    return soak.played


class _Soak:
    def __init__(self, options: SoakOptions, found: Found, tell: Tell) -> None:
        self._options = options
        self._found = found
        self._tell = tell
        spec = read_specification(found.directory)
        self._memory = Memory(found, spec)
        self._azs = sorted({node.az for node in spec.run.topology.with_role("broker")})
        self._cuts = list(planned_cuts(options, self._azs))
        self._cut: PlannedCut | None = None
        self._heal_s = 0.0
        """Scenario seconds at which the present cut ends, counted from its late application."""
        self._status: dict[str, Any] = {}
        self.played = Played(found.directory, spec, [], len(self._cuts), self._memory.series)

    def run(self) -> None:
        self._do(
            r.CreateTopic(TOPIC, partitions=PARTITIONS, replicas=REPLICAS, settings=dict(TOPIC_SETTINGS)), TOPIC_LIMIT_S
        )
        clients = len(self.played.spec.run.topology.with_role("client"))
        for name, idempotent in (("plain", False), ("idempotent", True)):
            load = r.StartWorkload(
                name,
                TOPIC,
                rate_per_s=self._options.rate / (2 * clients),
                idempotent=idempotent,
                value_bytes=VALUE_BYTES,
                settings=dict(PRODUCER_SETTINGS),
                consumers=not idempotent,  # one consumer in each AZ reads everything
            )
            values = self._do(load)["values"]
            if idempotent:
                self.played.idempotent = sorted(values.values())
        self._watch()
        self._stop()
        self._settle()

    # --- while it goes on ---

    def _watch(self) -> None:
        """Cuts, heals, samples and tells, each when it is due.

        On a slow machine a cut begins late, lasts as long as planned, and the workload goes on for its margin.
        """
        options = self._options
        began = time.monotonic()
        ends_s = options.minutes * 60.0 / options.speed
        cuts = list(self._cuts)
        sample_s = tell_s = 0.0
        while (at_s := time.monotonic() - began) < ends_s or cuts or self._cut is not None:
            scenario_s = at_s * options.speed
            if self._cut is not None and scenario_s >= self._heal_s:
                self._heal()
                ends_s = max(ends_s, time.monotonic() - began + options.margin_s / options.speed)
                tell_s = at_s
            elif self._cut is None and cuts and scenario_s >= cuts[0].begins_s:
                self._cut = cuts.pop(0)
                self._do(r.LinkFault(parse(["cut", self._cut.az])))
                self._heal_s = (time.monotonic() - began) * options.speed + self._cut.duration_s
                tell_s = at_s
            if at_s >= sample_s:
                self._memory.sample(at_s)
                sample_s = at_s + SAMPLE_EVERY_S
            if at_s >= tell_s:
                self._tell(self._progress(at_s, ends_s))
                tell_s = at_s + TELL_EVERY_S
            time.sleep(LOOK_S)
        self.played.hours = (time.monotonic() - began) / 3600.0

    def _heal(self) -> None:
        assert self._cut is not None
        (healed,) = self._do(r.Heal([self._cut.az]))["healed"]
        self.played.cuts.append(Cut(self._cut.az, healed["asked_ms"], healed["healed_ms"], healed["frames_stopped"]))
        self._cut = None

    def _progress(self, at_s: float, ends_s: float) -> str:
        with suppress(NotDone):  # the next look will do
            self._status = self._do(r.WorkloadStatus(), 1.0)
        total = self._status.get("total", {})
        highest = max(((of[-1].mib, name) for name, of in self._memory.series.items() if of), default=(0.0, ""))
        cut = f", {self._cut.az} is cut" if self._cut is not None else ""
        return (
            f"{_clock(at_s)} of {_clock(ends_s)}: sent {total.get('sent', 0):,}, acknowledged {total.get('ok', 0):,}, "
            f"unknown {total.get('unknown', 0):,}, {len(self.played.cuts)} of {self.played.planned} cuts{cut}, "
            f"most memory {highest[0]:.1f} MiB ({highest[1]})"
        )

    # --- the end ---

    def _stop(self) -> None:
        """Every record ends."""
        self._tell("waiting for what is under way")
        stopped = self._do(r.StopWorkload(), STOP_LIMIT_S)
        if stopped["silent"]:
            raise NotDone(f"stop of the workloads: no word from {', '.join(stopped['silent'])}")
        for of_client in stopped["clients"].values():
            for report in of_client["workloads"]:
                if report["kind"] == "consume":
                    self.played.read += report["read"]
                    continue
                for name in self.played.reported.__struct_fields__:
                    setattr(self.played.reported, name, getattr(self.played.reported, name) + report[name])

    def _settle(self) -> None:
        """Until every replica is in sync and has all that its leader has."""
        self._tell("waiting for the replicas")
        deadline = time.monotonic() + SETTLE_LIMIT_S
        while True:
            topic = self._do(r.DescribeTopic(TOPIC))["topics"][TOPIC]
            ends = {name: _ends(views) for name, views in self._do(r.Status())["partitions"].items()}
            apart = [
                f"{TOPIC}-{it['partition']}"
                for it in topic
                if sorted(it["isr"]) != sorted(it["replicas"])
                or len(ends[f"{TOPIC}-{it['partition']}"]) != len(it["replicas"])
                or len({*ends[f"{TOPIC}-{it['partition']}"].values()}) != 1
            ]
            if not apart or time.monotonic() >= deadline:
                break
            time.sleep(LOOK_S)
        if apart:
            self.played.unsettled = f"not all replicas of {', '.join(apart)} caught up in {SETTLE_LIMIT_S:g} s"
        self.played.in_sync = {
            f"{TOPIC}-{it['partition']}": [
                broker_name(broker) for broker in sorted(it["isr"], key=lambda one: (one != it["leader"], one))
            ]
            for it in topic
        }

    def _do(self, what: r.ControlRequest, wait_s: float = ANSWER_S) -> dict[str, Any]:
        answer = ask(self._found.registration, what, wait_s)
        if answer.code != 0:
            raise NotDone(f"{type(what).__name__}: {answer.error}")
        return answer.result


def _ends(views: dict[str, dict[str, Any]]) -> dict[str, tuple[int, int]]:
    """{broker: (log end, high watermark)}"""
    return {broker: (view["log_end"], view["high_watermark"]) for broker, view in views.items()}


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
