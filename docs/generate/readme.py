"""Generated parts of README.md and docs/first-steps.md: outputs, and the recordings' count.

People write the prose.
A simulated run repeats an output to the letter. The commands `$ faultline ...` of a page run in a directory of their
own, one after the other; `$ cat FILE` writes that file as the page shows it. Figures of speed stay as they were."""

import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from emulator.judging.recording_match import recorded_versions
from emulator.packaged import GOLDEN
from emulator.runs.scenario_sources import catalogue

README = "README.md"
FIRST_STEPS = "docs/first-steps.md"
LIMIT_S = 120.0
_SHOWN = re.compile(r"^\$ (faultline|cat) (.*)\n((?:(?!\$ |```).*\n)*)", re.MULTILINE)
_RECORDED = re.compile(r"\d+ of the \d+ scenarios have recordings of real Kafka, and so have \d+ \[")
_SPEED = re.compile(r"^(\d+\.\d+ s)(?=; )|(?<=simulated in )\S+ s: \S+(?= x real time)", re.MULTILINE)


def page(root: Path) -> str:
    return with_outputs((root / README).read_text(encoding="utf-8"))


def first_steps(root: Path) -> str:
    return with_outputs((root / FIRST_STEPS).read_text(encoding="utf-8"))


def with_outputs(text: str) -> str:
    """The page's text with what its commands print now."""
    with TemporaryDirectory() as scratch:
        def shown(found: re.Match[str]) -> str:
            program, words, was = found.groups()
            if program == "cat":
                (Path(scratch) / words).write_text(was, encoding="utf-8")
                return found[0]
            return f"$ faultline {words}\n{as_fast_as(was, printed(words, Path(scratch)))}"

        return _SHOWN.sub(shown, _RECORDED.sub(recorded(), text))


def recorded() -> str:
    """Number of recordings of real Kafka, as text."""
    scenarios = sum(bool(recorded_versions(name)) for name in catalogue())
    schedules = len(list(GOLDEN.glob("random-*@*")))
    return f"{scenarios} of the {len(catalogue())} scenarios have recordings of real Kafka, and so have {schedules} ["


def printed(words: str, folder: Path) -> str:
    """Output of `faultline WORDS`, or `faultline WORDS | grep PATTERN`, in `folder`."""
    command, _, pattern = words.partition(" | grep ")
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
    ended = subprocess.run(
        [sys.executable, "-m", "emulator", *command.split()],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,  # a run that is not valid is part of the story
    )
    assert not ended.stderr, f"faultline {command}: {ended.stderr}"
    return "".join(line for line in ended.stdout.splitlines(keepends=True) if pattern in line)


def as_fast_as(was: str, now: str) -> str:
    """`now`, with the speeds of `was` where both have as many."""
    speeds = [found[0] for found in _SPEED.finditer(was)]
    if len(speeds) != len(_SPEED.findall(now)):
        return now
    return _SPEED.sub(lambda _: speeds.pop(0), now)
