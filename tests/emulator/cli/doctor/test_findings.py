"""Findings from facts: each lack has its remedy.
Only what `make demo` needs makes the machine unusable.
"""

from typing import Any

import msgspec
import pytest

from emulator.cli.doctor.machine_facts import DockerFacts, Facts, JavaFacts, Package, Rights
from emulator.cli.doctor.machine_findings import PORTS_WANTED, Finding, examine, usable
from emulator.cli.doctor.punctuality import NICENESS, SHARE, SHORTEST_TIME_OUT_MS, SPEEDS, allowed_ms, safe_speed
from emulator.worlds.network import process

ALL = Facts(
    python=(3, 11, 7),
    python_at="/usr/bin/python3",
    packages=(Package("trio", ">=0.35", "0.35.0", True),),
    java=JavaFacts(17, "/usr/bin/java", "PATH"),
    docker=DockerFacts(True, "20.10.24", "", "docker-compose 1.29.2", "faultline:dev on 2026-01-01"),
    rights=Rights(frozenset({"CAP_NET_ADMIN", "CAP_SYS_ADMIN"}), frozenset({"nsenter", "nft"})),
    ports=PORTS_WANTED,
    ports_problem="",
    cores=4,
    late_ms=(0.1, 0.3),
    runs_at="/srv/runs",
    free_bytes=50 * 1024**3,
    writable=True,
    memory_bytes=8 * 1024**3,
    tools=frozenset({"make"}),
)


def found(subject: str, **changes: Any) -> Finding:
    """The finding about that, on a machine that has everything but for the changes."""
    findings = examine(msgspec.structs.replace(ALL, **changes), 5.0)
    return next(finding for finding in findings if finding.subject == subject)


def test_a_machine_that_has_everything() -> None:
    findings = examine(ALL, 5.0)
    assert {finding.state for finding in findings} == {"ok"}
    assert not any(finding.advice for finding in findings)
    assert usable(findings)


REQUIRED = [
    ("Python", {"python": (3, 9, 2)}, "missing", "3.9.2", "make PYTHON=python3.11"),
    ("package trio", {"packages": (Package("trio", ">=0.35", "", False),)}, "missing", "not installed", "pip install"),
    ("make", {"tools": frozenset()}, "missing", "not on PATH", "install make"),
    ("Java", {"java": JavaFacts(problem="Spark needs Java 17 (none)")}, "missing", "Spark needs", "JAVA_HOME"),
    ("loopback ports", {"ports": 0, "ports_problem": "no device"}, "missing", "no device", "bring up lo"),
    ("disk", {"writable": False}, "missing", "/srv/runs cannot be written", "--out"),
    ("disk", {"free_bytes": 10**7}, "missing", "10 MiB free", "remove old runs"),
]
OPTIONAL = [
    ("packages", {"packages": ()}, "limited", "not installed", "make demo installs it"),
    ("package trio", {"packages": (Package("trio", ">=0.35", "0.2", False),)}, "limited", "0.2, not >=0.35", "pip"),
    ("loopback ports", {"ports": 3, "ports_problem": "too many"}, "limited", "only 3 at once", "ulimit"),
    ("processors", {"cores": 1}, "limited", "1 core", "--world sim"),
    ("timers", {"late_ms": (0.1, 62.0)}, "limited", "62.0 ms late in 9 processes beside busy ones; 30 ms are allowed "
     "at --speed 5, the default: runs will be late now and then, and may be unknown", "--speed 2"),
    ("timers", {"late_ms": ()}, "limited", "no process could be tried", "try again"),
    ("memory", {"memory_bytes": 10**8}, "limited", "95 MiB", "--audit none"),
    ("disk", {"free_bytes": 10**9}, "limited", "954 MiB free", "old runs"),
    ("Docker engine", {"docker": DockerFacts()}, "missing", "no docker", "only --engine docker needs it"),
    ("Docker engine", {"docker": DockerFacts(True, "", "Cannot connect")}, "missing", "Cannot connect", "start it"),
    (
        "Docker engine",
        {"docker": DockerFacts(True, "", "Permission denied while")},
        "missing",
        "Permission denied",
        "the group docker",
    ),
    ("Docker compose", {"docker": DockerFacts(True, "20.10")}, "missing", "neither", "apt install docker-compose"),
    ("image", {"docker": DockerFacts(True, "20.10")}, "missing", "not built", "compose/build.sh"),
    ("image", {"docker": DockerFacts(True, "20.10")}, "missing", "not built", "apt install debootstrap"),
    (
        "kernel faults",
        {"rights": Rights(frozenset(), frozenset({"nsenter", "iptables"}))},
        "missing",
        "no CAP_NET_ADMIN, CAP_SYS_ADMIN",
        "run it as root; only --driver kernel",
    ),
    (
        "kernel faults",
        {"rights": Rights(ALL.rights.capabilities, frozenset())},
        "missing",
        "no nsenter, nft or iptables",
        "apt install util-linux nftables; only",
    ),
]


@pytest.mark.parametrize(("subject", "changes", "state", "seen", "advice"), REQUIRED)
def test_what_make_demo_needs(subject: str, changes: dict[str, Any], state: str, seen: str, advice: str) -> None:
    finding = found(subject, **changes)
    assert (finding.state, finding.required) == (state, True)
    assert seen in finding.found and advice in finding.advice
    assert not usable(examine(msgspec.structs.replace(ALL, **changes), 5.0))


@pytest.mark.parametrize(("subject", "changes", "state", "seen", "advice"), OPTIONAL)
def test_what_only_limits(subject: str, changes: dict[str, Any], state: str, seen: str, advice: str) -> None:
    finding = found(subject, **changes)
    assert finding.state == state
    assert seen in finding.found and advice in finding.advice
    assert usable(examine(msgspec.structs.replace(ALL, **changes), 5.0))


def test_a_punctual_machine_is_reported_in_one_sentence() -> None:
    finding = found("timers", late_ms=(0.1, 8.6))
    assert (finding.state, finding.advice) == ("ok", "")
    assert finding.found.endswith("30 ms are allowed at --speed 5, the default: runs will be punctual")


def test_what_is_tried_is_as_urgent_as_a_node() -> None:
    assert NICENESS == process.NICENESS


def test_from_a_wheel_nothing_is_reported_of_make() -> None:
    nothing = msgspec.structs.replace(
        ALL, tree=False, tools=frozenset(), python=(3, 9, 2), packages=(Package("trio", ">=0.35", "", False),)
    )
    findings = examine(nothing, 5.0)
    assert not [one for one in findings if "make" in (one.subject, *one.advice.split())]
    assert [one.advice for one in findings if one.advice] == [
        "faultline needs 3.11: install kafka-faultline with that", "pip install 'trio>=0.35'"
    ]  # fmt: skip


def test_without_an_engine_nothing_is_reported_of_what_stands_on_it() -> None:
    subjects = [finding.subject for finding in examine(msgspec.structs.replace(ALL, docker=DockerFacts(True)), 5.0)]
    assert "Docker engine" in subjects
    assert not {"Docker compose", "image"} & set(subjects)


@pytest.mark.parametrize(("late_ms", "speed"), [(0.0, 10.0), (14.9, 10.0), (25.0, 5.0), (70.0, 2.0), (145.0, 1.0)])
def test_a_later_machine_gets_a_lower_speed(late_ms: float, speed: float) -> None:
    assert safe_speed([0.1, late_ms]) == speed
    assert late_ms * speed < SHARE * SHORTEST_TIME_OUT_MS
    assert late_ms <= allowed_ms(speed)


def test_a_machine_too_late_for_any_speed_gets_the_lowest() -> None:
    assert safe_speed([5_000.0]) == min(SPEEDS)
