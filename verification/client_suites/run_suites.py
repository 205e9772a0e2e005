"""One suite against one version of Kafka."""

import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

import msgspec

import faultline
from protocol.versions import since
from verification.client_suites.suites import SETTINGS, SINCE_0_11, Suite, reason_of

HERE: Final = Path(__file__).parent
CONSTRAINTS: Final = HERE.parents[1] / "constraints.txt"
TEST_LIMIT_S: Final = 300
"""Time limit of one test, in seconds, above any limit of the suites."""
SUITE_LIMIT_S: Final = 3_600.0
RELEASES: Final = {"2.8": "2.8.2", "2.6": "2.6.3", "2.0": "2.0.1", "1.1": "1.1.1", "0.10.2": "0.10.2.2"}
"""As which the suites know these versions."""
MESSAGE_CHARACTERS_MAX: Final = 2_000


class Failure(msgspec.Struct, frozen=True):
    """A failure. `reason`: ours; "": unknown."""

    test: str
    message: str
    reason: str


class Played(msgspec.Struct, frozen=True):
    """A played suite.

    `skipped`: {reason in the suite's words: count}; `left_out`: reasons for omitted files.
    """

    client: str
    version: str
    kafka: str
    passed: int
    failed: list[Failure]
    skipped: dict[str, int]
    left_out: list[str]

    @property
    def unexplained(self) -> list[Failure]:
        return [one for one in self.failed if not one.reason]


class NoSuite(Exception):
    """A folder that is no checkout of the client, or an environment that cannot be made."""


def environment(suite: Suite, place: Path) -> Path:
    """Python of the suite's virtual environment. Raises NoSuite.

    It has the client in the version pinned here, and packages for its tests.
    """
    python = place / "bin" / "python"
    if not python.exists():
        venv.create(place, with_pip=True)
    result = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", suite.client, *suite.needs,
         "--constraint", constraints_of_clients(place)],
        check=False, capture_output=True, encoding="utf-8",
    )  # fmt: skip
    if result.returncode:
        raise NoSuite(f"{suite.client}'s environment {place}: {result.stderr.strip().splitlines()[-1]}")
    return python


def constraints_of_clients(place: Path) -> Path:
    """Our constraints of the clients only: their tests need a pytest of their own."""
    file = place / "clients.txt"
    lines = CONSTRAINTS.read_text(encoding="utf-8").splitlines()
    file.write_text("\n".join(line for line in lines if "kafka" in line) + "\n", encoding="utf-8")
    return file


def play(suite: Suite, checkout: Path, kafka: str, python: Path, run: Path) -> Played:
    """Play a suite. Raises NoSuite.

    `checkout`: of the client's repository; `run`: the cluster's directory, new.
    """
    if not all((checkout / name).exists() for name in suite.tests):
        raise NoSuite(f"{checkout} is no checkout of {suite.client}: it has no {' '.join(suite.tests)}")
    report = run.with_suffix(".xml")
    settings = {**SETTINGS, **suite.settings}
    if not since(kafka, "0.11"):
        for name in SINCE_0_11:
            settings.pop(name, None)
    with faultline.Cluster(str(HERE / "one-broker.yml"), kafka_version=kafka, settings=settings, directory=run) as one:
        servers = one.bootstrap_servers()
        release = RELEASES[kafka]
        about = {
            "FAULTLINE_BOOTSTRAP": servers, "PYTHONPATH": str(HERE), "KAFKA_URI": f"kafka://{servers}",
            "KAFKA_ROOT": str(HERE), "KAFKA_VERSION": release,
        }  # fmt: skip
        own = ["--docker-image", f"faultline:2.13_{release}", "--no-pull"] if suite.client == "aiokafka" else []
        left_out = [word for options in suite.left_out for word in options]
        subprocess.run(
            [python.with_name("pytest"), "-p", "no:cacheprovider", "-p", suite.plugin, "--quiet", "--tb=short",
             f"--timeout={TEST_LIMIT_S}", f"--junitxml={report}", *own, *left_out, *suite.tests],
            cwd=checkout, env=os.environ | about, check=False, timeout=SUITE_LIMIT_S,
            stdin=subprocess.DEVNULL, stdout=sys.stderr,
        )  # fmt: skip
    if not report.exists():
        raise NoSuite(f"{suite.client} against {kafka}: pytest wrote no report; what it said is above")
    version = subprocess.run(
        [python, "-c", f"import importlib.metadata as m; print(m.version({suite.client!r}))"],
        check=True, capture_output=True, encoding="utf-8",
    ).stdout.strip()  # fmt: skip
    return read_report(report.read_text(encoding="utf-8"), suite, version, kafka)


def read_report(xml: str, suite: Suite, version: str, kafka: str) -> Played:
    """From pytest's report as JUnit's XML."""
    passed = 0
    failed: list[Failure] = []
    skipped: dict[str, int] = {}
    for case in ElementTree.fromstring(xml).iter("testcase"):
        test = f"{case.get('classname')}.{case.get('name')}"
        wrong = [result for kind in ("failure", "error") if (result := case.find(kind)) is not None]
        left = case.find("skipped")
        if wrong:
            message = f"{wrong[0].get('message')}\n{wrong[0].text}"
            failed.append(Failure(test, message[:MESSAGE_CHARACTERS_MAX], reason_of(suite, test, message)))
        elif left is not None:
            why = left.get("message") or ""
            skipped[why] = skipped.get(why, 0) + 1
        else:
            passed += 1
    return Played(suite.client, version, kafka, passed, failed, skipped, sorted(set(suite.left_out.values())))
