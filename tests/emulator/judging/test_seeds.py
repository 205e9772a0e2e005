"""Many seeds: equal outcomes as of recordings, and failures of one seed or process."""

import multiprocessing
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from emulator.judging.campaigns.campaign_runs import CampaignOptions, CampaignWorker, play_runs
from emulator.judging.campaigns.row import Row
from emulator.judging.campaigns.space import Space
from emulator.runs.cores import ProcessLost
from emulator.runs.resolve import Resolved, resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.runs.simulated import play
from emulator.scenario.observations.recording_files import load
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.slow


def campaign(scenario: str, version: str, seeds: range) -> CampaignOptions:
    space = Space(scenario=scenario, kafka_version=version, first_seed=seeds.start, seeds=len(seeds))
    return CampaignOptions(space)


def results_of(scenario: str, version: str, seeds: range) -> list[Row]:
    worker = CampaignWorker(campaign(scenario, version, seeds))
    return [worker.play(number) for number in range(len(seeds))]


def test_seeds_that_equal_the_same_recording_have_the_same_outcome() -> None:
    by_recording: dict[tuple[str, tuple[str, ...]], set[str]] = {}
    for result in results_of("az-isolated-controller", "2.8", range(1, 21)):
        by_recording.setdefault((result.recording, result.races), set()).add(result.outcome)
    assert len(by_recording) == 2, "both outcomes of the race are met within 20 seeds"
    assert all(len(outcomes) == 1 for outcomes in by_recording.values())


def test_the_shape_of_a_trace_leaves_times_and_the_seed_out() -> None:
    """The same play, told with other times, digests and session ids, has the same shape."""
    trace = play(resolve(find_scenario("az-isolated-follower"), "2.8"), 1).world.trace
    shape = trace.shape()
    trace.entries = [
        (node, incarnation, seq, cause, at_ms * 2, _other(event))
        for node, incarnation, seq, cause, at_ms, event in trace.entries
    ]
    assert trace.shape() == shape
    trace.entries[40], trace.entries[41] = trace.entries[41], trace.entries[40]
    assert trace.shape() != shape


def _other(event: Any) -> Any:
    changed = {name: getattr(event, name) + 17 for name in ("digest", "session") if hasattr(event, name)}
    return msgspec.structs.replace(event, **changed)


def test_closing_ends_all_processes() -> None:
    """As an interrupt does, in the middle of it."""
    playing = play_runs(campaign("az-isolated-follower", "2.6", range(1, 1001)), range(1000), processes=2)
    next(playing)
    assert len(multiprocessing.active_children()) == 2
    playing.close()
    assert multiprocessing.active_children() == []


def test_only_a_process_of_one_thread_is_forked() -> None:
    """A fork copies the locks that other threads hold."""
    second_thread = "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()"
    requested = "from emulator.runs.cores import processes_made_by; print(processes_made_by())"
    reported = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout.strip()
        for code in (requested, f"{second_thread}; {requested}")
    ]
    assert reported == ["fork", "spawn"]


def test_every_seed_leaves_observations_and_verdict(tmp_path: Path) -> None:
    space = Space(scenario="az-isolated-follower", kafka_version="2.6", first_seed=3)
    CampaignWorker(CampaignOptions(space, keep=str(tmp_path))).play(0)
    assert sorted(path.name for path in (tmp_path / "3").iterdir()) == ["observations.json", "verdict.json"]
    assert load(tmp_path / "3" / "observations.json").scenario == "az-isolated-follower"


def test_a_seed_that_fails_is_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(resolved: Resolved, seed: int, **_: Any) -> None:
        raise AssertionError("a bug of ours")

    monkeypatch.setattr("emulator.judging.judged.play_and_judge", broken)
    [result] = results_of("az-isolated-follower", "2.6", range(8, 9))
    assert (result.seed, result.code, result.error) == (8, 70, "AssertionError: a bug of ours")


def test_a_killed_process_is_reported_and_not_waited_for() -> None:
    """By the kernel, say, when memory runs out."""
    results = play_runs(campaign("az-isolated-leader", "2.6", range(1, 501)), range(500), processes=2)
    next(results)
    others = multiprocessing.active_children()
    others[0].kill()
    with pytest.raises(ProcessLost, match="was killed"):
        list(results)
    assert multiprocessing.active_children() == []


def test_processes_do_not_outlive_their_killed_parent() -> None:
    code = """
import multiprocessing, os
from emulator.judging.campaigns.campaign_runs import CampaignOptions, play_runs
from emulator.judging.campaigns.space import Space
space = Space(scenario="az-isolated-leader", kafka_version="2.6", seeds=500)
results = play_runs(CampaignOptions(space), range(500), processes=2)
next(results)
print(*(child.pid for child in multiprocessing.active_children()), flush=True)
os.kill(os.getpid(), 9)
"""
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as it:
        assert it.stdout is not None
        children = [int(word) for word in it.stdout.readline().split()]  # its end comes with the last of them
        assert (it.wait(PATIENCE_S), len(children)) == (-9, 2)
    _gone, alive = psutil.wait_procs([psutil.Process(pid) for pid in children if psutil.pid_exists(pid)], PATIENCE_S)
    assert alive == []
