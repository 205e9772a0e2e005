"""Every module of the pure packages is compiled, or it is said why not."""

from pathlib import Path

import pytest

from emulator.compilable import APART, PACKAGES, TRIED, module_name, modules, rests_on
from tests.test_project import PURE

ROOT = Path(__file__).parents[2]
STRUCTS = "it defines structs of msgspec, which makes their classes itself"


def made(root: Path, files: dict[str, str]) -> dict[str, str]:
    """{module: reason} of a project of these files."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return {module.name: module.reason for module in modules(root)}


@pytest.fixture(scope="module")
def ours() -> dict[str, str]:
    return {module.path: module.reason for module in modules(ROOT)}


@pytest.mark.parametrize("folder", [*PURE, "emulator/storage", "emulator/worlds/simulated"])
def test_every_module_of_a_pure_package_is_compiled_or_has_its_reason(folder: str, ours: dict[str, str]) -> None:
    there = {path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*.py")}
    assert there and there <= ours.keys(), f"add {folder} to PACKAGES of emulator/compilable.py"


def test_the_machines_are_among_those_compiled(ours: dict[str, str]) -> None:
    machines = ("emulator/machines/broker/partition.py", "controller/elections.py", "emulator/worlds/simulated/heap.py")
    assert [ours[path] for path in machines] == ["", "", ""]
    assert len([path for path, reason in ours.items() if not reason]) > 100


def test_what_is_left_out_by_name_is_there() -> None:
    assert [folder for folder in (*PACKAGES, *APART) if not (ROOT / folder).is_dir()] == []
    assert [path for path in TRIED if not (ROOT / path).is_file()] == []


TWO_ERRORS = (
    "def f() -> None:\n    try:\n        g()\n    except OSError as e:\n        g(e)\n"
    "    except ValueError as {0}:\n        g({0})\n"
)
DECORATED = "import functools\nclass A:\n    @{}property\n    def x(self) -> int:\n        return 1\n"
SLOTS = "its slots are added to those of a class of Python"
REASONS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "structs, known by their bases wherever these are from": (
        {
            "base": "import msgspec\nclass Base(msgspec.Struct):\n    x: int\n",
            "passed": "from protocol.base import Base as Base\n",
            "one": "from protocol.passed import Base\nclass One(Base):\n    y: int\n",
            "two": "from protocol import base as b\nclass Two(b.Base, frozen=True):\n    y: int\n",
            "like": "class Base: ...\nclass Like(Base): ...\n",
        },
        dict.fromkeys(("base", "one", "two"), STRUCTS),
    ),
    "slots on a class that stays Python, and what rests on them": (
        {
            "base": "from msgspec import Struct\nclass S(Struct): ...\nclass Base:\n    __slots__ = ()\n",
            "one": "from protocol.base import Base\nclass One(Base):\n    __slots__ = ('y',)\n",
            "two": "from protocol.one import One\nclass Two(One):\n    __slots__ = ('z',)\n",
            "own": "class Own:\n    __slots__ = ('z',)\n",
        },
        {"base": STRUCTS, "one": SLOTS, "two": SLOTS},
    ),
    "what mypyc does not support": (
        {
            "within": "if True:\n    class Within: ...\n",
            "asked": "from typing import Protocol, runtime_checkable\n@runtime_checkable\nclass Asked(Protocol): ...\n",
        },
        dict.fromkeys(("within", "asked"), "mypyc does not support"),
    ),
    # Native code made of a deque ends the process by a signal; mypyc refuses most others.
    "a class of none of ours": (
        {
            "line": "from collections import deque\nclass Line(deque): ...\n",
            "more": "import collections\nclass More(collections.deque[int]): ...\n",
            "full": "class Full(RuntimeError): ...\n",
            "error": "class Error(ValueError): ...\nclass Worse(Error): ...\n",
            "kind": "import enum\nclass Kind(enum.StrEnum): ...\n",
        },
        {
            "line": "no class of ours",
            "more": "a class of it is made of collections.deque, which is no class of ours",
            "full": "a class of it is made of RuntimeError, which is no class of ours",
        },
    ),
    # Python would take the tuple that native code gives for a pointer to one.
    "an iterator": (
        {"a": "class A:\n    def __next__(self) -> tuple[int, int]:\n        return 1, 2\n"},
        {"a": "it defines an iterator"},
    ),
    # Native code gives the name the first one's type, and the second is a TypeError.
    "exceptions of two kinds with one name": (
        {"one": TWO_ERRORS.format("e"), "two": TWO_ERRORS.format("v")},
        {"one": "exceptions of two kinds are called e"},
    ),
    "an untried decorator": (
        {"one": DECORATED.format("functools.cached_"), "two": DECORATED.format("")},
        {"one": "functools.cached_property"},
    ),
    "an attribute that is set again is the same": (
        {
            "base": "class Base:\n    x: list[int]\n",
            "once": "from protocol.base import Base\nclass Once(Base):\n    def f(self): self.x = []\n",
        },
        {},
    ),
    "work that would be done too early": (
        {"one": "def f(xs):\n    return (x for x in xs)\n"},
        {"one": "it returns a generator expression"},
    ),
}
"""{omission: (text of each module of `protocol`, part of the reason)}."""


@pytest.mark.parametrize("what", REASONS)
def test_a_module_is_left_out_for_a_reason(tmp_path: Path, what: str) -> None:
    texts, reasons = REASONS[what]
    found = made(
        tmp_path, {"protocol/__init__.py": "", **{f"protocol/{name}.py": text for name, text in texts.items()}}
    )
    for name in texts:
        reason = found[f"protocol.{name}"]
        assert reasons[name] in reason if name in reasons else reason == "", (name, reason)


def test_a_class_that_stays_python_is_made_of_python(tmp_path: Path) -> None:
    found = made(
        tmp_path,
        {
            "protocol/first.py": "class First: ...\n",
            "protocol/second.py": "from protocol.first import First\nclass Second(First): ...\n",
            "protocol/apart.py": "class Apart: ...\n",
            "emulator/judging/other.py": "from protocol.second import Second\nclass Other(Second): ...\n",
        },
    )
    assert [name for name, reason in found.items() if not reason] == ["protocol.apart"]


@pytest.mark.parametrize("again", ["    x: list[int]\n", "    def f(self):\n        self.x: list[int] = []\n"])
@pytest.mark.parametrize("first", ["    x: list[int]\n", "    def __init__(self):\n        self.x = []\n"])
def test_an_attribute_that_is_declared_twice_is_left_out(tmp_path: Path, first: str, again: str) -> None:
    """The collector would never free its object (what nothing in the compiled code says)."""
    found = made(
        tmp_path,
        {
            "protocol/base.py": f"class Base:\n{first}",
            "protocol/between.py": "from protocol.base import Base\nclass Between(Base): ...\n",
            "protocol/twice.py": f"from protocol import between\nclass Twice(between.Between):\n{again}",
            "protocol/apart.py": f"class Apart:\n{again}",
        },
    )
    assert found["protocol.twice"].startswith("the garbage collector would see x twice")
    assert found["protocol.apart"] == ""


def test_native_code_rests_on_all_that_it_imports(tmp_path: Path) -> None:
    made(
        tmp_path,
        {
            "protocol/__init__.py": "",
            "protocol/first.py": "TYPES = False\nif TYPES:\n    from protocol.second import X\n",
            "protocol/second.py": "import emulator.third\nimport os\nX = 1\n",
            "protocol/apart.py": "",
            "emulator/__init__.py": "",
            "emulator/third.py": "from protocol import first\n",
        },
    )
    assert rests_on(tmp_path, ("protocol/first.py",)) == (
        "emulator/__init__.py",
        "emulator/third.py",
        "protocol/__init__.py",
        "protocol/first.py",
        "protocol/second.py",
    )


def test_a_module_has_the_name_that_it_is_imported_by() -> None:
    assert module_name("protocol/work.py") == "protocol.work"
    assert module_name("protocol/records/__init__.py") == "protocol.records"
