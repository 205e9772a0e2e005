"""Session setup shared by all suites: test groups, capability skips, a user state directory.

`make test` runs the tests without a marker of `REAL` or `slow`. They use neither a virtual machine of Java nor node
processes, and no test there waits in real time. `make test-all` runs all tests.

With `-n 3` xdist's `loadgroup` gives all tests of the group `real` to one process, one after the other: they measure
lateness, and two of them at once would disturb each other. Tests with containers, which mostly wait for the engine, are
another group, and tests that only need Spark a third. Spark and the pure tests, which follow where a process is free,
have a lower priority (`LOW_PRIORITY`), so that real nodes are in time.

The suite has no time limit. A test with real parts has a timeout of its own, because a process that it waits for may
hang.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from audit.warm_spark import CHOICE
from emulator.compiled_modules import PURE_VARIABLE
from tests.kafka_clients import rust_client
from tests.patience import HANGS_S
from tests.punctual import NO_PUNCTUAL_TIMERS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


pytest_plugins = ["pytester"]  # of our plugin for other projects' tests

pytest.register_assert_rewrite("tests.emulator.worlds.conformance")  # a suite of asserts that others import

# A shell starts background jobs with interrupts ignored. Child processes inherit that, even those that a test
# interrupts on purpose. A signal with a handler is not inherited as ignored.
for _number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, lambda _number, _frame: None)

REAL = ("network", "spark", "docker", "browser", "cargo", "kcat", "prometheus")
"""Markers of tests with real parts.

Node processes, sockets, Java, containers, a browser, foreign programs.
"""
REAL_GROUP, ENGINE_GROUP, SPARK_GROUP = "real", "engine", "spark"
"""Groups of xdist: tests with node processes, with containers, and with Spark alone."""
LOW_PRIORITY = 10
"""Niceness of a process from its first test outside the first two on.

It cannot be lowered again.
"""
SPARK_FIXTURES = {"spark"}

DOCKER_TIMEOUT_S = 10.0
NO_ENGINE = "no Docker engine"
NO_BROWSER = "no Chromium with its driver"
NO_KCAT = "no kcat"
NO_CARGO = "no cargo"
NO_PROMETHEUS = "no Prometheus"

# Hypothesis limits the time of an example by default; a busy machine would fail the test.
settings.register_profile("unhurried", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

_skipped: defaultdict[str, list[str]] = defaultdict(list)
"""{missing capability: tests that were skipped for it}"""


def pytest_configure(config: pytest.Config) -> None:
    """Separate the clusters that tests start from those of this user and of other test sessions."""
    home = tempfile.TemporaryDirectory(prefix="faultline-tests-state-")
    os.environ["XDG_STATE_HOME"] = home.name
    os.environ[CHOICE] = "cold"  # a test's commands have a Spark of their own, as on a new machine
    os.environ[PURE_VARIABLE] = "1"  # the sources are tested, not what `make fast` compiled
    config.add_cleanup(home.cleanup)


@pytest.hookimpl(tryfirst=True)  # before `-m` and xdist read the markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if SPARK_FIXTURES & set(getattr(item, "fixturenames", ())) and item.get_closest_marker("spark") is None:
            item.add_marker(pytest.mark.spark)
        if any(item.get_closest_marker(name) is not None for name in REAL):
            item.add_marker(pytest.mark.real)
            item.add_marker(pytest.mark.xdist_group(_group_of(item)))
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(HANGS_S))


def _group_of(item: pytest.Item) -> str:
    """Of a test with real parts."""
    parts = {name for name in REAL if item.get_closest_marker(name) is not None}
    if parts == {"spark"}:
        return SPARK_GROUP
    return ENGINE_GROUP if "docker" in parts else REAL_GROUP


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One Spark session for all tests, in which queries leave nothing: its start takes seconds."""
    from audit.spark_keeper import Launch
    from audit.warm_spark import own_session

    # One session judges the traces of 400 tests, and of runs that are called big: its plans fill an ordinary heap.
    launch = Launch(master="local[2]", idle_s=0.0, at_once=True, jvm_options=("-Xmx2560m",))
    with own_session(tmp_path_factory.mktemp("spark"), launch) as session:
        yield session


@cache
def docker_engine() -> bool:
    """True when a Docker engine answers; requested once, and only when a test needs one."""
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


def browser_and_driver() -> bool:
    from tests.audit.browser import installed

    return installed() is not None


CAPABILITIES: dict[str, tuple[Callable[[], bool], str]] = {
    "docker": (docker_engine, NO_ENGINE),
    "browser": (browser_and_driver, NO_BROWSER),
    "kcat": (lambda: shutil.which("kcat") is not None, NO_KCAT),
    "prometheus": (lambda: bool(shutil.which("prometheus") and shutil.which("promtool")), NO_PROMETHEUS),
    "cargo": (lambda: shutil.which("cargo") is not None, NO_CARGO),
}
"""{marker: (whether this machine has the capability, reason of the skip)}"""


def pytest_runtest_setup(item: pytest.Item) -> None:
    if "PYTEST_XDIST_WORKER" in os.environ and not item.nodeid.endswith((f"@{REAL_GROUP}", f"@{ENGINE_GROUP}")):
        os.nice(max(0, LOW_PRIORITY - os.nice(0)))
    for marker, (available, reason) in CAPABILITIES.items():
        if item.get_closest_marker(marker) is not None and not available():
            pytest.skip(reason)
    if item.get_closest_marker("cargo") and not item.get_closest_marker("long") and not rust_client.is_compiled():
        pytest.skip(rust_client.NOT_COMPILED)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and isinstance(report.longrepr, tuple):
        reasons = (reason for _, reason in CAPABILITIES.values())
        for reason in (*reasons, rust_client.NOT_COMPILED, NO_PUNCTUAL_TIMERS):
            if report.longrepr[2].endswith(reason):
                _skipped[reason].append(report.nodeid)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for reason, tests in _skipped.items():
        terminalreporter.line(f"{reason}: {len(tests)} tests skipped")
