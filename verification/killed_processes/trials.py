"""Trials: each starts a command, kills one of its processes, and checks the state."""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
import psutil

from emulator.run_layout import EVENTS_FOLDER
from verification.killed_processes.remaining_processes import Home, until
from verification.killed_processes.victims import found

START_WAIT_S: Final = 15.0
START_BOUND_S: Final = START_WAIT_S + 5.0
RETURNED_LIMIT_S: Final = 60.0
RUN_LIMIT_S: Final = 240.0
SPEEDS: Final = {("process", "nodes"): "5", ("docker", "nodes"): "2"}
SCENARIO: Final = "az-isolated-leader"
Place = tuple[str, str]
"""(engine, driver)."""


class Trial(msgspec.Struct, frozen=True):
    """A trial. `what`: up, run or audit. `problems`: violations; none, if all is well."""

    what: str
    engine: str
    driver: str
    killed: str
    problems: tuple[str, ...]
    seconds: float


class Ordered(msgspec.Struct, frozen=True):
    """A trial to play: the process to kill."""

    what: str
    place: Place
    victims: tuple[str, ...]


def played(ordered: Ordered, folder: Path, draw: random.Random, events: Path | None = None) -> list[Trial]:
    """One trial for each victim; those of `up` in one cluster, its supervisor last.

    `events`: a run for audits.
    """
    plays: dict[str, Callable[..., Iterator[Trial]]] = {"up": _up, "run": _run, "audit": _audit}
    home = Home(folder, docker=ordered.place[0] == "docker")
    if events is not None:
        shutil.copytree(events, home.run)
    trials: list[Trial] = []
    try:
        for trial in plays[ordered.what](ordered, home, draw):
            trials.append(trial)
    except subprocess.TimeoutExpired as late:  # a command that does not end is a problem, too
        trials.append(Trial(ordered.what, *ordered.place, "unknown", (str(late),), late.timeout))
    finally:
        with contextlib.suppress(subprocess.TimeoutExpired):
            home.ran("down", "--all")  # of a trial that failed
        for process in home.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
    return trials


@contextmanager
def _problems() -> Iterator[list[str]]:
    """Collect failed assertions as problems."""
    problems: list[str] = []
    try:
        yield problems
    except (AssertionError, psutil.Error) as error:
        problems.append(f"{type(error).__name__}: {error}")


def _kill(home: Home, kind: str, engine: str) -> psutil.Process:
    victim = until(lambda: found(home, kind, engine), f"a process that is {kind}")
    victim.kill()
    return victim


# --- a long-running cluster ---


def _up(ordered: Ordered, home: Home, draw: random.Random) -> Iterator[Trial]:
    engine, driver = ordered.place
    where = ("--engine", engine, "--driver", driver, "--speed", SPEEDS.get(ordered.place, "1"))
    up = home.ran("up", *where, "--out", str(home.run), "--name", "k")
    if up.code:
        yield Trial("up", engine, driver, "nothing", (f"up: {up.output}",), up.seconds)
        return
    home.note_namespaces()
    for kind in ordered.victims:
        began_s = time.monotonic()
        with _problems() as problems:
            if kind in ("owner", "fork server"):
                problems += _of_an_end(home, kind, engine, forgotten=draw.random() < 0.5)
            else:
                problems += _of_a_return(home, kind, engine)
        yield Trial("up", engine, driver, _kind_of(kind), tuple(problems), round(time.monotonic() - began_s, 3))


def _of_a_return(home: Home, kind: str, engine: str) -> list[str]:
    """After a kill of a node, or of its keeper: `start` brings it back.

    Each response comes within its time limit.
    """
    node = kind.removeprefix("agent ")
    _kill(home, kind, engine)
    until(lambda: not _alive(home, node), f"{node} seen dead")
    deadline = time.monotonic() + RETURNED_LIMIT_S
    problems = []
    while True:
        started = home.ran("start", node, "--wait", f"{START_WAIT_S:g}")
        if started.seconds > START_BOUND_S:
            problems.append(f"start {node} took {started.seconds:g} s: {started.output}")
        if _alive(home, node):
            return problems
        if time.monotonic() > deadline:
            return [*problems, f"{node} did not come back: {started.output}"]


def _alive(home: Home, node: str) -> bool:
    status = home.ran("status", "--json")
    assert status.code == 0, status.output
    return bool(msgspec.json.decode(status.output)["nodes"][node]["alive"])


def _of_an_end(home: Home, kind: str, engine: str, *, forgotten: bool) -> list[str]:
    """After a kill of the supervisor, or of the nodes' fork server: no process lives on.

    `status` reports it, and `down` removes the remains; if the registry is `forgotten`, by labels and names.
    """
    owner = found(home, "owner", engine)
    assert owner is not None, "no supervisor is registered"
    _kill(home, kind, engine)
    _, alive = psutil.wait_procs([owner], 30.0)
    problems = [f"the supervisor outlived its {kind}"] if alive else []
    problems += [f"process {one.pid} {one.name()} outlived it" for one in home._lasting(home.processes)]
    status = home.ran("status")
    if status.code != 2 or "faultline down" not in status.output:
        problems.append(f"status ended with {status.code}: {status.output}")
    if forgotten:
        home.forget()
    down = home.ran("down", *(["--all"] if forgotten else []))
    if down.code:
        problems.append(f"down ended with {down.code}: {down.output}")
    return [*problems, *(f"left: {one}; down said: {down.output.strip()}" for one in home.left())]


# --- a run ------------------------------------------------------------------------------------------------------------


def _run(ordered: Ordered, home: Home, draw: random.Random) -> Iterator[Trial]:
    engine, driver = ordered.place
    (kind,) = ordered.victims
    audit = "spark" if kind == "java" else "none"
    began_s = time.monotonic()
    runner = home.begin(
        "run", SCENARIO, "--engine", engine, "--driver", driver, "--audit", audit, "--out", str(home.run)
    )
    with _problems() as problems:
        until(lambda: any((home.run / EVENTS_FOLDER).glob("injector.*")) or runner.poll() is not None, "it plays")
        home.note_namespaces()
        time.sleep(draw.uniform(0.0, 2.0))
        if kind == "owner":
            runner.kill()
        else:
            _kill(home, kind, engine)
        output, _ = runner.communicate(timeout=RUN_LIMIT_S)
        if kind != "owner" and runner.returncode not in (0, 1, 3):  # an agent may die before it has a node
            problems.append(f"run ended with {runner.returncode}: {output[-500:]}")
        if "Traceback" in output:
            problems.append(f"a traceback: {output[-1000:]}")
        if kind == "owner":
            down = home.ran("down", *(["--all"] if draw.random() < 0.5 else []))
            if down.code:
                problems.append(f"down ended with {down.code}: {down.output}")
        problems += [f"left: {one}" for one in home.left()]
    yield Trial("run", engine, driver, _kind_of(kind), tuple(problems), round(time.monotonic() - began_s, 3))


# --- an audit ---------------------------------------------------------------------------------------------------------


def _audit(ordered: Ordered, home: Home, draw: random.Random) -> Iterator[Trial]:
    (kind,) = ordered.victims
    began_s = time.monotonic()
    audit = home.begin("audit", str(home.run))
    with _problems() as problems:
        java = until(lambda: found(home, "java", "process"), "Java")
        time.sleep(draw.uniform(0.0, 4.0))
        os.kill(audit.pid if kind == "owner" else java.pid, signal.SIGKILL)
        output, _ = audit.communicate(timeout=60.0)
        if kind == "java" and audit.returncode not in (0, 2, 3):
            problems.append(f"audit ended with {audit.returncode}: {output[-500:]}")
        if "Traceback" in output:
            problems.append(f"a traceback: {output[-1000:]}")
        left = [one for one in home.left() if not (kind == "owner" and one.startswith("scratch"))]
        home.ran("down", "--all")
        problems += [f"left: {one}" for one in {*left, *home.left()}]
    yield Trial("audit", "", "", _kind_of(kind), tuple(problems), round(time.monotonic() - began_s, 3))


def _kind_of(victim: str) -> str:
    """Without the node's name."""
    kind = "agent" if victim.startswith("agent ") else victim.rpartition("-")[0] or victim
    return kind
