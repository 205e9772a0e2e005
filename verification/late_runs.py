"""`python -m verification.late_runs [--late N] [--minutes M]`: late runs wrongly accepted.

Plays scenarios with real processes, several clusters at once, until N runs were late or M minutes are over. A load
beside them makes timers late, yet seldom another outcome; `--stalls R` does: R times a second one of their processes, a
node or the command itself, stands still for up to a second, as on a machine with an overcommitted CPU. Each run is
audited as usual. A separate method, leaf by leaf and with the allowances of recordings, determines which late ones
equal a recording or a simulated seed: accepted runs must be among them, and runs that equal none must stay unknown.
Printed and written to verification/results/late_runs.json. Exit code 1 if one is accepted wrongly; 3 if no run was
late.
"""

import argparse
import contextlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random

import msgspec
import psutil

from audit.audited_run import audit_runs
from audit.warm_spark import own_session
from emulator.judging.lateness_check import SEEDS
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario, recordings_of
from emulator.runs.simulated import play
from emulator.runs.verdict_file import Verdict
from emulator.scenario.observations.comparable import Comparable, comparable
from emulator.scenario.observations.recording_comparison import compare_reduced
from emulator.scenario.observations.recording_files import load
from emulator.scenario.observations.recording_parsing import plain
from emulator.toplevel_errors import ended

RESULTS = Path(__file__).parent / "results" / "late_runs.json"
SCENARIOS = (
    "az-isolated-leader",
    "az-isolated-leader-acks-all",
    "az-isolated-controller",
    "az-isolated-follower",
    "leader-crash",
    "link-follower-leader",
)
VERSIONS = ("2.6", "2.8")
AT_ONCE = 4
"""Number of clusters at once: on two cores that suffices to make most runs late."""
STALL_S = (0.05, 1.0)
"""For so long a process stands still."""
BATCH = 12
RUN_LIMIT_S = 300.0


@contextlib.contextmanager
def load_beside(processes: int) -> Iterator[None]:
    """So many processes that do nothing, as fast as they can."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def stall(processes: Sequence[psutil.Process], draws: Random) -> None:
    """One of them stands still, and goes on. Raises NoSuchProcess if it ends meanwhile."""
    chosen = draws.choice([one for process in processes for one in (process, *process.children(recursive=True))])
    chosen.suspend()
    try:
        time.sleep(draws.uniform(*STALL_S))
    finally:
        chosen.resume()


def end_of(processes: Sequence[subprocess.Popen[bytes]], stalls_per_s: float, draws: Random) -> None:
    """Wait until they end or their time is over; meanwhile halt them now and then."""
    until_s = time.monotonic() + RUN_LIMIT_S
    while (running := [one for one in processes if one.poll() is None]) and time.monotonic() < until_s:
        time.sleep(draws.expovariate(stalls_per_s) if stalls_per_s else 0.1)
        if stalls_per_s:
            with contextlib.suppress(psutil.NoSuchProcess):
                stall([psutil.Process(one.pid) for one in running], draws)
    for process in processes:
        process.kill()
        process.wait()


def played(numbers: Sequence[int], folder: Path, given: argparse.Namespace) -> list[Path]:
    """Those runs, AT_ONCE at a time; one that did not come to its end is left out."""
    done: list[Path] = []
    for begin in range(0, len(numbers), given.at_once):
        runs: list[tuple[subprocess.Popen[bytes], Path]] = []
        for number in numbers[begin : begin + given.at_once]:
            scenario = SCENARIOS[number % len(SCENARIOS)]
            version = VERSIONS[number // len(SCENARIOS) % len(VERSIONS)]
            directory = folder / f"{number}-{scenario}@{version}"
            words = [sys.executable, "-m", "emulator", "run", scenario, "--kafka-version", version, "--audit", "none"]
            words += ["--seed", str(number + 1), "--speed", f"{given.speed:g}", "--out", str(directory)]
            runs.append((subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL), directory))
        end_of([process for process, _ in runs], given.stalls, Random(numbers[begin]))
        for _, directory in runs:
            if (directory / "observations.json").is_file():
                done.append(directory)
    return done


class Punctual:
    """Outcomes of a scenario's recordings and seeds; plays seeds on demand."""

    def __init__(self, scenario: str, version: str) -> None:
        self._resolved = resolve(find_scenario(scenario), version)
        self._seeds = iter(range(1, SEEDS + 1))
        self._known = [comparable(load(path)) for path in recordings_of(scenario, version)]

    def shows(self, run: Comparable) -> bool:
        """As `faultline compare` would say."""
        if any(not compare_reduced(run, one) for one in self._known):
            return True
        for seed in self._seeds:
            outcome = comparable(plain(play(self._resolved, seed).observations))
            if all(compare_reduced(outcome, one) for one in self._known):
                self._known.append(outcome)
                if not compare_reduced(run, outcome):
                    return True
        return False


punctual = cache(Punctual)


def equals_any(directory: Path) -> bool:
    """A recording or a seed."""
    scenario, version = directory.name.partition("-")[2].split("@")
    return punctual(scenario, version).shows(comparable(load(directory / "observations.json")))


def judged(verdict: Verdict, directory: Path) -> tuple[str, str]:
    """(kind of run, evidence that accepts it)."""
    late = any(reason.startswith("timers were later") for reason in verdict.unknown_because)
    if not late and not verdict.vouched_by:
        return "otherwise unknown" if verdict.unknown_because else "punctual", ""
    equal = "equal" if equals_any(directory) else "different"
    if verdict.vouched_by:
        return f"late, {equal}, vouched for", verdict.vouched_by.partition(" ")[0]
    others = len(verdict.unknown_because) > 1
    return f"late, {equal}, {'unknown, for other reasons, too' if others else 'unknown'}", ""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--late", type=int, default=200, help="until so many runs were late")
    parser.add_argument("--minutes", type=float, default=60.0, help="or so long")
    parser.add_argument("--speed", type=float, default=5.0)
    parser.add_argument("--load", type=int, default=0, help="processes that are busy beside the clusters")
    parser.add_argument("--at-once", type=int, default=AT_ONCE, help="clusters")
    parser.add_argument("--stalls", type=float, default=0.0, help="how many a second")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the file that is written")
    given = parser.parse_args(arguments)
    began_s, number = time.monotonic(), 0
    kinds: Counter[str] = Counter()
    by: Counter[str] = Counter()
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="faultline-late-") as name:
        folder = Path(name)
        (scratch := folder / "scratch").mkdir()
        with own_session(folder / "spark") as spark:
            while sum(n for kind, n in kinds.items() if kind.startswith("late")) < given.late:
                if time.monotonic() - began_s > given.minutes * 60.0:
                    break
                with load_beside(given.load):
                    runs = played(range(number, number + BATCH), folder, given)
                number += BATCH
                for verdict, directory in zip(audit_runs(spark, runs, scratch=str(scratch)), runs, strict=True):
                    kind, what = judged(verdict, directory)
                    kinds[kind] += 1
                    by[what] += bool(what)
                    if kind == "late, different, vouched for":
                        wrong.append(f"{directory.name}: vouched for by {verdict.vouched_by}")
                    shutil.rmtree(directory)
                print(msgspec.json.encode(dict(sorted(kinds.items()))).decode(), flush=True)
    late = sum(n for kind, n in kinds.items() if kind.startswith("late"))
    summary = {
        "runs": sum(kinds.values()),
        "late": late,
        "kinds": dict(sorted(kinds.items())),
        "vouched_for_by": dict(+by),
        "wrongly": wrong,
        "speed": given.speed,
        "load": given.load,
        "at_once": given.at_once,
        "stalls_per_s": given.stalls,
        "minutes": round((time.monotonic() - began_s) / 60.0, 1),
    }
    print(msgspec.json.format(msgspec.json.encode(summary)).decode())
    given.results.write_bytes(msgspec.json.format(msgspec.json.encode(summary)) + b"\n")
    if wrong:
        return 1
    return 0 if late else 3


if __name__ == "__main__":
    sys.exit(ended("verification.late_runs", main))
