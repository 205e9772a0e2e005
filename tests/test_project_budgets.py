"""The time budgets of tests/conftest.py: what a test counts towards, and what too long leads to."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.conftest import (
    PURE,
    PURE_AMONG_THEM,
    REAL,
    RUN_BUDGET_S,
    SUITE_BUDGETS_S,
    TESTS,
    TIME_LEFT_UNTIL_S,
    WITH_REAL_PARTS,
    alone,
    has_real_parts,
    suite_of,
)

pytest_plugins = ["pytester"]

CONFTEST = Path(__file__).with_name("conftest.py")


def run_suite(
    pytester: pytest.Pytester, source: str, *args: str, beside: str = "", time_left: bool = True
) -> pytest.RunResult:
    """Run `source` as tests/live/test_it.py under our own conftest, in a process of its own. With `beside`
    in tests/emulator/machines/broker, two files of each."""
    tests = pytester.mkdir("tests")
    ours = CONFTEST.read_text(encoding="utf-8")
    limit = f"TIME_LEFT_UNTIL_S = {TIME_LEFT_UNTIL_S:_}"
    assert limit in ours
    (tests / "conftest.py").write_text(
        ours if time_left else ours.replace(limit, "TIME_LEFT_UNTIL_S = 0.0"), encoding="utf-8"
    )
    (tests / "live").mkdir()
    (tests / "live" / "test_it.py").write_text(source, encoding="utf-8")
    if beside:
        (tests / "live" / "test_more.py").write_text(source, encoding="utf-8")
        (tests / "broker").mkdir()
        for name in ("test_other.py", "test_another.py"):
            (tests / "broker" / name).write_text(beside, encoding="utf-8")
    markers = "markers =\n    docker: needs an engine\n    if_time_is_left: last\n"
    pytester.makeini(f"[pytest]\naddopts = --dist=loadscope\n{markers}")
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *args, timeout=240)


def test_a_suite_over_its_budget_fails_the_run_and_is_named(pytester: pytest.Pytester) -> None:
    result = run_suite(pytester, "def test_one(): pass\n", "--budget-factor=0")
    result.stdout.fnmatch_lines(
        ["suite tests/live took 0 s, its budget is 0 s", "*1 passed, 1 over budget in*"]
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_a_suite_within_its_budget_passes(pytester: pytest.Pytester) -> None:
    result = run_suite(pytester, "def test_one(): pass\n")
    assert result.ret == pytest.ExitCode.OK
    assert "over budget" not in result.stdout.str()


def test_a_run_over_the_whole_budget_stops(pytester: pytest.Pytester) -> None:
    result = run_suite(pytester, "def test_one(): pass\ndef test_two(): pass\n", "--budget-factor=0")
    result.stdout.fnmatch_lines(["*is now in suite tests/live*"])
    result.assert_outcomes(passed=1)


def test_without_a_docker_engine_its_tests_are_skipped_and_counted(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    result = run_suite(pytester, "import pytest\n@pytest.mark.docker\ndef test_one(): assert False\n")
    result.stdout.fnmatch_lines(["no Docker engine: 1 tests skipped"])
    result.assert_outcomes(skipped=1)
    assert result.ret == pytest.ExitCode.OK


LAST = "import pytest\n@pytest.mark.if_time_is_left\ndef test_one(): {}\ndef test_two(): pass\n"


def test_what_need_not_run_comes_last(pytester: pytest.Pytester) -> None:
    result = run_suite(pytester, LAST.format("pass"), "-v")
    result.stdout.fnmatch_lines(["*::test_two PASSED*", "*::test_one PASSED*"])
    assert "no time left" not in result.stdout.str()


def test_what_there_is_no_time_left_for_is_skipped_and_counted(pytester: pytest.Pytester) -> None:
    hurried = LAST.format("assert False").replace("def test_two", "@pytest.mark.if_time_is_left\ndef test_two")
    result = run_suite(pytester, f"{hurried}def test_three(): pass\n", time_left=False)
    result.stdout.fnmatch_lines(["no time left: 2 tests skipped"])
    result.assert_outcomes(passed=1, skipped=2)


def test_no_suite_may_take_half_of_the_run_and_the_run_is_25_minutes() -> None:
    assert RUN_BUDGET_S == 25 * 60
    assert max(SUITE_BUDGETS_S[suite] for suite in WITH_REAL_PARTS if suite in SUITE_BUDGETS_S) < RUN_BUDGET_S / 2
    assert max(SUITE_BUDGETS_S.values()) < RUN_BUDGET_S, "of two processors"


def test_suites_with_real_parts_have_a_process_of_their_own(pytester: pytest.Pytester) -> None:
    """And the other one has stepped aside, into a session of its own."""
    source = """
import os, pytest
@pytest.mark.parametrize("number", range(8))
def test_one(number):
    open(f"{}-{{os.getpid()}}", "w").close()
    assert (os.getsid(0) == os.getpid()) is {}
"""
    result = run_suite(pytester, source.format(REAL, False), "-n", "2", beside=source.format(PURE, True))
    result.assert_outcomes(passed=32)
    result.stdout.fnmatch_lines(["seconds by suite: *"])
    real, pure = ({path.name for path in pytester.path.glob(f"{group}-*")} for group in (REAL, PURE))
    assert (len(real), len(pure)) == (1, 1)


def test_some_files_beside_tests_with_real_parts_have_none() -> None:
    assert PURE_AMONG_THEM
    for name in PURE_AMONG_THEM:
        path = TESTS / name
        source = path.read_text(encoding="utf-8")
        assert not has_real_parts(path)
        assert has_real_parts(path.with_name("test_others.py")), "it need not be listed"
        assert "mark.network" not in source and "mark.alone" not in source, name


FAMILY = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE, process_group=0)
print(child.pid, flush=True)
sys.stdin.read()
child.kill()
child.wait()
"""


def test_whoever_has_stepped_aside_stands_still_with_all_that_it_started(tmp_path: Path) -> None:
    """Java has a group of its own."""
    told = tmp_path / "told"
    with subprocess.Popen(
        [sys.executable, "-c", FAMILY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as aside:
        assert aside.stdin is not None and aside.stdout is not None
        family = [psutil.Process(aside.pid), psutil.Process(int(aside.stdout.readline()))]
        told.write_text(str(aside.pid), encoding="ascii")
        with alone(told):
            until_stopped(family, stopped=True)
        until_stopped(family, stopped=False)
        aside.stdin.close()
    assert aside.returncode == 0
    with alone(told):
        pass  # it has ended, and nobody stands still


def until_stopped(family: list[psutil.Process], *, stopped: bool) -> None:
    """A signal takes a moment."""
    deadline = time.monotonic() + 30.0
    while any((one.status() == psutil.STATUS_STOPPED) is not stopped for one in family):
        assert time.monotonic() < deadline, [one.status() for one in family]
        os.sched_yield()


def test_a_test_counts_towards_the_nearest_folder_with_a_budget() -> None:
    assert suite_of(TESTS / "test_project.py") == "."
    assert suite_of(TESTS / "audit" / "checks" / "test_duplicate.py") == "audit"
    assert suite_of(TESTS / "emulator" / "worlds" / "test_replay.py") == "emulator/worlds"
    assert suite_of(TESTS / "emulator" / "faults" / "test_links.py") == "emulator"
