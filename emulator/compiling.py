"""`python -m emulator.compiling` (make fast): compiles the machines to native code.

The code lies beside the sources, never among them. mypyc, a part of mypy, generates C for the modules that `compilable`
names; the machine's C compiler builds one library. It takes one to four minutes. The result is complete when it ends
without an error: the last step is a rename. Ends with 2 where a requirement is missing.
"""

import contextlib
import io
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import msgspec

from emulator.compilable import modules, rests_on
from emulator.compiled_modules import LIBRARY, MANIFEST, ROOT, SUFFIX, Manifest, digest_of, native_folder
from emulator.exit_codes import HELD, UNUSABLE
from emulator.packaged import DISTRIBUTION, IN_PACKAGE, PROJECT
from emulator.runs.scratch import scratch
from emulator.toplevel_errors import ended

OPTIMIZED: Final = "2"
"""gcc's -O."""
INSTALL: Final = f"pip install '{DISTRIBUTION}[fast]'" if IN_PACKAGE else "make fast installs them"
COMPILE_TIMEOUT_S: Final = 900.0
"""Of one file; the largest takes half a minute on a busy machine."""
TAIL_CHARS: Final = 2_000


class CannotCompile(Exception):
    """A requirement is missing, or a compiler refuses; the message names the remedy."""


def main(arguments: Sequence[str]) -> int:
    if arguments:  # there is nothing to choose
        print(f"faultline: compiling takes no arguments, not {arguments[0]!r}", file=sys.stderr)
        return UNUSABLE
    try:
        manifest = compile_all(ROOT, native_folder())
    except CannotCompile as error:
        print(f"faultline: {error}", file=sys.stderr)
        return UNUSABLE
    taken = "sim, sweep, advise, fuzz, plan and run --world sim take them from now on"
    print(f"{len(manifest.modules)} modules compiled in {manifest.seconds:.0f} s; {taken}")
    return HELD


def compile_all(root: Path, folder: Path) -> Manifest:
    """Makes `folder` anew from the sources below `root`. Raises CannotCompile, OSError."""
    began_s = perf_counter()
    compiler = c_compiler()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with scratch(folder.parent) as own:
        made = own / "native"
        made.mkdir()
        sources, extensions = translate(root, own)
        for extension in extensions:
            _built(compiler, extension, own, made)
        names = tuple(sorted(path.name.removesuffix(SUFFIX) for path in made.iterdir()))
        assert LIBRARY in names
        manifest = Manifest(
            suffix=SUFFIX,
            modules=tuple(name for name in names if name != LIBRARY),
            sources=sources,
            seconds=round(perf_counter() - began_s, 1),
            by=f"mypyc {metadata.version('mypy')}, {shlex.join(compiler)} -O{OPTIMIZED}",
        )
        (made / MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=1))
        if folder.exists():
            folder.rename(own / "before")
        made.rename(folder)
    return manifest


def translate(root: Path, folder: Path) -> tuple[dict[str, str], list[Any]]:
    """Translate the sources below `root` to C, in `folder`.

    Returns {path: digest} of the sources, and mypyc's extensions. Raises CannotCompile, OSError.
    """
    paths = tuple(module.path for module in modules(root) if not module.reason)
    sources = _copied(root, rests_on(root, paths), folder / "sources")
    return sources, _translated(folder / "sources", paths, folder / "c")


def _copied(root: Path, paths: Sequence[str], target: Path) -> dict[str, str]:
    """{path: digest} of copies, so that edits meanwhile are not half compiled.

    In a wheel the sources lie among other packages, where mypy does not accept them.
    """
    for path in paths:
        copy = target / path
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / path, copy)
    return {path: digest_of(target / path) for path in paths}


def c_compiler() -> list[str]:
    """The command of the compiler that this Python was made for, or CC's. Raises CannotCompile."""
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    if shutil.which(compiler[0]) is None:
        raise CannotCompile(f"compiling needs a C compiler; {compiler[0]} is not on PATH: apt install gcc, or set CC")
    header = Path(sysconfig.get_path("include")) / "Python.h"
    if not header.is_file():
        raise CannotCompile(f"compiling needs Python's headers, and there is no {header}: apt install python3-dev")
    return compiler


def _translated(root: Path, paths: Sequence[str], target: Path) -> list[Any]:
    """mypyc's extensions as setuptools describes them: name, sources, include_dirs.

    mypy checks all types again. `root`: of the copies.
    """
    try:
        from mypyc.build import mypycify
    except ImportError as error:
        raise CannotCompile(f"compiling needs mypyc and setuptools: {INSTALL} ({error})") from error
    words = ["--config-file", str(PROJECT), "--cache-dir", str(target.parent / "types"), *paths]
    output = io.StringIO()
    before = Path.cwd()
    os.chdir(root)  # mypy names modules by their paths from where it is
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            extensions: list[Any] = mypycify(
                words, multi_file=True, target_dir=str(target), group_name=LIBRARY.removesuffix("__mypyc")
            )
    except SystemExit as end:
        raise CannotCompile(f"mypyc refuses: {_tail(f'{output.getvalue()}{end}')}") from end
    finally:
        os.chdir(before)
    return extensions


def _built(compiler: Sequence[str], extension: Any, scratch_folder: Path, made: Path) -> None:
    """One native module, its C files on all cores."""
    include = [*extension.include_dirs, sysconfig.get_path("include"), sysconfig.get_path("platinclude")]
    options = [f"-O{OPTIMIZED}", "-fwrapv", "-fPIC", "-DNDEBUG", "-w", *(f"-I{folder}" for folder in include)]

    def compiled(source: str) -> str:
        target = scratch_folder / f"{Path(source).stem}.o"
        _run([*compiler, *options, "-c", source, "-o", str(target)])
        return str(target)

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        objects = list(pool.map(compiled, extension.sources))
    _run([*compiler, "-shared", "-s", *objects, "-o", str(made / f"{extension.name}{SUFFIX}")])


def _run(words: list[str]) -> None:
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
            errors="replace", timeout=COMPILE_TIMEOUT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as late:
        raise CannotCompile(f"{words[0]} took longer than {COMPILE_TIMEOUT_S:.0f} s for {words[-3]}") from late
    if done.returncode:
        raise CannotCompile(f"{words[0]} refuses {words[-3]}: {_tail(done.stdout)}")


def _tail(text: str) -> str:
    """The last part of a compiler's output, with its errors; without its remarks on speed."""
    lines = [line for line in text.splitlines() if ": warning:" not in line]
    return "\n".join(lines)[-TAIL_CHARS:]


if __name__ == "__main__":
    sys.exit(ended("faultline", lambda: main(sys.argv[1:])))
