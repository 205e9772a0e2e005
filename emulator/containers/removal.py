"""What a cluster has on a container engine, by the labels that the compose tool and `Project` put on it: found and
removed without its compose file, its directory or the tool."""

import contextlib
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from emulator.containers.tool import DockerFailed, docker
from emulator.runs.identity import identity_from, standing_of

PROJECT_LABEL: Final = "com.docker.compose.project"
OWNER_LABEL: Final = "faultline.owner"
"""The Identity of the process that it lives and dies with, as text."""
FOLDER_LABEL: Final = "faultline.folder"
"""What a container was made with, in its run's directory."""
OWN_FOLDER: Final = ".containers"
REMOVAL_LIMIT_S: Final = 60.0
NETWORK_TRIES: Final = 8
NETWORK_AGAIN_S: Final = 0.25


class Objects(msgspec.Struct, frozen=True):
    """Ids. A stopped container is one, too."""

    containers: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.containers or self.networks or self.volumes)

    def __str__(self) -> str:
        kinds = (("container", self.containers), ("network", self.networks), ("volume", self.volumes))
        return ", ".join(f"{len(ids)} {kind}{'' if len(ids) == 1 else 's'}" for kind, ids in kinds if ids) or "nothing"


def objects_of(project: str) -> Objects:
    """All that there is of one project. Raises DockerMissing, DockerFailed."""
    return _with_label(f"{PROJECT_LABEL}={project}")


def remove_project(project: str) -> Objects:
    """Removes its containers, networks and volumes; nothing, if there is nothing. Returns what there was. Raises
    DockerMissing, DockerFailed."""
    there = objects_of(project)
    _remove(there)
    return there


def remove_abandoned() -> dict[str, Objects]:
    """Removes what belongs to processes of this machine that are dead; returns {project: what there was}. Raises
    DockerMissing, DockerFailed."""
    every = _with_label(OWNER_LABEL)
    dead: dict[str, Objects] = {}
    folders: set[str] = set()
    for kind in Objects.__struct_fields__:
        for one, project, owner, folder in _labels(kind, getattr(every, kind)):
            identity = identity_from(owner)
            if identity is None or standing_of(identity) != "dead":
                continue
            before = dead.get(project, Objects())
            dead[project] = msgspec.structs.replace(before, **{kind: (*getattr(before, kind), one)})
            folders.add(folder)
    for there in dead.values():
        _remove(there)
    for folder in folders:
        if Path(folder).name == OWN_FOLDER:
            shutil.rmtree(folder, ignore_errors=True)
    return dead


def _remove(there: Objects) -> None:
    """A network may have endpoints for a moment after its last container is gone: the engine takes its time."""
    if there.containers:
        docker("rm", "--force", "--volumes", *there.containers, limit_s=REMOVAL_LIMIT_S)
    for left in reversed(range(NETWORK_TRIES)):
        try:
            if there.networks:
                docker("network", "rm", *there.networks, limit_s=REMOVAL_LIMIT_S)
            break
        except DockerFailed:
            networks = [one for one in there.networks if one in _ids("network", "ls", "--no-trunc")]
            if not left and networks:
                raise
            there = msgspec.structs.replace(there, networks=tuple(networks))
            time.sleep(NETWORK_AGAIN_S)
    if there.volumes:
        docker("volume", "rm", "--force", *there.volumes, limit_s=REMOVAL_LIMIT_S)


def _with_label(label: str) -> Objects:
    of = ("--filter", f"label={label}")
    return Objects(
        _ids("ps", "--all", "--no-trunc", *of), _ids("network", "ls", "--no-trunc", *of), _ids("volume", "ls", *of)
    )


def _ids(*words: str) -> tuple[str, ...]:
    return tuple(docker(*words, "--quiet").split())


def _labels(kind: str, ids: Sequence[str]) -> list[tuple[str, ...]]:
    """(id, project, owner, folder) of each. One that has gone meanwhile is left out."""
    if not ids:
        return []
    where = ".Config.Labels" if kind == "containers" else ".Labels"
    form = "\t".join(f'{{{{index {where} "{label}"}}}}' for label in (PROJECT_LABEL, OWNER_LABEL, FOLDER_LABEL))
    name = ".Name" if kind == "volumes" else ".Id"
    words = ["inspect", "--format", f"{{{{{name}}}}}\t{form}"]
    command = {"containers": words, "networks": ["network", *words], "volumes": ["volume", *words]}[kind]
    found = []
    for one in ids:
        with contextlib.suppress(DockerFailed):
            found.append(tuple(docker(*command, one).rstrip("\n").split("\t")))
    return found
