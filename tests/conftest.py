"""What every suite shares: how long it may take, what it does without a Docker engine, and who gets the processors.

A suite is a folder of tests. `SUITE_BUDGETS_S` is the one table of how long each may take; a suite that takes
longer fails the run, by name, and a run that takes longer than `RUN_BUDGET_S` stops where it is: not every suite may
need the whole of its own. Those with real processes have most to spare, for they play late runs again.

Tests marked `if_time_is_left` come last, and are skipped and counted when the run has taken `TIME_LEFT_UNTIL_S`.

With `-n 2` (make test) xdist's scheduler of scopes (`Groups`) gives the suites with real parts to one process, one test
after the other: they measure lateness or start Java, and need both cores. A second process runs all others. (xdist's
marks of groups travel in a test's `_nodeid`, which pytest has not read since 9.2.)

Two things xdist has no word for, and they are done here. The second process runs on the time that the first leaves
idle: groups say who runs what, not who goes first. And it stands still while a test is marked `alone`: a group of such
tests would begin while the other process is in the midst of its own, and a lock between tests would leave both cores
idle until the longest of those has ended.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from tempfile import gettempdir
from types import SimpleNamespace
from typing import TYPE_CHECKING

import psutil
import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from emulator.compiled import PURE_VARIABLE
from tests.door import rust_client

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.gateway import Gateway

TESTS = Path(__file__).parent
pytest_plugins = ["pytester"]  # of our plugin for other projects' tests

pytest.register_assert_rewrite("tests.emulator.worlds.conformance")  # a suite of asserts that others import

# Whoever starts the suite in the background may have it ignore an interrupt (a shell does, at `&`), and what is ignored
# stays so in every program that a test starts, even when the test interrupts it. What has a handler does not.
for _number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, lambda _number, _frame: None)

RUN_BUDGET_S = 1_500.0
"""The whole run, on two cores."""

TIME_LEFT_UNTIL_S = 780.0
"""What need not run begins no later: a quiet machine has run all of it by then and is done in 15 minutes; a slow one
has no time left."""

SUITE_BUDGETS_S = {
    ".": 900.0,  # the project itself, and all recordings with dozens of seeds each, on all cores: tests/test_*.py
    "attack": 240.0,  # a dozen clusters that are killed among it, in containers, too
    "audit": 600.0,
    "compose": 480.0,  # the image of containers, where there is an engine and no base for it yet
    "controller": 60.0,
    "door": 240.0,  # a cluster for each version, and Kafka's clients in it
    "emulator": 480.0,
    "emulator/machines/broker": 60.0,
    "emulator/machines/node": 40.0,
    "emulator/machines/session": 60.0,
    "emulator/scenario/player": 40.0,
    "emulator/worlds": 180.0,
    "protocol": 90.0,
    "live": 240.0,  # most of it clusters that start and end: 2.5 s each, and twice that beside other work
    "recordings": 600.0,  # a run of real processes each, seven seconds of it; late ones again
    "simulated": 360.0,
    "system": 600.0,
}
"""{folder under tests/: seconds}. One that is not listed counts towards the nearest above it. Seconds of the clock for
suites with real parts; of processors, on a slow machine, for those that run on what these leave."""

REAL, PURE = "real", "pure"
"""The groups, of which each process of a run has one."""
WITH_REAL_PARTS = (
    "attack", "audit", "compose", "door", "emulator/worlds", "live", "recordings", "system"
)  # fmt: skip
"""Folders whose tests have both cores."""
PURE_AMONG_THEM = ("attack/test_ordinary_traffic.py",)
"""Files of these folders that start nothing which could be late, and take long. Others may be such, too: the first
process has time for them."""

DOCKER_TIMEOUT_S = 10.0
NO_ENGINE = "no Docker engine"
NO_BROWSER = "no Chromium with its driver"
NO_KCAT = "no kcat"
NO_CARGO = "no cargo"
NO_TIME = "no time left"

_BEGAN_S = pytest.StashKey[float]()

# An example takes as long as others let it.
settings.register_profile("beside others", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("beside others")

_spent_s: defaultdict[str, float] = defaultdict(float)
_not_run: defaultdict[str, list[str]] = defaultdict(list)
"""{what was lacking: tests that were skipped}"""


def pytest_configure(config: pytest.Config) -> None:
    """What tests start is not among what this user has running, nor among what other tests have."""
    home = tempfile.TemporaryDirectory(prefix="faultline-tests-state-")
    os.environ["XDG_STATE_HOME"] = home.name
    os.environ[PURE_VARIABLE] = "1"  # of the sources, whatever was compiled
    config.add_cleanup(home.cleanup)


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


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """One Java for all tests: it takes seconds to start, and some more until it is fast."""
    from audit.gateway import start_gateway
    from audit.java import find_java

    directory = tmp_path_factory.mktemp("spark")
    with start_gateway(find_java(os.environ), directory, master="local[2]", nice=1) as started:
        yield started


@pytest.fixture(scope="session")
def spark(gateway: Gateway) -> SparkSession:
    """Queries leave nothing in it."""
    from audit.session import spark_session

    return spark_session(gateway)


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


def browser_and_driver() -> bool:
    from tests.audit.browser import installed

    return installed() is not None


def has_real_parts(path: Path) -> bool:
    name = path.relative_to(TESTS).as_posix()
    return name not in PURE_AMONG_THEM and name.startswith(tuple(f"{folder}/" for folder in WITH_REAL_PARTS))


def _told(config: pytest.Config) -> Path | None:
    """Where it is said who has stepped aside; None: one process runs all."""
    run = getattr(config, "workerinput", {}).get("testrunuid")
    return Path(gettempdir()) / f"faultline-tests-{run}" if run else None


@cache
def step_aside(told: Path) -> None:
    """From now on this process and its children run when nobody else wants to; its number is in `told`. A session of
    its own: the kernel shares a processor between sessions first, whatever the processes in them say."""
    os.setsid()
    told.write_text(str(os.getpid()), encoding="ascii")
    with contextlib.suppress(OSError):  # a kernel that knows processes only
        Path("/proc/self/autogroup").write_text("19")
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


@contextlib.contextmanager
def alone(told: Path) -> Iterator[None]:
    """Whoever has stepped aside stands still meanwhile, and what it has started too: it takes little time, but takes it
    when it likes."""
    stopped: list[psutil.Process] = []
    try:
        with contextlib.suppress(psutil.NoSuchProcess):  # it has ended
            if told.exists():
                stopped.append(psutil.Process(int(told.read_text(encoding="ascii"))))
                stopped[0].suspend()  # it starts nothing more
                stopped += stopped[0].children(recursive=True)  # Java is in a group of its own
        for process in stopped[1:]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.suspend()
        yield
    finally:
        for process in stopped:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.resume()


def _used_s() -> float:
    """By this process: seconds of the clock, or of processors if it has stepped aside."""
    if not step_aside.cache_info().currsize:
        return time.monotonic()
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def pytest_sessionstart(session: pytest.Session) -> None:
    session.stash[_BEGAN_S] = time.monotonic()


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("docker") is not None and not docker_engine():
        pytest.skip(NO_ENGINE)
    if item.get_closest_marker("browser") is not None and not browser_and_driver():
        pytest.skip(NO_BROWSER)
    if item.get_closest_marker("kcat") is not None and shutil.which("kcat") is None:
        pytest.skip(NO_KCAT)
    if item.get_closest_marker("cargo") is not None and shutil.which("cargo") is None:
        pytest.skip(NO_CARGO)
    if item.get_closest_marker("cargo") and not item.get_closest_marker("long") and not rust_client.is_compiled():
        pytest.skip(rust_client.NOT_COMPILED)
    if item.get_closest_marker("if_time_is_left") is not None and _taken_longer(item.session, TIME_LEFT_UNTIL_S):
        pytest.skip(NO_TIME)


def _taken_longer(session: pytest.Session, limit_s: float) -> bool:
    """The whole run; a machine that may take its time has a factor."""
    taken_s: float = time.monotonic() - session.stash[_BEGAN_S]
    return taken_s > limit_s * float(session.config.getoption("--budget-factor"))


class Groups(LoadScopeScheduling):  # type: ignore[misc]  # xdist says no types
    """Two scopes, real and pure, instead of one for each file."""

    def _split_scope(self, nodeid: str) -> str:
        path, _, _ = nodeid.partition("::")
        return REAL if has_real_parts(TESTS.parent / path) else PURE


@pytest.hookimpl(optionalhook=True)  # xdist's: there is none with -p no:xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Groups:
    return Groups(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("if_time_is_left") is not None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    beside: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
    told = _told(item.config)
    if told is not None and not has_real_parts(item.path):
        step_aside(told)
    elif told is not None and item.get_closest_marker("alone") is not None:
        beside = alone(told)
    item.stash[_BEGAN_S] = _used_s()
    with beside:
        result = yield
    if _taken_longer(item.session, RUN_BUDGET_S):
        item.session.shouldfail = (
            f"the run took more than its {RUN_BUDGET_S:.0f} s, and is now in suite {folder(suite_of(item.path))}"
        )
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "teardown":
        spent_s = _used_s() - item.stash[_BEGAN_S]
        report.user_properties += [("suite", suite_of(item.path)), ("spent_s", spent_s)]
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "teardown":
        told = dict(report.user_properties)
        _spent_s[str(told["suite"])] += float(str(told["spent_s"]))
    elif report.skipped and isinstance(report.longrepr, tuple):
        for lacking in (NO_ENGINE, NO_BROWSER, NO_KCAT, NO_CARGO, rust_client.NOT_COMPILED, NO_TIME):
            if report.longrepr[2].endswith(lacking):
                _not_run[lacking].append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    told = _told(session.config)
    if told is not None and step_aside.cache_info().currsize:
        told.unlink()
    exceeded = over_budget(_spent_s, session.config.getoption("--budget-factor"))
    if exceeded and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    exceeded = over_budget(_spent_s, config.getoption("--budget-factor"))
    took = ", ".join(f"{suite} {spent:.0f}" for suite, spent in sorted(_spent_s.items(), key=lambda item: -item[1]))
    if took:
        terminalreporter.line(f"seconds by suite: {took}")
    if exceeded:
        terminalreporter.section("time budgets", red=True)
        for message in exceeded:
            terminalreporter.line(message)
        # Counted in the last line, beside passed and failed; plugins expect objects there.
        terminalreporter.stats["over budget"] = [SimpleNamespace(message=message) for message in exceeded]
    for lacking, tests in _not_run.items():
        terminalreporter.line(f"{lacking}: {len(tests)} tests skipped")
