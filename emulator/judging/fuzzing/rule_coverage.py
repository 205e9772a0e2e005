"""Rules of docs/semantics.md and features that runs reached, by profiled functions.

A few runs are replayed under the profiler. A function stands for the rules that its docstring, its class's and its
module's name, as in docs/rules.md, and for the features that it reads. The result is reached code, not every path
through it.
"""

import inspect
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from types import CodeType, FrameType, ModuleType
from typing import Any

import msgspec

from emulator.judging.fuzzing.finding_files import read
from emulator.judging.fuzzing.fuzz_runs import play_schedule
from emulator.judging.fuzzing.fuzz_search import Kept
from emulator.judging.fuzzing.rule_references import cited
from emulator.runs.resolve import resolve
from emulator.scenario.scenario_model import Scenario
from protocol.gates import GATES

ROOMS = ("controller.", "emulator.machines.", "emulator.storage.", "emulator.faults.")
"""Packages that implement Kafka's rules."""
RUNS_MAX = 24
SHARE = 20
"""At most one in so many runs is profiled."""


class Closely(msgspec.Struct):
    """Reached `rules` and `gates` in `runs` profiled runs.

    `known_rules`: all rules that code names.
    """

    runs: int = 0
    rules: set[str] = set()
    gates: set[str] = set()
    known_rules: set[str] = set()

    @property
    def rules_unreached(self) -> list[str]:
        return sorted(self.known_rules - self.rules, key=_in_order)

    @property
    def gates_unreached(self) -> list[str]:
        return sorted(set(GATES) - self.gates)


def _in_order(rule: str) -> tuple[int, ...]:
    return tuple(map(int, rule.split(".")))


def looked_at(runs: Sequence[tuple[int, Scenario]]) -> Closely:
    """Profile runs. `runs`: (seed, scenario) each."""
    codes: set[CodeType] = set()
    for seed, scenario in runs:
        codes |= _called(scenario, seed)
    found = Closely(len(runs))
    for module, of in _modules(codes):
        by_name = _rules_by_name(module)
        for rules in by_name.values():
            found.known_rules |= rules
        for code in of:
            found.gates |= GATES.keys() & set(code.co_names)
            for name in _names(code.co_qualname):
                found.rules |= by_name.get(name, set())
    return found


def chosen(kept: Iterable[Kept], runs: int) -> list[tuple[int, Scenario]]:
    """Runs to profile, of `runs` runs: those that first reached some event type."""
    found: list[tuple[int, Scenario]] = []
    for one in kept:
        if len(found) >= min(RUNS_MAX, max(1, runs // SHARE)):
            break
        scenario = read(one.file, f"fuzz-{one.number}") if one.kind else None
        if scenario is not None:
            found.append((one.number, scenario))
    return found


def _called(scenario: Scenario, seed: int) -> set[CodeType]:
    resolved = resolve(scenario)
    codes: set[CodeType] = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            codes.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        play_schedule(resolved, seed)
    finally:
        sys.setprofile(before)
    return codes


def _modules(codes: Iterable[CodeType]) -> Iterator[tuple[ModuleType, list[CodeType]]]:
    """Each loaded module of `ROOMS`, with its called code."""
    by_file: defaultdict[str, list[CodeType]] = defaultdict(list)
    for code in codes:
        by_file[code.co_filename].append(code)
    for name, module in sorted(sys.modules.items()):
        if name.startswith(ROOMS) and getattr(module, "__file__", None):
            yield module, by_file[str(module.__file__)]


def _names(qualname: str) -> Iterator[str]:
    """Names that enclose a function: `Log.append` -> "" (the module), `Log`, `Log.append`."""
    yield ""
    parts = qualname.split(".")
    for count in range(1, len(parts) + 1):
        yield ".".join(parts[:count])


def _rules_by_name(module: ModuleType) -> dict[str, set[str]]:
    """{qualified name: rules that its docstring names}; "": the module's own."""
    found = {"": _cited(module)}
    for thing in vars(module).values():
        if getattr(thing, "__module__", None) != module.__name__:
            continue
        if inspect.isfunction(thing) or inspect.isclass(thing):
            found[thing.__qualname__] = _cited(thing)
        if inspect.isclass(thing):
            for member in vars(thing).values():
                member = member.fget if isinstance(member, property) else member
                if inspect.isfunction(member):
                    found[member.__qualname__] = _cited(member)
    return found


def _cited(thing: object) -> set[str]:
    return cited(" ".join((getattr(thing, "__doc__", None) or "").split()))
