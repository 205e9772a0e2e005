"""`python -m verification.release`: a release, up to its upload.

    python -m verification.release [--rehearse] [--dependencies-here] [--out dist]

Checks the tree, the version, the changelog and the repository's address; builds the distributions twice, with equal
bytes; checks their contents and metadata; installs the wheel into a fresh environment and runs it there. Prints the
commands of the upload, and uploads nothing. With `--rehearse` the first four are reported and do not count. With
`--dependencies-here` the fresh environment takes its dependencies from this one, and nothing is downloaded.
Exits with 1 if a check fails.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path
from time import perf_counter
from typing import Any
from zipfile import ZipFile

from trove_classifiers import classifiers

from emulator.exit_codes import BROKEN, HELD
from emulator.toplevel_errors import ended
from verification.release.distributions import PLUGIN, ROOT, BuildFailed, build, copied, differences
from verification.release.fresh_environment import CommandFailed, FreshEnvironment
from verification.release.release_checks import (
    PACKAGES,
    changelog_problems,
    metadata_problems,
    requirement_problems,
    source_problems,
    version_problems,
    wheel_problems,
)


class Checklist:
    """Prints each check as it ends, and counts those that fail."""

    def __init__(self) -> None:
        self.failed = 0

    def add(self, name: str, problems: Iterable[str], counts: bool = True) -> None:
        found = list(problems)
        mark = "✓" if not found else "✗" if counts else "!"
        print(f"{mark} {name}", *(f"    {line}" for line in found), sep="\n", flush=True)
        self.failed += bool(found) and counts


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rehearse", action="store_true", help="tree, version and changelog do not count")
    parser.add_argument("--dependencies-here", action="store_true", help="download nothing")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder of the distributions; default dist")
    options = parser.parse_args(arguments)
    began_s = perf_counter()
    checks, project, plugin = Checklist(), _project(ROOT), _project(ROOT / PLUGIN)
    strict = not options.rehearse
    checks.add("the tree is clean", _git("status", "--porcelain").splitlines(), strict)
    checks.add("version", version_problems(project, plugin, _git("tag").split()), strict)
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    checks.add("changelog", changelog_problems(changelog, project["version"]), strict)
    remote = _git("config", "--get", "remote.origin.url", codes=(0, 1)).strip()
    checks.add("address of the repository", source_problems(project["urls"]["Source"], remote), strict)
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    checks.add("requirements include the tested versions", requirement_problems(project["dependencies"], constraints))
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        try:
            made = build(ROOT, work / "first")
            again = build(copied(ROOT, work / "copy"), work / "second")
        except BuildFailed as failed:
            checks.add("build", str(failed).splitlines())
            return BROKEN
        checks.add("two builds are equal", differences(made, again))
        wheels = [path for path in made if path.suffix == ".whl"]
        for wheel in wheels:
            checks.add(f"contents and metadata of {wheel.name}", _wheel_problems(wheel))
        checks.add("works in a fresh environment", _run_problems(work, wheels, options.dependencies_here))
        print(f"{len(made)} files, {perf_counter() - began_s:.0f} s")
        if checks.failed:
            return BROKEN
        options.out.mkdir(parents=True, exist_ok=True)
        files = [shutil.copy(path, options.out) for path in made]
    if options.rehearse:
        print(f"in {options.out}; a rehearsal: no release")
        return HELD
    version = project["version"]
    print(f"in {options.out}; by hand:", f"  git tag --sign v{version} && git push origin v{version}", sep="\n")
    print(f"  twine upload {' '.join(map(str, files))}")
    return HELD


def _wheel_problems(wheel: Path) -> Iterable[str]:
    with ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        yield from wheel_problems(names, PACKAGES if "emulator/__init__.py" in names else ())
        yield from metadata_problems(archive.read(metadata), classifiers)


def _run_problems(work: Path, wheels: list[Path], dependencies_here: bool) -> Iterable[str]:
    folder = work / "fresh"
    folder.mkdir()
    fresh = FreshEnvironment(folder)
    try:
        if dependencies_here:
            fresh.install_beside(wheels)
        else:
            fresh.install(wheels, ROOT / "constraints.txt")
        if not json.loads(fresh.faultline("doctor", "--json"))["usable"]:
            yield "faultline doctor: cannot work"
        played = fresh.faultline("run", "az-isolated-leader", "--world", "sim", "--json")
        if json.loads(played)["valid"] is not True:
            yield "faultline run az-isolated-leader: not as expected"
    except CommandFailed as failed:
        yield from str(failed).splitlines()


def _project(folder: Path) -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return table


def _git(*words: str, codes: tuple[int, ...] = (0,)) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False, timeout=60.0)
    if done.returncode not in codes:
        raise OSError(f"git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(ended("verification.release", lambda: main(sys.argv[1:])))
