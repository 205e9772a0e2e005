"""`import faultline`: the interface for foreign programs and test suites."""

import os
import re
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

import faultline
from emulator.cli.commands.run_simulated import judge_into
from emulator.cluster.cluster_registry import registered
from emulator.faults.link_fault_kinds import LINK_FAULTS
from emulator.faults.machine_fault_kinds import LIVE_FAULTS
from emulator.scenario.player.steps import StepFailed
from faultline import audit_call, run_call
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.network
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("cluster", ["2.6"], indirect=True)
def test_faults_and_refusals_in_the_commands_own_words(cluster: faultline.Cluster) -> None:
    rule = cluster.cut("az-0", "az-1")
    assert [fault["id"] for fault in cluster.status()["faults"] if fault["healed"] is None] == [rule]
    cluster.heal(rule)
    cluster.delay("broker-0", "broker-1", delay_ms=5, jitter_ms=1)
    cluster.heal()
    assert all(fault["healed"] for fault in cluster.status()["faults"])
    with pytest.raises(faultline.Refused, match="az-9"):
        cluster.cut("az-9")
    with pytest.raises(faultline.Refused, match="AZs with clients: az-0, az-1, az-2"):
        cluster.bootstrap_servers("az-9")
    with pytest.raises(faultline.Refused, match="kill: no nodes"):
        cluster.kill()


@pytest.mark.parametrize("cluster", ["2.6"], indirect=True)
def test_every_fault_of_scenarios_has_a_method(cluster_to_break: faultline.Cluster) -> None:
    cluster = cluster_to_break
    for kind in LINK_FAULTS:
        assert hasattr(cluster, kind) or kind == "reset"
    assert [word for word in LIVE_FAULTS if not hasattr(cluster, word.replace("-", "_"))] == []
    assert cluster.bandwidth("az-0", bytes_per_s=10_000)
    rule = cluster.link_fault("reset", ["broker-0", "->", "broker-1"], every_ms=500)
    [reset] = [fault for fault in cluster.status()["faults"] if fault["id"] == rule]
    assert reset["rule"] == "reset broker-0 -> broker-1 500ms"
    refused: list[tuple[list[str], dict[str, Any], str]] = [
        (["az-0"], {"every": 1.0}, "no amount of reset 'every'; did you mean every_ms?"),
        (["az-0"], {"every_ms": 0.1}, "a reset is every 1 ms to a day, not 0.1 ms"),
        (["az-9"], {}, "no node or AZ 'az-9'; did you mean az-"),
        (["a", "b", "c"], {}, "reset takes PLACE, A B, A '->' B or opened_by A to B, not 'a b c'"),
    ]
    for places, amounts, why in refused:
        with pytest.raises(faultline.Refused, match=re.escape(why)):
            cluster.link_fault("reset", places, **amounts)
    cluster.slow_disk("broker-0", operation_ms=1.0)
    cluster.clock_jump("broker-*", jump_ms=5_000.0)
    cluster.disk_full("broker-2")
    cluster.power_loss("broker-1", batches_kept=0)
    cluster.lose_disk("broker-1")
    with pytest.raises(faultline.Refused, match="disk-error: no nodes"):
        cluster.disk_error()


def test_a_cluster_that_cannot_be_is_not_started(tmp_path: Path, state_home: Path) -> None:
    for about in ({"kafka_version": "0.8.2"}, {"kafka_version": "9.9"}, {"settings": {"no.such": 1}}):
        with pytest.raises(faultline.NotStarted), faultline.Cluster(directory=tmp_path / "run", **about):
            pass
    with pytest.raises(faultline.FaultlineError, match="does not run"):
        faultline.Cluster().status()


def test_it_dies_with_the_program(tmp_path: Path, state_home: Path) -> None:
    """No process of the cluster outlives the program, however it ends."""
    run = tmp_path / "run"
    program = f"import faultline\nwith faultline.Cluster(directory={str(run)!r}):\n  print('up', flush=True)\n  input()"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == b"up\n"
        found = registered(run)
        assert found is not None
        supervisor = psutil.Process(found.registration.pid)
        theirs = [supervisor, *supervisor.children(recursive=True)]
        os.kill(process.pid, signal.SIGKILL)
    _gone, left = psutil.wait_procs(theirs, 30.0)
    assert left == []


WITHOUT_SPARK = """
import contextlib
from pathlib import Path

import msgspec

import audit.commands
import audit.report
import audit.audited_run
from emulator.runs.verdict_file import Verdict

audit.commands.spark_of = lambda master, size_bytes, shared: contextlib.nullcontext((None, "nowhere"))
audit.report.write_report = lambda run, verdict, home: None


def audit_runs(spark, runs, scratch):
    return [msgspec.json.decode((Path(run) / "verdict.json").read_bytes(), type=Verdict) for run in runs]


audit.audited_run.audit_runs = audit_runs
print("what others print")
"""
"""A process that begins with this finds in a run what was found there before."""


def test_an_audit_beside_a_spark_of_the_programs_own_is_reported_by_its_last_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = faultline.run("az-isolated-leader", seed=1, directory=tmp_path / "run")
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_SPARK)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path), str(ROOT))))
    monkeypatch.setattr(audit_call, "spark_is_taken", lambda: True)
    beside = audit_call.audited(tmp_path / "run")
    assert beside.violated == found.violated != ()
    assert beside.lost == found.lost and found.lost.count > 0
    with pytest.raises(faultline.Refused, match="no-such-run"):
        audit_call.audited(tmp_path / "no-such-run")


def test_scenarios_played_from_a_program(tmp_path: Path) -> None:
    verdict = faultline.run("az-isolated-leader", seed=1, directory=tmp_path / "run")
    assert verdict.violated and verdict.lost.by_acks == {1: verdict.lost.count}
    assert (tmp_path / "run" / "verdict.json").exists()
    several = faultline.simulate("az-isolated-leader", (1, 2))
    assert several[1].violated == verdict.violated and set(several) == {1, 2}
    with pytest.raises(faultline.Refused, match="no scenario"):
        faultline.run("no-such-scenario")


def test_runs_in_threads_print_nothing_and_leave_the_output_of_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    both = threading.Barrier(2)

    def judged(*arguments: Any) -> object:
        both.wait(PATIENCE_S)
        print("of a program")
        return judge_into(*arguments)

    monkeypatch.setattr(run_call, "judge_into", judged)
    with ThreadPoolExecutor(2) as threads:
        places = [tmp_path / "one", tmp_path / "two"]
        one, two = threads.map(lambda place: faultline.run("az-isolated-leader", directory=place), places)
    assert one.violated == two.violated and capsys.readouterr() == ("of a program\n" * 2, "")


def test_a_run_that_is_not_played_to_its_end_is_unknown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def ended(*_: object) -> None:
        raise StepFailed("no leader")

    monkeypatch.setattr(run_call, "judge_into", ended)
    with pytest.raises(faultline.Refused, match="was not played to its end: no leader") as refused:
        faultline.run("az-isolated-leader", directory=tmp_path / "run")
    assert refused.value.unknown


FAKE = """
import faultline
import faultline.sync_cluster


class Fake:
    def __init__(self, **given):
        self.given = given
        self.directory = "runs/of-this-test"

    def __enter__(self):
        self.did = []
        return self

    def __exit__(self, *about):
        self.did.append("end")

    def heal(self):
        self.did.append("heal")

    def settle(self):
        self.did.append("settle")

    def audit(self):
        assert self.did == ["heal", "settle", "end"]
        return self

    def require_held(self, *, except_=()):
        if except_ != ("lost-acknowledged",):
            raise faultline.AuditFailed("lost-acknowledged violated 1")


faultline.sync_cluster.Cluster = Fake
"""
TESTS = """
import pytest


@pytest.mark.faultline(kafka_version="2.8")
def test_whose_audit_finds_something(faultline_cluster):
    assert faultline_cluster.given == {"kafka_version": "2.8"}


@pytest.mark.faultline(expected=("lost-acknowledged",))
def test_that_expects_it(faultline_cluster):
    assert faultline_cluster.given == {}


@pytest.mark.faultline(audit=False)
def test_a_test_without_an_audit(faultline_cluster):
    pass


def test_that_fails_and_is_not_audited(faultline_cluster):
    assert False
"""


def test_the_fixture_audits_a_test_that_has_passed(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faultline.sync_cluster, "Cluster", faultline.sync_cluster.Cluster)  # restored at the end
    pytester.makeconftest(FAKE)
    pytester.makepyfile(TESTS)
    reported = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--strict-markers")
    reported.assert_outcomes(passed=3, failed=1, errors=1)
    assert reported.stdout.str().count("the run is in runs/of-this-test") == 2, "once for each that did not pass"
    assert reported.stdout.str().count("\nlost-acknowledged violated 1\n") == 1, "not again as the exception's context"
    reported.stdout.fnmatch_lines(
        ["*ERROR at teardown of test_whose_audit_finds_something*", "lost-acknowledged violated 1"], consecutive=True
    )
