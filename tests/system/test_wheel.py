"""A wheel, and a wheel of the source distribution: complete where the tree is missing."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from emulator.packaged import DISTRIBUTION
from verification.release.fresh_environment import FreshEnvironment, done

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
FOLDERS = {"scenarios": "scenarios", "golden": "tests/golden", "compose": "compose"}
"""{folder of the package data: of the tree}"""
WHEEL_BYTES_MAX = 3_500_000
DOCKER = """#!/bin/sh
for context; do :; done
cp -R "$context" "$KEPT"
"""
"""An engine that keeps what it is to build from."""


class Installed(FreshEnvironment):
    """The wheel beside this test's dependencies."""

    def files(self) -> dict[str, tuple[int, int]]:
        """All below the package, with what shows that one was written."""
        found = {str(path): path.stat() for path in self.packages.rglob("*")}
        return {path: (about.st_size, about.st_mtime_ns) for path, about in found.items()}


def built(tree: Path, into: Path, target: str) -> Path:
    done(sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(into), cwd=tree)
    (found,) = into.iterdir()
    return found


def held(wheel: Path) -> dict[str, int]:
    """{file: checksum}"""
    with ZipFile(wheel) as archive:
        return {entry.filename: entry.CRC for entry in archive.infolist()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(ROOT, tmp_path_factory.mktemp("wheel"), "wheel")


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """Nothing is written below the package."""
    one = Installed(tmp_path_factory.mktemp("installed"))
    one.install_beside([wheel])
    before = one.files()
    yield one
    assert one.files() == before


@pytest.fixture(scope="module")
def run(installed: Installed) -> str:
    """A run's directory, from where commands are run."""
    reported = installed.faultline("run", "az-isolated-leader", "--world", "sim", "--out", "runs/first")
    assert "equals real Kafka: az-isolated-leader@2.6/1.json" in reported
    return "runs/first"


@pytest.mark.parametrize(("folder", "of_tree"), FOLDERS.items())
def test_the_data_is_the_trees(folder: str, of_tree: str, wheel: Path) -> None:
    paths = [path for path in (ROOT / of_tree).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    inside = f"emulator/data/{folder}/"
    with ZipFile(wheel) as archive:
        has = {name.removeprefix(inside): archive.read(name) for name in archive.namelist() if name.startswith(inside)}
    assert has == {path.relative_to(ROOT / of_tree).as_posix(): path.read_bytes() for path in paths}


def test_the_wheel_is_small_and_has_no_tests(wheel: Path) -> None:
    assert wheel.stat().st_size < WHEEL_BYTES_MAX
    tops = {name.partition("/")[0] for name in held(wheel)}
    packages = {top for top in tops if not top.endswith(".dist-info")}
    assert packages == {"faultline", "protocol", "controller", "emulator", "audit", "pyspark_faultline"}


def test_a_wheel_of_the_source_distribution_is_the_same(wheel: Path, tmp_path: Path) -> None:
    source = built(ROOT, tmp_path / "source", "sdist")
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    done("tar", "--extract", "--file", str(source), cwd=unpacked)
    (tree,) = unpacked.iterdir()
    assert built(tree, tmp_path / "wheel", "wheel").read_bytes() == wheel.read_bytes()


def test_an_editable_installation_copies_nothing(tmp_path: Path) -> None:
    building = f"from hatchling.build import build_editable; build_editable({str(tmp_path)!r})"
    done(sys.executable, "-c", building, cwd=ROOT)
    (editable,) = tmp_path.iterdir()
    assert [name for name in held(editable) if ".dist-info/" not in name] == [f"_{DISTRIBUTION.replace('-', '_')}.pth"]


def test_only_the_wheel_is_used(installed: Installed) -> None:
    packages = "audit, controller, emulator, protocol"
    code = f"import {packages}; print(*(package.__file__ for package in ({packages})))"
    places = done(str(installed.python), "-c", code, cwd=installed.here).split()
    assert len(places) == 4 and all(Path(place).is_relative_to(installed.packages) for place in places)


def test_the_version_is_that_of_the_project(installed: Installed) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert installed.faultline("--version") == f"{project['version']}\n"


def test_a_package_runner_finds_a_command_of_the_distributions_name(installed: Installed) -> None:
    command = str(installed.prefix / "bin" / DISTRIBUTION)
    assert done(command, "--version", cwd=installed.here) == installed.faultline("--version")


def test_a_report_has_its_style_and_its_scripts(installed: Installed, run: str) -> None:
    page = (installed.here / installed.faultline("report", run).strip()).read_text(encoding="utf-8")
    assert all(word in page for word in ("--paper:", "svg .leads", "const view =", "const messages =", "const logs ="))


def test_a_run_is_held_against_a_recording(installed: Installed, run: str) -> None:
    assert installed.faultline("compare", run, "az-isolated-leader@2.6") == (
        f"{run} equals az-isolated-leader@2.6/1.json\n"
    )
    reported = installed.faultline("compare", run, "az-isolated-leader@2.8", code=1)
    assert reported.startswith(f"{run} differs from az-isolated-leader@2.8/")


def test_the_catalogue(installed: Installed) -> None:
    listed = {one["id"] for one in json.loads(installed.faultline("scenarios", "--json"))}
    assert listed == {path.stem for path in (ROOT / "scenarios").glob("*.yaml")}
    assert installed.faultline("scenarios", "show", "az-isolated-leader").startswith('id: "az-isolated-leader"\n')


def test_seeds_equal_a_recording(installed: Installed) -> None:
    reported = installed.faultline("sim", "az-isolated-leader", "--seeds", "1..20")
    assert "     20 equal az-isolated-leader@2.6/1.json\n" in reported


def test_settings_and_doctor(installed: Installed) -> None:
    assert installed.faultline("settings", "min.insync.replicas").startswith("min.insync.replicas, a broker's setting")
    reported = json.loads(installed.faultline("doctor", "--json"))
    assert reported["usable"]
    assert "make" not in {finding["subject"] for finding in reported["findings"]}


@pytest.mark.network
def test_a_cluster_that_stays(installed: Installed) -> None:
    try:
        installed.faultline("up", "three-az")
        status = json.loads(installed.faultline("status", "--json"))
        assert "broker-0" in json.dumps(status)
    finally:
        installed.faultline("down")


@pytest.mark.spark
@pytest.mark.slow
def test_the_audit(installed: Installed, run: str) -> None:
    assert "lost-acknowledged violated 3" in " ".join(installed.faultline("audit", run).split())
    assert (installed.here / run / "report.html").is_file()


def test_the_spark_data_source(installed: Installed, run: str) -> None:
    reading = f"""
from pyspark_faultline import DefaultSource
source = DefaultSource({{"group": "appends", "path": {run!r}}})
reader = source.reader(source.schema())
print(sum(batch.num_rows for partition in reader.partitions() for batch in reader.read(partition)))
"""
    assert int(done(str(installed.python), "-Bc", reading, cwd=installed.here)) > 10


@pytest.mark.slow
def test_an_image_is_made_of_what_is_installed(installed: Installed, tmp_path: Path) -> None:
    asking = "from emulator.packaged import BUILD_IMAGE; print(BUILD_IMAGE)"
    build = done(str(installed.python), "-c", asking, cwd=installed.here).strip()
    (tmp_path / "docker").write_text(DOCKER)
    (tmp_path / "docker").chmod(0o755)
    context = tmp_path / "context"
    path = os.pathsep.join([str(tmp_path), str(installed.python.parent), os.environ["PATH"]])
    done("sh", "-c", build, cwd=installed.here, PATH=path, KEPT=str(context), FAULTLINE_BASE="any")
    assert {entry.name for entry in context.iterdir()} == {
        "protocol", "controller", "emulator", "audit", "compose", "pyproject.toml", "constraints.txt"
    }  # fmt: skip
    assert [entry.name for entry in (context / "compose").iterdir()] == ["requirements.py"]
    assert not list(context.rglob("__pycache__"))
    asking = "from emulator.runs.scenario_sources import catalogue; print(catalogue()['az-isolated-leader'])"
    found = done(sys.executable, "-Bc", asking, cwd=installed.here, PYTHONPATH=str(context)).strip()
    assert Path(found).is_relative_to(context)
