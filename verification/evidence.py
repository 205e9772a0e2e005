"""Whether a verdict is ever better than its evidence: audits of runs with changed events.

    python -m verification.evidence [N]

A short simulated run (a leader cut off, healed, a broker killed, a quiescent end: every check has data) is changed in N
ways (`changed_evidence`) with a known loss. Half are judged by the scenario's expectations, so that the unchanged run
is valid; half without expected violations, so that it is not. Many changed runs are one Spark job. Also, no check may
report a violation for missing evidence without naming the gap.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from audit.audited_run import audit_runs
from audit.expected import Expected, expected_of
from audit.warm_spark import own_session
from benchmarks.figure_records import Figure, show, write
from emulator.exit_codes import BROKEN, HELD
from emulator.runs.directory import prepare, write_simulated
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.runs.simulated import play
from emulator.runs.verdict_file import Valid, Verdict
from emulator.toplevel_errors import ended
from verification import RESULTS
from verification.changed_evidence import changes
from verification.changed_run import GONE, KEPT, Change, Files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHANGES = 5_000
AT_ONCE = 250
RUN = "evidence"
SEED = 1
SCENARIO = """
id: evidence
title: a leader is cut off and goes on, and a broker is killed
kafka: [2.6]
topology:
  nodes:
    broker-0: {az: az-0, process.roles: [broker, controller]}
    broker-1: {az: az-1, process.roles: [broker, controller]}
    broker-2: {az: az-2, process.roles: [broker, controller]}
    session-0: {az: az-1, process.roles: [session]}
    client-0: {az: az-1, process.roles: [client]}
settings:
  zookeeper.session.timeout.ms: 6000
  replica.lag.time.max.ms: 6000
  request.timeout.ms: 6000
  replica.socket.timeout.ms: 6000
  auto.leader.rebalance.enable: false
  offsets.topic.num.partitions: 1
steps:
  - start: 2
  - start: 1
  - start: 0
  - create-topic: {topic: t, assignment: [0, 1, 2]}
  - create-topic: {topic: __consumer_offsets, assignment: [1, 2, 0]}
  - produce: {broker: 0, values: [a, b], acks: all}
  - commit: {group: g, offset: 1, client: az-1}
  - cut: {az: 0}
  - wait: new leader
  - produce: {broker: 0, values: [c], acks: 1}
  - produce: {broker: 1, values: [d], acks: 1}
  - heal
  - wait: isr restored
  - kill: 2
  - sleep: 8
  - start: 2
  - wait: isr restored
  - produce: {broker: 1, values: [e], acks: all}
  - sleep: 1
  - fetch: {broker: 1, offset: 0}
  - committed: {group: g, client: az-1}
  - produce: {broker: 1, values: [f], acks: all}
  - sleep: 40
expectations: []
expects_violations:
  - {check: lost-acknowledged, because: c was acknowledged by a leader that the cluster had replaced}
  - {check: dual-leader, because: the old leader takes c}
"""


def base_run(folder: Path) -> Path:
    """The run that is changed: its directory, in `folder`."""
    script = folder / "evidence.yaml"
    script.write_text(SCENARIO, encoding="utf-8")
    resolved = resolve(find_scenario(str(script)))
    played = play(resolved, SEED)
    run = folder / RUN
    prepare(run)
    write_simulated(run, resolved, SEED, played.world, played.observations)
    return run


def files_of(run: Path) -> Files:
    """Its event files, taken apart."""
    return {
        path.name: [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
        for path in sorted((run / "events").iterdir())
    }


def write_changed(change: Change, folder: Path) -> Path:
    """A run's directory in `folder` with only its events: the expectations are known."""
    events = folder / RUN / "events"
    events.mkdir(parents=True)
    for name, lines in change.files.items():
        text = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
        (events / name).write_bytes(text[: len(text) - change.tail.get(name, 0)])
    return folder / RUN


class Judged(msgspec.Struct, frozen=True):
    """A changed run. `before`: the verdict of the run as it was."""

    change: Change
    before: Verdict
    after: Verdict

    @property
    def wrong(self) -> str:
        """Reason why the verdict contradicts the evidence, "" if it does not."""
        was, now = self.before.valid, self.after.valid
        if self.change.taken == KEPT and now != was:
            return f"{now}, and nothing is missing: {self.after.unknown_because}"
        if self.change.taken == GONE and (now is True or (now is was and _found(self.before) == _found(self.after))):
            return f"{now}, and evidence is missing"
        if now is True and was is not True:
            return f"valid, and was {was}"
        better = [
            name
            for name, check in self.before.checks.items()
            if check.verdict == "violated" and self.after.checks[name].verdict == "held" and now is not False
        ]
        if better and now != "unknown":
            return f"held, and were violated: {', '.join(better)}"
        accused = [
            name
            for name, check in self.after.checks.items()
            if check.verdict == "violated" and self.before.checks[name].verdict != "violated" and not check.reason
        ]
        accused = accused if self.change.taken == GONE else []
        return f"violated without a word of what is missing: {', '.join(accused)}" if accused else ""


def _found(verdict: Verdict) -> dict[str, tuple[str, int]]:
    return {name: (check.verdict, check.count) for name, check in verdict.checks.items()}


def judged(
    spark: SparkSession, run: Path, some: Sequence[Change], folder: Path, *, at_once: int = AT_ONCE
) -> Iterator[Judged]:
    """Every change: one half by the scenario's expectations, one half without any."""
    as_played = expected_of(run)
    strict = msgspec.structs.replace(as_played, violations={}, judge=None, all_violations=False)
    scratch = str(folder / "scratch")
    twice = [shutil.copytree(run, folder / "as it was" / half / RUN) for half in ("played", "strict")]
    wanted = {twice[0]: as_played, twice[1]: strict}
    played, unexpected = audit_runs(spark, twice, scratch=scratch, expected=wanted.__getitem__)
    before = (played, unexpected)
    valid: tuple[Valid, Valid] = (before[0].valid, before[1].valid)
    assert valid == (True, False), (valid, [verdict.unknown_because for verdict in before])
    for begin in range(0, len(some), at_once):
        part = some[begin : begin + at_once]
        with tempfile.TemporaryDirectory(dir=folder) as name:
            runs = [write_changed(change, Path(name) / str(number)) for number, change in enumerate(part)]
            halves = {path: number % 2 for number, path in enumerate(runs)}

            def expected(path: Path, halves: dict[Path, int] = halves) -> Expected:
                return (as_played, strict)[halves[path]]

            for number, verdict in enumerate(audit_runs(spark, runs, scratch=scratch, expected=expected)):
                yield Judged(part[number], before[number % 2], verdict)


def main(number: int = CHANGES) -> list[Figure]:
    """Findings and time."""
    with tempfile.TemporaryDirectory(prefix="faultline-") as name:
        folder = Path(name).resolve()
        run = base_run(folder)
        files = files_of(run)
        events = sum(map(len, files.values()))
        some = list(islice(changes(files, SEED), number))
        found: Counter[str] = Counter()
        wrong: list[str] = []
        with own_session(folder / "spark") as spark:
            began = time.perf_counter()
            for one in judged(spark, run, some, folder):
                found[f"{one.change.kind}, {one.change.taken}: {one.before.valid} -> {one.after.valid}"] += 1
                if one.wrong:
                    wrong.append(f"{one.change.kind}, {one.change.what}: {one.wrong}")
                    print(wrong[-1], file=sys.stderr, flush=True)
            took_s = time.perf_counter() - began
    figures = [
        Figure(line=f"changed runs with a verdict better than their evidence, of {number:,}", value=len(wrong),
               unit="runs", target=0),
    ]  # fmt: skip
    more: dict[str, object] = {"changes": number, "events": events, "took_s": round(took_s, 1), "wrong": wrong}
    write("evidence", figures, more | {"found": dict(sorted(found.items()))}, results=RESULTS)
    return figures


def alone() -> int:
    """`python -m verification.evidence [N]`."""
    figures = main(int(sys.argv[1]) if len(sys.argv) > 1 else CHANGES)
    show(figures)
    return HELD if figures[0].met else BROKEN


if __name__ == "__main__":
    sys.exit(ended("verification.evidence", alone))
