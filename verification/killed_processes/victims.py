"""Identification of processes: by name, parent, or container."""

import contextlib

import psutil

from emulator.cluster.ending import FORK_SERVER
from emulator.worlds.containers.project import project_name
from emulator.worlds.containers.removal import PROJECT_LABEL
from emulator.worlds.containers.tool import docker
from verification.killed_processes.remaining_processes import Home

AGENT = ["-m", "emulator", "agent"]
NODES = tuple(f"{role}-{az}" for role in ("broker", "session", "client") for az in range(3))


def found(home: Home, kind: str, engine: str) -> psutil.Process | None:
    """The process of a kind.

    `kind`: "owner" (of the only entry), "fork server", "java", "agent NODE", or a node's name.
    """
    if kind == "owner":
        return next((psutil.Process(entry.pid) for entry in home.entries()), None)
    if engine == "docker" and kind not in ("java", "fork server"):
        return _in_container(home, kind)
    for process in home.processes():
        with contextlib.suppress(psutil.Error):
            if _is(process, kind):
                return process
    return None


def _is(process: psutil.Process, kind: str) -> bool:
    if kind == "java":
        return "org.apache.spark.deploy.SparkSubmit" in process.cmdline()
    if kind == "fork server":
        return FORK_SERVER in process.cmdline() and process.name() not in NODES
    if kind.startswith("agent "):
        node = kind.removeprefix("agent ")
        of_node = process.environ().get("FAULTLINE_NODE") == node
        return of_node and process.cmdline()[1:4] == AGENT and process.name() != node
    return process.name() == kind


def _in_container(home: Home, kind: str) -> psutil.Process | None:
    node = kind.removeprefix("agent ")
    labels = (f"label={PROJECT_LABEL}={project_name(home.run)}", f"label=com.docker.compose.service={node}")
    ids = docker("ps", "--quiet", *(word for label in labels for word in ("--filter", label))).split()
    if not ids:
        return None
    agent = psutil.Process(int(docker("inspect", "--format", "{{.State.Pid}}", ids[0])))
    if kind.startswith("agent "):
        return agent
    return next((one for one in agent.children() if one.name() == node), None)
