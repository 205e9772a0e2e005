"""`python -m docs.session`: plays the story in a terminal; writes recording and picture."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

from docs.session.cast import Event, Header, as_text
from docs.session.recorded_terminal import NotSeen, Terminal
from docs.session.session_svg import CAST, page
from docs.session.story import STORY, TITLE, Step
from emulator.toplevel_errors import ended

ROOT = Path(__file__).parents[2]
COLUMNS, LINES = 100, 32
SETTLED_S = 60.0


def main(arguments: list[str]) -> int:
    if arguments:
        print(f"usage: python -m docs.session, not {' '.join(arguments)}", file=sys.stderr)
        return 2
    try:
        with tempfile.TemporaryDirectory(prefix="faultline-session-") as directory:
            events = _played(Path(directory))
    except NotSeen as error:
        print(f"docs.session: {error}", file=sys.stderr)
        return 1
    header = Header(2, COLUMNS, LINES, TITLE, env={"SHELL": "bash", "TERM": "xterm-256color"})
    (ROOT / CAST).write_text(as_text(header, events), encoding="utf-8")
    (ROOT / CAST).with_suffix(".svg").write_text(page(ROOT), encoding="utf-8")
    print(f"{CAST}: {len(events)} events, {events[-1].at_s:.0f} s")
    return 0


def _played(directory: Path) -> list[Event]:
    """Raises NotSeen. Leaves no cluster behind."""
    env = _environment(directory)
    try:
        with Terminal(directory, env, COLUMNS, LINES) as terminal:
            for part in STORY:
                terminal.mark(part.caption)
                for step in part.steps:
                    _play(step, terminal, directory, env)
            return terminal.events
    finally:
        subprocess.run(["faultline", "down"], cwd=directory, env=env, stdout=subprocess.DEVNULL, check=True)


def _play(step: Step, terminal: Terminal, directory: Path, env: dict[str, str]) -> None:
    if step.settled:
        _wait_settled(directory, env)
    print(f"$ {step.command}", flush=True)
    terminal.run(step.command, step.shows, step.limit_s, interrupt=step.interrupt)


def _wait_settled(directory: Path, env: dict[str, str]) -> None:
    """Looks again and again; a look takes long enough to be no burden. Raises NotSeen."""
    deadline = time.monotonic() + SETTLED_S
    while time.monotonic() < deadline:
        looked = subprocess.run(
            ["faultline", "status", "--json"], cwd=directory, env=env, stdout=subprocess.PIPE, check=True
        )
        partitions = msgspec.json.decode(looked.stdout)["partitions"].values()
        if all(_in_order(list(replicas.values())) for replicas in partitions):
            return
    raise NotSeen(f"the cluster did not settle within {SETTLED_S:.0f} s")


def _in_order(replicas: list[dict[str, Any]]) -> bool:
    """Whether there is one leader, with all replicas in its ISR, known to all brokers."""
    leaders = [replica for replica in replicas if replica["is_leader"]]
    alike = {(replica["leader_epoch"], replica["high_watermark"], replica["log_end"]) for replica in replicas}
    return len(leaders) == 1 and len(leaders[0]["isr"]) == len(replicas) == 3 and len(alike) == 1


def _environment(directory: Path) -> dict[str, str]:
    """Environment of the terminal.

    The project's own commands first; without variables of this terminal, and without other running clusters.
    """
    scripts = Path(sys.executable).parent
    kept = {name: os.environ[name] for name in ("HOME", "JAVA_HOME") if name in os.environ}
    path = f"{scripts}{os.pathsep}{os.environ['PATH']}"
    return {**kept, "PATH": path, "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8", "XDG_STATE_HOME": f"{directory}/.state"}


if __name__ == "__main__":
    sys.exit(ended("docs.session", lambda: main(sys.argv[1:])))
