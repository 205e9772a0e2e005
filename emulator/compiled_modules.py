"""The machines as native code, if `make fast` has compiled them, for simulations.

It behaves like the sources, in less time (docs/figures.md). It is used only when it was compiled from exactly the
present sources, by this Python; otherwise, and with FAULTLINE_PURE=1, the sources run. `faultline doctor` reports the
choice.
"""

import importlib
import os
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Final

import msgspec

from emulator.packaged import IN_PACKAGE

PURE_VARIABLE: Final = "FAULTLINE_PURE"
"""Any value but none and 0: the sources run."""
SUFFIX: Final = sysconfig.get_config_var("EXT_SUFFIX") or ".so"
"""Of native modules that this Python takes, such as `.cpython-311-x86_64-linux-gnu.so`."""
LIBRARY: Final = "faultline_native__mypyc"
"""The module with all of the code; those by the sources' names only lead to it."""
ROOT: Final = Path(__file__).resolve().parents[1]
MANIFEST: Final = "manifest.json"
MANIFEST_BYTES_MAX: Final = 1024 * 1024
REMAKE: Final = f"{'python -m emulator.compiling' if IN_PACKAGE else 'make fast'} makes it anew"


class Manifest(msgspec.Struct, frozen=True):
    """A compilation.

    `suffix`: the Python's; `modules`: by name; `sources`: {path from the root: digest} of all sources that any of them
    depends on; `seconds`: duration; `by`: the compilers.
    """

    suffix: str
    modules: tuple[str, ...]
    sources: dict[str, str]
    seconds: float
    by: str


class Native(msgspec.Struct, frozen=True):
    """State of the native code.

    `modules`: number of modules, 0 without a compilation; `problem`: reason for not using them, "" if they are used;
    `by_choice`: the reason is a user's choice.
    """

    modules: int = 0
    problem: str = ""
    by_choice: bool = False

    @property
    def usable(self) -> bool:
        return self.modules > 0 and not self.problem


class _Finder:
    """Leads the import of a compiled module to its native file."""

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        self._files = {name: str(folder / f"{name}{SUFFIX}") for name in (*names, LIBRARY)}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        file = self._files.get(name)
        return spec_from_file_location(name, file, loader=ExtensionFileLoader(name, file)) if file else None


def native_folder() -> Path:
    """Folder of the native code.

    In the virtual environment, so that it is deleted with it, else in the user's cache.
    """
    if sys.prefix != sys.base_prefix:
        return Path(sys.prefix) / "var" / "faultline" / "native"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "faultline" / "native"


def digest_of(path: Path) -> str:
    """Of a source's bytes; "": it cannot be read."""
    try:
        return blake2b(path.read_bytes(), digest_size=16).hexdigest()
    except OSError:
        return ""


def look(environ: Mapping[str, str] = os.environ, folder: Path | None = None, root: Path = ROOT) -> Native:
    """State of the native code, and whether it may be used.

    Reads every source of the compilation; imports nothing.
    """
    manifest, native = _looked(environ, folder or native_folder(), root)
    assert manifest is not None or not native.usable
    return native


def use(environ: Mapping[str, str] = os.environ, folder: Path | None = None, root: Path = ROOT) -> bool:
    """Import native code from now on, where usable; call this before importing any machine.

    Returns whether it is used. A process that has already imported a machine's source continues with the sources.
    """
    if in_use():
        return True
    folder = folder or native_folder()
    manifest, native = _looked(environ, folder, root)
    if manifest is None or not native.usable or any(name in sys.modules for name in manifest.modules):
        return False
    finder = _Finder(folder, manifest.modules)
    sys.meta_path.insert(0, finder)
    try:
        importlib.import_module(LIBRARY)
    except ImportError as error:  # the file is damaged, or made for another machine
        sys.meta_path.remove(finder)
        why = f"the compiled machines cannot be loaded, their sources run ({REMAKE}): {error}"
        print(f"faultline: {why}", file=sys.stderr)
        return False
    return True


def in_use() -> bool:
    """Whether this process runs native machines."""
    return LIBRARY in sys.modules


def _looked(environ: Mapping[str, str], folder: Path, root: Path) -> tuple[Manifest | None, Native]:
    try:
        with (folder / MANIFEST).open("rb") as file:
            manifest = msgspec.json.decode(file.read(MANIFEST_BYTES_MAX), type=Manifest)
    except FileNotFoundError:
        return None, Native()
    except (OSError, msgspec.MsgspecError, ValueError) as error:
        return None, Native(1, f"{folder / MANIFEST} cannot be read: {error}")
    if environ.get(PURE_VARIABLE, "0") not in ("", "0"):
        return manifest, Native(len(manifest.modules), f"{PURE_VARIABLE} is set", by_choice=True)
    return manifest, Native(len(manifest.modules), _problem(manifest, folder, root))


def _problem(manifest: Manifest, folder: Path, root: Path) -> str:
    if manifest.suffix != SUFFIX:
        return f"made for another Python ({manifest.suffix}, not {SUFFIX})"
    gone = [name for name in (LIBRARY, *manifest.modules) if not (folder / f"{name}{SUFFIX}").is_file()]
    if gone:
        return f"{folder / gone[0]}{SUFFIX} is gone"
    changed = [path for path, digest in manifest.sources.items() if digest_of(root / path) != digest]
    if changed:
        others = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        return f"made of other sources: {changed[0]}{others} changed since"
    return ""
