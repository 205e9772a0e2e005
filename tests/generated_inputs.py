"""Generated inputs of every kind, each played to its exit code in this process.

    python -m tests.generated_inputs --cases 10000 [KIND...]

plays so many of each kind and prints how long that took and how many had which exit code. The kinds: `scenarios`,
`settings`, `recordings`, `commands` (command lines), `files` (files of every type that a command reads, changed) and
`processes` (command lines as processes of their own).
The suite plays some of each.
"""

from __future__ import annotations

import argparse
import errno
import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Final

import pytest

from protocol.versions import LADDER
from tests.bounded_commands import Ended, bound_commands, ended
from tests.emulator.settings.hostile_settings import SCENARIO as SETTINGS_SCENARIO
from tests.emulator.settings.hostile_settings import file_of
from tests.generated_command_lines import command_line, plain
from tests.generated_recordings import recording_of
from tests.generated_scenarios import scenario_text
from tests.input_folder import ROOT, copy_folder, make_input_folder
from tests.input_outcomes import ENDINGS, NoEnding, outcome
from tests.mutated_files import change

INTERRUPTED: Final = 130
"""A command that was at work when its time was over."""
WRITES: Final = frozenset(("run", "sim", "sweep", "advise", "fuzz", "audit", "report", "up", "attach", "down"))
"""Commands that may leave something in the folder."""
FILES_UNSAID: Final = ("cluster.json", "*")
"""A damaged entry of a cluster counts as none; a part of a campaign has a name of its own."""
NOT_HERE: Final = ("a test starts", "docker", "holds a campaign that")
"""Refusals for another reason than the file's text."""

PROCESS_S: Final = 20.0

Outcome = int | str
Play = Callable[[int, Path], Outcome]


def scenario(number: int, folder: Path) -> Outcome:
    """Of a generated scenario file: "refused" with places, or the exit code of its run."""
    place = _fresh(folder / "case")
    place.mkdir()
    return outcome(scenario_text(number), place)


def settings(number: int, folder: Path) -> Outcome:
    """Of a run with a generated settings file. Code 2 names file and line."""
    chance = Random(number)
    name, text = file_of(chance)
    version = chance.choice(LADDER)
    (folder / "played.yaml").write_text(SETTINGS_SCENARIO, encoding="utf-8")
    (folder / name).write_text(text, encoding="utf-8")
    words = ["run", "played.yaml", "--world", "sim", "--kafka-version", version, "--settings", name]
    found = _accepted([*words, "--out", str(_fresh(folder / "case"))])
    if found.code == 2 and f"{name}:" not in found.err:
        raise NoEnding(f"no file and line: {found.err}")
    return found.code


def recording(number: int, folder: Path) -> Outcome:
    """Of a run of a generated recording. Code 2 names the file."""
    (folder / "1.json").write_bytes(recording_of(number))
    found = _accepted(["run", "1.json", "--world", "sim", "--out", str(_fresh(folder / "case"))])
    if found.code == 2 and "1.json" not in found.err:
        raise NoEnding(f"no file: {found.err}")
    return found.code


def command(number: int, folder: Path) -> Outcome:
    """Of a generated command line in a folder with files of each kind.

    The folder is as it was but for what lines before it left there."""
    words = command_line(number)
    place = folder / "parent" / "work"
    if not place.exists():
        copy_folder(folder / "made", place)
    os.chdir(place)
    found = _accepted(words)
    os.chdir(folder)
    if found.code != 2 and words[0] in WRITES:
        shutil.rmtree(place)
    if found.code == 2:
        require_message(words, found)
    return found.code


def file(number: int, folder: Path) -> Outcome:
    """Of a command that reads a changed file. Code 2 names the file."""
    place = _fresh(folder / "work")
    copy_folder(folder / "made", place)
    os.chdir(place)
    read = change(number, place)
    found = _accepted(read.words.split())
    os.chdir(folder)
    name = Path(read.file).name
    unsaid = any(word in name for word in FILES_UNSAID) or any(word in found.err for word in NOT_HERE)
    if found.code == 2 and not unsaid and name not in found.err + found.out:
        raise NoEnding(f"{read} is not named: {found.err}")
    return found.code


def process(number: int, folder: Path) -> Outcome:
    """Of a generated command line as a process of its own.

    "left out": it would start nodes, or is no line that a process can be given."""
    words = command_line(number)
    if not plain(words) or words[0] in ("up", "attach") or (words[0] == "run" and "sim" not in " ".join(words)):
        return "left out"
    place = folder / "parent" / "work"
    if not place.exists():
        copy_folder(folder / "made", place)
    try:
        child = subprocess.Popen(
            [sys.executable, "-m", "emulator", *words], cwd=place, env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
    except OSError as error:  # words too long for a process
        if error.errno != errno.E2BIG:
            raise
        return "left out"
    with child:
        try:
            out, err = child.communicate(timeout=PROCESS_S)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGINT)
            out, err = child.communicate()
    found = Ended(child.returncode, out.decode(), err.decode())
    if found.code not in (*ENDINGS, INTERRUPTED):
        raise NoEnding(f"{words} ends with {found.code}: {found.err}")
    if found.code != 2 and words[0] in WRITES:
        shutil.rmtree(place)
    if found.code == 2:
        require_message(words, found)
    return found.code


def require_message(words: list[str], found: Ended) -> None:
    """Code 2 says why, without a traceback; what the parser says is one line."""
    if found.err.startswith("faultline: ") and found.err.count("\n") > 1 and "\n" not in "".join(words):
        raise NoEnding(f"several lines: {words} {found.err}")
    if "Traceback" in found.err or not (found.err.strip() or found.out.strip()):
        raise NoEnding(f"no message: {words} {found.err}")


def _accepted(words: list[str]) -> Ended:
    found = ended(words)
    if found.code not in (*ENDINGS, INTERRUPTED) or "Traceback" in found.err:
        raise NoEnding(f"{words} ends with {found.code}: {found.err}")
    return found


def _fresh(place: Path) -> Path:
    shutil.rmtree(place, ignore_errors=True)
    return place


KINDS: Final[dict[str, Play]] = {
    "scenarios": scenario,
    "settings": settings,
    "recordings": recording,
    "commands": command,
    "files": file,
    "processes": process,
}


def tallied(kind: str, numbers: Iterable[int], folder: Path) -> Counter[Outcome]:
    """Count the outcomes of cases.

    `folder`: an empty one, which is the current directory afterwards. Raises NoEnding, with the number of the case."""
    counts: Counter[Outcome] = Counter()
    play = KINDS[kind]
    folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patched:
        bound_commands(patched, folder / "home")
        if play in (command, file, process):
            (folder / "made").mkdir()
            os.chdir(folder / "made")
            make_input_folder(folder / "made")
        os.chdir(folder)
        for number in numbers:
            try:
                with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                    counts[play(number, folder)] += 1
            except Exception as error:
                raise NoEnding(f"{kind}, case {number}: {type(error).__name__}: {error}") from error
    return counts


def main() -> int:
    """Print a line for each kind; the exit code is 1 where a case had no exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.generated_inputs")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}; default all")
    parser.add_argument("--cases", type=int, default=10_000, help="of each kind; default 10000")
    parser.add_argument("--first", type=int, default=0, help="number of the first case; default 0")
    options = parser.parse_args()
    code = 0
    for kind in options.kinds or KINDS:
        began_s = perf_counter()
        with tempfile.TemporaryDirectory(prefix="faultline-inputs-") as folder:
            try:
                counts = tallied(kind, range(options.first, options.first + options.cases), Path(folder) / "work")
            except NoEnding as error:
                print(f"{kind}: {error}", flush=True)
                code = 1
                continue
            finally:
                os.chdir("/")
        ordered = sorted(counts.items(), key=lambda one: str(one[0]))
        outcomes = ", ".join(f"{found}: {count}" for found, count in ordered)
        print(f"{kind}: {options.cases} cases in {perf_counter() - began_s:.0f} s; {outcomes}", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
