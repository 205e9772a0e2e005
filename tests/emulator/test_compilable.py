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


def test_structs_are_known_by_their_bases_wherever_these_are_from(tmp_path: Path) -> None:
    found = made(
        tmp_path,
        {
            "protocol/__init__.py": "",
            "protocol/base.py": "import msgspec\nclass Base(msgspec.Struct):\n    x: int\n",
            "protocol/passed.py": "from protocol.base import Base as Base\n",
            "protocol/one.py": "from protocol.passed import Base\nclass One(Base):\n    y: int\n",
            "protocol/two.py": "from protocol import base as b\nclass Two(b.Base, frozen=True):\n    y: int\n",
            "protocol/like.py": "class Base: ...\nclass Like(Base): ...\n",
        },
    )
    structs = {name for name, reason in found.items() if reason == STRUCTS}
    assert structs == {"protocol.base", "protocol.one", "protocol.two"}
    assert found["protocol.passed"] == found["protocol.like"] == ""


def test_slots_on_a_class_that_stays_python_are_left_out_and_what_rests_on_them(tmp_path: Path) -> None:
    found = made(
        tmp_path,
        {
            "controller/base.py": "from msgspec import Struct\nclass S(Struct): ...\nclass Base:\n    __slots__ = ()\n",
            "controller/one.py": "from controller.base import Base\nclass One(Base):\n    __slots__ = ('y',)\n",
            "controller/two.py": "from controller.one import One\nclass Two(One):\n    __slots__ = ('z',)\n",
            "controller/own.py": "class Own:\n    __slots__ = ('z',)\n",
        },
    )
    slots = "its slots are added to those of a class of Python"
    assert (found["controller.one"], found["controller.two"], found["controller.own"]) == (slots, slots, "")


def test_what_mypyc_does_not_support_is_left_out(tmp_path: Path) -> None:
    found = made(
        tmp_path,
        {
            "protocol/within.py": "if True:\n    class Within: ...\n",
            "protocol/asked.py": "from typing import Protocol, runtime_checkable\n"
            "@runtime_checkable\nclass Asked(Protocol): ...\n",
        },
    )
    assert all("mypyc does not support" in reason for reason in found.values()) and len(found) == 2


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


def test_a_class_made_of_one_of_others_is_left_out(tmp_path: Path) -> None:
    """Native code made of a deque ends the process by a signal; mypyc refuses most others."""
    found = made(
        tmp_path,
        {
            "protocol/line.py": "from collections import deque\nclass Line(deque): ...\n",
            "protocol/more.py": "import collections\nclass More(collections.deque[int]): ...\n",
            "protocol/full.py": "class Full(RuntimeError): ...\n",
            "protocol/error.py": "class Error(ValueError): ...\nclass Worse(Error): ...\n",
            "protocol/kind.py": "import enum\nclass Kind(enum.StrEnum): ...\n",
        },
    )
    assert [name for name, reason in found.items() if not reason] == ["protocol.error", "protocol.kind"]
    assert found["protocol.more"] == "a class of it is made of collections.deque, which is no class of ours"
    assert found["protocol.full"] == "a class of it is made of RuntimeError, which is no class of ours"


def test_an_iterator_is_left_out(tmp_path: Path) -> None:
    """Python would take the tuple that native code gives for a pointer to one."""
    text = "class A:\n    def __next__(self) -> tuple[int, int]:\n        return 1, 2\n"
    assert made(tmp_path, {"protocol/a.py": text})["protocol.a"].startswith("it defines an iterator")


def test_two_kinds_of_exceptions_with_one_name_are_left_out(tmp_path: Path) -> None:
    """Native code gives the name the first one's type, and the second is a TypeError."""
    first = "def f() -> None:\n    try:\n        g()\n    except OSError as e:\n        g(e)\n"
    text = first + "    except ValueError as {}:\n        g({})\n"
    found = made(tmp_path, {"protocol/one.py": text.format("e", "e"), "protocol/two.py": text.format("v", "v")})
    assert found["protocol.two"] == "" and found["protocol.one"].startswith("exceptions of two kinds are called e")


def test_an_untried_decorator_is_left_out(tmp_path: Path) -> None:
    text = "import functools\nclass A:\n    @functools.cached_property\n    def x(self) -> int:\n        return 1\n"
    found = made(tmp_path, {"protocol/one.py": text, "protocol/two.py": text.replace("functools.cached_", "")})
    assert found["protocol.two"] == "" and "functools.cached_property" in found["protocol.one"]


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


def test_an_attribute_that_is_set_again_is_the_same(tmp_path: Path) -> None:
    found = made(
        tmp_path,
        {
            "protocol/base.py": "class Base:\n    x: list[int]\n",
            "protocol/once.py": "from protocol.base import Base\nclass Once(Base):\n    def f(self): self.x = []\n",
        },
    )
    assert set(found.values()) == {""}


def test_work_that_would_be_done_too_early_is_left_out(tmp_path: Path) -> None:
    (reason,) = made(tmp_path, {"protocol/one.py": "def f(xs):\n    return (x for x in xs)\n"}).values()
    assert reason.startswith("it returns a generator expression")


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
