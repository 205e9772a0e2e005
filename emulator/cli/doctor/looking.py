"""Collects the facts: runs commands, binds ports, measures timers for a second or two.

Changes and downloads nothing.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

import psutil
from packaging.requirements import Requirement

from audit.java import NoJavaError, find_java
from emulator.cli.doctor.machine_facts import DockerFacts, Facts, JavaFacts, Package, Rights
from emulator.cli.doctor.machine_findings import PORTS_WANTED
from emulator.cli.doctor.punctuality import NICENESS, NODES_TRIED
from emulator.compiled_modules import look as look_for_compiled
from emulator.packaged import DISTRIBUTION, IN_PACKAGE
from emulator.worlds.containers.images import our_image

ASK_LIMIT_S = 5.0
"""Time limit of a Docker command, in seconds; an engine that hangs counts as none."""
NAP_S = 0.005
PROBE_S = 1.5
PROBE_LIMIT_S = 20.0
NAPPER = """
import os, sys, time
seconds, nap_s, niceness = map(float, sys.argv[1:])
try:
    os.nice(int(niceness))
except OSError:
    pass
late_ms, end_s = [], time.monotonic() + seconds
while (began_s := time.monotonic()) < end_s:
    time.sleep(nap_s)
    late_ms.append(max(0.0, time.monotonic() - began_s - nap_s) * 1000.0)
    sum(range(1_000))
print(*late_ms)
"""
"""A node's timer load: it wakes, works for microseconds, and sleeps, at a node's priority."""
OTHER = """
import os, sys, time
os.nice(10)
end_s = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end_s:
    pass
"""
"""Load of other programs beside a cluster: Java starts for the audit."""
CAPABILITY_BITS = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21}
KERNEL_TOOLS = ("nsenter", "nft", "iptables")
LOOPBACK = "127.0.0.1"


def facts_of_this_machine(runs_at: Path, environ: Mapping[str, str] = os.environ) -> Facts:
    """Collect the facts, in two seconds. `runs_at`: directory of runs; it need not exist yet."""
    place = _existing(runs_at.absolute())
    ports, ports_problem = listening_at_once(PORTS_WANTED)
    return Facts(
        python=sys.version_info[:3],
        python_at=sys.executable,
        packages=packages_of(DISTRIBUTION),
        java=_java(environ),
        docker=_docker(our_image(environ)),
        rights=Rights(capabilities(), frozenset(tool for tool in KERNEL_TOOLS if _which(tool))),
        ports=ports,
        ports_problem=ports_problem,
        cores=len(os.sched_getaffinity(0)),
        late_ms=lateness_ms(),
        runs_at=str(place),
        free_bytes=shutil.disk_usage(place).free,
        writable=os.access(place, os.W_OK),
        memory_bytes=psutil.virtual_memory().available,
        tools=frozenset(tool for tool in ("make",) if _which(tool)),
        tree=not IN_PACKAGE,
        native=look_for_compiled(environ),
    )


def packages_of(distribution: str) -> tuple[Package, ...]:
    """Requirements of an installed distribution, without extras; empty: it is not installed."""
    try:
        required = metadata.requires(distribution) or []
    except metadata.PackageNotFoundError:
        return ()
    wanted = [Requirement(line) for line in required]
    return tuple(_package(one) for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""}))


def _package(wanted: Requirement) -> Package:
    bounds = str(wanted.specifier)
    try:
        installed = metadata.version(wanted.name)
    except metadata.PackageNotFoundError:
        return Package(wanted.name, bounds, "", False)
    return Package(wanted.name, bounds, installed, wanted.specifier.contains(installed, prereleases=True))


def lateness_ms(seconds: float = PROBE_S) -> tuple[float, ...]:
    """Lateness of short sleeps, in ms, in as many processes as a cluster has, beside busy ones.

    An idle machine is punctual, but runs are not played on an idle machine.
    """

    def begun(code: str, count: int, output: int) -> "list[subprocess.Popen[str]]":
        words = [sys.executable, "-S", "-c", code, str(seconds), str(NAP_S), str(NICENESS)]
        return [
            subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.DEVNULL, encoding="ascii"
            )
            for _ in range(count)
        ]

    nappers = begun(NAPPER, NODES_TRIED, subprocess.PIPE)
    others = begun(OTHER, len(os.sched_getaffinity(0)), subprocess.DEVNULL)
    try:
        outputs = [process.communicate(timeout=seconds + PROBE_LIMIT_S)[0] for process in nappers]
    except subprocess.TimeoutExpired:
        return ()
    finally:
        for process in (*nappers, *others):
            process.kill()
            process.wait()
    return tuple(float(word) for text in outputs for word in text.split())


def listening_at_once(wanted: int) -> tuple[int, str]:
    """(number of simultaneous listeners on loopback, error that ended it)."""
    with contextlib.ExitStack() as held:
        for count in range(wanted):
            try:
                listener = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
                listener.bind((LOOPBACK, 0))
                listener.listen(1)
            except OSError as error:
                return count, error.strerror or str(error)
    return wanted, ""


def capabilities(status: Path = Path("/proc/self/status")) -> frozenset[str]:
    """Effective capabilities, of those that faultline uses."""
    lines = status.read_text().splitlines() if status.exists() else []
    bits = next((int(line.split()[1], 16) for line in lines if line.startswith("CapEff:")), 0)
    return frozenset(name for name, bit in CAPABILITY_BITS.items() if bits >> bit & 1)


def _java(environ: Mapping[str, str]) -> JavaFacts:
    try:
        java = find_java(environ)
    except NoJavaError as error:
        return JavaFacts(problem=str(error))
    return JavaFacts(java.major, str(java.command), java.origin)


def _docker(image: str) -> DockerFacts:
    if not _which("docker"):
        return DockerFacts()
    engine, problem = _ask("docker", "version", "--format", "{{.Server.Version}}")
    if not engine:
        return DockerFacts(client=True, problem=problem)
    built, _ = _ask("docker", "image", "inspect", "--format", "{{.Created}}", image)
    return DockerFacts(True, engine, "", _compose(), f"{image} on {built[:10]}" if built else "")


def _compose() -> str:
    plugin, _ = _ask("docker", "compose", "version", "--short")
    if plugin:
        return f"docker compose {plugin}"
    alone, _ = _ask("docker-compose", "version", "--short")
    return f"docker-compose {alone}" if alone else ""


def _ask(*command: str) -> tuple[str, str]:
    """(first line of the output or "", reason for its absence)."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=ASK_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "", f"{command[0]} did not answer within {ASK_LIMIT_S:g} s"
    except OSError as error:
        return "", f"{command[0]}: {error.strerror}"
    if done.returncode:
        return "", _first(done.stderr.splitlines()) or f"{command[0]} ended with {done.returncode}"
    return _first(done.stdout.splitlines()), ""


def _first(lines: Sequence[str]) -> str:
    return next((line.strip() for line in lines if line.strip()), "")


def _which(tool: str) -> str | None:
    """Path of a tool, also in directories that only root has on PATH."""
    return shutil.which(tool) or shutil.which(tool, path="/usr/sbin:/sbin")


def _existing(path: Path) -> Path:
    return next(place for place in (path, *path.parents) if place.exists())
