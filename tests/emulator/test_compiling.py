"""`make fast`: one line for a missing part; compiled code equals the sources.

A sample is compared, or all of it (-m long).
"""

import shutil
import sysconfig
from pathlib import Path

import pytest

from emulator.compilable import modules
from emulator.compiled_modules import ROOT, SUFFIX, look
from emulator.compiling import CannotCompile, c_compiler, compile_all, main, translate
from emulator.exit_codes import UNUSABLE
from verification.compiled import SIDES, differing, result_of

pytestmark = pytest.mark.slow


def test_a_missing_c_compiler_is_reported(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("CC", "no-such-compiler -pipe")
    assert main([]) == UNUSABLE
    output = "faultline: compiling needs a C compiler; no-such-compiler is not on PATH: apt install gcc, or set CC\n"
    assert capsys.readouterr() == ("", output)


def test_without_headers_it_reports_that(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CC", "true")
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path / name))
    output = r"Python's headers, and there is no .*/include/Python.h: apt install python3-dev"
    with pytest.raises(CannotCompile, match=output):
        c_compiler()


def test_an_argument_is_one_too_many(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--fast"]) == UNUSABLE
    assert capsys.readouterr().err == "faultline: compiling takes no arguments, not '--fast'\n"


def test_what_the_compiler_refuses_leaves_what_was_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "protocol").mkdir()
    (tmp_path / "protocol" / "wrong.py").write_text("def f() -> int:\n    return ''\n", encoding="utf-8")
    folder = tmp_path / "var" / "native"
    folder.mkdir(parents=True)
    (folder / f"kept{SUFFIX}").touch()
    monkeypatch.setenv("CC", "true")
    monkeypatch.setattr("emulator.compiling.Path.is_file", lambda path: True)
    with pytest.raises(CannotCompile, match=r"mypyc refuses: protocol/wrong.py:2: error: Incompatible return value"):
        compile_all(tmp_path, folder)
    assert [path.name for path in (tmp_path / "var").iterdir()] == ["native"]
    assert [path.name for path in folder.iterdir()] == [f"kept{SUFFIX}"]


SAMPLE = ("controller/", "emulator/machines/session/")
"""Modules compiled where time is left, quickly and so without speed.

This takes half a minute, where all takes three.
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_a_sample_of_native_machines_is_equal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sample = tuple(module for module in modules(ROOT) if module.path.startswith(SAMPLE))
    monkeypatch.setattr("emulator.compiling.modules", lambda root: sample)
    monkeypatch.setattr("emulator.compiling.OPTIMIZED", "0")
    manifest = compile_all(ROOT, tmp_path / "native")
    assert len(manifest.modules) == sum(1 for module in sample if not module.reason) > 30
    pure, native = (result_of(side, "results", 10, tmp_path / "native") for side in SIDES)
    assert native == pure
    assert len({result["trace"] for result in pure}) == len(pure) == 10


@pytest.mark.slow
def test_mypyc_translates_every_module(tmp_path: Path) -> None:
    """Some expressions that Python runs end in an error of mypyc's own."""
    _, (library, *_) = translate(ROOT, tmp_path)
    assert len(library.sources) > 100


@pytest.mark.long
@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_native_machines_leave_the_same_traces(tmp_path: Path) -> None:
    folder = tmp_path / "native"
    compile_all(ROOT, folder)
    assert look({}, folder).usable
    wrong, runs = differing(*(result_of(side, "traces", 2, folder) for side in SIDES))
    assert (wrong, runs > 500) == (0, True)
    assert [result_of(side, "remains", 10, folder) for side in SIDES] == [0, 0]
