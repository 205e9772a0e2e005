"""What every suite shares: how long it may take, and what it does without a Docker engine.

A suite is a folder of tests. `SUITE_BUDGETS_S` is the one table of how long each may take; a suite that takes
longer fails the run, by name, and a run that takes longer than `RUN_BUDGET_S` stops where it is: not every suite may
need the whole of its own. Those with real processes have most to spare, for they play late runs again. The
tests run one after the other in one process: suites that measure lateness or start Java need both cores for
themselves, and one run has one summary.
"""

from __future__ import annotations

import shutil
import subprocess
from collections import defaultdict
from collections.abc import Generator
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

TESTS = Path(__file__).parent

RUN_BUDGET_S = 1_500.0
"""The whole run, on two cores."""

SUITE_BUDGETS_S = {
    ".": 330.0,  # the project itself, and all recordings with a hundred seeds each: tests/test_*.py
    "audit": 270.0,
    "broker": 60.0,
    "compose": 480.0,  # the image of containers, where there is an engine and no base for it yet; else a minute
    "controller": 60.0,
    "emulator": 240.0,
    "emulator/world": 180.0,
    "protocol": 90.0,
    "live": 240.0,  # most of it clusters that start and end: 2.5 s each, and twice that beside other work
    "node": 40.0,
    "player": 40.0,
    "session": 60.0,
    "simulated": 240.0,
    "system": 480.0,
}
"""{folder under tests/: seconds}. One that is not listed counts towards the nearest above it."""

DOCKER_TIMEOUT_S = 10.0

_spent_s: defaultdict[str, float] = defaultdict(float)
_without_docker: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--budget-factor",
        type=float,
        default=1.0,
        help="multiply the suites' time budgets, on a machine that is slow or shared",
    )


def suite_of(path: Path) -> str:
    """The key of `SUITE_BUDGETS_S` that a test file's time counts towards."""
    of_test = path.parent.relative_to(TESTS)
    return next(key for key in map(Path.as_posix, (of_test, *of_test.parents)) if key in SUITE_BUDGETS_S)


def folder(suite: str) -> str:
    return "tests" if suite == "." else f"tests/{suite}"


def over_budget(spent_s: dict[str, float], factor: float) -> list[str]:
    """One message for each suite that took longer than it may."""
    return [
        f"suite {folder(suite)} took {spent:.0f} s, its budget is {SUITE_BUDGETS_S[suite] * factor:.0f} s"
        for suite, spent in sorted(spent_s.items())
        if spent > SUITE_BUDGETS_S[suite] * factor
    ]


@cache
def docker_engine() -> bool:
    """True when a Docker engine answers; asked once, and only when a test needs one."""
    if shutil.which("docker") is None:
        return False
    try:
        answer = subprocess.run(
            ["docker", "version", "--format", "{{.Server.Version}}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=DOCKER_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return answer.returncode == 0


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("docker") is not None and not docker_engine():
        _without_docker.append(item.nodeid)
        pytest.skip("no Docker engine")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    result = yield
    total_s = sum(_spent_s.values())
    if total_s > RUN_BUDGET_S * item.config.getoption("--budget-factor"):
        item.session.shouldfail = (
            f"the run took {total_s:.0f} s, more than its {RUN_BUDGET_S:.0f} s, "
            f"and is now in suite {folder(suite_of(item.path))}"
        )
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _spent_s[suite_of(item.path)] += report.duration
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    exceeded = over_budget(_spent_s, session.config.getoption("--budget-factor"))
    if exceeded and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    exceeded = over_budget(_spent_s, config.getoption("--budget-factor"))
    if exceeded:
        terminalreporter.section("time budgets", red=True)
        for message in exceeded:
            terminalreporter.line(message)
        # Counted in the last line, beside passed and failed; plugins expect objects there.
        terminalreporter.stats["over budget"] = [SimpleNamespace(message=message) for message in exceeded]
    if _without_docker:
        terminalreporter.line(f"no Docker engine: {len(_without_docker)} tests skipped")
