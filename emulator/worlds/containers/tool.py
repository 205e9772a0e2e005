"""Docker's command line: finds it, runs it, and turns its errors into one line."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from typing import Final

ANSWER_LIMIT_S: Final = 20.0


class DockerMissing(Exception):
    """No Docker command, no compose tool, or no engine that answers; the message has the remedy."""


class DockerFailed(Exception):
    """A Docker command that ended with an error; the message is its last line."""


class NoEngine(DockerFailed):
    """No engine runs, or its socket is not permitted.

    An engine that is too slow counts as running.
    """


ERRORS_WITHOUT_ENGINE: Final = ("Cannot connect to the Docker daemon", "permission denied while trying to connect")
"""Errors of Docker's commands without an engine."""


def docker(*words: str, limit_s: float = ANSWER_LIMIT_S, env: Mapping[str, str] | None = None) -> str:
    """Output of `docker WORDS`. Raises DockerMissing, DockerFailed."""
    if shutil.which("docker") is None:
        raise DockerMissing("there is no docker command; install Docker, or use --engine process")
    return _run(("docker", *words), limit_s, env)


def compose_tool() -> tuple[str, ...]:
    """`docker compose` (v2), or `docker-compose` (v1). Raises DockerMissing."""
    try:
        docker("compose", "version")
        return ("docker", "compose")
    except DockerFailed:
        if shutil.which("docker-compose") is not None:
            return ("docker-compose",)
    raise DockerMissing("there is neither `docker compose` nor `docker-compose`; install Docker's compose plugin")


def compose(*words: str, limit_s: float, env: Mapping[str, str] | None = None) -> str:
    """Output of the compose tool. Raises DockerMissing, DockerFailed."""
    return _run((*compose_tool(), *words), limit_s, env)


def engine_version() -> str:
    """Version of the running engine. Raises DockerMissing."""
    try:
        return docker("version", "--format", "{{.Server.Version}}").strip()
    except DockerFailed as error:
        raise DockerMissing(f"no Docker engine answers ({error}); start it, or use --engine process") from None


def image_exists(name: str) -> bool:
    """Whether the engine has the image. Raises DockerMissing."""
    try:
        docker("image", "inspect", "--format", "{{.Id}}", name)
    except DockerFailed:
        return False
    return True


def _run(words: Sequence[str], limit_s: float, env: Mapping[str, str] | None) -> str:
    given = {**os.environ, **(env or {})}
    given.pop("PYTHONPATH", None)  # ours; docker-compose is a Python program, too, of another Python
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=limit_s, env=given, stdin=subprocess.DEVNULL, check=False
        )
    except subprocess.TimeoutExpired:
        raise DockerFailed(f"`{' '.join(words[:4])} ...` did not end within {limit_s:g} s") from None
    if done.returncode != 0:
        lines = [line for line in done.stderr.strip().splitlines() if line.strip()]
        why = lines[-1] if lines else f"`{' '.join(words[:4])} ...` ended with {done.returncode}"
        raise NoEngine(why) if any(words in why for words in ERRORS_WITHOUT_ENGINE) else DockerFailed(why)
    return done.stdout
