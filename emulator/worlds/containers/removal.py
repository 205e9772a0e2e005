"""Finds and removes a cluster's objects on a container engine, by their labels.

The compose tool and `Project` set the labels, so removal needs no compose file, no directory and no tool.
"""

import contextlib
import shutil
import time
from collections import defaultdict
from collections.abc import Sequence, Set
from pathlib import Path
from typing import Final

import msgspec

from emulator.identity import identity_from, standing_of
from emulator.worlds.containers.tool import DockerFailed, DockerMissing, NoEngine, docker

PROJECT_LABEL: Final = "com.docker.compose.project"
OWNER_LABEL: Final = "faultline.owner"
"""Label: the Identity of the process that it lives and dies with, as text."""
FOLDER_LABEL: Final = "faultline.folder"
"""Label: the folder in the run's directory with the files that made the containers."""
OWN_FOLDER: Final = ".containers"
REMOVAL_LIMIT_S: Final = 60.0
TRIES: Final = 40
AGAIN_S: Final = 0.25
LISTED: Final = {
    "containers": ("ps", "--all", "--no-trunc"),
    "networks": ("network", "ls", "--no-trunc"),
    "volumes": ("volume", "ls"),
}


class Objects(msgspec.Struct, frozen=True):
    """Ids of one project's objects, stopped containers included."""

    containers: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.containers or self.networks or self.volumes)

    def __str__(self) -> str:
        kinds = (("container", self.containers), ("network", self.networks), ("volume", self.volumes))
        return ", ".join(f"{len(ids)} {kind}{'' if len(ids) == 1 else 's'}" for kind, ids in kinds if ids) or "nothing"


def objects_of(project: str) -> Objects:
    """All objects of one project. Raises DockerMissing, DockerFailed."""
    return _with_label(f"{PROJECT_LABEL}={project}")


def remove_project(project: str, folder: Path | None = None) -> Objects:
    """Remove a project's containers, networks, volumes and folder; return the removed objects.

    `folder`: the one in the run's directory; None: a plain `docker compose up` made none.

    Raises DockerMissing, DockerFailed.
    """
    there = objects_of(project)
    _remove(there, set() if folder is None else {folder})
    return there


def remove_abandoned() -> dict[str, Objects]:
    """Remove the objects of this machine's dead processes; return {project: objects}.

    Raises DockerMissing, also if no engine runs; DockerFailed, also if it ends meanwhile.
    """
    try:
        every = _with_label(OWNER_LABEL)
    except NoEngine as error:
        raise DockerMissing(f"no Docker engine answers ({error})") from None
    dead: dict[str, Objects] = {}
    folders: defaultdict[str, set[Path]] = defaultdict(set)
    for kind in Objects.__struct_fields__:
        for one, project, owner, folder in _labels(kind, getattr(every, kind)):
            identity = identity_from(owner)
            if identity is None or standing_of(identity) != "dead":
                continue
            before = dead.get(project, Objects())
            dead[project] = msgspec.structs.replace(before, **{kind: (*getattr(before, kind), one)})
            if Path(folder).name == OWN_FOLDER:
                folders[project].add(Path(folder))
    for project, there in dead.items():
        _remove(there, folders[project])
    return dead


def _remove(there: Objects, folders: Set[Path]) -> None:
    """Remove objects and folders, also while another process removes them.

    - A network has endpoints for a moment after its last container is gone.
    - The folders go before the last labelled object: a caller that finds no object of a project finds no folder either.
    - They go after the containers: a container that starts would make its folder anew.
    - Containers go one after the other: an engine in which nine of a network end at the same moment may hang in its
      network's locks (seen in 20.10.24, in libnetwork's endpoint.Delete).
    """
    for container in there.containers:
        _until_gone((container,), ("rm", "--force", "--volumes"), LISTED["containers"])
    problems = [problem for folder in sorted(folders) if (problem := _problem_of_removing(folder))]
    _until_gone(there.networks, ("network", "rm"), LISTED["networks"])
    _until_gone(there.volumes, ("volume", "rm", "--force"), LISTED["volumes"])
    if problems:
        raise DockerFailed("; ".join(problems))


def _problem_of_removing(folder: Path) -> str:
    try:
        while folder.exists():
            with contextlib.suppress(FileNotFoundError):  # another process removed a part of it
                shutil.rmtree(folder)
    except OSError as error:
        return f"{folder} could not be removed: {error}"
    return ""


def _until_gone(ids: Sequence[str], remove: Sequence[str], listed: Sequence[str]) -> None:
    """Remove objects with retries.

    Raises DockerFailed if the last try failed and one still exists.

    The engine takes its time, and refuses an object that is being removed already.
    """
    for left in reversed(range(TRIES)):
        if not ids:
            return
        try:
            docker(*remove, *ids, limit_s=REMOVAL_LIMIT_S)
            return
        except DockerFailed:
            there = _ids(*listed)
            ids = [one for one in ids if one in there]
            if not left and ids:
                raise
            time.sleep(AGAIN_S)


def _with_label(label: str) -> Objects:
    of = ("--filter", f"label={label}")
    return Objects(**{kind: _ids(*listed, *of) for kind, listed in LISTED.items()})


def _ids(*words: str) -> tuple[str, ...]:
    return tuple(docker(*words, "--quiet").split())


def _labels(kind: str, ids: Sequence[str]) -> list[tuple[str, ...]]:
    """(id, project, owner, folder) of each object that still exists. Raises DockerFailed."""
    if not ids:
        return []
    where = ".Config.Labels" if kind == "containers" else ".Labels"
    form = "\t".join(f'{{{{index {where} "{label}"}}}}' for label in (PROJECT_LABEL, OWNER_LABEL, FOLDER_LABEL))
    name = ".Name" if kind == "volumes" else ".Id"
    words = ["inspect", "--format", f"{{{{{name}}}}}\t{form}"]
    command = {"containers": words, "networks": ["network", *words], "volumes": ["volume", *words]}[kind]
    found = []
    for one in ids:
        try:
            found.append(tuple(docker(*command, one).rstrip("\n").split("\t")))
        except DockerFailed:
            if one in _ids(*LISTED[kind]):
                raise
    return found
