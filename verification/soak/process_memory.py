"""Memory of each node: its proportional share (PSS), since forked nodes share imports.

A node's process bears its name. Of local processes it is the one that has its events' file open; in a container there
is only one of that name.
"""

import contextlib
from pathlib import Path
from statistics import linear_regression, median

import msgspec
import psutil

from emulator.cluster.cluster_registry import Found
from emulator.cluster.specification import LiveSpec
from emulator.topology import OBSERVER
from emulator.worlds.containers.project import Project
from emulator.worlds.network.process import NAME_BYTES_MAX

MIB = 1 << 20
SUPERVISOR = "supervisor"


class Sample(msgspec.Struct, frozen=True):
    """`at_s`: real seconds since the workload began."""

    at_s: float
    mib: float


class Trend(msgspec.Struct, frozen=True):
    """Medians of the first and the last third, in MiB, and a slope in MiB per hour.

    The slope is of the last two thirds, after one-time growth. `highest`: of all samples.
    """

    first: float
    last: float
    highest: float
    slope_per_h: float
    samples: int

    @property
    def growth(self) -> float:
        return self.last - self.first


def trend_of(samples: list[Sample]) -> Trend | None:
    """None: too few to say."""
    third = len(samples) // 3
    if third < 3:
        return None
    later = samples[third:]
    slope, _ = linear_regression([one.at_s for one in later], [one.mib for one in later])
    return Trend(
        first=round(median(one.mib for one in samples[:third]), 2),
        last=round(median(one.mib for one in samples[-third:]), 2),
        highest=round(max(one.mib for one in samples), 2),
        slope_per_h=round(slope * 3600.0, 2),
        samples=len(samples),
    )


class Memory:
    """Samples of every node of a cluster that is up, and of its supervisor."""

    def __init__(self, found: Found, spec: LiveSpec) -> None:
        self._found = found
        self._spec = spec
        self._nodes = [node.name for node in spec.run.topology.nodes if node.name != OBSERVER]
        self._processes: dict[str, psutil.Process] = {}
        self.series: dict[str, list[Sample]] = {name: [] for name in (*self._nodes, SUPERVISOR)}

    def sample(self, at_s: float) -> None:
        """A measurement of each live process. A node's later incarnation is found again."""
        if len(self._processes) < len(self.series):
            self._processes = self._find()
        for name, process in list(self._processes.items()):
            try:
                self.series[name].append(Sample(round(at_s, 3), process.memory_full_info().pss / MIB))
            except psutil.NoSuchProcess:
                del self._processes[name]

    def _find(self) -> dict[str, psutil.Process]:
        found = {SUPERVISOR: psutil.Process(self._found.registration.pid)}
        candidates = self._in_containers() if self._spec.engine == "docker" else self._local()
        for name in self._nodes:
            if (process := candidates.get(name)) is not None:
                found[name] = process
        return found

    def _local(self) -> dict[str, psutil.Process]:
        events = self._found.directory / "events"
        wanted = {name[:NAME_BYTES_MAX]: name for name in self._nodes}
        found = {}
        for process in psutil.process_iter(["name"]):
            name = wanted.get(process.info["name"])
            if name is not None and _has_open(process, events, name):
                found[name] = process
        return found

    def _in_containers(self) -> dict[str, psutil.Process]:
        spec = self._spec
        project = Project(Path(spec.compose_file), self._found.directory, spec.run.topology)
        found = {}
        for name, machine in project.machines().items():
            if not machine.pid:
                continue
            agent = psutil.Process(machine.pid)
            for process in (agent, *agent.children(recursive=True)):
                if process.name() == name[:NAME_BYTES_MAX]:
                    found[name] = process
        return found


def _has_open(process: psutil.Process, events: Path, name: str) -> bool:
    with contextlib.suppress(psutil.Error):
        return any(Path(file.path).parent == events and Path(file.path).name.startswith(f"{name}.")
                   for file in process.open_files())  # fmt: skip
    return False
