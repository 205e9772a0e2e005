"""Native machines are taken only when they are of exactly the sources that are there."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from emulator.compiled_modules import (
    LIBRARY,
    MANIFEST,
    PURE_VARIABLE,
    ROOT,
    SUFFIX,
    Manifest,
    Native,
    digest_of,
    look,
    use,
)
from tests.patience import PATIENCE_S

NAME = "protocol.chance"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Sources of one module, compiled by name only."""
    (tmp_path / "protocol").mkdir()
    (tmp_path / "protocol" / "chance.py").write_text("X = 1\n", encoding="utf-8")
    made(tmp_path)
    return tmp_path


def made(root: Path, suffix: str = SUFFIX) -> None:
    folder = root / "native"
    folder.mkdir(exist_ok=True)
    for name in (LIBRARY, NAME):
        (folder / f"{name}{SUFFIX}").write_bytes(b"no machine's code")
    sources = {"protocol/chance.py": digest_of(root / "protocol" / "chance.py")}
    manifest = Manifest(suffix=suffix, modules=(NAME,), sources=sources, seconds=1.0, by="no-compiler")
    (folder / MANIFEST).write_bytes(msgspec.json.encode(manifest))


def seen(root: Path, **environ: str) -> Native:
    return look(environ, root / "native", root)


def test_nothing_was_compiled(tmp_path: Path) -> None:
    assert seen(tmp_path) == Native() and not seen(tmp_path).usable


def test_what_is_of_these_sources_is_usable(root: Path) -> None:
    assert seen(root) == Native(1) and seen(root).usable


def test_one_other_letter_in_a_source_and_it_is_not(root: Path) -> None:
    source = root / "protocol" / "chance.py"
    about = source.stat()
    source.write_text("X = 2\n", encoding="utf-8")
    os.utime(source, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert not seen(root).usable
    assert seen(root).problem == "made of other sources: protocol/chance.py changed since"
    source.write_text("X = 1\n", encoding="utf-8")
    assert seen(root).usable


def test_a_source_that_is_gone_is_another_source(root: Path) -> None:
    (root / "protocol" / "chance.py").unlink()
    assert "protocol/chance.py changed" in seen(root).problem


def test_another_python_does_not_take_it(root: Path) -> None:
    made(root, suffix=".cpython-39-riscv.so")
    assert seen(root).problem.startswith("made for another Python (.cpython-39-riscv.so")


def test_a_file_that_is_gone_is_named(root: Path) -> None:
    (root / "native" / f"{NAME}{SUFFIX}").unlink()
    assert seen(root).problem.endswith(f"{NAME}{SUFFIX} is gone")


def test_a_manifest_that_is_none_is_named(root: Path) -> None:
    (root / "native" / MANIFEST).write_text("{}", encoding="ascii")
    assert not seen(root).usable and f"{MANIFEST} cannot be read" in seen(root).problem


@pytest.mark.parametrize(("value", "usable"), [("1", False), ("yes", False), ("0", True), ("", True)])
def test_the_sources_run_on_request(root: Path, value: str, usable: bool) -> None:
    native = seen(root, **{PURE_VARIABLE: value})
    assert native.usable is usable and native.by_choice is not usable


def test_a_process_with_a_machine_of_the_sources_goes_on_with_sources(root: Path) -> None:
    import protocol.chance

    before = list(sys.meta_path)
    assert not use({}, root / "native", root)
    assert sys.meta_path == before and protocol.chance.__file__ == str(ROOT / "protocol" / "chance.py")


def test_a_file_that_is_no_code_is_reported_and_the_sources_run(root: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from emulator.compiled_modules import use, in_use\n"
        f"print(use({{}}, Path({str(root / 'native')!r}), Path({str(root)!r})), in_use())\n"
        "import protocol.chance; print(protocol.chance.__file__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8", timeout=PATIENCE_S, check=True,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["False False", str(ROOT / "protocol" / "chance.py")]
    (line,) = done.stderr.splitlines()
    assert line.startswith("faultline: the compiled machines cannot be loaded, their sources run (make fast")


def test_the_commands_with_native_machines_are_listed() -> None:
    tree = ast.parse((ROOT / "emulator" / "cli" / "app.py").read_text(encoding="utf-8"))
    commands = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    taking = {one.name for one in commands if "use_compiled()" in ast.unparse(one)}
    assert taking == {"run", "sim", "sweep", "advise", "fuzz", "roll", "timeouts", "topologies"}


def test_tests_are_of_the_sources() -> None:
    assert look().by_choice or not look().modules
    assert os.environ[PURE_VARIABLE] == "1"
